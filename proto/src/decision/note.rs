//! Decisions that nobody answers: what others must know of a job, and what its own log must say.

use serde::{Deserialize, Serialize};

use crate::{
    fact::Signal,
    id::{AskId, Attempt, Generation, JobId, WorkId},
    job::Outcome,
    notice::Notice,
};

/// Something others must know and nobody answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Note {
    /// A question is closed without an answer.
    QuestionClosed {
        /// Which.
        ask: AskId,
        /// Why.
        because: Closed,
        /// The generation in which this was decided.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
    /// A guard ended work that led nowhere: a run of a step, or the making of plans.
    Stopped {
        /// The model turn or the round of planning that is not begun any more.
        work: WorkId,
        /// What the guard saw.
        notice: Notice,
    },
    /// A child was submitted: its own log has begun.
    Spawned {
        /// The unit of work that it is.
        work: WorkId,
        /// Which attempt.
        attempt: Attempt,
        /// In which generation of the job.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
    /// A signal was passed on to a child: it is in the child's log.
    ChildTold {
        /// The unit of work that the child is.
        work: WorkId,
        /// Which attempt.
        attempt: Attempt,
        /// Which signal.
        signal: Signal,
        /// In which generation of the job.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
    /// The parent was told of a question of this job or of one below it, or that it does not wait any
    /// more: it is in the parent's log.
    ParentTold {
        /// The job whose question it is.
        job: JobId,
        /// The question.
        ask: AskId,
        /// Whether it waits for a person.
        open: bool,
        /// In which generation of the job.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
    /// The job is paused, and nothing was decided in this generation: from here its deadline counts, which
    /// the first decision arms.
    Held {
        /// In which generation of the job.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
    /// How a child ends is settled; nothing changes it from here. Its end follows when the parent has
    /// been told.
    Concluded {
        /// How.
        outcome: Outcome,
        /// In which generation of the job.
        #[serde(default, skip_serializing_if = "Generation::is_first")]
        generation: Generation,
    },
}

/// Why a question was closed without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closed {
    /// Its deadline passed.
    Expired,
    /// The job ended.
    JobEnded,
    /// What asked it is not wanted any more.
    Superseded,
    /// The job was rolled back. Questions that are still open are asked again.
    RolledBack,
}
