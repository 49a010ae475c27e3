//! Rolls a job of a recorded log back to any of its records, and continues with the recorded
//! replies, translated to the work of the new generation.

use std::collections::BTreeMap;

use machine::{At, Job, replay};
use proto::{
    decision::Decision,
    entry::Entry,
    fact::{Answered, Fact, Signal, Signaled, Source},
    id::{AskId, Attempt, JobId, Seq, TimerName, WorkId, WorkerId},
    record::{Known, Record},
    subject::Family,
};

use super::go_on::known;

/// Limit on the decisions after one fact; beyond it the machine would never rest.
const DECISIONS_MAX: usize = 500;

/// Returns a unit of work without its generation.
fn bare(work: &WorkId) -> String {
    work.as_str().split_once('.').map_or("", |(_, rest)| rest).to_owned()
}

/// The recorded questions and timers, by the work that they are for.
struct Recorded {
    asks: BTreeMap<AskId, String>,
    timers: BTreeMap<TimerName, String>,
}

impl Recorded {
    fn of(entries: &[Entry]) -> Self {
        let mut recorded = Self { asks: BTreeMap::new(), timers: BTreeMap::new() };
        for entry in entries {
            let Some(Known::Decision(decision)) = known(entry) else { continue };
            match *decision {
                Decision::Ask(ask) => {
                    let work = bare(&ask.work);
                    let timer = TimerName::new(format!("ask-{}", ask.question.id)).unwrap();
                    recorded.timers.insert(timer, work.clone());
                    recorded.asks.insert(ask.question.id, work);
                }
                Decision::Wait(wait) => {
                    recorded.timers.insert(wait.timer, bare(&wait.work));
                }
                Decision::Plan(_)
                | Decision::Turn(_)
                | Decision::Call(_)
                | Decision::Spawn(_)
                | Decision::Note(_)
                | Decision::Done(_)
                | Decision::Finish(_) => {}
            }
        }
        recorded
    }
}

pub(super) struct GoBack {
    job: Job,
    seq: Seq,
    recorded: Recorded,
    /// Last attempt of each unit of work that was sent since the rollback.
    sent: BTreeMap<String, (WorkId, Attempt)>,
    timers: BTreeMap<String, TimerName>,
    /// Answers before the target; they are given again to repeated questions.
    said: BTreeMap<String, Answered>,
    /// Entries before the target.
    earlier: Vec<Entry>,
}

impl GoBack {
    /// Rolls the job back to the last of the first `cut` records of its log.
    pub(super) fn to(id: &JobId, entries: &[Entry], cut: usize) -> Self {
        let last = entries.last().unwrap();
        let seen = last.seq;
        let signal = Signal::RollBack { to: entries[cut - 1].seq, seen, again: true };
        let fact = Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq: None });
        let marker = Entry {
            seq: Seq(seen.0 + 1),
            family: Family::In(Source::Door),
            record: Ok(Record::of_fact(&fact, "back", &WorkerId::new("w").unwrap()).unwrap()),
            ..last.clone()
        };
        let generation = replay(id, entries).generation();
        let mut all = entries.to_vec();
        all.push(marker);
        let job = replay(id, &all);
        assert!(job.generation() > generation, "it did not count");
        let recorded = Recorded::of(entries);
        let mut said = BTreeMap::new();
        for entry in &entries[..cut] {
            if let Some(Known::Fact(fact)) = known(entry)
                && let Fact::Answered(answered) = *fact
                && let Some(work) = recorded.asks.get(&answered.ask)
            {
                said.insert(work.clone(), answered);
            }
        }
        let (sent, timers) = (BTreeMap::new(), BTreeMap::new());
        let earlier = entries[..cut].to_vec();
        Self { seq: job.seq(), job, recorded, sent, timers, said, earlier }
    }

    /// Continues to the end of the recording.
    pub(super) fn through(mut self, rest: &[Entry]) -> Job {
        self.drive();
        // A repeated command breaks again, as often as it had broken.
        let mut again = results(&self.earlier);
        again.retain(|(_, fact)| self.is_anew(fact));
        for (entry, fact) in again.into_iter().chain(results(rest)) {
            let fact = self.translated(fact);
            self.apply(&entry, fact);
            self.drive();
        }
        self.job
    }

    /// Returns `true` if the fact is about work that was sent again.
    fn is_anew(&self, fact: &Fact) -> bool {
        let work = match fact {
            Fact::Planned(planned) => bare(&planned.work),
            Fact::Turned(turned) => bare(&turned.work),
            Fact::Called(called) => bare(&called.work),
            Fact::Child(said) => bare(&said.work),
            Fact::Fired(fired) => {
                self.recorded.timers.get(&fired.timer).cloned().unwrap_or_default()
            }
            Fact::Submitted(_) | Fact::Signaled(_) | Fact::Started(_) | Fact::Answered(_) => {
                return false;
            }
        };
        self.sent.contains_key(&work)
    }

    fn translated(&self, mut fact: Fact) -> Fact {
        let unit = |work: &mut WorkId, attempt: &mut Attempt| {
            if let Some(sent) = self.sent.get(&bare(work)) {
                (*work, *attempt) = sent.clone();
            }
        };
        match &mut fact {
            Fact::Planned(planned) => unit(&mut planned.work, &mut planned.attempt),
            Fact::Turned(turned) => unit(&mut turned.work, &mut turned.attempt),
            Fact::Called(called) => unit(&mut called.work, &mut called.attempt),
            Fact::Started(started) => unit(&mut started.work, &mut started.attempt),
            Fact::Answered(answered) => {
                let work = self.recorded.asks.get(&answered.ask).cloned();
                if let Some(again) = work.and_then(|work| self.answer(&work, answered)) {
                    *answered = again;
                }
            }
            Fact::Fired(fired) if fired.timer.as_str() == "deadline" => {
                let name = format!("deadline-g{}", self.job.generation());
                fired.timer = TimerName::new(name).unwrap();
            }
            Fact::Fired(fired) => {
                let work = self.recorded.timers.get(&fired.timer);
                if let Some(timer) = work.and_then(|work| self.timers.get(work)) {
                    fired.timer = timer.clone();
                }
            }
            Fact::Child(said) => {
                unit(&mut said.work, &mut said.attempt);
                let children = self.job.view().unwrap().children;
                let anew = children
                    .into_iter()
                    .find(|child| (&child.work, child.attempt) == (&said.work, said.attempt));
                if let Some(child) = anew {
                    said.child = child.job;
                }
            }
            Fact::Submitted(_) | Fact::Signaled(_) => {}
        }
        fact
    }

    /// Returns the same answer to the open question of that work.
    fn answer(&self, work: &str, answered: &Answered) -> Option<Answered> {
        let view = self.job.view().unwrap();
        let asked = view.questions.iter().find(|question| {
            self.sent.get(&format!("ask {}", question.id)).is_some_and(|(of, _)| bare(of) == work)
        })?;
        let mut again = Answered { ask: asked.id.clone(), ..answered.clone() };
        if again.answer.digest.is_some() {
            let shown = serde_json::to_value(asked).unwrap();
            again.answer.digest = shown["digest"].as_str().map(str::to_owned);
        }
        Some(again)
    }

    fn drive(&mut self) {
        for _ in 0..DECISIONS_MAX {
            if let Some(next) = self.job.decide() {
                self.take(&next.decision);
                let family = Family::Do(next.decision.kind(), next.decision.pool());
                let (known, time) = (Known::Decision(Box::new(next.decision)), self.job.updated());
                self.store(&family, &known, time);
                continue;
            }
            let again = self.said.iter().find_map(|(work, said)| self.answer(work, said));
            let Some(again) = again else { return };
            let fact = Fact::Answered(again);
            let (family, time) = (Family::In(fact.source()), self.job.updated());
            self.store(&family, &Known::Fact(Box::new(fact)), time);
        }
        panic!("the machine never rests: {:#?}", self.job.view());
    }

    fn take(&mut self, decision: &Decision) {
        let mut sent = |work: &WorkId, attempt| {
            self.sent.insert(bare(work), (work.clone(), attempt));
        };
        match decision {
            Decision::Plan(work) => sent(&work.work, work.attempt),
            Decision::Turn(work) => sent(&work.work, work.attempt),
            Decision::Call(work) => sent(&work.work, work.attempt),
            Decision::Spawn(work) => sent(&work.work, work.attempt),
            Decision::Ask(ask) => {
                let unit = (ask.work.clone(), Attempt::FIRST);
                self.sent.insert(format!("ask {}", ask.question.id), unit);
                let timer = TimerName::new(format!("ask-{}", ask.question.id)).unwrap();
                self.timers.insert(bare(&ask.work), timer);
            }
            Decision::Wait(wait) => {
                self.timers.insert(bare(&wait.work), wait.timer.clone());
            }
            Decision::Note(_) | Decision::Done(_) | Decision::Finish(_) => {}
        }
    }

    fn apply(&mut self, entry: &Entry, fact: Fact) {
        let time = entry.time.max(self.job.updated());
        self.store(&Family::In(fact.source()), &Known::Fact(Box::new(fact)), time);
    }

    fn store(&mut self, family: &Family, known: &Known, time: jiff::Timestamp) {
        self.seq = Seq(self.seq.0 + 1);
        self.job.apply(At { seq: self.seq, time }, family, Ok(known));
    }
}

/// Returns the facts and the results of work that is done, each with its entry.
fn results(entries: &[Entry]) -> Vec<(Entry, Fact)> {
    let of =
        |entry: &Entry| entry.results().into_iter().map(|fact| (entry.clone(), fact)).collect();
    entries.iter().flat_map(|entry| -> Vec<_> { of(entry) }).collect()
}
