//! The real fold and the real decisions of both jobs, each worked out once. A state of the model names
//! a log by number; behind it stand entries as the log stores them.
//!
//! It must never work anything out in a way of its own: whoever folds and decides here is the code
//! that does so in production.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use machine::{Job, Next, replay};
use proto::{
    decision::{Decision, Note},
    entry::Entry,
    fact::{Fact, Signal},
    family::News,
    id::{AskId, JobId, Seq, Unit, WorkerId},
    job::Outcome,
    record::Record,
    subject::Family,
};

use super::{
    claims,
    script::{self, Script},
    world::{CHILD, PARENT, Places},
};

/// What is written to a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Saying {
    Fact(u32),
    /// A decision by somebody who saw the one before `after`.
    Decision {
        next: u32,
        after: u8,
    },
}

/// A log, and what it says.
#[derive(Clone)]
pub(super) struct Log {
    who: u8,
    pub(super) entries: Vec<Entry>,
    pub(super) job: Job,
    pub(super) wrong: BTreeSet<&'static str>,
    /// The position of its last decision; 0 before the first.
    pub(super) decided: u8,
    pub(super) ended: bool,
    /// Commands, by their place.
    pub(super) commands: BTreeMap<u8, Unit>,
    /// Those that were answered.
    pub(super) answered: BTreeSet<Unit>,
    /// The question that waits for a person.
    pub(super) asks: Option<AskId>,
    pub(super) questions_answered: u8,
    pub(super) canceled: bool,
    /// Children that it decided to have.
    pub(super) spawned: BTreeSet<JobId>,
    /// Whether it noted that its child was told that nobody waits for it.
    pub(super) called_off: bool,
    /// How its child ended, as it counted.
    pub(super) child_ended: Option<Outcome>,
    /// How often it was told that.
    pub(super) ends_heard: u8,
    decisions: BTreeSet<String>,
    after: BTreeSet<u8>,
    /// Whether something should follow and does not yet.
    pub(super) lacks_decision: bool,
}

/// What somebody who knows some of a log's records makes of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fold {
    pub(super) next: Option<u32>,
    /// The position of the last decision that he knows.
    pub(super) after: u8,
}

pub(super) struct Memory {
    pub(super) script: Script,
    logs: Vec<Log>,
    longer: HashMap<(u32, Saying), u32>,
    folds: HashMap<(u32, Places), Fold>,
    pub(super) nexts: Vec<Next>,
    by_next: HashMap<String, u32>,
    facts: Vec<Fact>,
    by_fact: HashMap<String, u32>,
}

impl Memory {
    pub(super) fn new(script: Script) -> Self {
        let logs = script::jobs().into_iter().zip([PARENT, CHILD]);
        Self {
            script,
            logs: logs.map(|(job, who)| Log::empty(job, who)).collect(),
            longer: HashMap::new(),
            folds: HashMap::new(),
            nexts: Vec::new(),
            by_next: HashMap::new(),
            facts: Vec::new(),
            by_fact: HashMap::new(),
        }
    }

    pub(super) fn log(&self, log: u32) -> &Log {
        &self.logs[log as usize]
    }

    /// All places of a log.
    pub(super) fn all(&self, log: u32) -> Places {
        (1 << self.log(log).entries.len()) - 1
    }

    /// The log with a fact more.
    pub(super) fn say(&mut self, log: u32, fact: &Fact) -> u32 {
        let fresh = number(self.facts.len());
        let known = self.by_fact.entry(format!("{fact:?}")).or_insert(fresh);
        let known = *known;
        if known == fresh {
            self.facts.push(fact.clone());
        }
        self.append(log, Saying::Fact(known))
    }

    /// The log with one record more.
    pub(super) fn append(&mut self, log: u32, saying: Saying) -> u32 {
        if let Some(longer) = self.longer.get(&(log, saying)) {
            return *longer;
        }
        let mut longer = self.logs[log as usize].clone();
        match saying {
            Saying::Fact(fact) => longer.hear(&self.facts[fact as usize]),
            Saying::Decision { next, after } => {
                longer.decide(&self.nexts[next as usize].decision, after);
            }
        }
        self.logs.push(longer);
        let longer = number(self.logs.len() - 1);
        self.longer.insert((log, saying), longer);
        longer
    }

    /// What follows for somebody who knows these records of a log.
    pub(super) fn fold(&mut self, log: u32, known: Places) -> Fold {
        if let Some(fold) = self.folds.get(&(log, known)) {
            return *fold;
        }
        let node = &self.logs[log as usize];
        let all = node.entries.iter().enumerate();
        let entries: Vec<Entry> =
            all.filter(|(at, _)| known & (1 << at) != 0).map(|(_, entry)| entry.clone()).collect();
        let job = replay(node.job.id(), &entries);
        let after = u8::try_from(job.last_decision().0).expect("the log is short");
        let next = job.decide().map(|next| {
            assert!(next.arm.is_empty(), "no job of the play waits for the clock");
            let fresh = number(self.nexts.len());
            *self.by_next.entry(format!("{next:?}")).or_insert_with(|| {
                self.nexts.push(next);
                fresh
            })
        });
        let fold = Fold { next, after };
        self.folds.insert((log, known), fold);
        fold
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the model is small")
}

impl Log {
    fn empty(job: JobId, who: u8) -> Self {
        Self {
            who,
            entries: Vec::new(),
            job: Job::new(job),
            wrong: BTreeSet::new(),
            decided: 0,
            ended: false,
            commands: BTreeMap::new(),
            answered: BTreeSet::new(),
            asks: None,
            questions_answered: 0,
            canceled: false,
            spawned: BTreeSet::new(),
            called_off: false,
            child_ended: None,
            ends_heard: 0,
            decisions: BTreeSet::new(),
            after: BTreeSet::new(),
            lacks_decision: false,
        }
    }

    fn take(&mut self, family: Family, record: Record) {
        let entry = script::entry(self.entries.len(), self.job.id(), family, record);
        self.job.take(&entry);
        self.entries.push(entry);
        assert!(self.entries.len() < 31, "the log of a small job is short");
        if self.job.poison().is_some() {
            self.wrong.insert(claims::UNREADABLE);
        }
        self.ended = self.job.has_ended();
        let view = self.job.view();
        self.asks = view.and_then(|view| view.questions.first().map(|q| q.id.clone()));
        self.lacks_decision = self.job.decide().is_some();
    }

    fn hear(&mut self, fact: &Fact) {
        let writer = WorkerId::new("somebody").expect("a word is an id");
        let id = format!("r{}", self.entries.len());
        let record = Record::of_fact(fact, id, &writer).expect("it has no floats");
        let (ignored, is_first) = (self.job.ignored(), self.entries.is_empty());
        self.take(Family::In(fact.source()), record);
        let counted = self.job.ignored() == ignored;
        match fact {
            Fact::Submitted(_) if !is_first => _ = self.wrong.insert(claims::BEGUN_ONCE),
            Fact::Signaled(signaled) => self.canceled |= signaled.signal == Signal::Cancel,
            Fact::Turned(_) => self.answered.extend(fact.result_of()),
            Fact::Answered(_) => self.questions_answered += 1,
            Fact::Child(said) => {
                let News::Ended { outcome, .. } = &said.news else { return };
                self.ends_heard += 1;
                if counted && self.child_ended.replace(outcome.clone()).is_some() {
                    self.wrong.insert(claims::COUNTED_ONCE);
                }
            }
            Fact::Submitted(_) | Fact::Planned(_) | Fact::Started(_) => {}
            Fact::Called(_) | Fact::Fired(_) => {}
        }
    }

    fn decide(&mut self, decision: &Decision, after: u8) {
        let writer = WorkerId::new("somebody").expect("a word is an id");
        let at = u8::try_from(self.entries.len()).expect("the log is short");
        let record = Record::of_decision(decision, format!("r{at}"), &writer);
        if self.ended {
            self.wrong.insert(claims::NOTHING_AFTER_THE_END);
        }
        if !self.decisions.insert(format!("{decision:?}")) {
            self.wrong.insert(claims::DECIDED_ONCE);
        }
        if !self.after.insert(after) {
            self.wrong.insert(claims::ONE_DECISION_PER_POSITION);
        }
        self.decided = at + 1;
        match decision {
            Decision::Turn(turn) => {
                self.commands.insert(at, Unit { work: turn.work.clone(), attempt: turn.attempt });
            }
            Decision::Spawn(spawn) => {
                self.spawned.insert(spawn.child.clone());
                if self.spawned.len() > 1 {
                    self.wrong.insert(claims::BEGUN_ONCE);
                }
            }
            Decision::Note(Note::ChildTold { signal, .. }) => {
                self.called_off |= *signal == Signal::Cancel;
            }
            Decision::Finish(_) if self.who == PARENT => {
                let is_free = self.spawned.is_empty() || self.child_ended.is_some();
                if !is_free && !self.called_off {
                    self.wrong.insert(claims::WAITS_OR_CALLS_OFF);
                }
            }
            Decision::Plan(_) | Decision::Call(_) | Decision::Ask(_) | Decision::Wait(_) => {}
            Decision::Note(_) | Decision::Finish(_) => {}
        }
        let family = Family::Do(decision.kind(), decision.pool());
        self.take(family, record.expect("it has no floats"));
    }

    /// How the job ended.
    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.job.outcome()
    }

    /// Whether it has begun.
    pub(super) fn is_there(&self) -> bool {
        self.job.first() > Seq(0)
    }
}
