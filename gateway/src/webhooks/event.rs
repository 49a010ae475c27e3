//! The events of webhooks: which of them a record gives, and what is sent. Pure.
//!
//! The job machine says what a record means, in the events of the job; nothing is read from records.
//! What is sent has ids, states, times and a link: never a text of a job or of a person.

use jiff::Timestamp;
use proto::{
    decision::{Closed, DecisionKind},
    digest,
    event::{Event, EventId, Happened, InteractionEvent},
    id::{AgentName, AskId, HookName, JobId, Seq},
    job::JobState,
    subject::Family,
};
use serde::{Deserialize, Serialize};
use url::Url;

/// A kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventType {
    /// A job asked a question.
    #[serde(rename = "question.asked")]
    QuestionAsked,
    /// A question was answered, or closed without an answer.
    #[serde(rename = "question.closed")]
    QuestionClosed,
    /// A job waits for a person, and nothing else of it runs.
    #[serde(rename = "job.waiting")]
    JobWaiting,
    /// A job ended.
    #[serde(rename = "job.ended")]
    JobEnded,
    /// A test that an operator sends.
    #[serde(rename = "webhook.test", skip_deserializing)]
    Test,
}

/// The end of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    Answered,
    Expired,
    JobEnded,
    Superseded,
    RolledBack,
    Denied,
}

impl From<Closed> for End {
    fn from(closed: Closed) -> Self {
        match closed {
            Closed::Expired => Self::Expired,
            Closed::JobEnded => Self::JobEnded,
            Closed::Superseded => Self::Superseded,
            Closed::RolledBack => Self::RolledBack,
            Closed::Denied => Self::Denied,
        }
    }
}

/// A change of a job that a webhook may tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Asked(AskId),
    Closed(AskId, End),
    Waiting(JobState),
    Ended(JobState),
}

impl Change {
    pub(super) fn event_type(&self) -> EventType {
        match self {
            Self::Asked(_) => EventType::QuestionAsked,
            Self::Closed(..) => EventType::QuestionClosed,
            Self::Waiting(_) => EventType::JobWaiting,
            Self::Ended(_) => EventType::JobEnded,
        }
    }

    fn of(happened: &Happened) -> Option<Self> {
        match happened {
            // Questions of descendants are in the events of the jobs that ask them.
            Happened::Interaction(InteractionEvent::Asked { question, below: None }) => {
                Some(Self::Asked(question.id.clone()))
            }
            Happened::Interaction(InteractionEvent::Answered { ask, .. }) => {
                Some(Self::Closed(ask.clone(), End::Answered))
            }
            Happened::Interaction(InteractionEvent::Closed { ask, because }) => {
                Some(Self::Closed(ask.clone(), (*because).into()))
            }
            Happened::Job(job) if job.state.is_terminal() => Some(Self::Ended(job.state)),
            Happened::Job(job) if job.state == JobState::InputRequired => {
                Some(Self::Waiting(job.state))
            }
            Happened::Interaction(
                InteractionEvent::Asked { below: Some(_), .. }
                | InteractionEvent::Settled { .. }
                | InteractionEvent::Told { .. }
                | InteractionEvent::Signaled { .. },
            )
            | Happened::Job(_)
            | Happened::Error(_)
            | Happened::Message(_)
            | Happened::Tool(_)
            | Happened::Usage(_)
            | Happened::Plan(_)
            | Happened::Step(_)
            | Happened::Notice(_)
            | Happened::Turn(_)
            | Happened::Node(_)
            | Happened::Artifact(_) => None,
        }
    }
}

/// A change with its event of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: EventId,
    pub(super) time: Timestamp,
    pub(super) change: Change,
}

/// Returns the event after which the events of a job are needed for a record.
pub(super) fn needed(seq: Seq, family: &Family) -> EventId {
    if is_note(family) { EventId::START } else { EventId::all_of(Seq(seq.0.saturating_sub(1))) }
}

/// `true` for the note that a question is closed.
fn is_note(family: &Family) -> bool {
    matches!(family, Family::Do(DecisionKind::Note, _))
}

/// Returns the changes that a record of an outbox stands for, from the events of its job.
///
/// Most changes are made by a record that is in the outbox itself. A question may also close by one
/// that is not: a rollback, or a result that made the job plan again. The note for the inbox then
/// follows, so it stands for those that closed last. Several that close at once have several notes,
/// and each stands for all of them: a receiver drops the repeated ids.
pub(super) fn changes(seq: Seq, family: &Family, events: &[Event]) -> Vec<Found> {
    let found = |event: &Event| {
        let change = Change::of(&event.happened)?;
        Some(Found { id: event.id, time: event.time, change })
    };
    let own: Vec<Found> =
        events.iter().filter(|event| event.id.seq == seq).filter_map(found).collect();
    let is_closed = |found: &Found| match &found.change {
        Change::Closed(_, End::Answered) => false,
        Change::Closed(..) => true,
        Change::Asked(_) | Change::Waiting(_) | Change::Ended(_) => false,
    };
    if !is_note(family) || own.iter().any(is_closed) {
        return own;
    }
    let before = events.iter().filter(|event| event.id.seq < seq).filter_map(found);
    let closed: Vec<Found> = before.filter(is_closed).collect();
    let last = closed.last().map(|found| found.id.seq);
    let is_elsewhere = |found: &Found| match &found.change {
        Change::Closed(_, End::Superseded | End::RolledBack) => true,
        // The timer's own record, or the note itself, stands for it.
        Change::Closed(_, End::Answered | End::Expired | End::JobEnded | End::Denied)
        | Change::Asked(_)
        | Change::Waiting(_)
        | Change::Ended(_) => false,
    };
    let late = closed.into_iter().filter(|found| Some(found.id.seq) == last);
    own.into_iter().chain(late.filter(is_elsewhere)).collect()
}

/// The body of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Payload {
    r#type: EventType,
    /// Time of the change.
    timestamp: Timestamp,
    data: Data,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct Data {
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JobId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<AgentName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask: Option<AskId>,
    /// State of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<JobState>,
    /// End of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<End>,
    /// Page of the console.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

impl Payload {
    /// Describes a change of a job.
    pub(super) fn of(found: &Found, job: &JobId, agent: &AgentName, console: Option<&Url>) -> Self {
        let (ask, state, outcome) = match &found.change {
            Change::Asked(ask) => (Some(ask.clone()), None, None),
            Change::Closed(ask, end) => (Some(ask.clone()), None, Some(*end)),
            Change::Waiting(state) | Change::Ended(state) => (None, Some(*state), None),
        };
        let url = console.map(|base| format!("{}/jobs/{job}", base.as_str().trim_end_matches('/')));
        let (job, agent) = (Some(job.clone()), Some(agent.clone()));
        let data = Data { job, agent, ask, state, outcome, url };
        Self { r#type: found.change.event_type(), timestamp: found.time, data }
    }

    /// The test of a webhook.
    pub(super) fn test(now: Timestamp) -> Self {
        Self { r#type: EventType::Test, timestamp: now, data: Data::default() }
    }
}

/// Returns the id of a message: the same for each try, whichever gateway makes it.
pub(super) fn message_id(hook: &HookName, job: &JobId, event: EventId) -> String {
    let digest = digest::of_bytes(format!("{hook}/{job}/{event}").as_bytes());
    format!("msg_{}", &digest[..32])
}

#[cfg(test)]
mod tests;
