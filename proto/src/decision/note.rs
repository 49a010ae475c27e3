//! Notes: decisions that need no reply. They tell other roles about the job, or keep a conclusion
//! in its log.

use serde::{Deserialize, Serialize};

use crate::{
    fact::Signal,
    id::{AskId, Attempt, Generation, JobId, Seq, WorkId},
    job::Outcome,
    notice::Notice,
    workflow::Advance,
};

/// A decision that needs no reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Note {
    /// A question was closed without an answer.
    QuestionClosed {
        /// Question that was closed.
        ask: AskId,
        /// Reason for closing it.
        because: Closed,
        /// Generation in which this was decided.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
    /// A guard stopped work without progress: a run of a step, or planning.
    Stopped {
        /// Model turn or round of planning that will not start.
        work: WorkId,
        /// Notice of the guard.
        notice: Notice,
    },
    /// A child was submitted, so its own log exists.
    Spawned {
        /// Unit of work that the child carries out.
        work: WorkId,
        /// Attempt at the unit.
        attempt: Attempt,
        /// Generation in which this was decided.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
    /// A signal was passed on to a child and is in the child's log.
    ChildTold {
        /// Unit of work that the child carries out.
        work: WorkId,
        /// Attempt at the unit.
        attempt: Attempt,
        /// Signal that was passed on.
        signal: Signal,
        /// Generation in which this was decided.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
    /// The parent was notified that a question of this job or of a descendant is open, or is no
    /// longer open. The notification is in the parent's log.
    ParentTold {
        /// Job that asked the question.
        job: JobId,
        /// Id of the question.
        ask: AskId,
        /// `true` while the question waits for an answer.
        open: bool,
        /// Generation in which this was decided.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
    /// The job was paused before any decision of this generation. The job's deadline runs from this
    /// note, because the first decision arms its timer.
    Held {
        /// Generation in which this was decided.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
    /// A workflow went on.
    Advanced(Advance),
    /// An edit of the graph came into force, unless a path has no place in the new graph any more.
    /// Decisions are ordered, so none of them follows a graph that its writer did not know.
    GraphEdited {
        /// Position of the signal with the edit.
        signal: Seq,
        /// Generation in which this was decided.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
    /// The outcome of a child is final. The child stores its end once its parent has been notified.
    Concluded {
        /// Final outcome.
        outcome: Outcome,
        /// Generation in which this was decided.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
}

impl Note {
    /// Returns the notice of the guard that stopped work.
    #[must_use]
    pub fn notice(&self) -> Option<&Notice> {
        if let Self::Stopped { notice, .. } = self { Some(notice) } else { None }
    }
}

/// The reason for which a question was closed without an answer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Closed {
    /// The question's deadline passed.
    Expired,
    /// The job ended.
    JobEnded,
    /// The work that asked the question is no longer needed.
    Superseded,
    /// The job was rolled back. Questions that are still needed are asked again.
    RolledBack,
    /// A policy now denies the call that the question was about.
    Denied,
}
