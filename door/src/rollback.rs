//! Targets of rollbacks and forks: the record that a request names, and the irreversible effects
//! that it would repeat. Pure over a job's entries.

use machine::{Effects, Job, Repeated, Replay, replay};
use proto::{
    decision::Decision,
    entry::Entry,
    error::{Code, Failure},
    id::{JobId, Seq, StepId, WorkId},
    job::FailReason,
    limits,
    point::Point,
    record::Known,
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
        let id = self.job().id();
        match point {
            Point::Seq(seq) if self.entries.iter().any(|entry| entry.seq == *seq) => Ok(*seq),
            Point::Seq(seq) => {
                let why = format!("{field}: job {id} has no record {seq}");
                let next = format!("`callboard jobs show {id}` numbers its records.");
                Err(Box::new(Failure::new(Code::NotFound, why).at(field).advise(next)))
            }
            Point::Name(name) => {
                let known = self.job().snapshots();
                if let Some(found) = known.iter().find(|known| known.name == *name) {
                    return Ok(found.seq);
                }
                let names: Vec<_> = known.iter().map(|known| known.name.to_string()).collect();
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let why = format!("{field}: job {id} has no snapshot {name}; there are: {known}");
                let next = format!("`callboard jobs describe {id}` lists its snapshots.");
                Err(Box::new(Failure::new(Code::NotFound, why).at(field).advise(next)))
            }
        }
    }

    /// Returns the position before the first command of a step of the plan in force.
    pub(super) fn before_step(&self, step: &StepId) -> Result<Seq, Refused> {
        let (id, field) = (self.job().id(), "signal.restart.step");
        let refuse = |code, why: String, next: String| {
            Err(Box::new(Failure::new(code, format!("{field}: {why}")).at(field).advise(next)))
        };
        let Some(revision) = self.job().revision_of(step) else {
            if self.job().is_proposed(step) {
                let why = format!(
                    "step {step} belongs to a plan that is not confirmed yet: there is nothing to restart"
                );
                let next = format!("Confirm the plan first: callboard inbox show {id}");
                return refuse(Code::InvalidRequest, why, next);
            }
            let next = format!("`callboard jobs describe {id}` shows its steps.");
            return refuse(Code::NotFound, format!("job {id} has no step {step}"), next);
        };
        let timeline = self.replay.timeline();
        let part = format!("r{revision}");
        let is_first = |entry: &&Entry| {
            timeline.has(entry.seq)
                && step_of(entry).is_some_and(|(work, of)| {
                    of == *step && work.as_str().split('.').nth(1) == Some(&*part)
                })
        };
        let first = self.entries.iter().find(is_first);
        let before = first
            .and_then(|first| timeline.seqs().iter().rev().find(|seq| **seq < first.seq).copied());
        match before {
            Some(before) => Ok(before),
            None => {
                let why =
                    format!("step {step} of job {id} has not started: there is nothing to restart");
                let next =
                    format!("`callboard jobs describe {id}` shows which steps have started.");
                refuse(Code::InvalidRequest, why, next)
            }
        }
    }

    /// Returns the last position before the failure of a failed job. A retry cannot help a job that
    /// has used up its time, its budget or its log, or that a guard stopped.
    pub(super) fn before_failure(&self) -> Result<Seq, Refused> {
        let (id, field) = (self.job().id(), "signal.recover");
        let refuse = |why: String, next: String| {
            let failure = Failure::new(Code::InvalidRequest, format!("{field}: {why}"));
            Err(Box::new(failure.at(field).advise(next)))
        };
        let Some((before, reason)) = machine::before_failure(id, self.entries) else {
            let next = format!(
                "`callboard jobs describe {id}` shows its state; `callboard jobs rollback {id}` returns it to any record."
            );
            return refuse(format!("job {id} has not failed"), next);
        };
        match reason {
            FailReason::DeadlineExceeded
            | FailReason::BudgetExceeded
            | FailReason::HistoryFull
            | FailReason::NoProgress => {
                let why = format!("job {id} would fail again at once: {}", reason.as_str());
                let next = format!(
                    "`callboard jobs rollback {id} --to SEQ` returns it to an earlier record; a new submission can have other limits."
                );
                refuse(why, next)
            }
            FailReason::PlanFailed
            | FailReason::StepFailed
            | FailReason::QuestionExpired
            | FailReason::ReplanLimit
            | FailReason::QuestionRepeated
            | FailReason::TooManyQuestions => Ok(before),
        }
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
        let refuse = |why: String| {
            let why = format!("{field}: {why}");
            let next = format!("`callboard jobs show {}` numbers its records.", self.job().id());
            Err(Box::new(Failure::new(Code::InvalidRequest, why).at(field).advise(next)))
        };
        let there = self.job_at(to);
        if let Some(poison) = there.poison() {
            let seq = poison.seq;
            return refuse(format!("record {seq} cannot be read; roll back to an earlier record"));
        }
        if there.has_ended() {
            return refuse(format!("the job had ended at record {to}; name an earlier record"));
        }
        if there.is_being_canceled() {
            return refuse(format!(
                "the job was canceled before record {to}; name an earlier record"
            ));
        }
        if there.view().is_none() {
            return refuse(format!("nothing was submitted before record {to}"));
        }
        if again {
            return Ok(Vec::new());
        }
        let Repeated { calls, children } = self.repeated_from(to, &there);
        if calls.is_empty() {
            return Ok(children);
        }
        let calls: Vec<_> = calls.iter().map(|(tool, work)| format!("{tool} ({work})")).collect();
        let why = format!(
            "after record {to}, calls have started that must not run twice: {}",
            calls.join(", ")
        );
        Err(Box::new(Failure::new(Code::WouldRepeat, why).at(field)))
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
        let id = self.job().id();
        if !self.replay.timeline().has(to) {
            let why =
                format!("{field}: an earlier rollback removed record {to} from the job's timeline");
            let next = format!("`callboard jobs fork {id} --at {to}` continues from there.");
            return Err(Box::new(Failure::new(Code::NotFound, why).at(field).advise(next)));
        }
        if self.replay.timeline().is_concluded() {
            let above = self.job().view().and_then(|view| view.parent).map(|parent| parent.job);
            let above = above.map(|above| above.to_string()).unwrap_or_default();
            let why = format!(
                "{field}: job {above} already has the result of this child job; roll back job {above}, or fork this job"
            );
            return Err(Box::new(Failure::new(Code::InvalidRequest, why).at(field)));
        }
        if self.job().records() + ROOM >= limits::RECORDS_MAX {
            let why = format!("{field}: the job's log is full");
            let next = format!("`callboard jobs fork {id} --at {to}` continues from there.");
            return Err(Box::new(Failure::new(Code::InvalidRequest, why).at(field).advise(next)));
        }
        self.check(to, again, field)
    }

    /// Returns the work that would be done a second time if the job continued from a record.
    pub(super) fn repeated(&self, to: Seq) -> Repeated {
        self.repeated_from(to, &self.job_at(to))
    }

    fn repeated_from(&self, to: Seq, there: &Job) -> Repeated {
        let mut effects = Effects::default();
        self.entries.iter().for_each(|entry| effects.take(entry));
        effects.repeated(to, there)
    }
}

/// Returns the unit of work and the step of a command.
fn step_of(entry: &Entry) -> Option<(WorkId, StepId)> {
    let Ok(Known::Decision(decision)) = entry.record.as_ref().ok()?.known() else { return None };
    match *decision {
        Decision::Turn(work) => Some((work.work, work.step)),
        Decision::Call(work) => Some((work.work, work.step)),
        Decision::Spawn(work) => Some((work.work, work.step)),
        Decision::Ask(ask) => Some((ask.work, ask.question.step?)),
        Decision::Plan(_) | Decision::Wait(_) | Decision::Note(_) | Decision::Finish(_) => None,
    }
}
