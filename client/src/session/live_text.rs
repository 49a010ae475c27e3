//! What a watcher knows of a job: the last view, and what is being said right now. Pure.
//!
//! Text that streams by may be lost, repeated, or come from an attempt that failed since; a turn
//! that is retried starts its text again instead of showing it twice.

use std::collections::BTreeMap;

use proto::{
    door::Watched,
    error::Failure,
    event::{Happened, StepPhase},
    id::StepId,
    view::JobView,
};
use serde_json::Value;

use crate::render::tree::Said;

/// Most bytes of one streaming text that are kept; only its end is ever shown.
const TEXT_BYTES_MAX: usize = 8 * 1024;
/// Most streaming texts at a time; a job runs far fewer turns at once.
const STREAMS_MAX: usize = 512;

/// What a watcher knows.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    view: Option<JobView>,
    streams: BTreeMap<String, Stream>,
    /// Of work that has answered, the attempt that did: what is heard of it later is old.
    over: BTreeMap<String, u32>,
}

/// What an item of the watch changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// Nothing that is shown.
    Nothing,
    /// The job.
    Job,
    /// What is being said.
    Said,
    /// There is no more.
    End(Option<Failure>),
}

#[derive(Debug)]
struct Stream {
    attempt: u32,
    next: u32,
    step: Option<StepId>,
    text: String,
}

impl Follow {
    /// Takes in one item.
    pub(crate) fn apply(&mut self, item: Watched) -> Change {
        match item {
            Watched::Record { record, .. } => self.record(&record),
            Watched::View { view } => {
                self.view = Some(*view);
                Change::Job
            }
            Watched::Live { work, attempt, step, index, what, text } => {
                let step = step.and_then(|step| StepId::new(step).ok());
                self.said(work, attempt, step, index, (&what, &text))
            }
            Watched::Event { event } => self.happened(&event.happened),
            Watched::Heartbeat => Change::Nothing,
            Watched::End { error } => Change::End(error.map(|e| *e)),
        }
    }

    /// The job, once it is known.
    pub(crate) fn view(&self) -> Option<&JobView> {
        self.view.as_ref()
    }

    /// What is being said for steps.
    pub(crate) fn of_steps(&self) -> Said {
        let spoken = self.streams.values().filter(|stream| !stream.text.trim().is_empty());
        spoken.filter_map(|s| Some((s.step.clone()?, s.text.clone()))).collect()
    }

    /// What a planner is saying.
    pub(crate) fn of_planner(&self) -> Option<&str> {
        let planner = self.streams.values().find(|stream| stream.step.is_none());
        planner.map(|stream| stream.text.as_str()).filter(|text| !text.trim().is_empty())
    }

    /// A reply that is stored is not streaming any more.
    fn record(&mut self, record: &Value) -> Change {
        let body = |name: &str| record.pointer(&format!("/body/{name}"));
        let work = body("work").and_then(Value::as_str);
        let attempt = body("attempt").and_then(Value::as_u64);
        let attempt = attempt.and_then(|n| u32::try_from(n).ok());
        match (record.get("kind").and_then(Value::as_str), work) {
            (Some("turned" | "planned"), Some(work)) => {
                self.is_over(work, attempt.unwrap_or(u32::MAX));
                Change::Said
            }
            (Some("turned" | "planned"), None) => {
                // The body is elsewhere; whatever streams on will be heard again.
                self.streams.clear();
                Change::Said
            }
            // Sent again: what was said in the attempt before is worth nothing any more.
            (Some("turn" | "plan"), Some(work)) => {
                self.is_over(work, attempt.unwrap_or_default().saturating_sub(1))
            }
            (Some(_) | None, _) => Change::Nothing,
        }
    }

    /// Nothing of these attempts is shown any more, however late it is heard.
    fn is_over(&mut self, work: &str, attempt: u32) -> Change {
        if self.over.len() >= STREAMS_MAX && !self.over.contains_key(work) {
            self.over.pop_first();
        }
        let over = self.over.entry(work.to_owned()).or_default();
        *over = attempt.max(*over);
        if self.streams.get(work).is_some_and(|stream| stream.attempt <= *over) {
            self.streams.remove(work);
            return Change::Said;
        }
        Change::Nothing
    }

    /// What is told as an event is not streaming any more: a reply that counted, an attempt that
    /// broke, a step that has ended or starts again.
    fn happened(&mut self, happened: &Happened) -> Change {
        match happened {
            Happened::Usage(usage) => self.is_over(usage.work.as_str(), usage.attempt.0),
            Happened::Error(error) => match (&error.work, error.attempt) {
                (Some(work), Some(attempt)) => self.is_over(work.as_str(), attempt.0),
                (Some(_) | None, _) => Change::Nothing,
            },
            Happened::Step(step) => match step.phase {
                StepPhase::Started | StepPhase::Waiting | StepPhase::Resumed => Change::Nothing,
                StepPhase::Retried
                | StepPhase::Completed
                | StepPhase::Failed
                | StepPhase::Blocked
                | StepPhase::Skipped
                | StepPhase::Canceled => {
                    let of_step = |stream: &Stream| stream.step.as_ref() == Some(&step.step);
                    let gone = self.streams.iter().filter(|(_, stream)| of_step(stream));
                    let gone: Vec<_> = gone.map(|(work, s)| (work.clone(), s.attempt)).collect();
                    let said = if gone.is_empty() { Change::Nothing } else { Change::Said };
                    gone.into_iter().for_each(|(work, attempt)| drop(self.is_over(&work, attempt)));
                    said
                }
            },
            Happened::Message(_)
            | Happened::Tool(_)
            | Happened::Interaction(_)
            | Happened::Plan(_)
            | Happened::Job(_) => Change::Nothing,
        }
    }

    fn said(
        &mut self,
        work: String,
        attempt: u32,
        step: Option<StepId>,
        index: u32,
        (what, text): (&str, &str),
    ) -> Change {
        if self.over.get(&work).is_some_and(|over| attempt <= *over) {
            return Change::Nothing;
        }
        if self.streams.len() >= STREAMS_MAX && !self.streams.contains_key(&work) {
            self.streams.pop_first();
        }
        let fresh = Stream { attempt, next: 0, step, text: String::new() };
        let stream = self.streams.entry(work).or_insert(fresh);
        if attempt < stream.attempt {
            return Change::Nothing;
        }
        // A new attempt, or the same one with another worker after the first was lost.
        if attempt > stream.attempt || index == 0 {
            (stream.attempt, stream.next) = (attempt, 0);
            stream.text.clear();
        }
        if index < stream.next {
            return Change::Nothing;
        }
        if index > stream.next && !stream.text.is_empty() {
            stream.text.push('…');
        }
        stream.next = index.saturating_add(1);
        if what != "text" {
            return Change::Said;
        }
        stream.text.push_str(text);
        if stream.text.len() > TEXT_BYTES_MAX {
            let mut from = stream.text.len() - TEXT_BYTES_MAX / 2;
            while !stream.text.is_char_boundary(from) {
                from += 1;
            }
            stream.text.drain(..from);
        }
        Change::Said
    }
}

#[cfg(test)]
mod tests {
    use proto::id::Seq;
    use serde_json::json;

    use super::*;

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
        let mut follow = Follow::default();
        for (attempt, index, what, text) in items {
            follow.apply(live("s1", *attempt, *index, what, text));
        }
        follow.of_steps().into_values().next().unwrap_or_default()
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
        let mut follow = Follow::default();
        follow.apply(live("p1", 1, 1, "text", "{"));
        follow.apply(live("s1", 1, 1, "text", "words"));
        assert_eq!(follow.of_planner(), Some("{"));
        let record = |kind: &str, work: &str| Watched::Record {
            seq: Seq(1),
            family: "in.crew".into(),
            time: jiff::Timestamp::UNIX_EPOCH,
            record: json!({"kind": kind, "body": {"work": work}}),
        };
        assert_eq!(follow.apply(record("called", "s1")), Change::Nothing);
        assert_eq!(follow.apply(record("planned", "p1")), Change::Said);
        assert_eq!(follow.of_planner(), None);
        assert_eq!(follow.of_steps().len(), 1);
        follow.apply(record("turned", "s1"));
        assert!(follow.of_steps().is_empty());
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
            let mut follow = Follow::default();
            follow.apply(live("s1", 1, 1, "text", "words"));
            follow.apply(item.clone());
            assert_eq!(follow.of_steps().is_empty(), gone, "{item:?}");
        }
    }

    #[test]
    fn a_text_without_end_takes_no_memory_without_end() {
        let mut follow = Follow::default();
        for index in 0..2_000 {
            follow.apply(live("s1", 1, index + 1, "text", "标记任务"));
        }
        assert!(follow.of_steps().into_values().all(|text| text.len() <= TEXT_BYTES_MAX));
    }
}
