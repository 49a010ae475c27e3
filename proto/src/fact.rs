//! Facts: what happened outside the supervisor. A role appends its facts at any time;
//! facts race freely, and the fold decides which of them count.

mod access;
mod asked;
mod source;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    asked::{Asked, AskedKind},
    source::Source,
};
use crate::{
    agent::Agent,
    conversation::Conversation,
    cost::Cost,
    family::{Callees, ChildSaid, Parent},
    file::File,
    fork::Forked,
    id::{AskId, Attempt, Seq, SnapshotName, TimerName, ToolName, WorkId},
    interaction::Answer,
    lang::Language,
    message::Usage,
    observe::{Shortened, Summary},
    outline::{Item, OutlineChange},
    plan::Plan,
    policy::Detected,
    rules::Rules,
    tool::{Binding, Fault, ToolResult},
};

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "facts are kept boxed, and a job has one submission")]
pub enum Fact {
    /// A job was submitted. Always the first record of a job.
    Submitted(Submitted),
    /// An operator said something.
    Signaled(Signaled),
    /// A planner answered.
    Planned(Planned),
    /// A model turn ended.
    Turned(Turned),
    /// A worker is about to run a `once` tool.
    Started(Started),
    /// A tool call ended.
    Called(Called),
    /// A person answered.
    Answered(Answered),
    /// A timer fired.
    Fired(Fired),
    /// A job that works for this one said something.
    Child(ChildSaid),
}

impl Fact {
    /// Every kind of fact, as it stands in a record.
    pub const KINDS: [&'static str; 9] = [
        "submitted",
        "signaled",
        "planned",
        "turned",
        "started",
        "called",
        "answered",
        "fired",
        "child",
    ];

    /// The record kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Submitted(_) => "submitted",
            Self::Signaled(_) => "signaled",
            Self::Planned(_) => "planned",
            Self::Turned(_) => "turned",
            Self::Started(_) => "started",
            Self::Called(_) => "called",
            Self::Answered(_) => "answered",
            Self::Fired(_) => "fired",
            Self::Child(_) => "child",
        }
    }

    /// The question it answers.
    #[must_use]
    pub fn ask(&self) -> Option<&AskId> {
        if let Self::Answered(answered) = self { Some(&answered.ask) } else { None }
    }

    /// The role that is entitled to append it.
    #[must_use]
    pub fn source(&self) -> Source {
        match self {
            Self::Submitted(_) | Self::Signaled(_) | Self::Child(_) => Source::Door,
            Self::Planned(_) | Self::Turned(_) | Self::Started(_) | Self::Called(_) => Source::Crew,
            Self::Answered(_) => Source::People,
            Self::Fired(_) => Source::Clock,
        }
    }
}

/// A job was submitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submitted {
    /// What is to be reached, in a person's words.
    pub goal: String,
    /// The policies it runs under.
    pub agent: Agent,
    /// The language agents and people are spoken to in.
    pub language: Language,
    /// SHA-256 of the request, by which a repeated submission is told from another one.
    pub digest: String,
    /// Who submitted it, as the front door knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The conversation it belongs to, and what it is told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// What it works for, when it is the child of another job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The agents it may hand tasks to, and those that these may.
    #[serde(default, skip_serializing_if = "Callees::is_empty")]
    pub agents: Callees,
    /// The job it was forked from, up to the point from which it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<Box<Forked>>,
    /// The plan it was submitted with: a command of a person's. No planner is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Files that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// The rules its log is folded by, as they were when it was submitted.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub rules: Rules,
}

/// An operator said something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signaled {
    /// What.
    pub signal: Signal,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who, as the front door knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Where the parent's log says so, when the parent passed it on: of two such signals the one that
    /// is later there counts, whatever the order they come in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_seq: Option<Seq>,
}

/// What an operator can say to a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// End it; nothing new is started.
    Cancel,
    /// Start nothing new until it is resumed; what runs may end.
    Pause,
    /// Go on.
    Resume,
    /// Try now what waits for the clock, and once more what was given up. A job that is parked
    /// because a record of it could not be read is read again from its first record.
    Retry,
    /// Told to the job's agents: the next plan or model turn carries it, and so do all that follow.
    Steer {
        /// What should be done, or done otherwise.
        text: String,
    },
    /// Gives the point of the log where this stands a name. A later one of the same name takes its
    /// place.
    Snapshot {
        /// The name.
        name: SnapshotName,
    },
    /// What came after a record is taken out of the job's timeline: the job goes on from there, in a
    /// new generation. It counts only when that record is in the timeline.
    RollBack {
        /// The last record that stays.
        to: Seq,
        /// The last record that the requester has seen. A `once` tool that was begun later means
        /// that this does not count.
        seen: Seq,
        /// Whether it counts in any case, and what cannot be taken back is done again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
}

impl Signal {
    /// The word on screens and in metrics.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Retry => "retry",
            Self::Steer { .. } => "steer",
            Self::Snapshot { .. } => "snapshot",
            Self::RollBack { .. } => "roll_back",
        }
    }
}

/// A planner answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The command it answers.
    pub work: WorkId,
    /// The attempt it answers.
    pub attempt: Attempt,
    /// What it said.
    pub reply: PlanReply,
    /// Tokens it cost.
    #[serde(default)]
    pub usage: Usage,
    /// What was found out about the goal, when that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detected: Option<Detected>,
    /// What is intended beyond the plan, when the planner decides one action at a time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Item>,
}

/// What a planner said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PlanReply {
    /// A plan, checked against the tools the planner knows.
    Plan {
        /// The plan.
        plan: Plan,
    },
    /// Something it must know first.
    Question {
        /// What it asks.
        question: Asked,
    },
    /// The goal needs no plan: it is one step.
    Simple,
    /// What the planner intends, or has reached; it is asked again at once.
    Noted {
        /// What it said.
        #[serde(flatten)]
        note: PlanNote,
    },
    /// The goal is reached.
    Finished {
        /// The final answer, for people.
        response: String,
    },
    /// A reply that is no plan: which one, and why.
    Unparseable {
        /// The model's reply, cut to [`crate::limits::EXCERPT_CHARS`] at each end.
        text: String,
        /// What is wrong with it, for the model and for people.
        error: String,
    },
    /// The model gave no reply.
    Failed {
        /// What happened.
        error: WorkError,
    },
}

/// What a planner said that leads to nothing but its own next decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanNote {
    /// What that was.
    pub phase: PlanPhase,
    /// All it intends, after what it said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Item>,
    /// What it has reached, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
}

/// Which part of planning one action at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanPhase {
    /// A list of items was made.
    Planned,
    /// An action was chosen.
    Acting,
    /// The current item is done.
    ItemDone,
    /// The list was replanned.
    Replanned,
}

/// A piece of work broke, outside what it was asked to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkError {
    /// What happened, for people.
    pub message: String,
    /// Whether another attempt could end differently.
    pub transient: bool,
    /// How long the other side asked to be left alone, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// A model turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turned {
    /// The command it answers.
    pub work: WorkId,
    /// The attempt it answers.
    pub attempt: Attempt,
    /// What came of it.
    pub reply: TurnReply,
    /// Tokens it cost.
    #[serde(default)]
    pub usage: Usage,
}

/// What came of a model turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnReply {
    /// The model wants tools to be called, and may have said something beside.
    Calls {
        /// What it said.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The calls, in its order.
        calls: Vec<TurnCall>,
    },
    /// The step is done, or the model says it cannot be.
    Done {
        /// Whether the step reached what it was for.
        success: bool,
        /// The result, for people and for later steps.
        response: String,
        /// Files and addresses that belong to the result, at most
        /// [`crate::limits::ATTACHMENTS_MAX`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<String>,
    },
    /// There was no room for the whole conversation, and its oldest exchanges were summarised. The
    /// turn itself was not taken yet: its command follows once more, with the summary.
    Summarised {
        /// What stands in their place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<Summary>,
        /// Results of the turn before that are too long to be shown whole, in short.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        results: Vec<Shortened>,
    },
    /// The model gave no usable reply.
    Failed {
        /// What happened.
        error: WorkError,
    },
}

/// One call of a model turn, resolved against the tools the executor knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnCall {
    /// The model's id for the call.
    pub id: String,
    /// The name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them.
    pub args: Value,
    /// What the call is.
    pub target: CallTarget,
}

/// What a model's call turned out to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "target", rename_all = "snake_case")]
pub enum CallTarget {
    /// A registered tool with arguments that fit its schema.
    Tool {
        /// The tool.
        tool: ToolName,
        /// What the registry said of it.
        binding: Binding,
    },
    /// A question to a person.
    Person {
        /// The question.
        question: Asked,
    },
    /// Nothing that can be run; the model is told why.
    Refused {
        /// Why.
        error: String,
    },
    /// A change of what the step's loop intends.
    Outline {
        /// The change.
        #[serde(flatten)]
        change: OutlineChange,
    },
}

/// A worker is about to run a `once` tool. The first such record of an attempt owns the run; a
/// worker that finds another one before its own must not run the tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The command.
    pub work: WorkId,
    /// The attempt.
    pub attempt: Attempt,
}

/// A tool call ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Called {
    /// The command it answers.
    pub work: WorkId,
    /// The attempt it answers.
    pub attempt: Attempt,
    /// What the tool answered.
    pub result: ToolResult,
    /// Why it gave no answer of its own, when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// How long it ran, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// What it cost.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub cost: Cost,
}

/// A person answered, and was the first to do so validly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The question.
    pub ask: AskId,
    /// The answer, checked against the question's schema.
    #[serde(flatten)]
    pub answer: Answer,
    /// Who, as the front door knows them.
    pub by: String,
}

/// A timer fired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fired {
    /// Which.
    pub timer: TimerName,
}
