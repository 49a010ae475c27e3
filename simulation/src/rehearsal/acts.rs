//! What people and operators did to a recorded job, done again where the job stands as it did then.

use std::collections::{BTreeMap, VecDeque};

use proto::{
    decision::Decision,
    fact::{Answered, Fact, Signaled, Source},
    id::{AskId, Seq, WorkId},
    interaction::QuestionKind,
    record::Known,
    step::StepState,
    subject::Family,
    trace::TraceContext,
};
use runtime::{
    broker::Broker,
    log::{Entry, Guarded},
};
use serde_json::{Value, json};
use supervisor::machine::Job;

use super::Recording;

/// What somebody did.
#[derive(Debug, Clone)]
enum Act {
    /// Answered the question of this unit of work.
    Answer { of: WorkId, answered: Answered },
    /// Said something to the job when it stood so.
    Signal { at: Value, signaled: Signaled },
}

/// What is still to be done.
#[derive(Debug)]
pub(super) struct Acts {
    left: VecDeque<Act>,
    /// Where the last one was stored: until it was heard, nothing else is done.
    done: Seq,
}

impl Acts {
    /// What was done after the first `cut` records.
    pub(super) fn after(recording: &Recording, cut: usize) -> Self {
        let mut asks: BTreeMap<AskId, WorkId> = BTreeMap::new();
        let mut left = VecDeque::new();
        let mut job = Job::new(recording.job().clone());
        for (entry, (n, known)) in recording.entries().iter().zip(recording.known()) {
            match known {
                Known::Decision(decision) => {
                    if let Decision::Ask(ask) = *decision {
                        asks.insert(ask.question.id, ask.work);
                    }
                }
                Known::Fact(fact) => match *fact {
                    Fact::Answered(answered) if n >= cut => {
                        let of = asks.get(&answered.ask).cloned();
                        left.extend(of.map(|of| Act::Answer { of, answered }));
                    }
                    Fact::Signaled(signaled) if n >= cut => {
                        left.push_back(Act::Signal { at: standing(&job), signaled });
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
            }
            supervisor::replay::apply(&mut job, entry);
        }
        Self { left, done: Seq(0) }
    }

    /// Does the next thing, if the job stands where it was done.
    pub(super) async fn next(&mut self, broker: &Broker, job: &Job, heard: &[Entry]) {
        if job.seq() < self.done {
            return;
        }
        let Some(act) = self.left.front() else { return };
        let trace = TraceContext::new(1, 1, false);
        let log = &broker.log;
        let seq = match act {
            Act::Signal { at, signaled } if *at == standing(job) => {
                log.append(job.id(), &Fact::Signaled(signaled.clone()), trace).await.ok()
            }
            Act::Answer { of, answered } => {
                let Some(fact) = answer(job, heard, of, answered) else { return };
                let people = |entry: &&Entry| entry.family == Family::In(Source::People);
                let last = heard.iter().rev().find(people).map_or(Seq(0), |entry| entry.seq);
                match log.answer(job.id(), &fact, last, trace).await {
                    Ok(Guarded::Stored(seq)) => Some(seq),
                    Ok(Guarded::Conflict) | Err(_) => None,
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

/// The recorded answer, if the question of that unit of work is open.
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

/// Where a job stands, as far as people see it who have something to say to it.
fn standing(job: &Job) -> Value {
    let Some(view) = job.view() else { return Value::Null };
    let steps = view.plan.iter().flat_map(|plan| &plan.steps);
    let completed = steps.filter(|step| step.state == StepState::Completed).count();
    json!([view.state, view.sub_status, completed, view.questions.len()])
}
