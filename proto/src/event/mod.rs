//! Events: the progress of a job, for watchers.
//!
//! A pure projection in the job machine derives the events from the job's log. No event is stored,
//! and no decision depends on one.

mod id;
mod node;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    id::EventId,
    node::{NodeEvent, NodePhase},
};
use crate::{
    decision::Closed,
    id::{AskId, Attempt, JobId, StepId, ToolName, WorkId},
    interaction::{Answer, Question},
    job::{JobState, SubStatus},
    lang::Language,
    message::Usage,
    notice::Notice,
    outline::Item,
    point::Point,
    step::StepState,
    tool::Fault,
    view::Artifact,
    workflow::GraphChanges,
};

/// An event of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Event {
    /// Position among the job's events.
    pub id: EventId,
    /// Server time of the record that the event comes from.
    pub time: Timestamp,
    /// Kind and content of the event.
    #[serde(flatten)]
    pub happened: Happened,
}

/// The kind and content of an event. New kinds are added after these within one record, so that the
/// ids of events stay the same.
#[derive(
    Debug, Clone, PartialEq, Serialize, Deserialize, strum::IntoStaticStr, schemars::JsonSchema,
)]
#[serde(tag = "type", rename_all = "snake_case")]
#[derive(strum::EnumDiscriminants)]
#[strum(serialize_all = "snake_case")]
#[strum_discriminants(name(EventType))]
#[strum_discriminants(doc = "[`Happened`] discriminant.")]
#[strum_discriminants(derive(Serialize, Deserialize, strum::EnumString, schemars::JsonSchema))]
#[strum_discriminants(serde(rename_all = "snake_case"))]
#[strum_discriminants(strum(serialize_all = "snake_case"))]
pub enum Happened {
    /// An error occurred.
    Error(ErrorEvent),
    /// An agent wrote a message.
    Message(MessageEvent),
    /// A tool call started or ended.
    Tool(ToolEvent),
    /// A question was asked or closed, or a user sent a signal.
    Interaction(InteractionEvent),
    /// A model call ended, or a tool call that cost something.
    Usage(UsageEvent),
    /// A plan was created, changed or completed.
    Plan(PlanEvent),
    /// A step changed its state.
    Step(StepEvent),
    /// The job changed its state.
    Job(JobEvent),
    /// Work began to go wrong, and the next model call is told.
    Notice(NoticeEvent),
    /// A model call began: a turn of a step, or a round of planning.
    Turn(TurnEvent),
    /// A path of a workflow entered a node, ended a visit, or took a way on.
    Node(NodeEvent),
    /// A call published a file.
    Artifact(Artifact),
}

impl Happened {
    /// Returns the word in JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.into()
    }
}

/// A warning that holds from this event on. It is told once, although each of the next commands may
/// carry it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NoticeEvent {
    /// Warning with its figures.
    pub notice: Notice,
    /// Warning as a sentence for users, in the job's language.
    pub message: String,
    /// Unit of work whose model is told.
    pub work: WorkId,
    /// Step of the work; absent for a planner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
}

/// The beginning of an attempt at a model call. Its `usage`, or its error, is the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TurnEvent {
    /// Phase of the call.
    pub phase: TurnPhase,
    /// Model turn or round of planning.
    pub work: WorkId,
    /// Attempt at the call.
    pub attempt: Attempt,
    /// Step of the turn; absent for planners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
}

/// The phases of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnPhase {
    /// The command is stored, and a worker may take it.
    Asked,
}

/// A change of the job's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JobEvent {
    /// New state.
    pub state: JobState,
    /// Activity within the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_status: Option<SubStatus>,
    /// Cause of the state, such as the open question or the reason of a pause or a cancellation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Goal of the job; present in the job's first event only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Result that fits the schema of the job's agent; null unless the job completed with one.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub value: Value,
}

/// A created, changed or completed plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanEvent {
    /// Phase of the plan.
    pub phase: PlanPhase,
    /// Purpose of the plan, in one line.
    pub title: String,
    /// Number of plans before this one.
    pub revision: u32,
    /// `true` once a user has confirmed the plan, or when the policy needs no confirmation. No step
    /// of the plan runs before that.
    pub confirmed: bool,
    /// `true` while the planner makes the next plan. `steps` are then those that stay in sight.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replanning: bool,
    /// Steps of the plan, below those of earlier plans that began.
    pub steps: Vec<PlannedStep>,
    /// Intended items beyond the plan, when the planner decides one action at a time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Item>,
    /// Language of the job's texts from now on, if a plan named it and the submission did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

/// The phases of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanPhase {
    /// The job has its first plan.
    Created,
    /// The job has another plan, or the same plan was confirmed.
    Updated,
    /// The job completed with this plan.
    Completed,
}

/// A step of a plan, with its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlannedStep {
    /// Id of the step.
    pub id: StepId,
    /// Short title; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Task of the step.
    pub description: String,
    /// Steps that must complete before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepId>,
    /// Tool of a step that is a single tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// State of the step.
    pub state: StepState,
    /// Intended items of the step's loop, when the loop keeps a list of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Item>,
}

/// A change of a step's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepEvent {
    /// Phase of the step.
    pub phase: StepPhase,
    /// Id of the step.
    pub step: StepId,
    /// Text for screens: the step's title or description.
    pub label: String,
    /// Number of the step's run, from 1; 0 for a step that never started.
    pub attempt: u32,
    /// Result or error, truncated for display; absent until the step has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// `true` if the step completed and its agent reported that its purpose was not achieved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsuccessful: bool,
    /// Files and addresses that belong to the result; empty until the step has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
}

/// The phases of a step.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum StepPhase {
    /// The step's first run started.
    Started,
    /// Another run of the step started.
    Retried,
    /// The step waits for a person or for a timer.
    Waiting,
    /// The step continues after a wait.
    Resumed,
    /// The step ended with a result.
    Completed,
    /// The step ended without a result.
    Failed,
    /// The step can never run, because a step that it depends on failed.
    Blocked,
    /// A later plan dropped the step.
    Skipped,
    /// The job ended before the step did.
    Canceled,
}

impl StepPhase {
    /// Returns the word in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The start or the end of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolEvent {
    /// Unit of work of the call, the same for both events and all attempts.
    pub work: WorkId,
    /// Attempt at the call.
    pub attempt: Attempt,
    /// Step that the call belongs to.
    pub step: StepId,
    /// Tool that was called.
    pub tool: ToolName,
    /// Start or end of the call.
    #[serde(flatten)]
    pub phase: ToolPhase,
}

/// The phases of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum ToolPhase {
    /// The call was sent.
    Calling {
        /// Arguments, with placeholders resolved.
        args: Value,
        /// Question whose remembered approval covers the call; absent for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remembered: Option<AskId>,
    },
    /// The call ended.
    Called {
        /// `true` if the tool did its work.
        success: bool,
        /// Value that the tool returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// Error that the tool returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Description of the outcome, for users.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Fault of the call, when the tool gave no result of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
        /// Run time in milliseconds.
        duration_ms: u64,
    },
}

/// A message of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MessageEvent {
    /// Kind of the message.
    pub stream: Stream,
    /// Step of the message; absent for planners and for the job's final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Model turn or round of planning that wrote the message; absent for the final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// Text of the message.
    pub text: String,
}

/// The kinds of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// An intermediate remark: the agent's next action and its reason.
    Thought,
    /// The result of a step, or the final answer.
    Result,
    /// A summary that replaces the oldest part of a conversation that exceeded the model's context.
    Summary,
}

/// A question, an answer or a signal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum InteractionEvent {
    /// A question was asked and is open.
    Asked {
        /// Question that was asked.
        question: Question,
        /// Descendant that asked the question; absent for the job's own questions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        below: Option<Box<Descendant>>,
    },
    /// A question was answered.
    Answered {
        /// Id of the question.
        ask: AskId,
        /// Content of the answer.
        #[serde(flatten)]
        answer: Answer,
        /// Name of the user who answered.
        by: String,
    },
    /// A question was closed without an answer.
    Closed {
        /// Id of the question.
        ask: AskId,
        /// Reason for closing it.
        because: Closed,
    },
    /// A descendant's question is no longer open. The descendant's own events have its answer, or
    /// the reason for closing it.
    Settled {
        /// Id of the question.
        ask: AskId,
        /// Descendant that asked it.
        below: Box<Descendant>,
    },
    /// A user instructed the running job.
    Told {
        /// Instruction, in the user's words.
        text: String,
        /// Reason, in the sender's words. The agents do not read it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Sender of the instruction.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A user or an operator sent a signal other than an instruction.
    Signaled {
        /// Word of the signal: `cancel`, `pause`, `resume`, `retry`, `snapshot`, `event`,
        /// `edit_graph` or `roll_back`.
        signal: String,
        /// Record that the job was rolled back to, or name of the snapshot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Point>,
        /// Changes of an edit of the graph.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changes: Option<GraphChanges>,
        /// Reason, in the sender's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Sender of the signal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
}

/// A descendant of the watched job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Descendant {
    /// Id of the descendant. Its questions are answered under this id.
    pub job: JobId,
    /// Path to the descendant, for users: the root job and the steps on the way.
    pub path: String,
}

/// The cost of a model call that ended, which is zero when the provider reported none, or of a tool
/// call that cost something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UsageEvent {
    /// Model turn, round of planning or tool call.
    pub work: WorkId,
    /// Attempt at the work; the first when absent.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: Attempt,
    /// Step that the work belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Tool, when the event is about a tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// Tokens that the call used.
    pub spent: Usage,
    /// Price of the call in US dollars, when a tool reported one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid: Option<f64>,
    /// Tokens that the job has used so far.
    pub total: Usage,
}

fn first() -> Attempt {
    Attempt::FIRST
}

fn is_first(attempt: &Attempt) -> bool {
    *attempt == Attempt::FIRST
}

/// An error of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ErrorEvent {
    /// Scope of the error.
    pub scope: ErrorScope,
    /// Description of the error, for users.
    pub message: String,
    /// Reason, stable for programs: the job's fail reason or the tool's fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Unit of work that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// Attempt that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
    /// Step that the work belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
}

/// Reason of the error of a planner's reply that cannot be used. Its message is worded for the
/// model.
pub const REASON_UNPARSEABLE: &str = "unparseable";

/// The scopes of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorScope {
    /// One attempt at a unit of work failed; another may follow.
    Attempt,
    /// A guard stopped work without progress, and the job continues.
    Guard,
    /// The job waits for an operator.
    Parked,
    /// The job failed.
    Job,
}
