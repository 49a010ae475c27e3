//! Facts: events outside the supervisor. A role appends its facts at any time. Facts race freely,
//! and the fold decides which of them count.

mod access;
mod asked;
mod turned;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    asked::{Asked, AskedKind},
    turned::{CallTarget, TurnCall, TurnReply, Turned},
};
pub use crate::source::Source;
use crate::{
    agent::Agent,
    conversation::Conversation,
    cost::Cost,
    fallback::AnsweredBy,
    family::{Callees, ChildSaid, Parent},
    file::File,
    fork::Forked,
    id::{AskId, Attempt, Seq, SnapshotName, TimerName, WorkId},
    interaction::Answer,
    label::Labels,
    lang::Language,
    message::Usage,
    outline::Item,
    plan::Plan,
    policy::Detected,
    pools,
    rules::Rules,
    tool::{Fault, ToolResult},
    work_error::WorkError,
    workflow::{EventName, GraphChanges, WorkflowRun},
};

/// An event outside the supervisor.
#[derive(Debug, Clone, PartialEq, strum::IntoStaticStr, strum::VariantNames)]
#[expect(clippy::large_enum_variant, reason = "facts are kept boxed, and a job has one submission")]
#[strum(serialize_all = "snake_case")]
pub enum Fact {
    /// A job was submitted. This is the first record of every job.
    Submitted(Submitted),
    /// An operator or a user sent a signal.
    Signaled(Signaled),
    /// A planner replied.
    Planned(Planned),
    /// A model turn ended.
    Turned(Turned),
    /// A worker is about to run a `once` tool.
    Started(Started),
    /// A tool call ended.
    Called(Called),
    /// A user answered a question.
    Answered(Answered),
    /// A timer fired.
    Fired(Fired),
    /// A child job reported to this one.
    Child(ChildSaid),
}

impl Fact {
    /// Every kind of fact, as written in records.
    pub const KINDS: &'static [&'static str] = <Self as strum::VariantNames>::VARIANTS;

    /// Returns the kind of the record.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// Returns the question that the fact answers, or `None` when the fact is no answer.
    #[must_use]
    pub fn ask(&self) -> Option<&AskId> {
        if let Self::Answered(answered) = self { Some(&answered.ask) } else { None }
    }

    /// Returns the source that appends this kind of fact; for a report on a call, that of the
    /// built-in tools.
    #[must_use]
    pub fn source(&self) -> Source {
        match self {
            Self::Submitted(_) | Self::Signaled(_) | Self::Child(_) => Source::Door,
            Self::Planned(_) => Source::Plan,
            Self::Turned(_) => Source::Turn,
            Self::Started(_) | Self::Called(_) => Source::Call(pools::builtin()),
            Self::Answered(_) => Source::People,
            Self::Fired(_) => Source::Clock,
        }
    }

    /// `true` if a writer of this source may append this kind of fact. A report on a call must also
    /// come from the pool of the call: see [`Source::may_call`].
    #[must_use]
    pub fn may_come_from(&self, source: &Source) -> bool {
        match (self, source) {
            (Self::Submitted(_) | Self::Signaled(_) | Self::Child(_), Source::Door)
            | (Self::Planned(_), Source::Plan | Source::Crew)
            | (Self::Turned(_), Source::Turn | Source::Crew)
            | (Self::Started(_) | Self::Called(_), Source::Call(_) | Source::Crew)
            | (Self::Answered(_), Source::People)
            | (Self::Fired(_), Source::Clock) => true,
            (
                Self::Submitted(_)
                | Self::Signaled(_)
                | Self::Child(_)
                | Self::Planned(_)
                | Self::Turned(_)
                | Self::Started(_)
                | Self::Called(_)
                | Self::Answered(_)
                | Self::Fired(_),
                Source::Door
                | Source::Plan
                | Source::Turn
                | Source::Call(_)
                | Source::Crew
                | Source::People
                | Source::Clock,
            ) => false,
        }
    }
}

/// The submission of a job, with everything that the job runs under.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Submitted {
    /// Goal, in the user's words.
    pub goal: String,
    /// Policies of the job.
    pub agent: Agent,
    /// Language of prompts, questions and messages.
    pub language: Language,
    /// `true` if neither the request nor the agent named the language. A plan may then name
    /// another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub language_detected: bool,
    /// SHA-256 of the request. A repeated submission has the same digest; another job under the
    /// same id has a different one.
    pub digest: String,
    /// Name of the submitter, who owns the request's token; absent in an installation without
    /// tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Conversation that the job belongs to, with the earlier exchanges that the job may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// Parent of the job, when the job is a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Agents that the job may delegate to, and those that these may delegate to in turn.
    #[serde(default, skip_serializing_if = "Callees::is_empty")]
    pub agents: Callees,
    /// Job that this one was forked from, with its log up to the fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<Box<Forked>>,
    /// Plan of the submission, when a user submitted a command instead of a goal. No planner runs
    /// then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Workflow of the submission. Its graph takes the place of a plan, and no planner runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Box<WorkflowRun>>,
    /// Files of the submission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// Labels of the job, which its children inherit.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Version of the fold's rules at the time of the submission. The log is always folded by it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub rules: Rules,
}

/// A signal of an operator or a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Signaled {
    /// Signal that was sent.
    pub signal: Signal,
    /// Reason, in the sender's words; absent when none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Name of the sender: the owner of the request's token or, in an installation without tokens,
    /// the name that the request claims. Absent when it claims none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Position in the parent's log, when the parent passed the signal on. Of two such signals the
    /// one with the later position counts, in whatever order they arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_seq: Option<Seq>,
}

/// The kinds of signal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, strum::IntoStaticStr, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Signal {
    /// Cancels the job; no new work starts.
    Cancel,
    /// Pauses the job: no new work starts until a resume, and running work may end.
    Pause,
    /// Resumes a paused job.
    Resume,
    /// Retries waiting work at once, and dead letters once more. A job that is parked because of an
    /// unreadable record is read again from its first record.
    Retry,
    /// Instructs the job's agents. The next plan or model turn carries the text, and so do all that
    /// follow.
    Steer {
        /// Instruction, in the user's words.
        text: String,
    },
    /// Names a position of the log. A later signal with the same name moves the name.
    Snapshot {
        /// Name of the snapshot.
        name: SnapshotName,
        /// Earlier record whose position is named; without it the position of this record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Seq>,
    },
    /// Rolls the job back: the records after `to` leave the job's timeline, and the job continues
    /// from there in a new generation. The signal counts only when `to` is in the timeline.
    RollBack {
        /// Last record that stays in the timeline.
        to: Seq,
        /// Last record that the requester has seen. A `once` tool that started after it invalidates
        /// the signal.
        seen: Seq,
        /// Confirms the rollback even when irreversible actions would run again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// Reports an event from outside to the workflow of the job, whose nodes of type `event` receive
    /// it. It counts only when the workflow has a node for the name and the job keeps fewer than
    /// [`crate::workflow::EVENTS_MAX`] events that no node has received.
    Event {
        /// Name of the event.
        name: EventName,
        /// Content of the event, at most [`crate::workflow::EVENT_DATA_BYTES_MAX`] bytes of JSON.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        data: Value,
    },
    /// Replaces the graph of the job's workflow, with the next decision of its supervisor. The signal
    /// counts only when the graph is at revision `base`, and when every path of the job has its place
    /// in the new graph.
    EditGraph {
        /// Revision of the graph that the sender saw.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        base: u32,
        /// Changed nodes and parts.
        changes: GraphChanges,
        /// Workflow from then on, with its tools and the workflows below.
        run: Box<WorkflowRun>,
    },
}

impl Signal {
    /// Returns the word on screens and in metrics.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.into()
    }
}

/// The reply of a planner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Planned {
    /// Unit of work that the planner was asked for.
    pub work: WorkId,
    /// Attempt that the reply belongs to.
    pub attempt: Attempt,
    /// Content of the reply.
    pub reply: PlanReply,
    /// Tokens that the reply used.
    #[serde(default)]
    pub usage: Usage,
    /// Result of the detection whether the goal needs a plan, when the command asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detected: Option<Detected>,
    /// Intended items beyond the plan, when the planner decides one action at a time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Item>,
    /// Reasoning of the model, if its provider returns it, with its middle left out if it is long
    /// ([`crate::limits::REASONING_CHARS`]).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// Model that was asked in the end, when others did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<AnsweredBy>,
}

/// The content of a planner's reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PlanReply {
    /// A plan whose tools the planner has checked.
    Plan {
        /// Normalised plan.
        plan: Plan,
    },
    /// A question to a user that must be answered before planning continues.
    Question {
        /// Question to ask.
        question: Asked,
    },
    /// The goal needs no plan and becomes a single step.
    Simple,
    /// A note about the planner's intentions or progress. The planner's next round follows at once.
    Noted {
        /// Content of the note.
        #[serde(flatten)]
        note: PlanNote,
    },
    /// The goal is already reached.
    Finished {
        /// Final answer, for users.
        response: String,
        /// Language of the plan without steps that holds the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        language: Option<Language>,
    },
    /// A reply that is not a valid plan.
    Unparseable {
        /// The model's reply, truncated to [`crate::limits::EXCERPT_CHARS`] at each end.
        text: String,
        /// Description of the error, for the model and for users.
        error: String,
        /// `true` if the reply is well-formed and names an action that cannot be carried out.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        action: bool,
    },
    /// The model gave no reply.
    Failed {
        /// Error of the model call.
        error: WorkError,
    },
}

/// A planner's note that only leads to the planner's next round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanNote {
    /// Kind of the note.
    pub phase: PlanPhase,
    /// All intended items after the note.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Item>,
    /// Achievement so far, in the planner's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
}

/// The phases of planning one action at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PlanPhase {
    /// The planner made a list of items.
    Planned,
    /// The planner chose an action.
    Acting,
    /// The current item is done.
    ItemDone,
    /// The planner changed the list.
    Replanned,
}

/// The intent to run a `once` tool. The first such record of an attempt owns the run; a worker that
/// finds an earlier one must not run the tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Started {
    /// Unit of work of the call.
    pub work: WorkId,
    /// Attempt that is about to run.
    pub attempt: Attempt,
}

/// The end of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Called {
    /// Unit of work of the call.
    pub work: WorkId,
    /// Attempt that the result belongs to.
    pub attempt: Attempt,
    /// Result of the tool.
    pub result: ToolResult,
    /// Fault of the call, when the tool gave no result of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// `true` if the fault is [`Fault::Unavailable`] because a service that every call of the tool
    /// needs cannot be reached: the job waits for it. `false` for a service that the arguments
    /// name, such as the host of a URL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outage: bool,
    /// Run time in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// Cost of the call.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub cost: Cost,
    /// Files that the call published. Those of a call without success count for nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
}

/// The first valid answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Answered {
    /// Id of the question.
    pub ask: AskId,
    /// Answer, checked against the question's schema.
    #[serde(flatten)]
    pub answer: Answer,
    /// Name of the user who answered: the owner of the request's token or, in an installation
    /// without tokens, the name that the request claims.
    pub by: String,
}

/// The expiry of a timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fired {
    /// Name of the timer.
    pub timer: TimerName,
}
