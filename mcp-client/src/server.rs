//! One server in one process: its connection, its tools, the trust in them, and its failures.
//!
//! The connection opens at the first need and closes after idle time; its tools stay offered, and the
//! next call opens it again. Failures are followed by growing waits, in which calls fail at once. After
//! several in a row the tools are withdrawn until the server can be listed again.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use broker::Broker;
use proto::id::Pool;
use tokio::{sync::Mutex, time::Instant};
use tool_actors::{InvalidToolset, Tool, ToolSource};

use crate::{
    connection::{CONNECT_WITHIN, ConnectError, Connection, Era},
    launch::{Launch, escaped},
    listing::{self, ListError},
    pins::{self, Pins, Trust},
    settings::{self, ServerName},
    specs::{self, FoundTool},
    tool::McpTool,
};

/// Idle time after which a connection closes.
pub(crate) const IDLE: Duration = Duration::from_secs(600);
/// Time after which the tools of an open connection are listed again, in case the server does not
/// tell of changes.
const LIST_EVERY: Duration = Duration::from_secs(300);
/// Time for a call to reach its server: the time of the start of a program and of its list.
pub(crate) const READY_WITHIN: Duration =
    Duration::from_secs(CONNECT_WITHIN.as_secs() + listing::LIST_WITHIN.as_secs());
/// Failures in a row after which the tools are withdrawn.
pub(crate) const FAILURES_MAX: u32 = 5;
/// Longest wait after a failure.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// A server of the settings.
#[derive(derive_more::Debug)]
#[debug("Server({name})")]
pub(crate) struct Server {
    name: ServerName,
    settings: settings::Server,
    launch: Launch,
    pool: Pool,
    broker: Broker,
    source: ToolSource,
    era: Era,
    /// Set when the server tells of a change of its tools.
    changed: Arc<AtomicBool>,
    /// Set by an answer, which waits for nothing. The next look ends the row of failures.
    has_answered: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    /// Tools of the last list; `None` before the first one and after too many failures.
    listed: Option<Vec<FoundTool>>,
    listed_at: Option<Instant>,
    used_at: Option<Instant>,
    pins: Option<Pins>,
    failures: u32,
    retry_at: Option<Instant>,
    /// Digests of the tools that are offered; `None` before the first offer.
    offered: Option<Vec<String>>,
    /// The reasons why offered tools were left out.
    refused: Vec<String>,
    /// The reasons why tools are withheld, as the log has them.
    told: Vec<String>,
    /// `true` after the shutdown: no connection opens any more.
    ended: bool,
}

/// The reason why a call cannot reach the server.
#[derive(Debug)]
pub(crate) enum Unreachable {
    /// The connection could not be opened, or its tools not listed.
    Failed(String),
    /// The server failed a moment ago.
    Waits,
    /// This process ends, or nobody trusts the server any more.
    Closed,
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => f.write_str(why),
            Self::Waits => f.write_str("it failed a moment ago and is started again later"),
            Self::Closed => f.write_str("it is stopped"),
        }
    }
}

impl Server {
    pub(crate) fn new(
        (name, settings, launch): (ServerName, settings::Server, Launch),
        pool: Pool,
        broker: Broker,
        source: ToolSource,
    ) -> Self {
        let (era, changed, state) = (Era::default(), Arc::default(), Mutex::default());
        let has_answered = AtomicBool::new(false);
        Self { name, settings, launch, pool, broker, source, era, changed, has_answered, state }
    }

    pub(crate) fn name(&self) -> &ServerName {
        &self.name
    }

    pub(crate) fn settings(&self) -> &settings::Server {
        &self.settings
    }

    /// Returns the open connection, or opens one. Concurrent callers open one connection. After a word
    /// of the server about a change its tools are listed first.
    pub(crate) async fn connect(self: &Arc<Self>) -> Result<Arc<Connection>, Unreachable> {
        let mut state = self.state.lock().await;
        state.used_at = Some(Instant::now());
        state.forget_lost();
        let Some(connection) = state.connection.clone() else {
            return self.open(&mut state).await;
        };
        if self.changed.swap(false, Ordering::Relaxed) {
            if let Err(error) = self.list(&mut state, &connection).await {
                return Err(self.failed(&mut state, &error.to_string(), ""));
            }
            self.publish(&mut state);
        }
        Ok(connection)
    }

    /// Drops a connection that broke in a call. A task that has the state now finds out by itself.
    pub(crate) fn lost(&self, connection: &Arc<Connection>) {
        let Ok(mut state) = self.state.try_lock() else { return };
        if state.connection.as_ref().is_some_and(|open| Arc::ptr_eq(open, connection)) {
            state.connection = None;
            state.note_failure(Instant::now());
        }
    }

    /// Returns whether exactly this tool is among those of the last list.
    pub(crate) async fn offers(&self, tool: &FoundTool) -> bool {
        let state = self.state.lock().await;
        let listed = state.listed.as_deref().unwrap_or_default();
        listed.iter().any(|found| found.remote == tool.remote && found.digest == tool.digest)
    }

    /// Notes that the server answered a call.
    pub(crate) fn answered(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    /// Compares everything with what should be: the trust, the connection, the list, the offer.
    pub(crate) async fn look(self: &Arc<Self>) {
        let pins = pins::read(&self.broker, &self.name).await;
        let mut state = self.state.lock().await;
        match pins {
            Ok(pins) => {
                if pins != state.pins {
                    // A person saw the tools as they are now, which may differ from the last list.
                    state.listed_at = None;
                }
                state.pins = pins;
            }
            Err(error) => {
                tracing::debug!(server = %self.name, %error, "the trust in an MCP server cannot be read")
            }
        }
        let now = Instant::now();
        if self.has_answered.swap(false, Ordering::Relaxed) {
            (state.failures, state.used_at) = (0, Some(now));
        }
        state.forget_lost();
        if !self.is_trusted(&state) {
            (state.connection, state.listed) = (None, None);
            return self.publish(&mut state);
        }
        let has_changed = self.changed.swap(false, Ordering::Relaxed);
        let is_unlisted = state.listed.is_none() || state.listed_at.is_none();
        let is_old = is_unlisted || state.listed_at.is_some_and(|at| now - at >= LIST_EVERY);
        match state.connection.clone() {
            Some(connection) if has_changed || is_old => {
                // Calls go on meanwhile.
                drop(state);
                let listed = listing::list(connection.peer()).await;
                state = self.state.lock().await;
                let is_open =
                    state.connection.as_ref().is_some_and(|open| Arc::ptr_eq(open, &connection));
                match listed {
                    _ if !is_open => {}
                    Ok(listed) => self.listed(&mut state, &listed),
                    // A server that does one thing at a time is busy with a call.
                    Err(ListError::Late) if Arc::strong_count(&connection) > 2 => {}
                    Err(error) => drop(self.failed(&mut state, &error.to_string(), "")),
                }
            }
            Some(connection) => {
                drop(connection);
                state.close_idle(now);
            }
            // The error is in the log.
            None if is_unlisted && state.is_due(now) => drop(self.open(&mut state).await),
            None => {}
        }
        if state.failures >= FAILURES_MAX && state.connection.is_none() {
            state.listed = None;
        }
        self.publish(&mut state);
    }

    /// Closes the connection, when the last call that runs has ended, and opens no other.
    pub(crate) async fn end(&self) {
        let connection = {
            let mut state = self.state.lock().await;
            state.ended = true;
            state.connection.take()
        };
        if let Some(connection) = connection.and_then(Arc::into_inner) {
            connection.close().await;
        }
    }

    fn is_trusted(&self, state: &State) -> bool {
        state.pins.as_ref().is_some_and(|pins| pins.fit(&self.settings))
    }

    async fn open(self: &Arc<Self>, state: &mut State) -> Result<Arc<Connection>, Unreachable> {
        if state.ended || !self.is_trusted(state) {
            return Err(Unreachable::Closed);
        }
        if !state.is_due(Instant::now()) {
            return Err(Unreachable::Waits);
        }
        let opened = match Connection::open(&self.launch, &self.era, &self.changed).await {
            Ok(connection) => Arc::new(connection),
            Err(error) => return Err(self.failed(state, &error.why(), error.stderr())),
        };
        if let Err(error) = self.list(state, &opened).await {
            return Err(self.failed(state, &error.to_string(), &opened.stderr()));
        }
        tracing::info!(server = %self.name, "an MCP server is connected");
        (state.connection, state.retry_at) = (Some(Arc::clone(&opened)), None);
        state.used_at = Some(Instant::now());
        self.publish(state);
        Ok(opened)
    }

    async fn list(&self, state: &mut State, connection: &Connection) -> Result<(), ListError> {
        let listed = listing::list(connection.peer()).await?;
        self.listed(state, &listed);
        Ok(())
    }

    fn listed(&self, state: &mut State, listed: &[rmcp::model::Tool]) {
        let (found, refused) = specs::of(&self.name, &self.settings, &self.pool, listed);
        let is_same = |all: &Vec<FoundTool>| {
            all.iter().map(|tool| &tool.digest).eq(found.iter().map(|tool| &tool.digest))
        };
        if !state.listed.as_ref().is_some_and(is_same) {
            for specs::Refused { tool, why } in refused {
                tracing::warn!(server = %self.name, tool, why, "a tool of an MCP server is left out");
            }
        }
        (state.listed, state.listed_at) = (Some(found), Some(Instant::now()));
    }

    /// Notes a failure, and withdraws the tools after several in a row. What a program wrote to its
    /// standard error may be secret, and is in the log alone.
    fn failed(self: &Arc<Self>, state: &mut State, why: &str, stderr: &str) -> Unreachable {
        state.connection = None;
        state.note_failure(Instant::now());
        let (why, stderr) = (escaped(why), escaped(stderr));
        tracing::warn!(server = %self.name, why, stderr, failures = state.failures, "an MCP server cannot be used");
        if state.failures >= FAILURES_MAX {
            state.listed = None;
            self.publish(state);
        }
        Unreachable::Failed(why)
    }

    /// Offers the trusted tools of the last list, and tells the log why others are withheld.
    fn publish(self: &Arc<Self>, state: &mut State) {
        let (mut offered, mut withheld) = (Vec::<Arc<dyn Tool>>::new(), Vec::new());
        let mut digests = Vec::new();
        let pins = state.pins.as_ref().filter(|pins| pins.fit(&self.settings));
        match (pins, &state.pins) {
            (None, None) => withheld.push("nobody has trusted the server".to_owned()),
            (None, Some(_)) => withheld.push("the command or address has changed".to_owned()),
            (Some(_), _) => {}
        }
        for found in state.listed.iter().flatten() {
            let name = &found.spec.name;
            match pins.map(|pins| pins.trust(found)) {
                Some(Trust::Trusted) => {
                    let (server, found) = (Arc::clone(self), found.clone());
                    digests.push(found.digest.clone());
                    offered.push(Arc::new(McpTool { server, found }));
                }
                Some(Trust::New) => withheld.push(format!("{name} is new")),
                Some(Trust::Changed) => withheld.push(format!("{name} has changed")),
                None => {}
            }
        }
        if state.offered.as_ref() != Some(&digests) {
            let refused = self.source.offer(offered);
            state.refused = refused.iter().map(InvalidToolset::to_string).collect();
            state.offered = Some(digests);
        }
        withheld.extend(state.refused.iter().cloned());
        if withheld != state.told {
            for why in &withheld {
                tracing::warn!(server = %self.name, why, "tools of an MCP server are withheld; `callboard mcp trust` shows them");
            }
            state.told = withheld;
        }
    }
}

impl State {
    fn is_due(&self, now: Instant) -> bool {
        self.retry_at.is_none_or(|at| at <= now)
    }

    fn note_failure(&mut self, now: Instant) {
        let wait = Duration::from_secs(1 << self.failures.min(16)).min(WAIT_MAX);
        self.failures = self.failures.saturating_add(1);
        self.retry_at = Some(now + wait);
    }

    /// Drops a connection that the server closed.
    fn forget_lost(&mut self) {
        if self.connection.as_ref().is_some_and(|connection| connection.is_closed()) {
            self.connection = None;
            self.note_failure(Instant::now());
        }
    }

    /// Closes a connection that no call has used for a while.
    fn close_idle(&mut self, now: Instant) {
        let is_idle = self.used_at.is_none_or(|at| now - at >= IDLE);
        let has_calls = self.connection.as_ref().is_some_and(|it| Arc::strong_count(it) > 1);
        if is_idle && !has_calls {
            self.connection = None;
        }
    }
}

/// Connects to a server once and lists its tools, without any trust.
pub(crate) async fn list_once(
    name: &ServerName,
    settings: &settings::Server,
    launch: &Launch,
    pool: &Pool,
) -> Result<(Vec<FoundTool>, Vec<specs::Refused>), ListOnceError> {
    let connection = Connection::open(launch, &Era::default(), &Arc::default()).await?;
    let listed = listing::list(connection.peer()).await?;
    connection.close().await;
    Ok(specs::of(name, settings, pool, &listed))
}

/// The reason why a server's tools cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ListOnceError {
    /// The server cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The tools cannot be listed.
    #[error(transparent)]
    List(#[from] ListError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_after_failures_grow_up_to_their_bound() {
        let (mut state, now) = (State::default(), Instant::now());
        assert!(state.is_due(now));
        let waits: Vec<u64> = (0..20)
            .map(|_| {
                state.note_failure(now);
                state.retry_at.map_or(0, |at| (at - now).as_secs())
            })
            .collect();
        assert_eq!(waits[..4], [1, 2, 4, 8]);
        assert!(waits.iter().all(|wait| *wait <= WAIT_MAX.as_secs()));
        assert!(!state.is_due(now) && state.is_due(now + WAIT_MAX));
    }
}
