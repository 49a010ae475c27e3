//! What a job waits for, name by name: so that somebody else can look whether each of it is really
//! on its way. And what an operator's wish to try again does to it.

use jiff::Timestamp;
use proto::id::{self, AskId, Attempt, JobId, TimerName, WorkId};

use super::{
    call::Call,
    names,
    state::{AskState, Job, Open, Stage},
    step::Exec,
    tries::Tries,
    turn::UnitKind,
};

/// What a job waits for that has not ended and can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// Commands that are in a queue or with a worker.
    pub commands: Vec<id::Unit>,
    /// Questions that wait for a person, in the order they were asked.
    pub questions: Vec<AskId>,
    /// Timers that must be armed: without one of them something never happens.
    pub timers: Vec<TimerName>,
    /// Jobs that work for it and have not ended, as far as it has been told.
    pub children: Vec<JobId>,
    /// Whether a wait for the clock is among them, and not deadlines alone.
    pub backing_off: bool,
    /// Whether an operator holds it.
    pub paused: bool,
    /// Work that is tried again only when an operator says so.
    pub given_up: Vec<GivenUp>,
}

/// Work of which no attempt is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    /// The unit of work.
    pub work: WorkId,
    /// Its last attempt.
    pub attempt: Attempt,
    /// What that broke with.
    pub error: String,
    /// When it was known, by the server's clock.
    pub since: Timestamp,
}

impl Job {
    /// What the job waits for; nothing when it was never submitted, has ended or is poisoned.
    #[must_use]
    pub fn waits(&self) -> Waits {
        let open = self.open.as_ref().filter(|o| o.outcome.is_none() && self.can_follow());
        let Some(open) = open else { return Waits::default() };
        let mut waits = Waits { paused: open.paused.is_some(), ..Waits::default() };
        for Unit { work, tries, .. } in open.units() {
            match tries {
                Tries::Out { attempt } => {
                    waits.commands.push(id::Unit { work, attempt: *attempt });
                }
                Tries::Backing { timer, .. } => {
                    waits.timers.push(timer.clone());
                    waits.backing_off = true;
                }
                Tries::Idle | Tries::Broken { .. } | Tries::Due { .. } => {}
            }
        }
        waits.children = open.family.alive().map(|child| child.spawn.child.clone()).collect();
        for asking in open.open_questions() {
            waits.questions.push(asking.question.id.clone());
            if asking.question.deadline.is_some() {
                waits.timers.push(names::ask_timer(&asking.question.id));
            }
        }
        let has_deadline = open.agent.deadline_ms.is_some() && !open.deadline_passed;
        if has_deadline && open.has_decided {
            waits.timers.push(names::deadline_timer(open.generation));
        }
        waits.given_up = open.given_up();
        waits
    }

    /// Whether this question waits for a person.
    #[must_use]
    pub fn is_asking(&self, ask: &AskId) -> bool {
        let asked = self.open.as_ref().and_then(|open| open.questions.get(ask));
        asked.is_some_and(|asking| asking.state == AskState::Open)
    }
}

/// A unit of work that is under way.
struct Unit<'a> {
    work: WorkId,
    tries: &'a Tries,
    /// Whether it waits for an operator.
    is_parked: bool,
}

impl Open {
    /// Every unit of work that is under way.
    fn units(&self) -> Vec<Unit<'_>> {
        let agent = &*self.agent;
        let retried =
            |work: WorkId, tries| Unit { work, is_parked: Tries::is_parked(tries, agent), tries };
        let is_open = |call: &Call| call.end.is_none();
        let mut units = Vec::new();
        if let Stage::Plan { tries } = &self.stage {
            units.push(retried(names::plan(self.generation, self.round), tries));
        }
        for step in &self.steps {
            let called = |call: &Call| (call.work.clone(), call.is_parked(agent));
            match &step.exec {
                Exec::Tool(one) if is_open(one) => {
                    let (work, is_parked) = called(one);
                    units.push(Unit { work, tries: &one.tries, is_parked });
                }
                Exec::Turn(turn) => units.push(retried(turn.work.clone(), &turn.tries)),
                Exec::Rerun(tries) => {
                    let work = names::step(step.generation, step.revision, step.id());
                    units.push(Unit { work, tries, is_parked: false });
                }
                Exec::Acting(acting) => {
                    for one in acting.calls().filter(|one| is_open(one)) {
                        let (work, is_parked) = called(one);
                        units.push(Unit { work, tries: &one.tries, is_parked });
                    }
                }
                Exec::Tool(_) | Exec::NotBegun | Exec::Ended => {}
            }
        }
        units
    }

    /// Until when the first unit of work that backs off waits, and why.
    pub(super) fn backing_off(&self) -> Option<String> {
        let backing = |tries: &Tries| match tries {
            Tries::Backing { until, reason, .. } => Some(format!("until {until}: {reason}")),
            Tries::Idle | Tries::Out { .. } | Tries::Broken { .. } | Tries::Due { .. } => None,
        };
        if let Stage::Plan { tries } = &self.stage {
            return backing(tries);
        }
        self.units().into_iter().find_map(|unit| backing(unit.tries))
    }

    /// Work that waits for an operator.
    pub(super) fn given_up(&self) -> Vec<GivenUp> {
        let parked = self.units().into_iter().filter(|unit| unit.is_parked);
        let given_up = parked.filter_map(|Unit { work, tries, .. }| match tries {
            Tries::Broken { attempt, error, at } => {
                let (error, since) = (error.message.clone(), *at);
                Some(GivenUp { work, attempt: *attempt, error, since })
            }
            Tries::Idle | Tries::Out { .. } | Tries::Backing { .. } | Tries::Due { .. } => None,
        });
        given_up.collect()
    }

    /// An operator wants what waits for the clock, or was given up, to be tried now. Whether there
    /// was anything.
    pub(super) fn try_again(&mut self) -> bool {
        let agent = std::sync::Arc::clone(&self.agent);
        let (mut again, mut orphans) = (false, Vec::new());
        let mut one = |tries: &mut Tries, is_parked: bool| {
            orphans.extend(tries.timer().cloned());
            again |= tries.again(is_parked);
        };
        if let Stage::Plan { tries } = &mut self.stage {
            let is_parked = tries.is_parked(&agent);
            one(tries, is_parked);
        }
        for step in &mut self.steps {
            match &mut step.exec {
                Exec::Tool(call) if call.end.is_none() => {
                    let is_parked = call.is_parked(&agent);
                    one(&mut call.tries, is_parked);
                }
                Exec::Turn(turn) => {
                    let is_parked = turn.tries.is_parked(&agent);
                    one(&mut turn.tries, is_parked);
                }
                Exec::Rerun(tries) => one(tries, false),
                Exec::Acting(acting) => {
                    for unit in &mut acting.units {
                        if let UnitKind::Tool(call) = &mut unit.kind
                            && call.end.is_none()
                        {
                            let is_parked = call.is_parked(&agent);
                            one(&mut call.tries, is_parked);
                        }
                    }
                }
                Exec::Tool(_) | Exec::NotBegun | Exec::Ended => {}
            }
            step.follow();
        }
        self.orphans.extend(orphans);
        again
    }
}
