//! The actor of the inbox and its command, between the pools of people and the inbox.

use std::{sync::Arc, time::Duration};

use broker::{Broker, backoff::Backoff};
use proto::{
    decision::{Decision, DecisionKind, Note, pools},
    fact::Fact,
    id::AskId,
};
use runtime::worker::{Command, Failure, PoolOptions, Task};

use crate::work::InboxKeeper;

/// The pauses before the inbox is tried again.
const BACKOFF: Backoff = Backoff::doubling(Duration::from_millis(100), Duration::from_secs(5));

/// Builds the options of the two pools of people, for `do.ask` and `do.note`: at most `slots`
/// concurrent commands in each, defaults otherwise.
#[must_use]
pub fn options(slots: usize) -> [PoolOptions; 2] {
    [DecisionKind::Ask, DecisionKind::Note]
        .map(|kind| PoolOptions::new(kind, pools::people(), slots))
}

/// A command to update the inbox.
#[derive(Debug)]
pub enum AskCommand {
    /// Put a question into the inbox.
    Show(AskId),
    /// Remove a question from the inbox.
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
                | Note::GraphEdited { .. }
                | Note::Advanced(_)
                | Note::Concluded { .. },
            )
            | Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Done(_)
            | Decision::Finish(_) => None,
        }
    }

    /// A question never fails, however often it is delivered: only a person answers it.
    fn failed(&self, _: &Failure) -> Option<Fact> {
        None
    }
}

/// The actor that carries out one [`AskCommand`].
#[derive(Debug, Clone)]
pub struct InteractionActor(Arc<InboxKeeper>);

impl InteractionActor {
    /// Creates an actor that maintains the inbox of an installation.
    #[must_use]
    pub fn new(broker: Broker) -> Self {
        Self(Arc::new(InboxKeeper { broker }))
    }

    /// Retries until the broker is reachable: a question that no person sees would block its job
    /// for ever.
    async fn keep(&self, task: Task<AskCommand>) -> Option<Fact> {
        let mut backoff = BACKOFF;
        loop {
            let kept = match &*task.command {
                AskCommand::Show(ask) => self.0.put(&task.job, ask).await,
                AskCommand::Remove(ask) => self.0.remove(&task.job, ask).await,
            };
            let Err(error) = kept else { return None };
            tracing::warn!(job = %task.job, %error, "the inbox could not be updated; retrying");
            tokio::select! {
                biased;
                () = tokio::time::sleep(backoff.pause()) => {}
                () = task.canceled.cancelled() => return None,
            }
        }
    }
}

runtime::role!(InteractionActor, "inbox", AskCommand, keep);
