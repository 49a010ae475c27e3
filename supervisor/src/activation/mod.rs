//! The activation of a job: a state machine without I/O for everything between the arrival of facts
//! and their acknowledgement.
//!
//! ```text
//! begin(facts) → Read? → Count → ( Compare? → Arm* → Submit/Append* → ( Run → Compare? )* → Store → Disarm* → StopWork? )* → Acknowledge → Rest
//! ```
//!
//! [`Activation::effect`] names the next effect, a driver carries it out, and [`Activation::done`]
//! takes its outcome. One driver is the job's actor; another is the exhaustive model in
//! [`crate::proof`]. If an effect fails, the driver calls [`Activation::give_up`], and the log
//! redelivers the facts.
//!
//! Recovery depends on the order of effects, because a supervisor may die between any two:
//!
//! * A timer without its decision is ignored. A decision without its timer would never wake the
//!   job, so timers are armed first.
//! * A message that is sent twice counts once. A note about an unsent message would lose the
//!   message, so messages are sent first.
//! * A command that this process carries out itself is stored with its result and with the units that
//!   follow from it, so a crash in between leaves no trace of them. Only commands that may run twice
//!   are carried out here, and only in an activation that read no log and whose facts are all
//!   delivered for the first time. After a redelivery, as many commands as a crash can have lost go
//!   to the queue. A command that kills its process is therefore sent to the queue the next time,
//!   which counts its deliveries.
//! * An acknowledged fact is never redelivered, so every decision that follows from it is stored
//!   first.
//!
//! Architecture invariant: nothing here waits, reads a clock, draws a random number or does I/O.

mod batch;
mod effect;
mod fold;
mod intake;
mod pending;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use machine::Job;
use proto::{
    entry::Entry,
    id::{JobId, Seq},
    trace::TraceContext,
};

pub(crate) use self::{
    effect::{Compared, Effect, GivenUp, Outcome, Ran},
    intake::{Arrival, Arrivals, CountedStatus, Intake, kind},
};
use self::{
    fold::CachedFold,
    pending::{Advance, Cleanup, Pending},
};

/// Limit on the decisions of one activation: two for each visit of a workflow, which may have more
/// visits than a plan has steps, and some more. A job that exceeds it does not converge.
pub(crate) const DECISIONS_MAX: usize = 2 * proto::workflow::STEPS_MAX as usize + 100;

/// Limit on consecutive conflicts. Beyond it another supervisor is deciding the job, and the
/// activation is given up.
const CONFLICTS_MAX: u32 = 20;

/// The activation state of one job at one supervisor.
#[cfg_attr(test, derive(Debug, Clone))]
pub(crate) struct Activation {
    job: JobId,
    state: State,
    bounds: Bounds,
    /// Fresh facts of activations that were given up. They are counted when they are redelivered.
    uncounted: BTreeSet<Seq>,
    /// Number of commands that go to the queue before this process carries one out again. A look or a
    /// redelivery sets it: a crash may have lost that many units of work, and one of them may have
    /// caused it.
    suspected: usize,
}

/// Counters that bound the current activation.
#[derive(Default)]
#[cfg_attr(test, derive(Debug, Clone))]
struct Bounds {
    decisions: usize,
    /// Consecutive conflicts.
    conflicts: u32,
}

#[cfg_attr(test, derive(Debug, Clone))]
enum State {
    /// No activation is running. The fold is kept while it can be trusted.
    Resting(Option<Box<CachedFold>>),
    /// The log is to be read before anything is decided. The arrivals are the facts of the
    /// activation; `None` after a conflict or a decision that requires a new read.
    Reading(Option<Arrivals>),
    /// The fold is current, as far as the supervisor knows.
    Active(Box<CachedFold>, Step),
    /// A bound is exceeded; only giving up remains.
    Exceeded(GivenUp),
}

#[cfg_attr(test, derive(Debug, Clone))]
enum Step {
    /// The facts are folded; the changes are to be counted.
    Count(Intake),
    /// A decision is being stored.
    Decide(Box<Pending>),
    /// A decision is stored; timers remain to be canceled, or workers to be told.
    Clean(Cleanup),
    /// Nothing more follows; the facts are to be acknowledged.
    Acknowledge,
}

/// The event that a job at rest waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// A worker has a command of the job, so its fold is kept.
    Working,
    /// A person, a timer, a child job or an operator has the next move.
    Waiting,
    /// Nothing that is known: the job has ended, is poisoned, or has no fold.
    Over,
}

impl Activation {
    pub(crate) fn new(job: JobId) -> Self {
        let (state, bounds) = (State::Resting(None), Bounds::default());
        Self { job, state, bounds, uncounted: BTreeSet::new(), suspected: 0 }
    }

    /// Begins an activation with the waiting facts. `look` requests an activation even without
    /// facts. `forget` drops the cached fold, because another supervisor may have received facts.
    pub(crate) fn begin<'a>(
        &mut self,
        facts: impl ExactSizeIterator<Item = Arrival<'a>> + Clone,
        look: bool,
        forget: bool,
    ) {
        self.bounds = Bounds::default();
        let cached = match std::mem::take(&mut self.state) {
            State::Resting(cached) => cached,
            State::Reading(_) | State::Active(..) | State::Exceeded(_) => None,
        };
        // Redeliveries arrive out of order, so the place of such a fact in the fold is unknown.
        let is_redelivered = facts.clone().any(|fact| fact.is_again);
        // An activation that this process gave up has not killed it.
        if (is_redelivered || look) && self.uncounted.is_empty() {
            self.suspected = batch::UNITS_MAX;
        }
        let is_trusted = !forget && !is_redelivered;
        let cached = cached.filter(|_| is_trusted);
        if facts.len() == 0 && !look {
            self.state = State::Resting(cached);
            return;
        }
        let inserted = cached.and_then(|fold| insert_all(fold, facts.clone()));
        self.state = match inserted {
            Some((mut fold, intake)) => {
                fold.may_run = facts.len() > 0;
                State::Active(fold, Step::Count(intake))
            }
            None => self.begin_without_fold(facts),
        };
    }

    fn begin_without_fold<'a>(
        &self,
        mut facts: impl ExactSizeIterator<Item = Arrival<'a>> + Clone,
    ) -> State {
        let arrivals = Arrivals::of(&self.uncounted, facts.clone());
        match (facts.next(), facts.next()) {
            // The first delivery of a job's first record: there is nothing else to read. If that
            // assumption is wrong, the first compare-and-set fails.
            (Some(first), None) if first.is_new_job() => {
                let (mut fold, intake) =
                    CachedFold::read(&self.job, std::slice::from_ref(first.entry), &arrivals);
                fold.may_run = true;
                State::Active(Box::new(fold), Step::Count(intake))
            }
            _ => State::Reading(Some(arrivals)),
        }
    }

    fn folded(&self, entries: &[Entry], arrivals: &Arrivals) -> State {
        let (fold, intake) = CachedFold::read(&self.job, entries, arrivals);
        State::Active(Box::new(fold), Step::Count(intake))
    }

    /// Returns the next effect to carry out.
    pub(crate) fn effect(&self) -> Effect<'_> {
        match &self.state {
            State::Resting(_) => Effect::Rest,
            State::Reading(_) => Effect::Read,
            State::Exceeded(bound) => Effect::GiveUp(*bound),
            State::Active(_, Step::Count(intake)) => Effect::Count(intake),
            State::Active(fold, Step::Decide(pending)) => pending.effect(fold.job()),
            State::Active(_, Step::Clean(cleanup)) => cleanup.effect(),
            State::Active(_, Step::Acknowledge) => Effect::Acknowledge,
        }
    }

    /// Takes the outcome of the last effect. An outcome that the effect cannot have ends the
    /// activation.
    pub(crate) fn done(&mut self, outcome: Outcome) {
        let state = std::mem::take(&mut self.state);
        self.state = match (state, outcome) {
            (State::Reading(Some(arrivals)), Outcome::Read(entries)) => {
                self.folded(&entries, &arrivals)
            }
            (State::Reading(None), Outcome::Read(entries)) => {
                let (fold, _) = CachedFold::read(&self.job, &entries, &Arrivals::default());
                self.decide(Box::new(fold))
            }
            (State::Active(fold, Step::Count(_)), Outcome::Done) => self.decide(fold),
            (State::Active(fold, Step::Decide(pending)), outcome) => {
                self.advance(fold, pending, outcome)
            }
            (State::Active(fold, Step::Clean(cleanup)), Outcome::Done) => {
                self.clean(fold, cleanup.next())
            }
            (State::Active(fold, Step::Acknowledge), Outcome::Done) => {
                self.uncounted.clear();
                State::Resting(Some(fold))
            }
            (
                State::Resting(_) | State::Reading(_) | State::Active(..) | State::Exceeded(_),
                Outcome::Done
                | Outcome::Read(_)
                | Outcome::Compared(_)
                | Outcome::Ran(_)
                | Outcome::Occupied(_)
                | Outcome::Stored(_)
                | Outcome::Conflict,
            ) => State::Exceeded(GivenUp::Misled),
        };
    }

    /// Ends the activation without acknowledgement. The log redelivers its facts.
    pub(crate) fn give_up<'a>(&mut self, facts: impl Iterator<Item = Arrival<'a>>) {
        self.state = State::Resting(None);
        self.uncounted.extend(facts.filter(|fact| !fact.is_again).map(|fact| fact.entry.seq));
    }

    /// Moves on to the next decision, or to the acknowledgement.
    fn decide(&mut self, fold: Box<CachedFold>) -> State {
        if self.bounds.decisions == DECISIONS_MAX {
            return State::Exceeded(GivenUp::Runaway);
        }
        self.bounds.decisions += 1;
        let step = match fold.job().decide() {
            Some(next) => {
                let may_run = fold.may_run && self.suspected == 0;
                Step::Decide(Box::new(Pending::new(next, may_run)))
            }
            None => Step::Acknowledge,
        };
        State::Active(fold, step)
    }

    fn advance(
        &mut self,
        mut fold: Box<CachedFold>,
        pending: Box<Pending>,
        outcome: Outcome,
    ) -> State {
        let is_for_queue = pending.is_for_queue();
        match pending.advance(&mut fold, outcome) {
            Advance::Pending(pending) => State::Active(fold, Step::Decide(pending)),
            Advance::Stored(cleanup) => {
                self.bounds.conflicts = 0;
                self.suspected = self.suspected.saturating_sub(usize::from(is_for_queue));
                self.clean(fold, cleanup)
            }
            Advance::Conflict => {
                self.bounds.conflicts += 1;
                if self.bounds.conflicts > CONFLICTS_MAX {
                    return State::Exceeded(GivenUp::Contended);
                }
                State::Reading(None)
            }
            Advance::Misled => State::Exceeded(GivenUp::Misled),
        }
    }

    fn clean(&mut self, fold: Box<CachedFold>, cleanup: Cleanup) -> State {
        if cleanup.is_left() {
            State::Active(fold, Step::Clean(cleanup))
        } else if cleanup.must_read() {
            State::Reading(None)
        } else {
            self.decide(fold)
        }
    }

    /// Returns the folded job, or `None` while the log must be read.
    pub(crate) fn folded_job(&self) -> Option<&Job> {
        self.fold().map(CachedFold::job)
    }

    /// Returns the trace context of the job's submission.
    pub(crate) fn trace(&self) -> Option<TraceContext> {
        self.fold()?.trace()
    }

    /// Returns what the job at rest waits for.
    pub(crate) fn rest(&self) -> Rest {
        match self.folded_job() {
            Some(job) if job.has_work_out() => Rest::Working,
            Some(job) if !job.has_ended() && job.poison().is_none() => Rest::Waiting,
            Some(_) | None => Rest::Over,
        }
    }

    /// Returns everything that the next effect depends on, except numbers whose bounds a small job does
    /// not reach.
    #[cfg(test)]
    pub(crate) fn state(&self) -> impl std::fmt::Debug {
        (&self.state, self.suspected > 0)
    }

    fn fold(&self) -> Option<&CachedFold> {
        match &self.state {
            State::Resting(cached) => cached.as_deref(),
            State::Active(fold, _) => Some(fold),
            State::Reading(_) | State::Exceeded(_) => None,
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self::Resting(None)
    }
}

/// Inserts facts into the fold, or returns `None` if the log must be read.
fn insert_all<'a>(
    mut fold: Box<CachedFold>,
    facts: impl Iterator<Item = Arrival<'a>>,
) -> Option<(Box<CachedFold>, Intake)> {
    let mut entries: Vec<&Entry> = facts.map(|fact| fact.entry).collect();
    entries.sort_by_key(|entry| entry.seq);
    let ignored = fold.insert(&entries).ok()?;
    Some((fold, Intake { before: None, ignored }))
}
