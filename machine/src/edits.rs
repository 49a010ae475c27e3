//! The history of plans that a person edited before confirming them, with author and difference. No
//! decision depends on it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use proto::{
    decision::Decision,
    entry::Entry,
    excerpt,
    fact::Fact,
    id::{AskId, Seq},
    interaction::{QuestionKind, Verdict},
    plan::{Plan, Step},
    record::Known,
    revision::{Change, Line},
    step::StepState,
    subject::Family,
};

use crate::timeline::Timeline;

/// Length to which a step's label is cut, in characters.
const LABEL_CHARS: usize = 200;

/// An edit of a plan by a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// Position of the answer.
    pub seq: Seq,
    /// Time of the answer, by the server's clock.
    pub time: Timestamp,
    /// Author of the edit.
    pub by: String,
    /// Number of plans that had been in force before the edited one was shown.
    pub number: u32,
    /// Title of the edited plan.
    pub title: String,
    /// Difference between the shown and the edited plan. A step with a changed text or action is
    /// dropped and added.
    pub steps: Vec<Line>,
}

/// A reader that collects the edits of one job's log.
#[derive(Debug, Default)]
pub struct Edits {
    timeline: Timeline,
    /// Plans that wait for confirmation, by question.
    shown: BTreeMap<AskId, (u32, Plan)>,
    /// An edit whose result has not been shown for confirmation yet.
    written: Option<Written>,
    found: Vec<Edit>,
}

#[derive(Debug)]
struct Written {
    seq: Seq,
    time: Timestamp,
    by: String,
    number: u32,
    before: Plan,
}

impl Edits {
    /// Takes the next entry of the log. An unreadable entry changes nothing.
    pub fn take(&mut self, entry: &Entry) {
        self.timeline.take_entry(entry);
        match (&entry.family, entry.known()) {
            (Family::In(source), Some(Known::Fact(fact))) if fact.may_come_from(source) => {
                self.fact(entry.seq, entry.time, &fact);
            }
            (Family::Do(kind, _), Some(Known::Decision(decision))) if decision.kind() == *kind => {
                self.decision(&decision);
            }
            _ => {}
        }
    }

    /// Returns the edits in the timeline; those that a rollback removed are left out.
    #[must_use]
    pub fn all(self) -> Vec<Edit> {
        let timeline = self.timeline;
        self.found.into_iter().filter(|edit| timeline.has(edit.seq)).collect()
    }

    fn fact(&mut self, seq: Seq, time: Timestamp, fact: &Fact) {
        let Fact::Answered(answered) = fact else { return };
        // The first answer wins, whatever it says.
        let Some((number, before)) = self.shown.remove(&answered.ask) else { return };
        if answered.answer.decision == Verdict::Edit {
            self.written = Some(Written { seq, time, by: answered.by.clone(), number, before });
        }
    }

    fn decision(&mut self, decision: &Decision) {
        let Decision::Ask(work) = decision else { return };
        let QuestionKind::PlanCheck { plan, revision, .. } = &work.question.kind else { return };
        // An edit that did not fit is dropped: the same plan is shown again.
        if let Some(written) = self.written.take()
            && written.before != *plan
        {
            let Written { seq, time, by, number, before } = written;
            let (title, steps) = (plan.title.clone(), lines(&before, plan));
            self.found.push(Edit { seq, time, by, number, title, steps });
        }
        self.shown.insert(work.question.id.clone(), (*revision, plan.clone()));
    }
}

/// Returns the difference between two plans, dropped steps first.
fn lines(before: &Plan, after: &Plan) -> Vec<Line> {
    let line = |change: Change, step: &Step| Line {
        change,
        id: step.id.clone(),
        label: excerpt::line(step.label(), LABEL_CHARS),
        depends_on: step.depends_on.clone(),
        state: StepState::Pending,
    };
    let is_in = |plan: &Plan, step: &Step| plan.steps.contains(step);
    let gone = before.steps.iter().filter(|step| !is_in(after, step));
    let there = after.steps.iter().map(|step| {
        let change = if is_in(before, step) { Change::Kept } else { Change::Added };
        line(change, step)
    });
    gone.map(|step| line(Change::Dropped, step)).chain(there).collect()
}

#[cfg(test)]
mod tests {
    use proto::id::JobId;
    use serde_json::{Value, json};

    use super::*;

    fn plan(steps: &[(&str, &str)]) -> Value {
        let step =
            |(id, words): &(&str, &str)| json!({"id": id, "description": words, "action": "agent"});
        json!({"title": "T", "steps": steps.iter().map(step).collect::<Vec<_>>()})
    }

    fn ask(id: &str, plan: &Value) -> (&'static str, &'static str, Value) {
        let body = json!({"work": "g0.check1", "id": id, "prompt": "?", "kind": "plan_check", "plan": plan, "revision": 0, "digest": "d"});
        ("do.ask.people", "ask", body)
    }

    fn answer(id: &str, by: &str, decision: &str) -> (&'static str, &'static str, Value) {
        let body = json!({"ask": id, "by": by, "decision": decision});
        ("in.people", "answered", body)
    }

    fn edits(records: Vec<(&str, &str, Value)>) -> Vec<Edit> {
        let mut edits = Edits::default();
        for (seq, (family, kind, body)) in (1_u64..).zip(records) {
            let record = json!({"v": 1, "kind": kind, "id": "0193f3a0c0de70008000000000000001", "by": "w", "body": body});
            let (job, time) = (JobId::new("j").unwrap(), Timestamp::UNIX_EPOCH);
            edits.take(&Entry::of_watched(&job, Seq(seq), family, time, &record).unwrap());
        }
        edits.all()
    }

    #[test]
    fn who_changed_a_plan_is_told_with_what_is_different() {
        let first = plan(&[("a", "fetch"), ("b", "read")]);
        let second = plan(&[("a", "fetch"), ("b", "read twice"), ("c", "write")]);
        let found = edits(vec![
            ask("q1", &first),
            answer("q1", "ann", "edit"),
            answer("q1", "bob", "approve"),
            ask("q2", &second),
            answer("q2", "bob", "edit"),
            // This edit did not fit.
            ask("q3", &second),
            answer("q3", "ann", "approve"),
        ]);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.by.as_str(), one.seq, one.number), ("ann", Seq(2), 0));
        let marks: Vec<_> =
            one.steps.iter().map(|l| format!("{}{} {}", l.change.mark(), l.id, l.label)).collect();
        assert_eq!(marks, ["-b read", " a fetch", "+b read twice", "+c write"]);
    }

    #[test]
    fn a_plan_that_was_confirmed_or_planned_anew_was_not_edited() {
        let (first, second) = (plan(&[("a", "fetch")]), plan(&[("b", "read")]));
        for verdict in ["approve", "respond", "reject"] {
            let found =
                edits(vec![ask("q1", &first), answer("q1", "ann", verdict), ask("q2", &second)]);
            assert_eq!(found, [], "{verdict}");
        }
    }
}
