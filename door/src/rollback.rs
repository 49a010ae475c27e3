//! Targets of rollbacks and forks: the record that a request names, and the irreversible effects
//! that it would repeat. Pure over a job's entries.

use machine::{Effects, Job, Repeated, Replay, replay};
use proto::{
    decision::Decision,
    door::EffectDone,
    entry::Entry,
    error::{Code, Failure},
    id::{JobId, Seq, StepId, WorkId},
    limits,
    point::Point,
    refusal::Text,
};

/// Records that a job needs to continue, below the limit of its log.
const ROOM: u64 = 200;

/// A job's log and its fold.
pub(super) struct Past<'a> {
    entries: &'a [Entry],
    replay: Replay,
}

/// The error for a point from which no job can continue.
type Refused = Box<Failure>;

impl<'a> Past<'a> {
    pub(super) fn of(job: &JobId, entries: &'a [Entry]) -> Self {
        let mut replay = Replay::of(job, entries);
        entries.iter().for_each(|entry| replay.take(entry));
        Self { entries, replay }
    }

    pub(super) fn job(&self) -> &Job {
        self.replay.job()
    }

    /// Returns the position of the last record.
    pub(super) fn last(&self) -> Seq {
        self.replay.job().seq()
    }

    /// Returns the position of a point. `field` is the request's field, for errors.
    pub(super) fn seq_of(&self, point: &Point, field: &str) -> Result<Seq, Refused> {
        let job = self.job().id();
        match point {
            Point::Seq(seq) if self.entries.iter().any(|entry| entry.seq == *seq) => Ok(*seq),
            Point::Seq(seq) => {
                let failure =
                    Failure::about(Code::NotFound, field, Text::NoRecord { job, record: seq });
                Err(Box::new(failure.next(Text::SeeRecords { job })))
            }
            Point::Name(name) => {
                let known = self.job().snapshots();
                if let Some(found) = known.iter().find(|known| known.name == *name) {
                    return Ok(found.seq);
                }
                let names: Vec<_> = known.iter().map(|known| known.name.to_string()).collect();
                let why = match names.as_slice() {
                    [] => Text::WithoutSnapshots { job, name },
                    names => Text::NoSnapshot { job, name, known: &names.join(", ") },
                };
                let failure = Failure::about(Code::NotFound, field, why);
                Err(Box::new(failure.next(Text::SeeSnapshots { job })))
            }
        }
    }

    /// Returns the position before the first command of a step of the plan in force.
    pub(super) fn before_step(&self, step: &StepId) -> Result<Seq, Refused> {
        let (job, field) = (self.job().id(), "signal.restart.step");
        let refuse = |code, why: Text<'_>, next: Text<'_>| {
            Err(Box::new(Failure::about(code, field, why).next(next)))
        };
        let Some(revision) = self.job().revision_of(step) else {
            if self.job().is_proposed(step) {
                let (why, next) = (Text::UnconfirmedStep { step }, Text::ConfirmFirst { job });
                return refuse(Code::InvalidRequest, why, next);
            }
            return refuse(Code::NotFound, Text::NoStep { job, step }, Text::SeeSteps { job });
        };
        let timeline = self.replay.timeline();
        let part = format!("r{revision}");
        let is_first = |entry: &&Entry| {
            timeline.has(entry.seq)
                && steps_of(entry)
                    .iter()
                    .any(|(work, of)| of == step && work.as_str().split('.').nth(1) == Some(&*part))
        };
        let first = self.entries.iter().find(is_first);
        let before = first
            .and_then(|first| timeline.seqs().iter().rev().find(|seq| **seq < first.seq).copied());
        match before {
            Some(before) => Ok(before),
            None => {
                let why = Text::StepNotStarted { step, job };
                refuse(Code::InvalidRequest, why, Text::SeeStartedSteps { job })
            }
        }
    }

    /// Returns the last position before the failure of a failed job.
    pub(super) fn before_failure(&self) -> Result<Seq, Refused> {
        let (job, field) = (self.job().id(), "signal.recover");
        let refuse = |why: Text<'_>, next: Text<'_>| {
            Err(Box::new(Failure::about(Code::InvalidRequest, field, why).next(next)))
        };
        let Some((before, reason)) = machine::before_failure(job, self.entries) else {
            return refuse(Text::NotFailed { job }, Text::SeeState { job });
        };
        if reason.may_be_recovered() {
            return Ok(before);
        }
        let why = Text::FailsAgain { job, why: &reason.as_str() };
        refuse(why, Text::RollBackFurther { job })
    }

    /// Returns the job as it was after a record.
    pub(super) fn job_at(&self, seq: Seq) -> Job {
        let until = self.entries.partition_point(|entry| entry.seq <= seq);
        let (until, _) = self.entries.split_at(until);
        replay(self.job().id(), until)
    }

    /// Checks that a job can continue from a record. Returns the children that would repeat their
    /// work; none if `again` allows repeats. `field` is the request's field, for errors.
    pub(super) fn check(&self, to: Seq, again: bool, field: &str) -> Result<Vec<JobId>, Refused> {
        let refuse = |why: Text<'_>| {
            let failure = Failure::about(Code::InvalidRequest, field, why);
            Err(Box::new(failure.next(Text::SeeRecords { job: self.job().id() })))
        };
        let record = &to;
        let there = self.job_at(to);
        if let Some(poison) = there.poison() {
            return refuse(Text::RecordUnreadable { record: &poison.seq });
        }
        if there.has_ended() {
            return refuse(Text::EndedByThen { record });
        }
        if there.is_being_canceled() {
            return refuse(Text::CanceledByThen { record });
        }
        if there.view().is_none() {
            return refuse(Text::UnsubmittedByThen { record });
        }
        if again {
            return Ok(Vec::new());
        }
        let Repeated { calls, children } = self.repeated_from(to, &there);
        if calls.is_empty() {
            return Ok(children);
        }
        let calls: Vec<_> = calls.iter().map(|(tool, work)| format!("{tool} ({work})")).collect();
        let why = Text::CallsTwice { record, calls: &calls.join(", ") };
        Err(Box::new(Failure::of(Code::WouldRepeat, why).at(field)))
    }

    /// Returns `true` if the rollback at `marker` counted.
    pub(super) fn went_back(&self, marker: Seq) -> bool {
        machine::timeline::counted(self.entries, marker)
    }

    /// Checks that the job can be rolled back to a record, and then as [`Past::check`] does.
    pub(super) fn check_back(
        &self,
        to: Seq,
        again: bool,
        field: &str,
    ) -> Result<Vec<JobId>, Refused> {
        let (job, record) = (self.job().id(), &to);
        self.check_in_timeline(to, field)?;
        if self.replay.timeline().is_concluded() {
            let above = self.job().view().and_then(|view| view.parent).map(|parent| parent.job);
            let above = above.map(|above| above.to_string()).unwrap_or_default();
            let why = Text::ChildConcluded { job: &above };
            return Err(Box::new(Failure::about(Code::InvalidRequest, field, why)));
        }
        if self.job().records() + ROOM >= limits::RECORDS_MAX {
            let failure = Failure::about(Code::InvalidRequest, field, Text::LogFull);
            return Err(Box::new(failure.next(Text::ForkThere { job, record })));
        }
        self.check(to, again, field)
    }

    /// Checks that a record may get a name: that the job could continue from it.
    pub(super) fn check_named(&self, to: Seq, field: &str) -> Result<(), Refused> {
        self.check_in_timeline(to, field)?;
        self.check(to, true, field).map(drop)
    }

    fn check_in_timeline(&self, to: Seq, field: &str) -> Result<(), Refused> {
        if self.replay.timeline().has(to) {
            return Ok(());
        }
        let (job, record) = (self.job().id(), &to);
        let failure = Failure::about(Code::NotFound, field, Text::RolledBackRecord { record });
        Err(Box::new(failure.next(Text::ForkThere { job, record })))
    }

    /// Returns the work that would be done a second time if the job continued from a record.
    pub(super) fn repeated(&self, to: Seq) -> Repeated {
        self.repeated_from(to, &self.job_at(to))
    }

    /// Returns the calls with effects outside that began, by tool.
    pub(super) fn outside(&self) -> Vec<EffectDone> {
        self.effects().outside(Seq(0), &self.job_at(Seq(0)))
    }

    fn repeated_from(&self, to: Seq, there: &Job) -> Repeated {
        self.effects().repeated(to, there)
    }

    fn effects(&self) -> Effects {
        let mut effects = Effects::default();
        self.entries.iter().for_each(|entry| effects.take(entry));
        effects
    }
}

/// Returns the unit of work and the step of each command of a record.
fn steps_of(entry: &Entry) -> Vec<(WorkId, StepId)> {
    let commands = entry.decision().map(Decision::into_commands).unwrap_or_default();
    commands.into_iter().filter_map(step_of).collect()
}

fn step_of(command: Decision) -> Option<(WorkId, StepId)> {
    match command {
        Decision::Turn(work) => Some((work.work, work.step)),
        Decision::Call(work) => Some((work.work, work.step)),
        Decision::Spawn(work) => Some((work.work, work.step)),
        Decision::Ask(ask) => Some((ask.work, ask.question.step?)),
        Decision::Plan(_)
        | Decision::Wait(_)
        | Decision::Note(_)
        | Decision::Done(_)
        | Decision::Finish(_) => None,
    }
}
