//! The acts of people and operators on a recorded job, repeated when the replayed job reaches the
//! same state.

use std::collections::{BTreeMap, VecDeque};

use broker::{Broker, log::CasOutcome};
use machine::{Job, Replay, rollback_target, testing};
use proto::{
    decision::Decision,
    entry::Entry,
    fact::{Answered, Fact, Signal, Signaled, Source},
    id::{AskId, JobId, Seq, WorkId},
    interaction::QuestionKind,
    record::{Known, Record},
    step::StepState,
    subject::Family,
    trace::TraceContext,
};
use serde_json::{Value, json};

use super::Recording;

/// One act of a person.
#[derive(Debug, Clone)]
enum Act {
    /// An answer to the question of this unit of work.
    Answer { of: WorkId, answered: Answered },
    /// A signal that was sent when the job had this state.
    Signal { at: Value, signaled: Signaled, to: Option<Mark> },
}

/// The acts that are still to be repeated.
#[derive(Debug)]
pub(super) struct Acts {
    left: VecDeque<Act>,
    /// The position of the last act. The next one waits until that position was folded.
    done: Seq,
}

impl Acts {
    /// Collects the acts on a job after the first `cut` records.
    pub(super) fn after(recording: &Recording, id: &JobId, cut: usize) -> Self {
        let mut asks: BTreeMap<AskId, WorkId> = BTreeMap::new();
        let mut left = VecDeque::new();
        let own = recording.of(id);
        let mut replay = Replay::of(id, &own);
        for (n, entry) in recording.entries().iter().enumerate().filter(|(_, e)| e.job == *id) {
            match entry.record.as_ref().ok().and_then(|record| record.known().ok()) {
                Some(Known::Decision(decision)) => {
                    if let Decision::Ask(ask) = *decision {
                        asks.insert(ask.question.id, ask.work);
                    }
                }
                Some(Known::Fact(fact)) => match *fact {
                    Fact::Answered(answered) if n >= cut => {
                        let of = asks.get(&answered.ask).cloned();
                        left.extend(of.map(|of| Act::Answer { of, answered }));
                    }
                    // A signal that another job forwarded is forwarded again by that job.
                    Fact::Signaled(signaled) if n >= cut && signaled.parent_seq.is_none() => {
                        let at = standing(replay.job());
                        let to = rollback_target(entry).and_then(|to| mark_of(&own, to));
                        left.push_back(Act::Signal { at, signaled, to });
                    }
                    Fact::Answered(_)
                    | Fact::Signaled(_)
                    | Fact::Submitted(_)
                    | Fact::Planned(_)
                    | Fact::Turned(_)
                    | Fact::Started(_)
                    | Fact::Called(_)
                    | Fact::Child(_)
                    | Fact::Fired(_) => {}
                },
                None => {}
            }
            replay.take(entry);
        }
        Self { left, done: Seq(0) }
    }

    /// Returns whether all acts were repeated.
    pub(super) fn are_done(&self) -> bool {
        self.left.is_empty()
    }

    /// Repeats the next act if the job has the state of the recording.
    pub(super) async fn next(&mut self, broker: &Broker, job: &Job, heard: &[Entry]) {
        if job.seq() < self.done {
            return;
        }
        let Some(act) = self.left.front() else { return };
        let trace = TraceContext::new(1, 1, false);
        let log = &broker.log;
        let seq = match act {
            Act::Signal { at, signaled, to } if *at == standing(job) => {
                let Some(signaled) = here(signaled, to.as_ref(), heard) else { return };
                log.append(job.id(), &Fact::Signaled(signaled), trace).await.ok()
            }
            Act::Answer { of, answered } => {
                let Some(fact) = answer(job, heard, of, answered) else { return };
                let people = |entry: &&Entry| entry.family == Family::In(Source::People);
                let last = heard.iter().rev().find(people).map_or(Seq(0), |entry| entry.seq);
                match log.answer(job.id(), &fact, last, trace).await {
                    Ok(CasOutcome::Stored(seq)) => Some(seq),
                    Ok(CasOutcome::Conflict) | Err(_) => None,
                }
            }
            Act::Signal { .. } => None,
        };
        if let Some(seq) = seq {
            self.done = seq;
            self.left.pop_front();
        }
    }
}

/// An identification of a record independent of its position: its label, and the number of earlier
/// records with the same label.
type Mark = (String, usize);

fn words(entry: &Entry) -> String {
    match entry.record.as_ref().map(Record::known) {
        Ok(Ok(Known::Decision(decision))) => testing::label(&decision),
        Ok(Ok(Known::Fact(fact))) => match &*fact {
            Fact::Planned(said) => format!("planned {} {}", said.work, said.attempt),
            Fact::Turned(said) => format!("turned {} {}", said.work, said.attempt),
            Fact::Called(said) => format!("called {} {}", said.work, said.attempt),
            Fact::Started(said) => format!("started {} {}", said.work, said.attempt),
            Fact::Signaled(said) => format!("signaled {}", said.signal.word()),
            Fact::Submitted(_) | Fact::Answered(_) | Fact::Fired(_) | Fact::Child(_) => {
                entry.family.to_string()
            }
        },
        Ok(Err(_)) | Err(_) => String::new(),
    }
}

fn mark_of(entries: &[Entry], seq: Seq) -> Option<Mark> {
    let words_there = words(entries.iter().find(|entry| entry.seq == seq)?);
    let before = entries.iter().filter(|entry| entry.seq < seq && words(entry) == words_there);
    let times = before.count();
    Some((words_there, times))
}

/// Adapts a signal to the log of the replay; `None` while the record that the signal refers to is
/// missing.
fn here(signaled: &Signaled, to: Option<&Mark>, heard: &[Entry]) -> Option<Signaled> {
    let mut signaled = signaled.clone();
    if let (Signal::RollBack { to: seq, seen, .. }, Some((says, times))) =
        (&mut signaled.signal, to)
    {
        *seq = heard.iter().filter(|entry| words(entry) == *says).nth(*times)?.seq;
        *seen = heard.last()?.seq;
    }
    Some(signaled)
}

/// Returns the recorded answer if the question of that unit of work is open.
fn answer(job: &Job, heard: &[Entry], of: &WorkId, recorded: &Answered) -> Option<Fact> {
    let view = job.view()?;
    let asked = heard.iter().rev().find_map(|entry| {
        let Known::Decision(decision) = entry.record.as_ref().ok()?.known().ok()? else {
            return None;
        };
        match *decision {
            Decision::Ask(ask) if ask.work == *of => Some(ask.question.id),
            Decision::Ask(_)
            | Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(_)
            | Decision::Done(_)
            | Decision::Finish(_) => None,
        }
    })?;
    let question = view.questions.iter().find(|question| question.id == asked)?;
    let mut answered = Answered { ask: asked, ..recorded.clone() };
    if answered.answer.digest.is_some() {
        answered.answer.digest = match &question.kind {
            QuestionKind::PlanCheck { digest, .. } | QuestionKind::ToolApproval { digest, .. } => {
                Some(digest.clone())
            }
            QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. } => {
                None
            }
        };
    }
    Some(Fact::Answered(answered))
}

/// Returns the part of a job's state that people react to.
fn standing(job: &Job) -> Value {
    let Some(view) = job.view() else { return Value::Null };
    let steps = view.plan.iter().flat_map(|plan| &plan.steps);
    let completed = steps.filter(|step| step.state == StepState::Completed).count();
    json!([view.state, view.sub_status, completed, view.questions.len(), view.generation])
}
