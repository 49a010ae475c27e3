//! Records that cannot be read. A worker's unreadable result breaks its attempt, unless its version
//! is newer. Any other record of a worker changes nothing. A record of another writer poisons its
//! job, which can then only end.

use jiff::Timestamp;
use proto::{
    cost::Cost,
    decision::{Decision, Note},
    fact::{Called, Fact, Signal, Source},
    family::News,
    id::Unit,
    record::{self, Known, Unreadable},
    subject::Family,
    tool::{Effect, Fault, ToolResult},
    work_error::{ErrorClass, WorkError},
};

use super::{
    at::{At, Counted},
    names,
    state::{ActiveJob, Job, Poison},
    step::Exec,
    text,
    waits::{self, Labor},
};

impl Job {
    /// Applies an unreadable record.
    ///
    /// Workers in any language write results, so none of their records stops a job. A result that
    /// cannot be read breaks the attempt that it answers. A newer version poisons the job if a
    /// command asks the writer for a result: a newer Callboard will read it. So does a result that is
    /// lost in the object store.
    pub(super) fn take_unreadable(&mut self, at: At, family: &Family, why: &Unreadable) {
        let Family::In(source) = family else { return self.park(at, why) };
        if !source.is_worker() {
            return self.park(at, why);
        }
        let has_results =
            |open: &&mut ActiveJob| open.outcome().is_none() && open.family.concluded().is_none();
        let Some(open) = self.open.as_mut().filter(has_results) else {
            self.ignored += 1;
            return;
        };
        let unit = match why {
            Unreadable::Version(version) if *version > record::VERSION => {
                return self.park_if_asked(at, source, why);
            }
            Unreadable::Missing(_) => return self.park_if_asked(at, source, why),
            // A result that does not name its unit can only be that of the one command in progress.
            Unreadable::Malformed(_) | Unreadable::Version(_) => open.only_command(source),
            Unreadable::Body { kind, unit, .. } if record::is_result(kind) => {
                unit.clone().or_else(|| open.only_command(source))
            }
            Unreadable::Kind { unit, .. } => unit.clone(),
            Unreadable::Body { .. } | Unreadable::Forged => None,
        };
        let broke = |unit| open.broke_unread(at.time, source, &unit, &why.place());
        if unit.map_or(Counted::No, broke) == Counted::No {
            self.ignored += 1;
        }
    }

    fn park(&mut self, at: At, why: &Unreadable) {
        self.poison.get_or_insert_with(|| Poison::unreadable(at, why));
    }

    /// Parks the job if a command in progress asks this worker for a result.
    fn park_if_asked(&mut self, at: At, source: &Source, why: &Unreadable) {
        let asks = |open: &ActiveJob| open.commands_for(source).next().is_some();
        if self.open.as_ref().is_some_and(asks) {
            self.park(at, why);
        } else {
            self.ignored += 1;
        }
    }

    /// Returns `true` if a record changes a poisoned job. Only its end still counts: a cancellation,
    /// its deadline, the ends of its children, and the decisions that end it.
    pub(super) fn ends_poisoned(&self, record: Result<&Known, &Unreadable>) -> bool {
        match record {
            Ok(Known::Fact(fact)) => match &**fact {
                Fact::Signaled(signaled) => signaled.signal == Signal::Cancel,
                Fact::Fired(fired) => fired.timer == names::deadline_timer(self.generation()),
                Fact::Child(said) => matches!(said.news, News::Ended { .. }),
                Fact::Submitted(_)
                | Fact::Planned(_)
                | Fact::Turned(_)
                | Fact::Started(_)
                | Fact::Called(_)
                | Fact::Answered(_) => false,
            },
            Ok(Known::Decision(decision)) => match &**decision {
                Decision::Finish(_)
                | Decision::Note(
                    Note::QuestionClosed { .. }
                    | Note::Spawned { .. }
                    | Note::ChildTold { .. }
                    | Note::Concluded { .. },
                ) => true,
                Decision::Note(
                    Note::Stopped { .. }
                    | Note::ParentTold { .. }
                    | Note::Held { .. }
                    | Note::GraphEdited { .. }
                    | Note::Advanced(_),
                )
                | Decision::Plan(_)
                | Decision::Turn(_)
                | Decision::Call(_)
                | Decision::Ask(_)
                | Decision::Wait(_)
                | Decision::Spawn(_)
                | Decision::Done(_) => false,
            },
            Err(_) => false,
        }
    }

    /// Returns `true` if decisions may follow the current state. A poisoned job may only end.
    pub(super) fn may_decide(&self, open: &ActiveJob) -> bool {
        self.can_follow() || (self.back.is_none() && open.must_end())
    }
}

impl ActiveJob {
    /// Returns `true` if the job ends whatever its work results in.
    fn must_end(&self) -> bool {
        self.steering.canceled().is_some()
            || self.timers.has_deadline_passed()
            || self.family.concluded().is_some()
    }

    /// Returns the units of the commands in progress that this source answers.
    fn commands_for(&self, source: &Source) -> impl Iterator<Item = Unit> {
        let is_sent = |unit: &waits::Unit<'_>| match &unit.labor {
            Labor::Plan => source.may_answer(&Source::Plan),
            Labor::Turn(_) => source.may_answer(&Source::Turn),
            Labor::Call(_, call) => !call.is_agent() && source.may_call(&call.binding.pool),
            Labor::Run => false,
        };
        let units = self.units().into_iter().filter(is_sent);
        units.filter_map(|unit| Some(Unit { attempt: unit.attempts.out()?, work: unit.work }))
    }

    /// Returns the unit of the command in progress that this source answers, if there is exactly
    /// one.
    fn only_command(&self, source: &Source) -> Option<Unit> {
        let mut sent = self.commands_for(source);
        let unit = sent.next()?;
        sent.next().is_none().then_some(unit)
    }

    /// Breaks the attempt whose result cannot be read. A call of a `once` tool may have had its
    /// effect, so it is not repeated.
    fn broke_unread(
        &mut self,
        at: Timestamp,
        source: &Source,
        unit: &Unit,
        place: &str,
    ) -> Counted {
        let Unit { work, attempt } = unit;
        let why = text::result_unreadable(self.language(), place);
        let error = WorkError::new(why.clone(), ErrorClass::Transient);
        let [plans, turns] = [Source::Plan, Source::Turn].map(|role| source.may_answer(&role));
        let is_planning = plans && self.planning.work(self.generation()) == *work;
        let planning = self.planning.attempts_mut().filter(|_| is_planning);
        let steps = self.execution.steps_mut().iter_mut();
        let turns = steps.filter_map(|step| match &mut step.exec {
            Exec::Turn(turn) if turns && turn.work == *work => Some(&mut turn.attempts),
            Exec::Turn(_)
            | Exec::Tool(_)
            | Exec::Acting(_)
            | Exec::Rerun(_)
            | Exec::NotBegun
            | Exec::Asked(_)
            | Exec::Sleep(_)
            | Exec::Ended => None,
        });
        let awaited = planning.into_iter().chain(turns).find(|one| one.awaits(*attempt));
        if let Some(attempts) = awaited {
            attempts.broke(error, at);
            return Counted::Yes;
        }
        let awaits = |call: &super::call::Call| {
            !call.is_agent() && source.may_call(&call.binding.pool) && call.awaits(work, *attempt)
        };
        let Some((call, is_step)) = self.execution.call_mut(awaits) else { return Counted::No };
        let fault = match call.binding.effect {
            Effect::Once => Fault::Unknown,
            Effect::Pure | Effect::Idempotent => Fault::Internal,
        };
        let called = Called {
            work: work.clone(),
            attempt: *attempt,
            result: ToolResult::failed(why),
            fault: Some(fault),
            outage: false,
            duration_ms: 0,
            cost: Cost::default(),
            files: Vec::new(),
        };
        call.answered(&called, is_step, at);
        Counted::Yes
    }
}
