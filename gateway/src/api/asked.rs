//! One question of a job and what became of it, read from the events of the job.

use jiff::Timestamp;
use proto::{
    decision::Closed,
    event::{Event, EventId, Happened, InteractionEvent},
    id::AskId,
    interaction::{Answer, Question},
    point::Point,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Word of a rollback in events.
const ROLL_BACK: &str = "roll_back";

/// A question that a job asked.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct AskedQuestion {
    question: Question,
    /// Server time of the question.
    asked: Timestamp,
    #[serde(flatten)]
    state: State,
    /// `true` if the job was rolled back to a record before the question. It asks again if it still
    /// needs an answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    taken_out: bool,
    #[serde(skip)]
    at: EventId,
}

/// The state of a question.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
enum State {
    /// The question waits for a person.
    Open,
    /// A person answered.
    Answered {
        answer: Answer,
        /// Name of the person.
        by: String,
        /// Server time of the answer.
        ended: Timestamp,
        #[serde(skip)]
        at: EventId,
    },
    /// The question closed without an answer.
    Closed {
        because: Closed,
        /// Server time of the end.
        ended: Timestamp,
        #[serde(skip)]
        at: EventId,
    },
}

impl State {
    /// Returns the event that ended the question; `None` while it is open.
    fn ended_at(&self) -> Option<EventId> {
        match self {
            Self::Open => None,
            Self::Answered { at, .. } | Self::Closed { at, .. } => Some(*at),
        }
    }
}

impl AskedQuestion {
    /// Takes an event of the job. A rollback that takes out the answer, or leads to the same question
    /// again, opens it.
    pub(super) fn take(asked: &mut Option<Self>, id: &AskId, event: Event) {
        let Event { id: at, time, happened: Happened::Interaction(event) } = event else { return };
        match event {
            InteractionEvent::Asked { question, below: None } if question.id == *id => {
                let state = State::Open;
                *asked = Some(Self { question, asked: time, state, taken_out: false, at });
            }
            InteractionEvent::Answered { ask, answer, by } if ask == *id => {
                if let Some(asked) = asked {
                    asked.state = State::Answered { answer, by, ended: time, at };
                }
            }
            InteractionEvent::Closed { ask, because } if ask == *id => {
                if let Some(asked) = asked {
                    asked.state = State::Closed { because, ended: time, at };
                }
            }
            InteractionEvent::Signaled { signal, to: Some(Point::Seq(to)), .. }
                if signal == ROLL_BACK =>
            {
                if let Some(asked) = asked {
                    asked.taken_out |= asked.at.seq > to;
                    if asked.state.ended_at().is_some_and(|ended| ended.seq > to)
                        && !asked.taken_out
                    {
                        asked.state = State::Open;
                    }
                }
            }
            InteractionEvent::Asked { .. }
            | InteractionEvent::Answered { .. }
            | InteractionEvent::Closed { .. }
            | InteractionEvent::Settled { .. }
            | InteractionEvent::Told { .. }
            | InteractionEvent::Signaled { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns the state of the question q1 after events, each with its record and its fields.
    fn after(events: &[(u64, Value)]) -> Value {
        let mut asked = None;
        for (seq, fields) in events {
            let mut event = json!({"type": "interaction", "time": "2026-03-01T09:00:00Z"});
            event["id"] = json!(format!("{seq}.1"));
            event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let id = AskId::new("q1").unwrap();
            AskedQuestion::take(&mut asked, &id, serde_json::from_value(event).unwrap());
        }
        asked.map_or(Value::Null, |asked| {
            let asked = serde_json::to_value(asked).unwrap();
            json!([asked["state"], asked["by"], asked["because"], asked["taken_out"]])
        })
    }

    fn asks(id: &str) -> Value {
        json!({"phase": "asked", "question": {"id": id, "prompt": "Whom?", "kind": "question"}})
    }

    #[test]
    fn a_question_is_what_its_last_events_say() {
        let answered =
            json!({"phase": "answered", "ask": "q1", "decision": "respond", "by": "ann"});
        let closed = json!({"phase": "closed", "ask": "q1", "because": "expired"});
        let back = |to: u64| json!({"phase": "signaled", "signal": "roll_back", "to": to});
        let mut other = asks("q1");
        other["below"] = json!({"job": "child", "path": "j / step"});
        assert_eq!(after(&[(3, asks("q2")), (4, other)]), Value::Null);
        assert_eq!(after(&[(3, asks("q1"))]), json!(["open", null, null, null]));
        let ended = [(3, asks("q1")), (5, answered)];
        assert_eq!(after(&ended), json!(["answered", "ann", null, null]));
        let expired = [(3, asks("q1")), (5, closed)];
        assert_eq!(after(&expired), json!(["closed", null, "expired", null]));
        let [first, second] = ended;
        let gone = [first, second, (9, back(2))];
        assert_eq!(after(&gone), json!(["answered", "ann", null, true]));
        let [first, second, third] = gone;
        let again = [first, second, third, (11, asks("q1"))];
        assert_eq!(after(&again), json!(["open", null, null, null]));
        let [first, second, ..] = again;
        let kept = [first, second, (9, back(5))];
        assert_eq!(after(&kept), json!(["answered", "ann", null, null]));
        let [first, second, ..] = kept;
        let unanswered = [first, second, (9, back(4))];
        assert_eq!(after(&unanswered), json!(["open", null, null, null]));
    }
}
