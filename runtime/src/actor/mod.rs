//! Keeps the actors of a process running: a supervisor that restarts what fails, and gives up with
//! a reason when restarting does not help.
//!
//! Guarantees of a [`Tree`]:
//!
//! * A child that fails (panics, returns an error, is killed) is restarted after a backoff that
//!   doubles with each failure; its siblings are not touched.
//! * A child that stops without an error has done its work and is not started again. When all
//!   children have, the tree ends with [`End::Finished`].
//! * A child that fails more than [`Restarts::max`] times within [`Restarts::within`] ends the tree:
//!   all siblings are stopped and [`End::GaveUp`] names the child and its last error. The process
//!   is expected to exit with it; another process goes on from the log.
//! * A child that cannot start when the tree does ends it at once: that is a mistake in the setup,
//!   and waiting does not mend it.
//!
//! Not guaranteed: that messages in the mailbox of a child that failed are handled. They are gone;
//! what must not be lost is in the log.
//!
//! Why not the crate `ractor-supervisor`: with its default features it changes the actor trait of
//! the whole dependency graph, and its handle ends with `Ok` after a meltdown too, so that a process
//! could not say why it ends.

mod children;

use std::{collections::HashMap, future::Future, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};

pub use self::children::{kill, kill_children, stop_children};

/// How long children have to stop when the tree ends.
const STOP_GRACE: Duration = Duration::from_secs(10);
/// The reason that ractor gives for the end of an actor that was killed.
const KILLED: &str = "killed";

/// What is said in the place of a text that may hold what users wrote.
const UNSHOWN: &str = "a panic, or a text that may hold what users wrote; it is logged at debug";

/// How often a child may fail, and how long it is left alone after it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restarts {
    /// Failures that are mended within [`Restarts::within`]; one more ends the tree.
    pub max: usize,
    /// The time that failures are counted over.
    pub within: Duration,
    /// Wait before the first restart; doubles with each failure that is counted.
    pub initial: Duration,
    /// Longest wait.
    pub longest: Duration,
}

impl Default for Restarts {
    /// 10 failures in 5 minutes; 100 ms to 15 s.
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
    /// The wait after the `failures`-th counted failure (from 1), or none when it is one too many.
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

/// A child of a tree: a name, and how to start it.
#[derive(Clone)]
pub struct Child {
    name: Arc<str>,
    start: Arc<Start>,
    background: bool,
}

impl Child {
    /// A child that is started by a closure. The closure is given the tree's cell and must link the
    /// actor to it (`Actor::spawn_linked`); it is called again for each restart.
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

    /// A child that is one actor with arguments that can be cloned.
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
    /// A child that never finishes by itself: the tree does not wait for it to.
    #[must_use]
    pub fn in_background(self) -> Self {
        Self { background: true, ..self }
    }
}

impl std::fmt::Debug for Child {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Child").field("name", &self.name).finish_non_exhaustive()
    }
}

/// How a tree ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Every child stopped without an error, or the tree was told to stop.
    Finished,
    /// A child failed too often.
    GaveUp {
        /// Which.
        child: String,
        /// Its last error. What a panic said may hold what users wrote: not for logs.
        why: String,
        /// What may be logged of it.
        shown: String,
    },
}

/// A tree could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{child} cannot start: {why}")]
pub struct StartError {
    /// Which child.
    pub child: String,
    /// Why.
    pub why: String,
}

/// A running tree. Dropping this leaves the tree running.
#[derive(Debug)]
pub struct Tree {
    actor: ActorRef<TreeMsg>,
    end: watch::Receiver<Option<End>>,
}

impl Tree {
    /// Starts children, in order.
    ///
    /// # Errors
    /// When one of them cannot start; those before it are stopped again.
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

    /// The tree's actor, to link more actors to by hand. Those are not restarted.
    #[must_use]
    pub fn cell(&self) -> ActorCell {
        self.actor.get_cell()
    }

    /// Asks every child to stop.
    pub fn stop(&self) {
        let _ = self.actor.cast(TreeMsg::Stop);
    }

    /// Tells how the tree ended, as soon as it has.
    #[must_use]
    pub fn watch(&self) -> Ending {
        Ending(self.end.clone())
    }

    /// Waits until the tree has ended. May be called again.
    pub async fn ended(&self) -> End {
        let mut end = self.end.clone();
        match end.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or(End::Finished),
            // The actor itself was killed, or panicked; it says nothing more.
            Err(_) => End::silent(),
        }
    }
}

/// The end of a tree, which may not have come yet. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Ending(watch::Receiver<Option<End>>);

impl Ending {
    /// How the tree ended; nothing while it lives.
    #[must_use]
    pub fn so_far(&self) -> Option<End> {
        let end = self.0.borrow().clone();
        // The actor is gone and said nothing: it was killed, or it panicked.
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
    /// Where a child that cannot start is named: the spawn error only has a text.
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

    /// Counts a failure, and has the child started again or ends the tree.
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

/// Why a child failed.
struct Why {
    text: String,
    /// What may be logged of it.
    shown: String,
}

impl Why {
    /// Errors of a type of their own are in words of this program. One that is nothing but a text is
    /// mostly what a panic said, and that may hold what users wrote.
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
