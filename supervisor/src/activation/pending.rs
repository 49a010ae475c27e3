//! A decision that is being stored: the effects before its write, and those after.

use machine::{Job, Next, Tell};
use proto::{
    decision::{CallWork, Decision, Note},
    id::{Seq, TimerName},
};

use super::{
    Compared, Effect, Outcome,
    batch::{Batch, Units},
    effect::Ran,
    fold::CachedFold,
};

/// A decision that is not stored yet.
#[cfg_attr(test, derive(Debug, Clone))]
pub(super) struct Pending {
    next: Next,
    /// `true` once a call was compared with the registry, and for any other decision.
    compared: bool,
    /// Number of timers that are armed.
    armed: usize,
    /// Number of messages that are sent.
    told: usize,
    /// `true` if the child of the next message cannot be submitted, because another job has its id.
    is_occupied: bool,
    /// `true` while this process may carry the command out itself.
    may_run: bool,
    /// Units that this process has carried out. The first one is of the decision's command.
    batch: Option<Box<Batch>>,
}

/// The state of a decision after an outcome.
pub(super) enum Advance {
    Pending(Box<Pending>),
    Stored(Cleanup),
    Conflict,
    /// The outcome does not belong to the effect.
    Misled,
}

/// The effects that remain after a decision is stored.
#[cfg_attr(test, derive(Debug, Clone))]
pub(super) struct Cleanup {
    /// Timers to cancel, the next one last.
    disarm: Vec<TimerName>,
    stops_work: bool,
    must_read: bool,
}

impl Pending {
    pub(super) fn new(next: Next, may_run: bool) -> Self {
        // A call that a rule of the agent refuses is never sent, so the registry has no say in it.
        let compared = !matches!(next.decision, Decision::Call(CallWork { refused: None, .. }));
        Self { next, compared, armed: 0, told: 0, is_occupied: false, may_run, batch: None }
    }

    /// Returns the next effect. Timers and messages precede the write: see the parent module.
    pub(super) fn effect<'a>(&'a self, job: &'a Job) -> Effect<'a> {
        if let (Decision::Call(call), false) = (&self.next.decision, self.compared) {
            return Effect::Compare(call);
        }
        if let Some(arm) = self.next.arm.get(self.armed) {
            return Effect::Arm(arm);
        }
        match self.next.tell.get(self.told) {
            Some(Tell::Submit { refused, .. }) if self.is_occupied => {
                Effect::Append { to: job.id(), fact: refused }
            }
            Some(Tell::Submit { job: child, submitted, .. }) => Effect::Submit { child, submitted },
            Some(Tell::Say { job: to, fact }) => Effect::Append { to, fact },
            None if self.is_to_run() => Effect::Run(&self.next.decision),
            None if let Some(batch) = &self.batch => batch.effect(),
            None => Effect::Store { next: &self.next, after: job.last_decision() },
        }
    }

    pub(super) fn advance(mut self: Box<Self>, fold: &mut CachedFold, outcome: Outcome) -> Advance {
        match outcome {
            Outcome::Compared(Compared { refused, untrusted }) if !self.compared => {
                self.compared = true;
                if let Decision::Call(call) = &mut self.next.decision {
                    (call.refused, call.untrusted) = (refused, call.untrusted || untrusted);
                }
            }
            Outcome::Compared(word)
                if self.batch.as_ref().is_some_and(|batch| !batch.is_compared()) =>
            {
                self.go_on(|batch| batch.compared(word));
            }
            Outcome::Done if self.compared && self.armed < self.next.arm.len() => self.armed += 1,
            Outcome::Done if self.compared && self.told < self.next.tell.len() => {
                self.told += 1;
                self.is_occupied = false;
            }
            Outcome::Occupied(there) if self.armed == self.next.arm.len() => {
                match self.next.tell.get(self.told) {
                    Some(Tell::Submit { submitted, .. }) if submitted.parent == there => {
                        self.told += 1;
                    }
                    Some(Tell::Submit { .. }) => self.is_occupied = true,
                    Some(Tell::Say { .. }) | None => return Advance::Misled,
                }
            }
            Outcome::Ran(ran) if self.is_to_run() => {
                self.may_run = false;
                if let Some(ran) = ran {
                    self.take_result(*ran, fold.job());
                }
            }
            Outcome::Ran(ran) if self.batch.as_ref().is_some_and(|batch| batch.is_compared()) => {
                self.go_on(|batch| batch.ran(ran.map(|ran| *ran)));
            }
            Outcome::Stored(seq) if self.is_ready() => {
                return Advance::Stored((*self).stored(seq, fold));
            }
            Outcome::Conflict if self.is_ready() => return Advance::Conflict,
            Outcome::Compared(_)
            | Outcome::Done
            | Outcome::Ran(_)
            | Outcome::Occupied(_)
            | Outcome::Stored(_)
            | Outcome::Conflict
            | Outcome::Read(_) => return Advance::Misled,
        }
        Advance::Pending(self)
    }

    /// Returns `true` if a worker is to take a command that this process could have carried out.
    pub(super) fn is_for_queue(&self) -> bool {
        self.next.decision.may_be_done_here()
    }

    /// Returns `true` if everything that precedes the write was carried out.
    fn is_ready(&self) -> bool {
        self.is_prepared() && !self.is_to_run() && self.batch.is_none()
    }

    /// Returns `true` if everything that precedes the work or the write was carried out.
    fn is_prepared(&self) -> bool {
        self.compared && self.armed == self.next.arm.len() && self.told == self.next.tell.len()
    }

    /// Returns `true` if this process is to carry the command out. The registry's word may have
    /// changed the command.
    fn is_to_run(&self) -> bool {
        self.may_run && self.is_prepared() && self.next.decision.may_be_done_here()
    }

    /// Joins the command and its result, and looks for work that can join them. A fact that does not
    /// answer the command is dropped, and a worker takes the command.
    fn take_result(&mut self, ran: Ran, job: &Job) {
        let command = self.next.decision.clone();
        if let Some(units) = Units::new(job, command, ran) {
            self.keep(units);
        }
    }

    fn go_on(&mut self, step: impl FnOnce(Batch) -> Units) {
        if let Some(batch) = self.batch.take() {
            self.keep(step(*batch));
        }
    }

    fn keep(&mut self, units: Units) {
        match units {
            Units::Open(batch) => self.batch = Some(batch),
            Units::Ready(done) => self.next.decision = Decision::Done(done),
        }
    }

    fn stored(self, seq: Seq, fold: &mut CachedFold) -> Cleanup {
        let Next { decision, mut disarm, .. } = self.next;
        let job = fold.job();
        let ends = matches!(decision, Decision::Finish(_)) && job.has_work_out();
        let stops_work = ends || job.begins_anew();
        // From here on no fact changes the outcome. The account of the job is told to its parent
        // once, so it must be folded from the log and not from a cache that may lack late facts.
        let must_read = matches!(decision, Decision::Note(Note::Concluded { .. }));
        fold.stored(seq, decision);
        // The write canceled the first timer. The others are taken from the end of the list, hence
        // the reversal.
        disarm.reverse();
        disarm.pop();
        Cleanup { disarm, stops_work, must_read }
    }
}

impl Cleanup {
    pub(super) fn effect(&self) -> Effect<'_> {
        self.disarm.last().map_or(Effect::StopWork, Effect::Disarm)
    }

    /// Returns the remaining effects after the current one.
    pub(super) fn next(mut self) -> Self {
        if self.disarm.pop().is_none() {
            self.stops_work = false;
        }
        self
    }

    pub(super) fn is_left(&self) -> bool {
        self.stops_work || !self.disarm.is_empty()
    }

    /// Returns `true` if the log must be read before the next decision.
    pub(super) fn must_read(&self) -> bool {
        self.must_read
    }
}
