//! The agents that submissions may name: those that the process was started with, and those of the
//! bucket, which take precedence and are followed while the process runs.
//!
//! A value in the bucket may have been written by another program, so it is parsed like a file. A
//! faulty agent is refused by name and logged; an agent of the same name that it overrides is never
//! used in its place. A value that cannot be parsed at all is no agent: it is left out and logged.

mod history;
mod verbs;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agents::catalogue::{Catalogue, Stored};
use broker::{
    Broker,
    kv::{Bucket, Change, KvError, Versioned},
};
use futures::StreamExt;
use proto::{
    agent::{Agent, Layer},
    id::AgentName,
};
use tokio_util::task::AbortOnDropHandle;

pub(super) use self::verbs::unknown;

/// Limit on the agents of the bucket. Further ones are skipped and logged.
pub const AGENTS_MAX: usize = 1_000;
/// Wait before a broken watch is opened again.
const REOPEN: Duration = Duration::from_millis(500);

/// All agents of the installation, kept current in memory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agents {
    shared: Arc<Mutex<Catalogue>>,
    _task: Option<Arc<AbortOnDropHandle<()>>>,
}

impl Agents {
    /// Returns a set of agents that never changes.
    #[must_use]
    pub fn fixed(catalogue: Catalogue) -> Self {
        Self { shared: Arc::new(Mutex::new(catalogue)), _task: None }
    }

    /// Reads the bucket over `catalogue`, and follows it from then on.
    ///
    /// # Errors
    /// Returns an error if the bucket cannot be read at first. Later failures lead to a new read.
    pub async fn open(broker: &Broker, mut catalogue: Catalogue) -> Result<Self, KvError> {
        let mut changes = broker.kv.watch(Bucket::Agents).await?;
        let stored = until_caught_up(&mut changes).await?;
        fill(&mut catalogue, stored);
        let shared = Arc::new(Mutex::new(catalogue));
        let (kept, broker) = (Arc::clone(&shared), broker.clone());
        let task = tokio::spawn(async move {
            loop {
                while let Some(Ok(change)) = changes.next().await {
                    apply(&mut kept.lock().unwrap_or_else(PoisonError::into_inner), change);
                }
                tracing::debug!("the bucket of agents cannot be watched; reading it again");
                changes = reopen(&broker, &kept).await;
            }
        });
        Ok(Self { shared, _task: Some(Arc::new(AbortOnDropHandle::new(task))) })
    }

    /// Returns `true` if there is an agent of this name, usable or not.
    #[must_use]
    pub fn knows(&self, name: &AgentName) -> bool {
        self.look(|all| all.get(name).is_some())
    }

    /// Calls `look` with all agents.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Catalogue) -> T) -> T {
        look(&self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `look` with all agents, after the present value of one was read from the bucket.
    fn look_at<T>(&self, value: Option<Versioned>, look: impl FnOnce(&Catalogue) -> T) -> T {
        let all = &mut self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = value {
            let name = agent_name(&value.key);
            let known = name.and_then(|name| all.entry(&name)).and_then(|entry| entry.text);
            if known.is_none_or(|text| text.as_bytes() != value.value) {
                apply(all, Change::Put(value));
            }
        }
        look(all)
    }

    fn change(&self, change: impl FnOnce(&mut Catalogue)) {
        change(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl From<HashMap<AgentName, Agent>> for Agents {
    fn from(agents: HashMap<AgentName, Agent>) -> Self {
        Self::fixed(Catalogue::default().with_given(agents.into_values()))
    }
}

type Changes = futures::stream::BoxStream<'static, Result<Change, KvError>>;

/// Returns every value that was present when the watch began.
async fn until_caught_up(changes: &mut Changes) -> Result<Vec<(AgentName, Stored)>, KvError> {
    let mut stored: Vec<(AgentName, Stored)> = Vec::new();
    loop {
        let (key, value) = match changes.next().await {
            Some(Ok(Change::CaughtUp)) => return Ok(stored),
            Some(Ok(Change::Put(put))) => (put.key, Some(Stored::Value(put.value.to_vec()))),
            Some(Ok(Change::Foreign(key))) => (key, Some(Stored::Foreign)),
            Some(Ok(Change::Deleted(key))) => (key, None),
            Some(Err(error)) => return Err(error),
            None => return Err(KvError::Unavailable("the watch ended".to_owned())),
        };
        let Some(name) = agent_name(&key) else { continue };
        stored.retain(|(there, _)| *there != name);
        stored.extend(value.map(|value| (name, value)));
    }
}

/// Reads the whole bucket again, with retries. Agents that were deleted meanwhile are dropped.
async fn reopen(broker: &Broker, kept: &Mutex<Catalogue>) -> Changes {
    loop {
        tokio::time::sleep(REOPEN).await;
        let opened = match broker.kv.watch(Bucket::Agents).await {
            Ok(mut changes) => match until_caught_up(&mut changes).await {
                Ok(stored) => {
                    fill(&mut kept.lock().unwrap_or_else(PoisonError::into_inner), stored);
                    return changes;
                }
                Err(error) => error,
            },
            Err(error) => error,
        };
        tracing::warn!(error = %opened, "the bucket of agents cannot be watched; retrying");
    }
}

/// Replaces the agents of the bucket. An agent that was read before stays if its new value cannot
/// be parsed.
fn fill(catalogue: &mut Catalogue, stored: Vec<(AgentName, Stored)>) {
    let names: BTreeSet<_> = stored.iter().map(|(name, _)| name.clone()).collect();
    catalogue.keep(Layer::Bucket, &names);
    follow(catalogue, stored);
    names.iter().for_each(|name| warn(catalogue, name));
}

fn apply(catalogue: &mut Catalogue, change: Change) {
    let (key, value) = match change {
        Change::Put(put) => (put.key, Some(Stored::Value(put.value.to_vec()))),
        Change::Foreign(key) => (key, Some(Stored::Foreign)),
        Change::Deleted(key) => (key, None),
        Change::CaughtUp => return,
    };
    let Some(name) = agent_name(&key) else { return };
    match value {
        Some(value) => {
            follow(catalogue, vec![(name.clone(), value)]);
            warn(catalogue, &name);
        }
        None => {
            catalogue.remove(Layer::Bucket, &name);
        }
    }
}

fn follow(catalogue: &mut Catalogue, stored: Vec<(AgentName, Stored)>) {
    let passed_over = catalogue.follow(stored, AGENTS_MAX);
    if passed_over > 0 {
        tracing::warn!(
            passed_over,
            "the bucket has more than {AGENTS_MAX} agents; the rest is ignored"
        );
    }
}

fn agent_name(key: &str) -> Option<AgentName> {
    let name = AgentName::new(key).ok();
    if name.is_none() && history::parse(key).is_none() {
        tracing::warn!(
            "the bucket of agents has a key that is not an agent name; the key is ignored"
        );
    }
    name
}

/// Logs what is wrong with an agent. Details may quote user content and are logged at debug level.
fn warn(catalogue: &Catalogue, name: &AgentName) {
    if let Some(mistakes) = catalogue.ignored(name) {
        let is_used = catalogue.get(name).is_some();
        tracing::error!(agent = %name, is_used, "the bucket holds a value that is not an agent; the value is ignored");
        tracing::debug!(agent = %name, %mistakes, "the errors of the ignored value");
    } else if let Some(Err(mistakes)) = catalogue.get(name) {
        tracing::warn!(agent = %name, mistakes = mistakes.0.len(), "an agent of the bucket is invalid");
        tracing::debug!(agent = %name, %mistakes, "the errors of the agent");
    }
}
