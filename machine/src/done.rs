//! The fold of a `done` record: of its command, then of its result.

use proto::{decision::Done, id::JobId};

use super::{
    at::{At, Counted},
    state::{ActiveJob, Job},
};

impl ActiveJob {
    /// Applies the command and returns `true` if it can follow and its result can answer it.
    pub(super) fn sent_done(&mut self, at: At, job: &JobId, done: &Done) -> bool {
        let answers = done.result().result_of() == Some(done.unit());
        let at = At { time: done.begun(at.time), ..at };
        answers
            && match done {
                Done::Plan(ran) => self.sent_plan(at, &ran.command),
                Done::Turn(ran) => self.sent_turn(at, &ran.command),
                Done::Call(ran) => self.sent_call(at, job, &ran.command),
            }
    }
}

impl Job {
    /// Applies the result after its command, with the conclusions from the command in between. A
    /// command that could not follow, or that a rollback removed, has no result.
    pub(super) fn take_result(&mut self, at: At, done: &Done, between: &mut dyn FnMut(&Self)) {
        let is_current =
            |open: &ActiveJob| open.outcome().is_none() && open.generation() == done.generation();
        if self.poison.is_some() || !self.open.as_ref().is_some_and(is_current) {
            return;
        }
        self.settle(done.begun(at.time));
        between(self);
        let Some(open) = self.open.as_mut().filter(|open| open.outcome().is_none()) else { return };
        let counted = match done {
            Done::Plan(ran) => open.planned(at.time, &ran.result),
            Done::Turn(ran) => open.turned(at, &ran.result),
            Done::Call(ran) => open.called(at, &done.source(), &ran.result),
        };
        if counted == Counted::No {
            self.ignored += 1;
        }
    }
}
