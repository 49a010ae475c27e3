//! Decisions: the supervisor's choices. A decision that wants work done is the command itself:
//! workers take it straight from the job's log, and there is no second queue to keep in step.

mod detect;
mod kind;
mod note;
pub mod pools;
mod turn;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    detect::Detect,
    kind::DecisionKind,
    note::{Closed, Note},
    turn::{CallReply, ModelChoice, StepEnd, StepTask, TurnWork, Whole},
};
use crate::{
    agent::Agent,
    asking::AskKinds,
    conversation::Exchange,
    fact::{PlanNote, WorkError},
    file::FileTold,
    id::{Attempt, Generation, JobId, Pool, StepId, TimerName, ToolName, Unit, WorkId},
    interaction::Question,
    job::Outcome,
    lang::Language,
    message::Usage,
    notice::Notice,
    observe::Window,
    plan::Plan,
    policy::{PlanOutput, PlanProtocol},
    revision::Cause,
    tool::Effect,
};

/// Something the supervisor chose.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Make a plan.
    Plan(PlanWork),
    /// Take one model turn.
    Turn(TurnWork),
    /// Call a tool.
    Call(CallWork),
    /// Ask a person.
    Ask(AskWork),
    /// Wait for the clock before trying again.
    Wait(Wait),
    /// Hand a task to another agent: a job of its own, the child of this one. The supervisor that
    /// decided carries it out itself.
    Spawn(Box<SpawnWork>),
    /// Something others must know and nobody answers.
    Note(Note),
    /// The job has ended.
    Finish(Finish),
}

impl Decision {
    /// Its kind.
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
            Self::Finish(_) => DecisionKind::Finish,
        }
    }

    /// Who takes it: the last token of its subject.
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
                | Note::Concluded { .. },
            )
            | Self::Wait(_)
            | Self::Spawn(_)
            | Self::Finish(_) => pools::nobody(),
        }
    }
}

impl Decision {
    /// The attempt that it orders, when a worker or a child answers it with a result.
    #[must_use]
    pub fn unit(&self) -> Option<Unit> {
        let (work, attempt) = match self {
            Self::Plan(work) => (&work.work, work.attempt),
            Self::Turn(work) => (&work.work, work.attempt),
            Self::Call(work) => (&work.work, work.attempt),
            Self::Spawn(work) => (&work.work, work.attempt),
            Self::Ask(_) | Self::Wait(_) | Self::Note(_) | Self::Finish(_) => return None,
        };
        Some(Unit { work: work.clone(), attempt })
    }

    /// The command to take a model turn, if it is one.
    #[must_use]
    pub fn into_turn(self) -> Option<TurnWork> {
        if let Self::Turn(work) = self { Some(work) } else { None }
    }

    /// The command to start a child job, if it is one.
    #[must_use]
    pub fn into_spawn(self) -> Option<SpawnWork> {
        if let Self::Spawn(work) = self { Some(*work) } else { None }
    }

    /// The end of the job, if it is one.
    #[must_use]
    pub fn into_finish(self) -> Option<Finish> {
        if let Self::Finish(finish) = self { Some(finish) } else { None }
    }

    /// The generation of the job that it was decided in.
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
                | Note::Concluded { generation, .. },
            ) => *generation,
            Self::Spawn(work) => work.work.generation(),
            Self::Note(Note::Stopped { work, .. }) => work.generation(),
            Self::Finish(finish) => finish.generation,
        }
    }
}

/// Make a plan. Holds all a planner needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanWork {
    /// The unit of work.
    pub work: WorkId,
    /// The try.
    pub attempt: Attempt,
    /// What is to be reached.
    pub goal: String,
    /// The language to speak.
    pub language: Language,
    /// The model and its frame.
    #[serde(flatten)]
    pub model: ModelChoice,
    /// Whether the planner may still ask a person.
    pub may_ask: bool,
    /// What kinds of question.
    #[serde(default, skip_serializing_if = "AskKinds::is_all")]
    pub ask_kinds: AskKinds,
    /// The shape to plan in.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub protocol: PlanProtocol,
    /// How the model hands the plan over.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub output: PlanOutput,
    /// Whether the planner may answer at once instead: with a plan without steps and a message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_empty: bool,
    /// To be found out first, while it is not known: whether the goal needs a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detect: Option<Detect>,
    /// What has been said and done since the goal was set, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dialogue: Vec<PlanTalk>,
    /// Earlier jobs of the conversation, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Exchange>,
    /// Files that came with the job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileTold>,
    /// What the model is told beside that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// How much of that the model is shown.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub window: Window,
}

/// One exchange between a job and its planner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PlanTalk {
    /// The planner asked, a person answered.
    Asked {
        /// What was asked.
        question: String,
        /// What was answered, as text.
        answer: String,
    },
    /// A person wants the plan changed.
    Revised {
        /// The plan they saw.
        plan: Plan,
        /// Their words.
        words: String,
    },
    /// A reply could not be used.
    Rejected {
        /// The reply, cut.
        reply: String,
        /// What is wrong with it.
        error: String,
    },
    /// A plan has started, and its rest is to be replanned.
    Progressed {
        /// The plan.
        plan: Plan,
        /// How its steps ended, in order of ending.
        steps: Vec<StepEnd>,
        /// Steps that have not ended and stay in the plan: new ones are added to them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<StepId>,
        /// The reason for the replan.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        because: Cause,
    },
    /// A person told the running job something.
    Steered {
        /// Their words.
        words: String,
    },
    /// The planner said what it intends, and perhaps what it has reached; nothing was carried out
    /// for that.
    Noted {
        /// What it said.
        #[serde(flatten)]
        note: PlanNote,
    },
}

/// Call a tool. Holds all a tool worker needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallWork {
    /// The unit of work.
    pub work: WorkId,
    /// The try.
    pub attempt: Attempt,
    /// The step it is for.
    pub step: StepId,
    /// The tool.
    pub tool: ToolName,
    /// The version the planner or the approver saw.
    pub version: String,
    /// The toolset that has it.
    pub pool: Pool,
    /// What a repeat does.
    pub effect: Effect,
    /// The arguments, with placeholders resolved.
    pub args: Value,
    /// The same over all attempts: hand it to whatever has an effect.
    pub idempotency_key: String,
    /// The language of the job, for the texts a tool answers with.
    #[serde(default)]
    pub language: Language,
    /// The digest that was approved, for calls a person agreed to; the worker checks it against
    /// what it is about to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
    /// Why the supervisor does not send the call: a worker claimed of the tool what the registry does
    /// not say. No pool takes it, and the attempt ends with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<WorkError>,
}

/// A task for another agent. Everything the child is begun with is here or in the job's own
/// submission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpawnWork {
    /// The unit of work that the child is.
    pub work: WorkId,
    /// Which attempt; each is a child of its own.
    pub attempt: Attempt,
    /// The step it belongs to.
    pub step: StepId,
    /// The child, derived from the job, the unit of work and the attempt.
    pub child: JobId,
    /// Its policies: those of its agent, within what is left of this job's budget and time.
    pub agent: Agent,
    /// What it is to reach, with what it must know for that.
    pub goal: String,
    /// The language it speaks.
    pub language: Language,
}

/// Ask a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskWork {
    /// The unit of work the answer is for.
    pub work: WorkId,
    /// The question.
    #[serde(flatten)]
    pub question: Question,
}

/// Wait for the clock before trying again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The unit of work that will be tried again.
    pub work: WorkId,
    /// The next try.
    pub attempt: Attempt,
    /// Not before.
    pub until: Timestamp,
    /// The timer that ends the wait.
    pub timer: TimerName,
    /// Why, for people.
    pub reason: String,
}

/// The job has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finish {
    /// How.
    pub outcome: Outcome,
    /// What all model calls of the job cost.
    #[serde(default)]
    pub usage: Usage,
    /// The generation that ended.
    #[serde(default, skip_serializing_if = "Generation::is_first")]
    pub generation: Generation,
}
