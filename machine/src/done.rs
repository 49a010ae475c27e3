//! The fold of a `done` record: of each command, then of its result.

use proto::{
    decision::{Done, DoneUnit, Period},
    id::{Generation, JobId},
};

use super::{
    at::{At, Counted},
    state::{ActiveJob, Job},
};

/// A half of a unit of a `done` record that the fold has just applied.
#[derive(Debug, Clone, Copy)]
pub(super) enum Half<'a> {
    /// The command.
    Sent(&'a DoneUnit, Period),
    /// The result.
    Answered(&'a DoneUnit, Period, Counted),
}

impl ActiveJob {
    /// Applies the command of a unit and returns `true` if it can follow and its result can answer it.
    pub(super) fn sent_done(&mut self, at: At, job: &JobId, unit: &DoneUnit) -> bool {
        unit.is_answered()
            && match unit {
                DoneUnit::Plan(ran) => self.sent_plan(at, &ran.command),
                DoneUnit::Turn(ran) => self.sent_turn(at, &ran.command),
                DoneUnit::Call(ran) => self.sent_call(at, job, &ran.command),
            }
    }

    fn answered_done(&mut self, at: At, unit: &DoneUnit) -> Counted {
        match unit {
            DoneUnit::Plan(ran) => self.planned(at.time, &ran.result),
            DoneUnit::Turn(ran) => self.turned(at, &ran.result),
            DoneUnit::Call(ran) => self.called(at, &unit.source(), &ran.result),
        }
    }
}

impl Job {
    /// Applies what follows the first command of a `done` record, with all conclusions, and passes the
    /// job after each half. Returns `false` if the first command could not follow or is of an earlier
    /// generation, so that the record has no result.
    pub(super) fn take_done(
        &mut self,
        at: At,
        done: &Done,
        halves: &mut dyn FnMut(&Self, Half<'_>),
    ) -> bool {
        if !self.may_have_results(done.generation()) {
            self.ignored += u64::try_from(done.then.len()).unwrap_or(u64::MAX);
            return false;
        }
        let mut follows = true;
        for (n, (unit, period)) in done.timed(at.time).enumerate() {
            let is_sent = n == 0;
            follows = follows && (is_sent || self.take_command(at, unit, period));
            if follows {
                follows = self.take_unit(at, unit, period, halves);
            } else {
                self.ignored += 1;
            }
        }
        true
    }

    /// Applies a further unit of work to a job whose last record is a `done` that is not stored yet.
    /// Returns `false` if the unit cannot follow; then the job is of no further use.
    pub fn take_further(&mut self, at: At, unit: &DoneUnit) -> bool {
        let period = Period { began: self.updated, ended: at.time };
        self.updated = at.time;
        self.take_command(at, unit, period) && self.take_unit(at, unit, period, &mut |_, _| ())
    }

    fn may_have_results(&self, generation: Generation) -> bool {
        let is_current =
            |open: &ActiveJob| open.outcome().is_none() && open.generation() == generation;
        self.poison.is_none() && self.open.as_ref().is_some_and(is_current)
    }

    fn take_command(&mut self, at: At, unit: &DoneUnit, period: Period) -> bool {
        if !self.may_have_results(unit.generation()) {
            return false;
        }
        let at = At { time: period.began, ..at };
        self.open.as_mut().is_some_and(|open| open.sent_done(at, &self.id, unit))
    }

    /// Applies the result of a command, and the conclusions from both. Returns `true` if the result
    /// counts.
    fn take_unit(
        &mut self,
        at: At,
        unit: &DoneUnit,
        period: Period,
        halves: &mut dyn FnMut(&Self, Half<'_>),
    ) -> bool {
        self.settle(period.began);
        halves(self, Half::Sent(unit, period));
        let at = At { time: period.ended, ..at };
        let open = self.open.as_mut().filter(|open| open.outcome().is_none());
        let counted = open.map_or(Counted::No, |open| open.answered_done(at, unit));
        self.ignored += u64::from(counted == Counted::No);
        self.settle(period.ended);
        halves(self, Half::Answered(unit, period, counted));
        counted == Counted::Yes
    }
}
