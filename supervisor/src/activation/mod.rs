//! The activation of a job: everything that a supervisor does between the arrival of facts and their
//! acknowledgement, as a state machine without I/O.
//!
//! ```text
//! begin(facts) → Read? → Count → ( Compare? → Arm* → Submit/Append* → Store → Disarm* → StopWork? )* → Acknowledge → Rest
//! ```
//!
//! [`Activation::effect`] names the next effect, a driver carries it out, and [`Activation::done`] takes
//! its outcome. The job's actor is one driver; the exhaustive model in [`crate::proof`] is another one.
//! When an effect fails, the driver calls [`Activation::give_up`], and the log delivers the facts again.
//!
//! The order of effects is what recovery rests on, because a supervisor may die between any two:
//!
//! * An armed timer without its decision is ignored. A decision without its timer never wakes the job.
//! * A message to another job counts once. A note about a message that was never sent loses it.
//! * A fact that is acknowledged is never delivered again. So what follows from it is stored before.
//!
//! Architecture invariant: nothing here waits, reads a clock, draws a random number or does I/O.

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
    effect::{Effect, GivenUp, Outcome},
    intake::{Arrival, Arrivals, CountedStatus, Intake, kind},
};
use self::{
    fold::CachedFold,
    pending::{Advance, Cleanup, Pending},
};

/// Decisions of one activation. A job that wants more does not converge.
pub(crate) const DECISIONS_MAX: usize = 2 * proto::limits::PLAN_STEPS_MAX + 100;

/// Conflicts in a row after which an activation is given up: another supervisor decides this job.
const CONFLICTS_MAX: u32 = 20;

/// One job at one supervisor.
#[cfg_attr(test, derive(Debug, Clone))]
pub(crate) struct Activation {
    job: JobId,
    state: State,
    bounds: Bounds,
    /// New facts of activations that were given up. They are counted when they are delivered again.
    uncounted: BTreeSet<Seq>,
}

/// The steps of the current activation so far.
#[derive(Default)]
#[cfg_attr(test, derive(Debug, Clone))]
struct Bounds {
    decisions: usize,
    /// In a row.
    conflicts: u32,
}

#[cfg_attr(test, derive(Debug, Clone))]
enum State {
    /// No activation is under way. The fold is kept as long as it can be trusted.
    Resting(Option<Box<CachedFold>>),
    /// The log must be read before anything is decided, and holds these arrivals.
    Reading(Option<Arrivals>),
    /// The fold is current, as far as the supervisor knows.
    Active(Box<CachedFold>, Step),
    /// A bound is reached.
    Exceeded(GivenUp),
}

#[cfg_attr(test, derive(Debug, Clone))]
enum Step {
    /// The facts are folded, and not counted.
    Count(Intake),
    /// A decision follows, and is not stored.
    Decide(Box<Pending>),
    /// A decision is stored, and leaves something to clean up.
    Clean(Cleanup),
    /// Nothing more follows.
    Acknowledge,
}

impl Activation {
    pub(crate) fn new(job: JobId) -> Self {
        let (state, bounds) = (State::Resting(None), Bounds::default());
        Self { job, state, bounds, uncounted: BTreeSet::new() }
    }

    /// Begins with the facts that wait. `look` asks for an activation without a fact; `forget` says
    /// that another supervisor may have received facts.
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
        // Redeliveries may overtake other facts, so the place of such a fact is unknown.
        let is_trusted = !forget && !facts.clone().any(|fact| fact.is_again);
        let cached = cached.filter(|_| is_trusted);
        if facts.len() == 0 && !look {
            self.state = State::Resting(cached);
            return;
        }
        let inserted = cached.and_then(|fold| insert_all(fold, facts.clone()));
        self.state = match inserted {
            Some((fold, intake)) => State::Active(fold, Step::Count(intake)),
            None => self.begin_without_fold(facts),
        };
    }

    fn begin_without_fold<'a>(
        &self,
        mut facts: impl ExactSizeIterator<Item = Arrival<'a>> + Clone,
    ) -> State {
        let arrivals = Arrivals::of(&self.uncounted, facts.clone());
        match (facts.next(), facts.next()) {
            // The first record of a job, delivered for the first time: there is nothing to read. If
            // that is wrong, the first compare-and-set says so.
            (Some(first), None) if first.is_new_job() => {
                self.folded(std::slice::from_ref(first.entry), &arrivals)
            }
            _ => State::Reading(Some(arrivals)),
        }
    }

    fn folded(&self, entries: &[Entry], arrivals: &Arrivals) -> State {
        let (fold, intake) = CachedFold::read(&self.job, entries, arrivals);
        State::Active(Box::new(fold), Step::Count(intake))
    }

    /// The next effect.
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

    /// Takes the outcome of the effect.
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
                | Outcome::Occupied(_)
                | Outcome::Stored(_)
                | Outcome::Conflict,
            ) => State::Exceeded(GivenUp::Misled),
        };
    }

    /// Ends the activation without an acknowledgement. Its facts are delivered again.
    pub(crate) fn give_up<'a>(&mut self, facts: impl Iterator<Item = Arrival<'a>>) {
        self.state = State::Resting(None);
        self.uncounted.extend(facts.filter(|fact| !fact.is_again).map(|fact| fact.entry.seq));
    }

    /// The next decision, or the end of the activation.
    fn decide(&mut self, fold: Box<CachedFold>) -> State {
        if self.bounds.decisions == DECISIONS_MAX {
            return State::Exceeded(GivenUp::Runaway);
        }
        self.bounds.decisions += 1;
        let step = match fold.job().decide() {
            Some(next) => Step::Decide(Box::new(Pending::new(next))),
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
        match pending.advance(&mut fold, outcome) {
            Advance::Pending(pending) => State::Active(fold, Step::Decide(pending)),
            Advance::Stored(cleanup) => {
                self.bounds.conflicts = 0;
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

    /// The job as it is folded; nothing while the log must be read.
    pub(crate) fn folded_job(&self) -> Option<&Job> {
        self.fold().map(CachedFold::job)
    }

    /// The trace that the submission travelled with.
    pub(crate) fn trace(&self) -> Option<TraceContext> {
        self.fold()?.trace()
    }

    /// Whether the fold may be dropped at rest: no worker has a command of the job.
    pub(crate) fn may_leave(&self) -> bool {
        self.folded_job().is_none_or(|job| !job.has_work_out())
    }

    /// Everything that the next effect depends on, but for the bounds.
    #[cfg(test)]
    pub(crate) fn state(&self) -> &impl std::fmt::Debug {
        &self.state
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

/// Puts facts in their places; nothing when the log must be read.
fn insert_all<'a>(
    mut fold: Box<CachedFold>,
    facts: impl Iterator<Item = Arrival<'a>>,
) -> Option<(Box<CachedFold>, Intake)> {
    let mut entries: Vec<&Entry> = facts.map(|fact| fact.entry).collect();
    entries.sort_by_key(|entry| entry.seq);
    let mut intake = Intake::default();
    for entry in entries {
        intake.ignored.extend(fold.insert(entry).ok()?);
    }
    Some((fold, intake))
}
