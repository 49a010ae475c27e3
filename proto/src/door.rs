//! The front door: requests and replies of the NATS micro service `callboard`, in JSON.
//!
//! Every reply is an object. A refused request is answered with `{"error": {…}}`, a [`Failure`],
//! and with the headers of a NATS service error.

mod agents;
mod batch;
mod files;
mod filter;
mod graph;
mod inbox;
mod installation;
mod jobs;
mod links;
mod preview;
mod role;
mod usage;
mod verb;
mod workflows;

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::Value;

pub use self::{
    agents::{
        AgentChanged, AgentEntry, AgentHistory, AgentList, AgentRevision, AgentRevisions, Agents,
        DropAgent, SetAgent,
    },
    batch::{Batch, BatchOutcome, BatchSignal, Batched},
    files::{Data, Download, Downloaded, FileSource, SubmitFile, Upload, Uploaded},
    filter::{Filter, InvalidSearchText, SearchText},
    graph::GetGraph,
    inbox::{AnswerTaken, GiveAnswer, Inbox, InboxEntry, InboxPage},
    installation::{About, Crew, GetAbout, GetCrew, PoolQueue},
    jobs::{Count, Counted, List, Listed},
    links::{Link, Linked, Redeem, Redeemed, Unlink, Unlinked},
    preview::{EffectDone, Preview, Previewed, StepAgain},
    role::Role,
    usage::{DaySpent, GetUsage, JobSpent, NameSpent, UsageReport},
    verb::{Request, Server, Verb, VerbSpec},
    workflows::{
        DropWorkflow, SetWorkflow, WorkflowChanged, WorkflowEntry, WorkflowList, WorkflowVersion,
        Workflows,
    },
};
use crate::{
    agent::Agent,
    error::Failure,
    event::{Event, EventId},
    id::{AgentName, Attempt, ConversationId, JobId, Seq, Shard, ToolName, WorkId},
    job::JobState,
    label::Labels,
    lang::Language,
    output::OutputSchema,
    point::{Fork, Order, Point},
    refusal::Warnings,
    tool::ToolSpec,
    view::JobView,
    workflow::WorkflowName,
};

/// The request to submit a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// Version of the request; 1 when absent.
    #[serde(default = "one")]
    pub v: u16,
    /// Id of the job, which is also its idempotency key; generated when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<JobId>,
    /// Goal of the job. Empty for a fork, which keeps the goal of the original job.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub goal: String,
    /// Agent: a name that the server knows, or inline policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentChoice>,
    /// Language of the job; detected from the goal when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Confirmation of the plan by a user: required or not. The agent's setting when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<bool>,
    /// Deadline in milliseconds from the submission; the agent's setting when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Conversation that the job continues. An unknown id starts a new conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// Job to fork. Only an id may accompany this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<Fork>,
    /// Tools of the job and of its sub-agents: some of those that its agent may use. All of them when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolName>>,
    /// Plan of the job, in the form in which planners write plans. The planner writes later plans
    /// only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Value>,
    /// Workflow that the job runs in place of a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<SubmitWorkflow>,
    /// Tool call that is the whole job. Neither a planner nor a model runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<DirectCall>,
    /// Files of the job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<SubmitFile>,
    /// Labels of the job and of its sub-agents' jobs.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// JSON Schema of the result, an object; the agent's schema when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSchema>,
}

/// A workflow and its input. It has a file or a name; without both, it is the workflow of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitWorkflow {
    /// Workflow file, in YAML; at most 256 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Name of a workflow of the bucket or of the program. The job keeps its present definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<WorkflowName>,
    /// Input: a JSON object that fits the workflow's schema; empty when absent.
    #[serde(default = "empty")]
    pub input: Value,
    /// Files of the workflows that nodes run as child jobs, by name; each is at most 256 KiB.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workflows: BTreeMap<WorkflowName, String>,
}

impl Default for SubmitWorkflow {
    fn default() -> Self {
        Self { source: None, name: None, input: empty(), workflows: BTreeMap::new() }
    }
}

/// A tool call that a user requests by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectCall {
    /// Tool to call.
    pub tool: ToolName,
    /// Arguments: a JSON object that fits the tool's schema; empty when absent.
    #[serde(default = "empty")]
    pub args: Value,
}

fn empty() -> Value {
    Value::Object(serde_json::Map::new())
}

fn one() -> u16 {
    1
}

/// An agent by name or in full.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum AgentChoice {
    /// The name of an agent that the server knows.
    Named(AgentName),
    /// Inline policies; absent fields have their defaults.
    Inline(Box<Agent>),
}

/// A string is a name, and an object has policies. The implementation is written by hand, because
/// an untagged enum would lose the path of a wrong field in the object.
impl<'de> Deserialize<'de> for AgentChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Choice;

        impl<'de> Visitor<'de> for Choice {
            type Value = AgentChoice;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an agent, or an object with its policies")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<AgentChoice, E> {
                AgentName::new(name).map(AgentChoice::Named).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, policies: A) -> Result<AgentChoice, A::Error> {
                let agent = Agent::deserialize(MapAccessDeserializer::new(policies))?;
                Ok(AgentChoice::Inline(Box::new(agent)))
            }
        }

        deserializer.deserialize_any(Choice)
    }
}

/// The reply to a submission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Submitted {
    /// Id of the job.
    pub job: JobId,
    /// Shard of the job.
    pub shard: Shard,
    /// Position of the job's first record.
    pub seq: Seq,
    /// `true` if this request created the job; `false` if it attached to an existing one.
    pub created: bool,
    /// Warnings for users about tools that the agent names and no worker has announced.
    #[serde(flatten)]
    pub warnings: Warnings,
}

/// The request for one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// Id of the job.
    pub job: JobId,
    /// Point of the log at which to show the job; the present when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Point>,
}

/// The request to watch a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Id of the job.
    pub job: JobId,
    /// Position after which records are sent; all records when absent.
    #[serde(default)]
    pub after: Seq,
    /// `true` to receive progress messages too.
    #[serde(default)]
    pub live: bool,
    /// `true` to receive events in place of records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub events: bool,
    /// Event after which events are sent, when `events` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_event: Option<EventId>,
    /// `true` to end the watch after what is stored and the view.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stored: bool,
}

/// A reply to a watch. The last one is `end`. A watcher that receives no heartbeat for 30 s asks
/// again with `after` set to the last position that it saw, and receives exactly the missing
/// records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Watched {
    /// A stored record.
    Record {
        /// Position of the record.
        seq: Seq,
        /// Family of the subject: `in.crew`, `do.call.builtin`.
        family: String,
        /// Server time of the write.
        time: jiff::Timestamp,
        /// JSON of the record.
        record: Value,
    },
    /// An event, derived from the records in their order.
    Event {
        /// Content of the event.
        event: Box<Event>,
    },
    /// The state of the job after the records so far. Sent once the watcher has received all stored
    /// records.
    View {
        /// State of the job.
        view: Box<JobView>,
    },
    /// A progress message of running work, which may be lost.
    Live {
        /// Unit of work.
        work: String,
        /// Attempt at the unit.
        attempt: u32,
        /// Step that the work belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
        /// Number of the message within the attempt.
        index: u32,
        /// Kind of the message: `taken`, `text`, `thought` or `tool`.
        what: String,
        /// Text, worker or tool, depending on the kind.
        text: String,
    },
    /// A heartbeat, sent at intervals of [`crate::limits::WATCH_HEARTBEAT_SECONDS`].
    Heartbeat,
    /// The end of the watch: the job has ended, the watcher has what is stored and wanted no more, or
    /// the server cannot continue.
    End {
        /// Error for which the watch ended early.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Box<Failure>>,
    },
}

/// The request to send a signal to a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendSignal {
    /// Id of the job.
    pub job: JobId,
    /// Signal to send.
    pub signal: Order,
    /// Last record of the job that the sender saw. The signal is stored only if the job has no
    /// further one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_seq: Option<Seq>,
    /// Reason, in the sender's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Name of the sender. The server ignores it when a token identifies the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The reply to a signal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Signaled {
    /// Id of the job.
    pub job: JobId,
    /// State of the job after the signal took effect.
    pub state: JobState,
    /// Position of the signal's record.
    pub seq: Seq,
}

/// The request for dead letters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dead {
    /// Job whose dead letters to list; every job when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// Maximum number of dead letters (1 to 500, 50 when absent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of dead letters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeadLetters {
    /// Dead letters, those of the newest jobs first.
    pub letters: Vec<DeadLetter>,
    /// `true` if there are further jobs that were not examined.
    pub more: bool,
}

/// A dead letter: work that waits for an operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeadLetter {
    /// Id of the job.
    pub job: JobId,
    /// Kind of the dead letter.
    pub kind: DeadKind,
    /// Position of the record that the dead letter is about.
    pub seq: Seq,
    /// Description of the cause. It may quote text of users and tools.
    pub reason: String,
    /// Server time since which the work waits.
    pub since: jiff::Timestamp,
    /// Unit of work without attempts left; present for [`DeadKind::GivenUp`] only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// Last attempt at that unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
}

/// The kinds of dead letter.
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
pub enum DeadKind {
    /// A record of the job cannot be read, or contradicts the records before it.
    Unreadable,
    /// The code that folds the job's log panics.
    Broken,
    /// A unit of work has no attempt left.
    GivenUp,
}

impl DeadKind {
    /// Returns the word for users and programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Asks for the registered tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetTools {}

/// The reply with the registered tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Tools {
    /// Tools, sorted by name.
    pub tools: Vec<ToolSpec>,
    /// Announcements that cannot be used, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedTool>,
    /// Number of live workers that announce the pool of each tool, by the tool's name; empty while
    /// the server does not know all workers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workers: BTreeMap<ToolName, u32>,
}

/// An announcement that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RefusedTool {
    /// Key of the announcement.
    pub name: String,
    /// Reason of the refusal.
    pub why: String,
}

/// The reply to a refused request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Refusal {
    /// Reason of the refusal.
    pub error: Failure,
}

impl Submit {
    /// Creates a submission with a goal and defaults elsewhere.
    #[must_use]
    pub fn goal(goal: impl Into<String>) -> Self {
        Self {
            v: 1,
            id: None,
            goal: goal.into(),
            agent: None,
            language: None,
            confirm: None,
            deadline_ms: None,
            conversation: None,
            fork: None,
            tools: None,
            plan: None,
            workflow: None,
            call: None,
            files: Vec::new(),
            labels: Labels::default(),
            output: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strict;

    fn field(body: &str) -> String {
        match strict::from_slice::<Submit>(body.as_bytes()) {
            Ok(submit) => format!("{:?}", submit.agent.map(|a| matches!(a, AgentChoice::Named(_)))),
            Err(strict::Refused::Field { field, why }) => format!("{field}: {why}"),
            Err(refused) => refused.to_string(),
        }
    }

    #[test]
    fn a_submission_names_the_policy_that_is_wrong() {
        assert_eq!(field(r#"{"goal":"g","agent":"default"}"#), "Some(true)");
        assert_eq!(field(r#"{"goal":"g","agent":{}}"#), "Some(false)");
        assert!(field(r#"{"goal":"g","agent":"a.b"}"#).starts_with("agent: agent name must be"));
        assert!(field(r#"{"goal":"g","agent":7}"#).contains("the name of an agent, or an object"));
        let retires = field(r#"{"goal":"g","agent":{"step":{"retires":{}}}}"#);
        assert!(retires.starts_with("agent.step.retires: unknown field"), "{retires}");
        let turns = field(r#"{"goal":"g","agent":{"step":{"max_turns":-1}}}"#);
        assert!(turns.starts_with("agent.step.max_turns: invalid value"), "{turns}");
    }
}
