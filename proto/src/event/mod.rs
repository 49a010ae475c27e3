//! Events: a job's progress in the words of a watcher.
//!
//! One pure projection in the job machine derives them from the job's log. Nothing stores them, and
//! nothing that decides reads them.

mod id;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::id::EventId;
use crate::{
    decision::Closed,
    id::{AskId, Attempt, JobId, StepId, ToolName, WorkId},
    interaction::{Answer, Question},
    job::{JobState, SubStatus},
    message::Usage,
    outline::Item,
    point::Point,
    step::StepState,
    tool::Fault,
};

/// Something that happened in a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its place among all events of the job.
    pub id: EventId,
    /// When the record it comes from was stored, by the server's clock.
    pub time: Timestamp,
    /// What.
    #[serde(flatten)]
    pub happened: Happened,
}

/// What happened. Kinds that are added later come after these within one record, so that ids stay
/// what they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Happened {
    /// Something went wrong.
    Error(ErrorEvent),
    /// An agent said something.
    Message(MessageEvent),
    /// A tool was called, or answered.
    Tool(ToolEvent),
    /// A person was asked, answered, or said something.
    Interaction(InteractionEvent),
    /// A model call has ended.
    Usage(UsageEvent),
    /// There is a plan, another one, or it has been carried out.
    Plan(PlanEvent),
    /// A step went on.
    Step(StepEvent),
    /// The job stands elsewhere.
    Job(JobEvent),
}

impl Happened {
    /// The word in JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Error(_) => "error",
            Self::Message(_) => "message",
            Self::Tool(_) => "tool",
            Self::Interaction(_) => "interaction",
            Self::Usage(_) => "usage",
            Self::Plan(_) => "plan",
            Self::Step(_) => "step",
            Self::Job(_) => "job",
        }
    }
}

/// The job stands elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEvent {
    /// Its state.
    pub state: JobState,
    /// What it is at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_status: Option<SubStatus>,
    /// Why it is there: what it waits for, why it was paused or canceled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is to be reached: in the first event of a job, and only there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
}

/// There is a plan, another one, or it has been carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEvent {
    /// Which of these.
    pub phase: PlanPhase,
    /// What the plan is for.
    pub title: String,
    /// How many plans there have been before it.
    pub revision: u32,
    /// Whether a person has confirmed it, or nobody needs to. Before that nothing of it runs.
    pub confirmed: bool,
    /// Its steps.
    pub steps: Vec<PlannedStep>,
    /// What is intended beyond the plan, where it is planned one action at a time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Item>,
}

/// Where a plan is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanPhase {
    /// The first one of the job.
    Created,
    /// Another one, or the same one confirmed.
    Updated,
    /// The job has completed with it.
    Completed,
}

/// A step as a plan has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// The step.
    pub id: StepId,
    /// A few words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What is to be done.
    pub description: String,
    /// What it comes after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepId>,
    /// The tool, for steps that are one tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// Where it stands.
    pub state: StepState,
    /// What its loop intends, where it keeps a list of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Item>,
}

/// A step went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEvent {
    /// How.
    pub phase: StepPhase,
    /// The step.
    pub step: StepId,
    /// What to call it on a screen.
    pub label: String,
    /// Which run of the step; the first is 1, 0 for one that never began.
    pub attempt: u32,
    /// Its result or its error, once it has ended; cut for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Whether it completed although its agent reported that it did not reach what it was for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsuccessful: bool,
    /// Files and addresses that belong to its result, once it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
}

/// How a step went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepPhase {
    /// It is carried out.
    Started,
    /// It is carried out once more, from its beginning.
    Retried,
    /// It waits for a person or for the clock.
    Waiting,
    /// It goes on after that.
    Resumed,
    /// It ended with a result.
    Completed,
    /// It ended without one.
    Failed,
    /// It can never run: a step it depends on failed.
    Blocked,
    /// A new plan dropped it.
    Skipped,
    /// The job ended before it did.
    Canceled,
}

impl StepPhase {
    /// The word in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Retried => "retried",
            Self::Waiting => "waiting",
            Self::Resumed => "resumed",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Skipped => "skipped",
            Self::Canceled => "canceled",
        }
    }
}

/// A tool was called, or answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolEvent {
    /// The call: the same for both of its events and over all its attempts.
    pub work: WorkId,
    /// The try.
    pub attempt: Attempt,
    /// The step it is for.
    pub step: StepId,
    /// The tool.
    pub tool: ToolName,
    /// Which of the two.
    #[serde(flatten)]
    pub phase: ToolPhase,
}

/// A tool was called, or answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum ToolPhase {
    /// It was called.
    Calling {
        /// The arguments, with placeholders resolved.
        args: Value,
    },
    /// It answered.
    Called {
        /// Whether it did what it was asked.
        success: bool,
        /// What it produced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// Why it did not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// What happened, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The reason why the tool gave no answer of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
        /// How long it ran, in milliseconds.
        duration_ms: u64,
    },
}

/// An agent said something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEvent {
    /// Whether that is a result or was said on the way.
    pub stream: Stream,
    /// The step it is of; absent for planners and for the job's final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// The model turn or round of planning it was said in; absent for the final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// The words.
    pub text: String,
}

/// Whether something is a result, was said on the way, or is a summary of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Said on the way: what an agent is about to do, and why.
    Thought,
    /// The result of a step, or the final answer.
    Result,
    /// What stands from now on in place of the oldest part of a conversation, for which a model has
    /// no room.
    Summary,
}

/// A person was asked, answered, or said something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum InteractionEvent {
    /// A question waits for a person.
    Asked {
        /// The question.
        question: Question,
        /// Whose it is, when it is that of a job that works for this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        below: Option<Box<Below>>,
    },
    /// It was answered.
    Answered {
        /// Which.
        ask: AskId,
        /// The answer.
        #[serde(flatten)]
        answer: Answer,
        /// Who.
        by: String,
    },
    /// It was closed without an answer.
    Closed {
        /// Which.
        ask: AskId,
        /// Why.
        because: Closed,
    },
    /// A question of a job below waits no more. How it was answered, or why it was closed, is told by
    /// the events of that job.
    Settled {
        /// Which.
        ask: AskId,
        /// Whose it was.
        below: Box<Below>,
    },
    /// Somebody told the running job something.
    Told {
        /// Their words.
        text: String,
        /// Who.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Somebody ended, paused, resumed or rolled back the job, had it try again, or gave a point of it
    /// a name.
    Signaled {
        /// `cancel`, `pause`, `resume`, `retry`, `snapshot` or `roll_back`.
        signal: String,
        /// The record that the job goes back to, or the name that the point was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Point>,
        /// Why, in their words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Who.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
}

/// A job that works for the one that is watched, or for one that does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Below {
    /// The job: that is where its questions are answered.
    pub job: JobId,
    /// Where it is, for people: the root and the steps on the way.
    pub path: String,
}

/// A model call has ended, and what it cost: nothing, where nobody counted. Or a tool call that cost
/// something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageEvent {
    /// The model turn or round of planning.
    pub work: WorkId,
    /// The try; the first when absent.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: Attempt,
    /// The step it was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// The tool, when a tool's call has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// What it cost.
    pub spent: Usage,
    /// What was paid for it in US dollars, where a tool says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid: Option<f64>,
    /// What the job has cost so far.
    pub total: Usage,
}

fn first() -> Attempt {
    Attempt::FIRST
}

fn is_first(attempt: &Attempt) -> bool {
    *attempt == Attempt::FIRST
}

/// Something went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorEvent {
    /// How far that reaches.
    pub scope: ErrorScope,
    /// What happened, for people.
    pub message: String,
    /// A stable word for it: the reason of a job's failure, a tool's fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The piece of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// The try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
    /// The step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
}

/// How far an error reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorScope {
    /// One attempt at one piece of work; there may be another one.
    Attempt,
    /// A guard ended work that led nowhere; the job goes on.
    Guard,
    /// The job waits for an operator.
    Parked,
    /// The job has failed.
    Job,
}
