//! Decisions: the supervisor's choices. A decision that orders work is the command itself: workers
//! consume it from the job's log, and no second queue has to agree with the log.

mod detect;
mod done;
mod kind;
mod note;
mod turn;
mod work;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    detect::Detect,
    done::{Done, DoneUnit, Period, Ran},
    kind::DecisionKind,
    note::{Closed, Note},
    turn::{CallReply, FullResult, ModelChoice, StepEnd, StepTask, TurnWork},
    work::{CallWork, PlanTalk, PlanWork},
};
pub use crate::pools;
use crate::{
    agent::Agent,
    fact::Fact,
    id::{AskId, Attempt, Generation, JobId, Pool, StepId, TimerName, Unit, WorkId},
    interaction::Question,
    job::Outcome,
    lang::Language,
    message::Usage,
    notice::Notice,
    source::Source,
    tool::Effect,
    workflow::WorkflowName,
};

/// A choice of the supervisor.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "decisions are kept boxed")]
pub enum Decision {
    /// Orders a plan.
    Plan(PlanWork),
    /// Orders a model turn.
    Turn(TurnWork),
    /// Orders a tool call.
    Call(CallWork),
    /// Asks a user.
    Ask(AskWork),
    /// Waits for a timer before the next attempt.
    Wait(Wait),
    /// Delegates a task to another agent, as a child job. The supervisor that decided it submits
    /// the child; no worker takes the command.
    Spawn(Box<SpawnWork>),
    /// Notes an event that needs no reply.
    Note(Note),
    /// Stores work that the supervisor's own process carried out: commands and their results.
    Done(Box<Done>),
    /// Ends the job.
    Finish(Finish),
}

impl Decision {
    /// Returns the kind of the decision.
    #[must_use]
    pub fn kind(&self) -> DecisionKind {
        match self {
            Self::Plan(_) => DecisionKind::Plan,
            Self::Turn(_) => DecisionKind::Turn,
            Self::Call(_) => DecisionKind::Call,
            Self::Ask(_) => DecisionKind::Ask,
            Self::Wait(_) => DecisionKind::Wait,
            Self::Spawn(_) => DecisionKind::Spawn,
            Self::Note(_) => DecisionKind::Note,
            Self::Done(_) => DecisionKind::Done,
            Self::Finish(_) => DecisionKind::Finish,
        }
    }

    /// Returns the notices that the decision gives to a model, or that ended the work.
    #[must_use]
    pub fn notices(&self) -> Vec<&Notice> {
        match self {
            Self::Plan(plan) => plan.notices.iter().collect(),
            Self::Turn(turn) => turn.notices.iter().collect(),
            Self::Done(done) => done.notices().collect(),
            Self::Note(note) => note.notice().into_iter().collect(),
            Self::Call(_) | Self::Ask(_) | Self::Wait(_) | Self::Spawn(_) | Self::Finish(_) => {
                Vec::new()
            }
        }
    }

    /// Returns the source of the facts that answer this command; `None` if no worker answers.
    #[must_use]
    pub fn answered_by(&self) -> Option<Source> {
        match self {
            Self::Plan(_) => Some(Source::Plan),
            Self::Turn(_) => Some(Source::Turn),
            Self::Call(call) => Some(Source::Call(call.pool.clone())),
            Self::Ask(_) => Some(Source::People),
            Self::Wait(_) | Self::Spawn(_) | Self::Note(_) | Self::Done(_) | Self::Finish(_) => {
                None
            }
        }
    }

    /// Returns the pool that consumes the decision: the last token of its subject.
    #[must_use]
    pub fn pool(&self) -> Pool {
        match self {
            Self::Plan(_) | Self::Turn(_) => pools::models(),
            Self::Call(CallWork { refused: Some(_), .. }) => pools::nobody(),
            Self::Call(call) => call.pool.clone(),
            Self::Ask(_) | Self::Note(Note::QuestionClosed { .. }) => pools::people(),
            Self::Note(
                Note::Stopped { .. }
                | Note::Spawned { .. }
                | Note::ChildTold { .. }
                | Note::ParentTold { .. }
                | Note::Held { .. }
                | Note::GraphEdited { .. }
                | Note::Advanced(_)
                | Note::Concluded { .. },
            )
            | Self::Wait(_)
            | Self::Spawn(_)
            | Self::Done(_)
            | Self::Finish(_) => pools::nobody(),
        }
    }
}

impl Decision {
    /// Returns the attempt that the decision orders, or `None` when it orders none. A `done` orders
    /// nothing: its [units](Done::units) are carried out.
    #[must_use]
    pub fn unit(&self) -> Option<Unit> {
        let (work, attempt) = match self {
            Self::Plan(work) => (&work.work, work.attempt),
            Self::Turn(work) => (&work.work, work.attempt),
            Self::Call(work) => (&work.work, work.attempt),
            Self::Spawn(work) => (&work.work, work.attempt),
            Self::Ask(_) | Self::Wait(_) | Self::Note(_) | Self::Done(_) | Self::Finish(_) => {
                return None;
            }
        };
        Some(Unit { work: work.clone(), attempt })
    }

    /// Returns the commands of model turns: of this decision, or of those that are done.
    #[must_use]
    pub fn into_turns(self) -> Vec<TurnWork> {
        let turns = self.into_commands().into_iter();
        turns.filter_map(|one| if let Self::Turn(work) = one { Some(work) } else { None }).collect()
    }

    /// Returns `true` if the process of the supervisor may carry the command out itself and store it
    /// with its result: a first attempt without effects outside.
    #[must_use]
    pub fn may_be_done_here(&self) -> bool {
        match self {
            Self::Plan(work) => work.attempt == Attempt::FIRST,
            Self::Turn(work) => work.attempt == Attempt::FIRST,
            Self::Call(work) => {
                let is_pure = work.effect == Effect::Pure && !work.destructive;
                is_pure && work.attempt == Attempt::FIRST && work.refused.is_none()
            }
            Self::Ask(_)
            | Self::Wait(_)
            | Self::Spawn(_)
            | Self::Note(_)
            | Self::Done(_)
            | Self::Finish(_) => false,
        }
    }

    /// Returns the commands of work that is done, and any other decision as it is.
    #[must_use]
    pub fn into_commands(self) -> Vec<Self> {
        if let Self::Done(done) = self {
            done.into_units().map(|unit| unit.command()).collect()
        } else {
            vec![self]
        }
    }

    /// Returns the work that is done, or `None` for any other decision.
    #[must_use]
    pub fn into_done(self) -> Option<Done> {
        if let Self::Done(done) = self { Some(*done) } else { None }
    }

    /// Returns the command to start a child job, or `None` for any other decision.
    #[must_use]
    pub fn into_spawn(self) -> Option<SpawnWork> {
        if let Self::Spawn(work) = self { Some(*work) } else { None }
    }

    /// The end of the job, if it is one.
    #[must_use]
    pub fn into_finish(self) -> Option<Finish> {
        if let Self::Finish(finish) = self { Some(finish) } else { None }
    }

    /// Returns the generation of the job in which the decision was made.
    #[must_use]
    pub fn generation(&self) -> Generation {
        match self {
            Self::Plan(work) => work.work.generation(),
            Self::Turn(work) => work.work.generation(),
            Self::Call(work) => work.work.generation(),
            Self::Ask(work) => work.work.generation(),
            Self::Wait(wait) => wait.work.generation(),
            Self::Note(
                Note::QuestionClosed { generation, .. }
                | Note::Spawned { generation, .. }
                | Note::ChildTold { generation, .. }
                | Note::ParentTold { generation, .. }
                | Note::Held { generation }
                | Note::GraphEdited { generation, .. }
                | Note::Concluded { generation, .. },
            ) => *generation,
            Self::Spawn(work) => work.work.generation(),
            Self::Note(Note::Stopped { work, .. }) => work.generation(),
            Self::Note(Note::Advanced(advance)) => advance.generation,
            Self::Done(done) => done.generation(),
            Self::Finish(finish) => finish.generation,
        }
    }
}

impl DoneUnit {
    /// Joins a command and its result. Returns the command alone if the fact does not answer it.
    ///
    /// # Errors
    /// Returns the command if it is no plan, turn or call, or if the fact is of another kind, unit of
    /// work or attempt.
    pub fn of(command: Decision, result: Fact, took_ms: u64) -> Result<Self, Box<Decision>> {
        if command.unit().is_none() || command.unit() != result.result_of() {
            return Err(Box::new(command));
        }
        match (command, result) {
            (Decision::Plan(command), Fact::Planned(result)) => {
                Ok(Self::Plan(Ran { command, result, took_ms }))
            }
            (Decision::Turn(command), Fact::Turned(result)) => {
                Ok(Self::Turn(Ran { command, result, took_ms }))
            }
            (Decision::Call(command), Fact::Called(result)) => {
                Ok(Self::Call(Ran { command, result, took_ms }))
            }
            (command, _) => Err(Box::new(command)),
        }
    }

    /// Returns the command as a decision of its own.
    #[must_use]
    pub fn command(&self) -> Decision {
        match self {
            Self::Plan(ran) => Decision::Plan(ran.command.clone()),
            Self::Turn(ran) => Decision::Turn(ran.command.clone()),
            Self::Call(ran) => Decision::Call(ran.command.clone()),
        }
    }
}

/// The command to start a child job. The child's submission is built from this command and the
/// parent's own submission alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SpawnWork {
    /// Unit of work that the child carries out.
    pub work: WorkId,
    /// Attempt at the unit. Each attempt is a child of its own.
    pub attempt: Attempt,
    /// Step that the child belongs to.
    pub step: StepId,
    /// Id of the child, derived from the job, the unit of work and the attempt.
    pub child: JobId,
    /// Policies of the child: its agent's, within the rest of this job's budget and time.
    pub agent: Agent,
    /// Goal of the child, with the context that the child needs.
    pub goal: String,
    /// Language of the child.
    pub language: Language,
    /// Workflow that the child runs, whose definition the submission of this job holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<SpawnedWorkflow>,
    /// Question whose remembered approval covers the call; absent when the call was approved by
    /// itself or needed no approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<AskId>,
}

/// A workflow that a child job runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SpawnedWorkflow {
    /// Name of the workflow.
    pub workflow: WorkflowName,
    /// Input, an object.
    pub input: Value,
}

/// The command to ask a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AskWork {
    /// Unit of work that needs the answer.
    pub work: WorkId,
    /// Question to ask.
    #[serde(flatten)]
    pub question: Question,
}

/// The wait before the next attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Wait {
    /// Unit of work to attempt again.
    pub work: WorkId,
    /// Next attempt.
    pub attempt: Attempt,
    /// Earliest time of the next attempt.
    pub until: Timestamp,
    /// Timer that ends the wait.
    pub timer: TimerName,
    /// Cause of the wait, for users.
    pub reason: String,
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finish {
    /// Outcome of the job.
    pub outcome: Outcome,
    /// Tokens that all model calls of the job used.
    #[serde(default)]
    pub usage: Usage,
    /// Generation that ended.
    #[serde(default, skip_serializing_if = "Generation::is_first")]
    pub generation: Generation,
}
