//! The real fold and the real decisions, each worked out once. A state of the model names a log and
//! folds by number; behind the numbers stand entries as the log stores them, [`Folded`] as a job's
//! actor keeps it, and what [`Job::decide`] said of it.
//!
//! It must never work anything out in a way of its own: whoever reads, folds and decides here is the
//! code that does so in production.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use machine::{Job, Next, replay};
use proto::{
    decision::DecisionKind,
    entry::Entry,
    id::{Generation, JobId, Seq, TimerName, Unit, WorkId},
    subject::Family,
};

use super::{
    super::folded::{Folded, News},
    claims,
    script::{Saying, Script},
};

/// Positions of a log, one bit each.
pub(super) type Places = u32;

/// A log, and what it says.
pub(super) struct LogNode {
    pub(super) written: Vec<Arc<Written>>,
    pub(super) job: Job,
    pub(super) wrong: BTreeSet<&'static str>,
    /// Whether the job has ended.
    pub(super) ended: bool,
    /// Whether it asks somebody.
    pub(super) asks: bool,
    /// The position of its last decision.
    pub(super) decided: u8,
    /// Commands to plan.
    pub(super) plans: Places,
    /// The record that brought its plan.
    pub(super) planned: Option<usize>,
    /// Decisions that were stored by somebody who did not know that it went back.
    pub(super) fenced: u8,
    /// Results that came after it went back, of what was sent before.
    pub(super) heard_of_before: u8,
    counted: BTreeSet<Option<Unit>>,
    sent: BTreeSet<String>,
    wants_decision: Option<bool>,
}

/// A record of a log.
pub(super) struct Written {
    pub(super) saying: Saying,
    pub(super) entry: Entry,
    /// The attempt that a command is for, or the result of one.
    pub(super) attempt: Option<Unit>,
    /// What makes a decision one of a kind.
    pub(super) label: Option<String>,
    /// The generation that a decision is of.
    pub(super) generation: Option<Generation>,
    /// The timer that fired.
    pub(super) fired: Option<TimerName>,
}

/// A fold as a job's actor keeps it.
struct FoldNode {
    folded: Folded,
    known: Places,
    /// Whether it is what the records it knows fold to.
    is_true: bool,
    next: Option<Option<u32>>,
}

pub(super) struct Memory {
    script: Script,
    job: JobId,
    /// Whether a roll-back is taken for something that changes nothing, for a planted bug.
    pub(super) deaf: bool,
    pub(super) logs: Vec<LogNode>,
    longer: HashMap<(u32, Saying), u32>,
    folds: Vec<FoldNode>,
    by_content: HashMap<(u64, u64, Places), u32>,
    read: HashMap<(u32, Places), u32>,
    inserted: HashMap<(u32, u32, u8), Option<u32>>,
    stored: HashMap<(u32, u32, u8), u32>,
    pub(super) nexts: Vec<Next>,
    by_next: HashMap<String, u32>,
    timers: Vec<TimerName>,
}

impl Memory {
    pub(super) fn new(script: Script) -> Self {
        let job = JobId::new("job").expect("three letters are an id");
        let empty = LogNode {
            written: Vec::new(),
            job: Job::new(job.clone()),
            wrong: BTreeSet::new(),
            ended: false,
            asks: false,
            decided: 0,
            plans: 0,
            planned: None,
            fenced: 0,
            heard_of_before: 0,
            counted: BTreeSet::new(),
            sent: BTreeSet::new(),
            wants_decision: None,
        };
        Self {
            script,
            job,
            deaf: false,
            logs: vec![empty],
            longer: HashMap::new(),
            folds: Vec::new(),
            by_content: HashMap::new(),
            read: HashMap::new(),
            inserted: HashMap::new(),
            stored: HashMap::new(),
            nexts: Vec::new(),
            by_next: HashMap::new(),
            timers: Vec::new(),
        }
    }

    pub(super) fn log(&self, log: u32) -> &LogNode {
        &self.logs[log as usize]
    }

    pub(super) fn is_true(&self, fold: u32) -> bool {
        self.folds[fold as usize].is_true
    }

    pub(super) fn job(&self, fold: u32) -> &Job {
        &self.folds[fold as usize].folded.job
    }

    /// The number of a timer.
    pub(super) fn timer(&mut self, name: &TimerName) -> u8 {
        let known = self.timers.iter().position(|timer| timer == name);
        let number = known.unwrap_or_else(|| {
            self.timers.push(name.clone());
            self.timers.len() - 1
        });
        u8::try_from(number).expect("a job of two steps has few timers")
    }

    pub(super) fn timer_name(&self, timer: u8) -> &TimerName {
        &self.timers[usize::from(timer)]
    }

    /// The log with one record more.
    pub(super) fn append(&mut self, log: u32, saying: Saying) -> u32 {
        if let Some(longer) = self.longer.get(&(log, saying)) {
            return *longer;
        }
        let before = &self.logs[log as usize];
        let written = self.script.write(&self.job, before, saying, self);
        let mut node = LogNode {
            written: before.written.clone(),
            job: before.job.clone(),
            wrong: before.wrong.clone(),
            ended: false,
            asks: false,
            decided: before.decided,
            plans: before.plans,
            planned: before.planned,
            fenced: before.fenced,
            heard_of_before: before.heard_of_before,
            counted: before.counted.clone(),
            sent: before.sent.clone(),
            wants_decision: None,
        };
        node.take(written);
        self.logs.push(node);
        let longer = u32::try_from(self.logs.len() - 1).expect("the model is small");
        self.longer.insert((log, saying), longer);
        longer
    }

    /// What somebody makes of these records of a log: of all, when it reads it.
    pub(super) fn fold(&mut self, log: u32, places: Places) -> u32 {
        if let Some(fold) = self.read.get(&(log, places)) {
            return *fold;
        }
        let all = self.logs[log as usize].written.iter().enumerate();
        let entries: Vec<Entry> =
            all.filter(|(at, _)| places & (1 << at) != 0).map(|(_, w)| w.entry.clone()).collect();
        let (folded, _) = Folded::of(&self.job, &entries, &News::default());
        let fold = self.intern(folded, places, log);
        self.read.insert((log, places), fold);
        fold
    }

    /// A fact is put in its place; nothing when it is older than one that was before.
    pub(super) fn insert(&mut self, fold: u32, log: u32, at: u8) -> Option<u32> {
        if let Some(done) = self.inserted.get(&(fold, log, at)) {
            return *done;
        }
        let node = &self.folds[fold as usize];
        let (mut folded, known) = (node.folded.clone(), node.known);
        let written = &self.logs[log as usize].written[usize::from(at)];
        let is_unheard = self.deaf && written.saying == Saying::Back;
        let done = is_unheard || folded.insert(&written.entry).is_ok();
        let done = done.then(|| self.intern(folded, known | 1 << at, log));
        self.inserted.insert((fold, log, at), done);
        done
    }

    /// A decision was stored from here: so the writer believes.
    pub(super) fn stored(&mut self, fold: u32, log: u32, at: u8) -> u32 {
        if let Some(done) = self.stored.get(&(fold, log, at)) {
            return *done;
        }
        let next = self.next(fold).expect("what was stored was decided");
        let decision = self.nexts[next as usize].decision.clone();
        let node = &self.folds[fold as usize];
        let (mut folded, known) = (node.folded.clone(), node.known);
        folded.stored(Seq(u64::from(at) + 1), decision);
        let done = self.intern(folded, known | 1 << at, log);
        self.stored.insert((fold, log, at), done);
        done
    }

    /// Whether the log lacks a decision.
    pub(super) fn wants_decision(&mut self, log: u32) -> bool {
        let node = &mut self.logs[log as usize];
        *node.wants_decision.get_or_insert_with(|| node.job.decide().is_some())
    }

    /// What should follow.
    pub(super) fn next(&mut self, fold: u32) -> Option<u32> {
        if let Some(next) = self.folds[fold as usize].next {
            return next;
        }
        let next = self.folds[fold as usize].folded.job.decide().map(|next| {
            let key = format!("{next:?}");
            let fresh = u32::try_from(self.nexts.len()).expect("the model is small");
            *self.by_next.entry(key).or_insert_with(|| {
                self.nexts.push(next);
                fresh
            })
        });
        self.folds[fold as usize].next = Some(next);
        next
    }

    fn intern(&mut self, folded: Folded, known: Places, log: u32) -> u32 {
        let mut text = Both(DefaultHasher::new(), DefaultHasher::new());
        "the other half".hash(&mut text.1);
        write!(text, "{folded:?}").expect("hashing does not fail");
        let key = (text.0.finish(), text.1.finish(), known);
        if let Some(fold) = self.by_content.get(&key) {
            return *fold;
        }
        let is_true = self.is_fold_of(&folded, known, log);
        self.folds.push(FoldNode { folded, known, is_true, next: None });
        let fold = u32::try_from(self.folds.len() - 1).expect("the model is small");
        self.by_content.insert(key, fold);
        fold
    }

    /// Whether a fold, however it came about, is what a replay of the same records gives. Times are
    /// left out: whoever stores a decision does not know when the broker did.
    fn is_fold_of(&self, folded: &Folded, known: Places, log: u32) -> bool {
        let all = self.logs[log as usize].written.iter().enumerate();
        let known = all.filter(|(at, _)| known & (1 << at) != 0);
        let entries: Vec<Entry> = known.map(|(_, written)| written.entry.clone()).collect();
        let replayed = replay(&self.job, &entries);
        timeless(&replayed) == timeless(&folded.job)
    }
}

/// A job in words, without times.
fn timeless(job: &Job) -> String {
    let text = format!("{job:?}");
    let words = text.split([' ', ',', '(', ')']);
    words.filter(|word| !(word.ends_with('Z') && word.contains('T'))).collect()
}

/// Hashes what is written to it, twice.
struct Both(DefaultHasher, DefaultHasher);

impl std::fmt::Write for Both {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        self.1.write(text.as_bytes());
        Ok(())
    }
}

impl Written {
    fn next(&self) -> Option<u32> {
        match self.saying {
            Saying::Decision { next, .. } => Some(next),
            Saying::Submitted
            | Saying::Cancel
            | Saying::Back
            | Saying::Approve
            | Saying::Fired { .. }
            | Saying::Result { .. } => None,
        }
    }

    /// Whether it was decided after a roll-back of the job that takes a unit of work out.
    pub(super) fn is_later_than(&self, work: &WorkId) -> bool {
        self.generation.is_some_and(|generation| generation > work.generation())
    }
}

impl LogNode {
    pub(super) fn has(&self, saying: Saying) -> bool {
        self.written.iter().any(|record| record.saying == saying)
    }

    /// Whether a timer fired before the decision was stored that it was armed for.
    pub(super) fn fired_early(&self, nexts: &[Next]) -> bool {
        let fired = |at: usize, timer: &TimerName| {
            self.written[..at].iter().any(|record| record.fired.as_ref() == Some(timer))
        };
        let mut decided =
            self.written.iter().enumerate().filter_map(|(at, record)| {
                record.next().map(|next| (at, &nexts[next as usize].arm))
            });
        decided.any(|(at, arm)| arm.iter().any(|arm| fired(at, &arm.timer)))
    }

    /// Whether a command was not answered.
    pub(super) fn lacks_results(&self) -> bool {
        let is_answered =
            |unit| self.written.iter().any(|r| !r.saying.is_decision() && r.attempt == unit);
        let commands = self.written.iter().filter(|record| record.saying.is_decision());
        commands.filter(|c| c.attempt.is_some()).any(|c| !is_answered(c.attempt.clone()))
    }

    /// The most attempts at anything.
    pub(super) fn tries(&self) -> u32 {
        let attempts = self.written.iter().filter_map(|record| record.attempt.as_ref());
        attempts.map(|unit| unit.attempt.0).max().unwrap_or(0)
    }

    /// Takes a record in, and holds it against those before.
    fn take(&mut self, written: Written) {
        let ended = self.job.has_ended();
        let ignored = self.job.ignored();
        let generation = self.job.generation();
        if written.saying == Saying::Back {
            let mut entries: Vec<Entry> = self.written.iter().map(|w| w.entry.clone()).collect();
            entries.push(written.entry.clone());
            self.job = replay(self.job.id(), &entries);
        } else {
            self.job.take(&written.entry);
        }
        let counts = self.job.ignored() == ignored;
        if self.job.poison().is_some() {
            self.wrong.insert(claims::UNREADABLE);
        }
        match written.saying {
            Saying::Decision { after, .. } => {
                if ended {
                    self.wrong.insert(claims::NOTHING_AFTER_THE_END);
                }
                if self.written.iter().any(|other| other.saying.is_decision_after(after)) {
                    self.wrong.insert(claims::ONE_DECISION_PER_POSITION);
                }
                // What nothing follows from may be decided once more.
                let is_fenced = written.generation.is_some_and(|own| own < generation);
                self.fenced += u8::from(is_fenced);
                if !is_fenced && !self.sent.insert(written.label.clone().unwrap_or_default()) {
                    self.wrong.insert(claims::DECIDED_ONCE);
                }
            }
            Saying::Result { command, .. } => {
                let command = self.written.get(usize::from(command));
                let sent = command.and_then(|command| command.attempt.clone());
                if sent.is_none() {
                    self.wrong.insert(claims::COMMAND_WAS_DECIDED);
                }
                let is_old = sent.as_ref().is_some_and(|unit| unit.work.generation() < generation);
                self.heard_of_before += u8::from(is_old && !counts);
                if counts && is_old {
                    self.wrong.insert(claims::COUNTS_IN_ITS_GENERATION);
                }
                if counts && written.attempt != sent {
                    self.wrong.insert(claims::COUNTS_FOR_ITS_OWN);
                }
                if counts && self.job.view().is_some_and(|view| view.plan.is_some()) {
                    self.planned.get_or_insert(self.written.len());
                }
                if counts && !self.counted.insert(sent) {
                    self.wrong.insert(claims::COUNTED_ONCE);
                }
            }
            Saying::Submitted
            | Saying::Cancel
            | Saying::Back
            | Saying::Approve
            | Saying::Fired { .. } => {}
        }
        if written.saying.is_decision() {
            let at = self.written.len();
            self.decided = u8::try_from(at + 1).expect("the log is short");
            let is_plan = matches!(written.entry.family, Family::Do(DecisionKind::Plan, _));
            self.plans |= Places::from(is_plan) << at;
        }
        self.written.push(Arc::new(written));
        self.ended = self.job.has_ended();
        self.asks = !self.job.waits().questions.is_empty();
    }
}
