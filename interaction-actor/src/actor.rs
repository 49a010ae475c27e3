//! The actor of the inbox and its command: the edge between the pools of people and the inbox.

use std::{sync::Arc, time::Duration};

use broker::Broker;
use proto::{
    decision::{Decision, DecisionKind, Note, pools},
    fact::Fact,
    id::AskId,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use runtime::worker::{Assignment, Command, Failure, PoolOptions, Role, Task};

use crate::work::InboxKeeper;

/// First wait before the inbox is tried again.
const RETRY: Duration = Duration::from_millis(100);
/// Longest such wait.
const RETRY_MAX: Duration = Duration::from_secs(5);

/// The bounds of the two pools of people, for `do.ask` and `do.note`: at most `slots` commands in
/// hand in each, the rest as usual.
#[must_use]
pub fn options(slots: usize) -> [PoolOptions; 2] {
    [DecisionKind::Ask, DecisionKind::Note]
        .map(|kind| PoolOptions::new(kind, pools::people(), slots))
}

/// A command to keep the inbox.
#[derive(Debug)]
pub enum AskCommand {
    /// Put a question into the inbox.
    Show(AskId),
    /// Take a question out of the inbox.
    Remove(AskId),
}

impl Command for AskCommand {
    fn parse(decision: &Decision) -> Option<Self> {
        match decision {
            Decision::Ask(work) => Some(Self::Show(work.question.id.clone())),
            Decision::Note(Note::QuestionClosed { ask, .. }) => Some(Self::Remove(ask.clone())),
            Decision::Note(
                Note::Stopped { .. }
                | Note::Spawned { .. }
                | Note::ChildTold { .. }
                | Note::ParentTold { .. }
                | Note::Held { .. }
                | Note::Concluded { .. },
            )
            | Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Finish(_) => None,
        }
    }

    /// A question is never given up, however often it is delivered: only a person answers it.
    fn failed(&self, _: &Failure) -> Option<Fact> {
        None
    }
}

/// The actor that carries out one [`AskCommand`].
#[derive(Debug, Clone)]
pub struct InteractionActor(Arc<InboxKeeper>);

impl InteractionActor {
    /// An actor that keeps the inbox of an installation.
    #[must_use]
    pub fn new(broker: Broker) -> Self {
        Self(Arc::new(InboxKeeper { broker }))
    }

    /// Tries until the broker can be reached: a question that no person sees would park its job for
    /// ever.
    async fn keep(&self, task: Task<AskCommand>) -> Option<Fact> {
        let mut wait = RETRY;
        loop {
            let kept = match &*task.command {
                AskCommand::Show(ask) => self.0.put(&task.job, ask).await,
                AskCommand::Remove(ask) => self.0.remove(&task.job, ask).await,
            };
            let Err(error) = kept else { return None };
            tracing::warn!(job = %task.job, %error, "the inbox could not be updated; retrying");
            tokio::select! {
                biased;
                () = tokio::time::sleep(wait) => {}
                () = task.canceled.cancelled() => return None,
            }
            wait = (wait * 2).min(RETRY_MAX);
        }
    }
}

impl Role for InteractionActor {
    const NAME: &'static str = "inbox";
    type Command = AskCommand;
}

impl Actor for InteractionActor {
    type Msg = Assignment<AskCommand>;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Self::Msg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        assignment: Self::Msg,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        assignment.carry_out(&myself, |task| self.keep(task)).await;
        Ok(())
    }
}
