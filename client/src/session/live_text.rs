//! The text of work in progress, as a watcher hears it. Pure.
//!
//! Messages may be lost, repeated, or come from an attempt that failed since; a turn that is retried
//! starts its text again instead of showing it twice.

use std::collections::BTreeMap;

use proto::{
    event::{Happened, StepPhase},
    id::StepId,
};
use serde_json::Value;

/// Largest number of bytes kept of one stream; only the end is displayed.
const TEXT_BYTES_MAX: usize = 8 * 1024;
/// Largest number of streams; a job runs far fewer turns at once.
const STREAMS_MAX: usize = 512;

/// The text of work in progress.
#[derive(Debug, Default)]
pub struct LiveText {
    streams: BTreeMap<String, Stream>,
    /// The last finished attempt by work: later messages of it are old.
    finished: BTreeMap<String, u32>,
}

#[derive(Debug)]
struct Stream {
    attempt: u32,
    next: u32,
    step: Option<StepId>,
    text: String,
}

impl LiveText {
    /// The text of each step.
    #[must_use]
    pub fn of_steps(&self) -> BTreeMap<StepId, String> {
        let spoken = self.streams.values().filter(|stream| !stream.text.trim().is_empty());
        spoken.filter_map(|s| Some((s.step.clone()?, s.text.clone()))).collect()
    }

    /// The text of the planner.
    #[must_use]
    pub fn of_planner(&self) -> Option<&str> {
        let planner = self.streams.values().find(|stream| stream.step.is_none());
        planner.map(|stream| stream.text.as_str()).filter(|text| !text.trim().is_empty())
    }

    /// A stored reply ends its text. Says whether the text changed.
    pub(super) fn record(&mut self, record: &Value) -> bool {
        let body = |name: &str| record.pointer(&format!("/body/{name}"));
        let work = body("work").and_then(Value::as_str);
        let attempt = body("attempt").and_then(Value::as_u64);
        let attempt = attempt.and_then(|n| u32::try_from(n).ok());
        match (record.get("kind").and_then(Value::as_str), work) {
            (Some("turned" | "planned"), Some(work)) => {
                self.finish(work, attempt.unwrap_or(u32::MAX));
                true
            }
            (Some("turned" | "planned"), None) => {
                // The body is in the object store; text that goes on will be heard again.
                self.streams.clear();
                true
            }
            // A new attempt discards the text of the one before.
            (Some("turn" | "plan"), Some(work)) => {
                self.finish(work, attempt.unwrap_or_default().saturating_sub(1))
            }
            (Some("done"), None) => {
                let result = |name: &str| record.pointer(&format!("/body/result/{name}"));
                let attempt = result("attempt").and_then(Value::as_u64);
                let attempt = attempt.and_then(|n| u32::try_from(n).ok()).unwrap_or(u32::MAX);
                let Some(work) = result("work").and_then(Value::as_str) else { return false };
                self.finish(work, attempt);
                true
            }
            (Some(_) | None, _) => false,
        }
    }

    /// Ends the text of these attempts, messages that come late included. Says whether there was any.
    fn finish(&mut self, work: &str, attempt: u32) -> bool {
        if self.finished.len() >= STREAMS_MAX && !self.finished.contains_key(work) {
            self.finished.pop_first();
        }
        let last = self.finished.entry(work.to_owned()).or_default();
        *last = attempt.max(*last);
        let is_old = self.streams.get(work).is_some_and(|stream| stream.attempt <= *last);
        is_old && self.streams.remove(work).is_some()
    }

    /// An event ends text: a reply that counted, an attempt that broke, a step that ended or starts
    /// again. Says whether the text changed.
    pub(super) fn event(&mut self, happened: &Happened) -> bool {
        match happened {
            Happened::Usage(usage) => self.finish(usage.work.as_str(), usage.attempt.0),
            Happened::Error(error) => match (&error.work, error.attempt) {
                (Some(work), Some(attempt)) => self.finish(work.as_str(), attempt.0),
                (Some(_) | None, _) => false,
            },
            Happened::Step(step) => match step.phase {
                StepPhase::Started | StepPhase::Waiting | StepPhase::Resumed => false,
                StepPhase::Retried
                | StepPhase::Completed
                | StepPhase::Failed
                | StepPhase::Blocked
                | StepPhase::Skipped
                | StepPhase::Canceled => {
                    let of_step = |stream: &Stream| stream.step.as_ref() == Some(&step.step);
                    let gone = self.streams.iter().filter(|(_, stream)| of_step(stream));
                    let gone: Vec<_> = gone.map(|(work, s)| (work.clone(), s.attempt)).collect();
                    let changed = !gone.is_empty();
                    for (work, attempt) in gone {
                        self.finish(&work, attempt);
                    }
                    changed
                }
            },
            Happened::Message(_)
            | Happened::Tool(_)
            | Happened::Interaction(_)
            | Happened::Plan(_)
            | Happened::Notice(_)
            | Happened::Turn(_)
            | Happened::Node(_)
            | Happened::Artifact(_)
            | Happened::Job(_) => false,
        }
    }

    /// Takes a message. Says whether the text changed.
    pub(super) fn live(
        &mut self,
        work: String,
        attempt: u32,
        step: Option<&str>,
        index: u32,
        (what, text): (&str, &str),
    ) -> bool {
        let step = step.and_then(|step| StepId::new(step).ok());
        if self.finished.get(&work).is_some_and(|last| attempt <= *last) {
            return false;
        }
        if self.streams.len() >= STREAMS_MAX && !self.streams.contains_key(&work) {
            self.streams.pop_first();
        }
        let fresh = Stream { attempt, next: 0, step, text: String::new() };
        let stream = self.streams.entry(work).or_insert(fresh);
        if attempt < stream.attempt {
            return false;
        }
        // A new attempt, or the same one on another worker after the first was lost.
        if attempt > stream.attempt || index == 0 {
            (stream.attempt, stream.next) = (attempt, 0);
            stream.text.clear();
        }
        if index < stream.next {
            return false;
        }
        if index > stream.next && !stream.text.is_empty() {
            stream.text.push('…');
        }
        stream.next = index.saturating_add(1);
        if what != "text" {
            return true;
        }
        stream.text.push_str(text);
        if stream.text.len() > TEXT_BYTES_MAX {
            let mut from = stream.text.len() - TEXT_BYTES_MAX / 2;
            while !stream.text.is_char_boundary(from) {
                from += 1;
            }
            stream.text.drain(..from);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proto::{door::Watched, id::Seq};
    use serde_json::json;

    use super::*;
    use crate::session::{Change, SessionState};

    fn live(work: &str, attempt: u32, index: u32, what: &str, text: &str) -> Watched {
        let step = work.starts_with('s').then(|| "step1".to_owned());
        Watched::Live {
            work: work.into(),
            attempt,
            step,
            index,
            what: what.into(),
            text: text.into(),
        }
    }

    fn heard(items: &[(u32, u32, &str, &str)]) -> String {
        let mut state = SessionState::default();
        for (attempt, index, what, text) in items {
            state.apply(live("s1", *attempt, *index, what, text));
        }
        state.text().of_steps().into_values().next().unwrap_or_default()
    }

    #[test]
    fn a_text_is_never_shown_twice() {
        for (items, text) in [
            (&[(1, 0, "taken", "w"), (1, 1, "text", "a"), (1, 2, "text", "b")][..], "ab"),
            (&[(1, 1, "text", "a"), (1, 1, "text", "a"), (1, 2, "text", "b")], "ab"),
            (&[(1, 1, "text", "a"), (2, 0, "taken", "w"), (2, 1, "text", "c")], "c"),
            (&[(2, 1, "text", "c"), (1, 2, "text", "late")], "c"),
            (&[(1, 1, "text", "a"), (1, 0, "taken", "other"), (1, 1, "text", "z")], "z"),
            (&[(1, 1, "text", "a"), (1, 4, "text", "d")], "a…d"),
            (&[(1, 0, "taken", "w"), (1, 1, "thought", "hm"), (1, 2, "text", "a")], "a"),
        ] {
            assert_eq!(heard(items), text, "{items:?}");
        }
    }

    #[test]
    fn a_reply_that_is_stored_streams_no_more() {
        let mut state = SessionState::default();
        state.apply(live("p1", 1, 1, "text", "{"));
        state.apply(live("s1", 1, 1, "text", "words"));
        assert_eq!(state.text().of_planner(), Some("{"));
        let record = |kind: &str, work: &str| Watched::Record {
            seq: Seq(1),
            family: "in.crew".into(),
            time: jiff::Timestamp::UNIX_EPOCH,
            record: json!({"kind": kind, "body": {"work": work}}),
        };
        assert_eq!(state.apply(record("called", "s1")), Change::Nothing);
        assert_eq!(state.apply(record("planned", "p1")), Change::Text);
        assert_eq!(state.text().of_planner(), None);
        assert_eq!(state.text().of_steps().len(), 1);
        state.apply(record("turned", "s1"));
        assert!(state.text().of_steps().is_empty());
    }

    #[test]
    fn an_abandoned_attempt_says_nothing_any_more() {
        let event = |happened: serde_json::Value| {
            let mut event = json!({"id": "7.1", "time": "2026-03-01T09:00:00Z"});
            event.as_object_mut().unwrap().extend(happened.as_object().unwrap().clone());
            Watched::Event { event: serde_json::from_value(event).unwrap() }
        };
        let sent = |attempt: u32| Watched::Record {
            seq: Seq(1),
            family: "do.turn.default".into(),
            time: jiff::Timestamp::UNIX_EPOCH,
            record: json!({"kind": "turn", "body": {"work": "s1", "attempt": attempt}}),
        };
        let broke = json!({"type": "error", "scope": "attempt", "message": "m", "work": "s1", "attempt": 1});
        let usage = json!({"type": "usage", "work": "s1", "spent": {"input_tokens": 1, "output_tokens": 1},
                           "total": {"input_tokens": 1, "output_tokens": 1}});
        let retried = json!({"type": "step", "phase": "retried", "step": "step1", "label": "l", "attempt": 2});
        let started = json!({"type": "step", "phase": "started", "step": "step1", "label": "l", "attempt": 1});
        for (item, gone) in [
            (sent(2), true),
            (sent(1), false),
            (event(broke), true),
            (event(usage), true),
            (event(retried), true),
            (event(started), false),
        ] {
            let mut state = SessionState::default();
            state.apply(live("s1", 1, 1, "text", "words"));
            state.apply(item.clone());
            assert_eq!(state.text().of_steps().is_empty(), gone, "{item:?}");
        }
    }

    #[test]
    fn a_text_without_end_takes_no_memory_without_end() {
        let mut state = SessionState::default();
        for index in 0..2_000 {
            state.apply(live("s1", 1, index + 1, "text", "标记任务"));
        }
        assert!(state.text().of_steps().into_values().all(|text| text.len() <= TEXT_BYTES_MAX));
    }
}
