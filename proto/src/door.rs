//! The front door: requests and replies of the NATS micro service `callboard`, in plain JSON.
//!
//! Every reply is an object. A refused request is answered with `{"error": {…}}`, a [`Failure`],
//! and with the headers of a NATS service error.

mod agents;
mod files;
mod inbox;
mod verb;

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::Value;

pub use self::{
    agents::{AgentChanged, AgentEntry, AgentList, Agents, DropAgent, SetAgent},
    files::{FileSource, SubmitFile, Upload, Uploaded},
    inbox::{AnswerTaken, GiveAnswer, Inbox, InboxEntry, InboxPage},
    verb::{Request, Role, Server, Verb, VerbSpec},
};
use crate::{
    agent::Agent,
    error::Failure,
    event::{Event, EventId},
    id::{AgentName, Attempt, ConversationId, JobId, Seq, Shard, ToolName, WorkId},
    job::JobState,
    lang::Language,
    point::{Fork, Order, Point},
    tool::ToolSpec,
    view::{JobSummary, JobView},
};

/// A new job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// The version of this request; 1 when absent.
    #[serde(default = "one")]
    pub v: u16,
    /// The job's id and idempotency key; made up when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<JobId>,
    /// What is to be reached. A fork keeps that of the other job: it has none here.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub goal: String,
    /// The agent: a name the server knows, or policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentChoice>,
    /// The language; that of the goal when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Overrides the agent: whether the plan must be confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<bool>,
    /// Overrides the agent: longest life, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// The conversation it continues; started when no conversation has that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The job that it goes on from. Beside this there may be an id and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<Fork>,
    /// One tool call that is the whole job: neither a planner nor a model is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<DirectCall>,
    /// Files that come with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<SubmitFile>,
}

/// A tool call that somebody asks for by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectCall {
    /// The tool.
    pub tool: ToolName,
    /// Its arguments: a JSON object that fits its schema, empty when absent.
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
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AgentChoice {
    /// One the server knows.
    Named(AgentName),
    /// Policies; what is absent has its default.
    Inline(Box<Agent>),
}

/// A string names an agent, an object is one. Written by hand because an untagged enum would
/// forget which field of the object is wrong.
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

/// What became of a submission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submitted {
    /// The job.
    pub job: JobId,
    /// Its shard.
    pub shard: Shard,
    /// The position of its first record.
    pub seq: Seq,
    /// Whether this request made it; false when it attached to a job that was there.
    pub created: bool,
    /// What its agent names and nobody has announced yet, in words for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Names one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// The job.
    pub job: JobId,
    /// As it was at this point; as it is when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Point>,
}

/// Asks for jobs, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Only jobs in these states.
    pub states: Vec<JobState>,
    /// How many (1 to 500, 50 when absent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only jobs of this conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// Only jobs that come after this one in the list: those that were submitted before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<JobId>,
}

/// Some jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// Newest first.
    pub jobs: Vec<JobSummary>,
    /// Whether there are more that were not looked at.
    pub more: bool,
    /// The last one that was looked at, where there are more: `after` that it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<JobId>,
}

/// Asks for a job's log and what follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// The job.
    pub job: JobId,
    /// Records after this position only; all when absent.
    #[serde(default)]
    pub after: Seq,
    /// Whether what is said while work is done is wanted too.
    #[serde(default)]
    pub live: bool,
    /// Whether events are wanted in place of records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub events: bool,
    /// With events: those after this one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_event: Option<EventId>,
}

/// One reply to a watch. The last one is `end`; a watcher that misses heartbeats for 30 s asks
/// again with `after` set to the last position it saw, and gets exactly what it missed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Watched {
    /// A stored record.
    Record {
        /// Its position.
        seq: Seq,
        /// The family and kind: `in.crew`, `do.call.builtin`.
        family: String,
        /// When it was stored, by the server's clock.
        time: jiff::Timestamp,
        /// The record as it is stored.
        record: Value,
    },
    /// What happened, where events are wanted: derived from the records, in their order.
    Event {
        /// The event.
        event: Box<Event>,
    },
    /// The job after the records so far. Sent when there is nothing more to catch up with.
    View {
        /// The job.
        view: Box<JobView>,
    },
    /// Something said while work is done; may be lost.
    Live {
        /// The piece of work.
        work: String,
        /// The try.
        attempt: u32,
        /// The step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
        /// Counts the messages of one attempt.
        index: u32,
        /// `taken`, `text`, `thought` or `tool`.
        what: String,
        /// The text, the worker or the tool.
        text: String,
    },
    /// Nothing happened for a while.
    Heartbeat,
    /// There is no more: the job has ended, or the server cannot go on.
    End {
        /// Why the watch ended early, when it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Box<Failure>>,
    },
}

/// Says something to a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendSignal {
    /// The job.
    pub job: JobId,
    /// What.
    pub signal: Order,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who, for the record. Ignored when the server knows the caller by a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What became of a signal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signaled {
    /// The job.
    pub job: JobId,
    /// Its state once the signal was taken up.
    pub state: JobState,
    /// The position of the signal's record.
    pub seq: Seq,
}

/// Asks for dead letters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dead {
    /// Only that of one job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// How many (1 to 500, 50 when absent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Dead letters: work that waits for an operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadLetters {
    /// Of the newest jobs first.
    pub letters: Vec<DeadLetter>,
    /// Whether there are jobs that were not looked at.
    pub more: bool,
}

/// A dead letter: work that waits for an operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The job.
    pub job: JobId,
    /// What kind of thing.
    pub kind: DeadKind,
    /// The record that it is about.
    pub seq: Seq,
    /// Why. May quote what users and tools wrote.
    pub reason: String,
    /// Since when, by the server's clock.
    pub since: jiff::Timestamp,
    /// The unit of work that was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// Its last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
}

/// The reason for a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeadKind {
    /// A record of the job cannot be read, or cannot follow what went before it.
    Unreadable,
    /// The code that reads the job breaks.
    Broken,
    /// Work of which no attempt is left.
    GivenUp,
}

impl DeadKind {
    /// The word for people and programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Broken => "broken",
            Self::GivenUp => "given_up",
        }
    }
}

/// Asks for the registered tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GetTools {}

/// The tools that are registered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tools {
    /// By name.
    pub tools: Vec<ToolSpec>,
}

/// Asks for the live processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GetCrew {}

/// The processes that are alive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Crew {
    /// By id.
    pub workers: Vec<crate::wire::Presence>,
}

/// A refused request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// Why.
    pub error: Failure,
}

impl Submit {
    /// The least a submission needs.
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
            call: None,
            files: Vec::new(),
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
