//! The supervision tree of a process. It restarts children that fail, and gives up with a reason
//! when a child keeps failing.
//!
//! Guarantees of a [`Tree`]:
//!
//! * A child that fails (panics, returns an error, is killed) is restarted after a backoff that
//!   doubles with each failure; its siblings are not touched.
//! * A child that stops without an error has done its work and is not started again. When all
//!   children have stopped, the tree ends with [`End::Finished`].
//! * A child that fails more than [`Restarts::max`] times within [`Restarts::within`] ends the
//!   tree: all siblings are stopped and [`End::GaveUp`] names the child and its last error. The
//!   process is expected to exit; another process continues from the log.
//! * A child that cannot start when the tree does ends the tree at once, because that is a mistake
//!   in the setup, which a retry does not correct.
//!
//! Not guaranteed: that messages in the mailbox of a failed child are handled. They are lost;
//! everything durable is in the log.
//!
//! The crate `ractor-supervisor` is not used. With its default features it changes the actor trait
//! of the whole dependency graph. Its handle also ends with `Ok` after a meltdown, so that a
//! process could not report why it ends.

mod children;

use std::{collections::HashMap, future::Future, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};

pub use self::children::{kill, kill_children, stop_children};

/// The time that children have to stop when the tree ends.
const STOP_GRACE: Duration = Duration::from_secs(10);
/// The reason that ractor gives for the end of a killed actor.
const KILLED: &str = "killed";

/// The replacement of a text that may contain users' content.
const UNSHOWN: &str = "a panic, or a text that may hold what users wrote; it is logged at debug";

/// The restart policy of a child: the number of failures, and the backoff between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restarts {
    /// Failures within [`Restarts::within`] that lead to a restart; one more ends the tree.
    pub max: usize,
    /// The window in which failures are counted.
    pub within: Duration,
    /// The wait before the first restart. It doubles with each failure in the window.
    pub initial: Duration,
    /// The longest wait.
    pub longest: Duration,
}

impl Default for Restarts {
    /// 10 failures in 5 minutes, with waits of 100 ms to 15 s.
    fn default() -> Self {
        Self {
            max: 10,
            within: Duration::from_secs(300),
            initial: Duration::from_millis(100),
            longest: Duration::from_secs(15),
        }
    }
}

impl Restarts {
    /// Returns the wait after the `failures`-th counted failure (from 1); `None` when that is more
    /// than [`Restarts::max`].
    #[must_use]
    pub fn wait(&self, failures: usize) -> Option<Duration> {
        if failures > self.max {
            return None;
        }
        let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(30);
        Some(self.initial.saturating_mul(1 << doublings).min(self.longest))
    }
}

type Start =
    dyn Fn(ActorCell) -> BoxFuture<'static, Result<ActorCell, SpawnErr>> + Send + Sync + 'static;

/// A child of a tree: its name, and the closure that starts it.
#[derive(Clone, derive_more::Debug)]
#[debug("Child({name})")]
pub struct Child {
    name: Arc<str>,
    start: Arc<Start>,
    background: bool,
}

impl Child {
    /// Creates a child that a closure starts. The closure receives the tree's cell and must link
    /// the actor to it (`Actor::spawn_linked`). It is called again for each restart.
    pub fn new<F, S>(name: impl Into<Arc<str>>, start: F) -> Self
    where
        F: Fn(ActorCell) -> S + Send + Sync + 'static,
        S: Future<Output = Result<ActorCell, SpawnErr>> + Send + 'static,
    {
        Self {
            name: name.into(),
            start: Arc::new(move |tree| Box::pin(start(tree))),
            background: false,
        }
    }

    /// Creates a child of one actor, whose arguments are cloned for each start.
    pub fn actor<A>(
        name: impl Into<Arc<str>>,
        actor: impl Fn() -> A + Send + Sync + 'static,
        args: A::Arguments,
    ) -> Self
    where
        A: Actor,
        A::Arguments: Clone + Sync,
    {
        Self::new(name, move |tree| {
            let (actor, args) = (actor(), args.clone());
            async move {
                let (child, _) = Actor::spawn_linked(None, actor, args, tree).await?;
                Ok(child.get_cell())
            }
        })
    }
}

impl Child {
    /// Excludes the child from the condition for [`End::Finished`], because it never finishes by
    /// itself.
    #[must_use]
    pub fn in_background(self) -> Self {
        Self { background: true, ..self }
    }
}

/// The end of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Every child stopped without an error, or [`Tree::stop`] was called.
    Finished,
    /// A child failed too often.
    GaveUp {
        /// The name of the child.
        child: String,
        /// Its last error. The message of a panic may contain users' content, so this is not for
        /// logs.
        why: String,
        /// The error in a form that may be logged.
        shown: String,
    },
}

/// The reason why a tree could not start.
#[derive(Debug, thiserror::Error)]
#[error("{child} cannot start: {why}")]
pub struct StartError {
    /// The name of the child that failed to start.
    pub child: String,
    /// The error of that child.
    pub why: String,
}

/// The handle of a running tree. Dropping it leaves the tree running.
#[derive(Debug)]
pub struct Tree {
    actor: ActorRef<TreeMsg>,
    end: watch::Receiver<Option<End>>,
}

impl Tree {
    /// Starts the children, in order.
    ///
    /// # Errors
    /// Returns an error if a child cannot start. The children before it are stopped again.
    pub async fn start(
        name: &str,
        restarts: Restarts,
        children: Vec<Child>,
    ) -> Result<Self, StartError> {
        let (said, end) = watch::channel(None);
        let (failed, mut why) = oneshot::channel();
        let args = TreeArgs { name: name.to_owned(), restarts, children, said, failed };
        match Actor::spawn(None, TreeActor, args).await {
            Ok((actor, _)) => Ok(Self { actor, end }),
            Err(error) => Err(why
                .try_recv()
                .unwrap_or_else(|_| StartError { child: name.to_owned(), why: reason(&error) })),
        }
    }

    /// Returns the tree's actor, for linking further actors. Those are not restarted.
    #[must_use]
    pub fn cell(&self) -> ActorCell {
        self.actor.get_cell()
    }

    /// Stops every child, and ends the tree with [`End::Finished`].
    pub fn stop(&self) {
        let _ = self.actor.cast(TreeMsg::Stop);
    }

    /// Returns a handle that reports the end of the tree.
    #[must_use]
    pub fn watch(&self) -> Ending {
        Ending(self.end.clone())
    }

    /// Waits until the tree has ended. May be called repeatedly.
    pub async fn ended(&self) -> End {
        let mut end = self.end.clone();
        match end.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or(End::Finished),
            // The tree's actor was killed or panicked, and sends no further value.
            Err(_) => End::silent(),
        }
    }
}

/// The future end of a tree. Clones share it.
#[derive(Debug, Clone)]
pub struct Ending(watch::Receiver<Option<End>>);

impl Ending {
    /// Returns the end of the tree; `None` while the tree lives.
    #[must_use]
    pub fn so_far(&self) -> Option<End> {
        let end = self.0.borrow().clone();
        // The sender is gone without a value: the actor was killed or panicked.
        let silent = || self.0.has_changed().is_err().then(End::silent);
        end.or_else(silent)
    }
}

impl End {
    fn silent() -> Self {
        let why = "it ended without an error".to_owned();
        Self::GaveUp { child: "the tree".to_owned(), shown: why.clone(), why }
    }
}

struct TreeActor;

struct TreeArgs {
    name: String,
    restarts: Restarts,
    children: Vec<Child>,
    said: watch::Sender<Option<End>>,
    /// The channel that names a child which cannot start, since the spawn error has only a text.
    failed: oneshot::Sender<StartError>,
}

enum TreeMsg {
    Restart(usize),
    Stop,
}

struct TreeState {
    name: String,
    restarts: Restarts,
    children: Vec<Slot>,
    running: HashMap<ActorId, usize>,
    said: watch::Sender<Option<End>>,
    stopping: bool,
}

struct Slot {
    child: Child,
    failures: Vec<Instant>,
    finished: bool,
}

impl Actor for TreeActor {
    type Msg = TreeMsg;
    type State = TreeState;
    type Arguments = TreeArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<TreeMsg>,
        args: TreeArgs,
    ) -> Result<TreeState, ActorProcessingErr> {
        let mut running = HashMap::new();
        for (n, child) in args.children.iter().enumerate() {
            match (child.start)(myself.get_cell()).await {
                Ok(cell) => {
                    running.insert(cell.get_id(), n);
                }
                Err(error) => {
                    let error = StartError { child: child.name.to_string(), why: reason(&error) };
                    let text = error.to_string();
                    let _ = args.failed.send(error);
                    return Err(text.into());
                }
            }
        }
        let TreeArgs { name, restarts, children, said, failed: _ } = args;
        let slot = |child| Slot { child, failures: Vec::new(), finished: false };
        let children = children.into_iter().map(slot).collect();
        Ok(TreeState { name, restarts, children, running, said, stopping: false })
    }

    async fn handle(
        &self,
        myself: ActorRef<TreeMsg>,
        message: TreeMsg,
        state: &mut TreeState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            TreeMsg::Restart(n) if !state.stopping => state.restart(n, &myself).await,
            TreeMsg::Restart(_) => {}
            TreeMsg::Stop => state.end(&myself, End::Finished).await,
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<TreeMsg>,
        event: SupervisionEvent,
        state: &mut TreeState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(child, state_left, why)
                if state_left.is_some() && why.as_deref() != Some(KILLED) =>
            {
                if let Some(n) = state.running.remove(&child.get_id()) {
                    state.children[n].finished = true;
                    tracing::debug!(child = %state.children[n].child.name, "finished");
                }
                if state.children.iter().all(|slot| slot.finished || slot.child.background) {
                    state.end(&myself, End::Finished).await;
                }
            }
            SupervisionEvent::ActorTerminated(child, _, why) => {
                let why = why.unwrap_or_else(|| KILLED.to_owned());
                let why = Why { shown: why.clone(), text: why };
                state.failed(child.get_id(), why, &myself).await;
            }
            SupervisionEvent::ActorFailed(child, error) => {
                state.failed(child.get_id(), Why::of(&error), &myself).await;
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

impl TreeState {
    async fn failed(&mut self, child: ActorId, why: Why, myself: &ActorRef<TreeMsg>) {
        if let Some(n) = self.running.remove(&child)
            && !self.stopping
        {
            self.count(n, why, myself).await;
        }
    }

    /// Counts a failure, and schedules the restart of the child or ends the tree.
    async fn count(&mut self, n: usize, why: Why, myself: &ActorRef<TreeMsg>) {
        let (restarts, slot) = (self.restarts, &mut self.children[n]);
        let now = Instant::now();
        slot.failures.retain(|at| now.duration_since(*at) < restarts.within);
        slot.failures.push(now);
        let failures = slot.failures.len();
        let child = slot.child.name.to_string();
        let Why { text: why, shown } = why;
        tracing::debug!(child, why, "what it failed with");
        match restarts.wait(failures) {
            Some(wait) => {
                tracing::error!(
                    child,
                    why = shown,
                    failures,
                    ?wait,
                    "a child failed; restarting it"
                );
                myself.send_after(wait, move || TreeMsg::Restart(n));
            }
            None => {
                tracing::error!(
                    tree = self.name,
                    child,
                    why = shown,
                    failures,
                    "a child failed too often"
                );
                self.end(myself, End::GaveUp { child, why, shown }).await;
            }
        }
    }

    async fn restart(&mut self, n: usize, myself: &ActorRef<TreeMsg>) {
        let start = Arc::clone(&self.children[n].child.start);
        match start(myself.get_cell()).await {
            Ok(cell) => {
                self.running.insert(cell.get_id(), n);
            }
            Err(error) => self.count(n, Why::of_start(&error), myself).await,
        }
    }

    async fn end(&mut self, myself: &ActorRef<TreeMsg>, end: End) {
        if std::mem::replace(&mut self.stopping, true) {
            return;
        }
        stop_children(&myself.get_cell(), STOP_GRACE).await;
        self.said.send_replace(Some(end));
        myself.stop(None);
    }
}

/// The reason of a child's failure.
struct Why {
    text: String,
    /// The reason in a form that may be logged.
    shown: String,
}

impl Why {
    /// Describes the error of an actor. An error with a type of its own has a message of this
    /// program. An error that is only a string is mostly the message of a panic, which may contain
    /// users' content.
    fn of(error: &ActorProcessingErr) -> Self {
        let text = error.to_string();
        let is_text = format!("{error:?}") == format!("{text:?}");
        let shown = if is_text { UNSHOWN.to_owned() } else { text.clone() };
        Self { text, shown }
    }

    fn of_start(error: &SpawnErr) -> Self {
        match error {
            SpawnErr::StartupFailed(why) => Self::of(why),
            SpawnErr::ActorAlreadyStarted | SpawnErr::ActorAlreadyRegistered(_) => {
                Self { text: error.to_string(), shown: error.to_string() }
            }
        }
    }
}

fn reason(error: &SpawnErr) -> String {
    Why::of_start(error).text
}

#[cfg(test)]
mod tests;
