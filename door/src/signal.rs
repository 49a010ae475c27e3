//! The verb `signal`: cancels, pauses, resumes, retries, instructs, names or rolls back a job.
//!
//! A reply states an accomplished fact. A cancellation is answered when the job has ended, so that
//! no tool starts afterwards, or after a timeout with the state that the job is in then. Any other
//! signal is answered when it is stored and folded. A job that is unreadable for this process
//! accepts a retry only: another release may be able to read it.

use std::time::Duration;

use broker::log::CasOutcome;
use futures::StreamExt;
use machine::Job;
use proto::{
    door::{SendSignal, Signaled},
    entry::Entry,
    error::{Code, Failure},
    fact::{self, Fact, Signal},
    id::{JobId, Seq, SnapshotName},
    job::JobState,
    limits,
    point::{Order, Point},
    refusal::Text,
};
use runtime::service::{Answers, Asked, Call};
use tokio::time::Instant;

use super::{Door, descendants, events, fold, rollback::Past, workflow};

/// Longest wait for the supervisor to end a canceled job.
pub(super) const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// A signal that its job may receive.
#[derive(Debug)]
pub(super) enum Checked {
    /// A retry of a job that cannot be read.
    Unread,
    /// A rollback.
    Back(Signal),
    /// A signal to a job that has not ended.
    Open {
        signal: Signal,
        job: Box<Job>,
        /// Jobs below that receive it, too.
        below: Vec<JobId>,
    },
}

/// The reason, the sender and the condition of a signal.
#[derive(Debug, Clone)]
struct Details {
    reason: Option<String>,
    by: Option<String>,
    /// Last record that the sender saw.
    expected_seq: Option<Seq>,
}

impl Answers<SendSignal> for Door {
    async fn answer(&self, asked: Asked<'_, SendSignal>) -> Result<Signaled, Failure> {
        let request = asked.request()?;
        let Asked { caller, call, .. } = asked;
        check_reason(request.reason.as_deref())?;
        let by = caller.recorded(request.by.as_deref())?;
        self.signal(call, request, by, Instant::now() + ENDS_WITHIN).await
    }
}

impl Door {
    /// Sends a signal. The reply to a cancellation waits for the end of the job, at most until
    /// `until`.
    pub(super) async fn signal(
        &self,
        call: &Call,
        request: SendSignal,
        by: Option<String>,
        until: Instant,
    ) -> Result<Signaled, Failure> {
        let entries = fold::read(&*self.broker.log, &request.job).await?;
        let SendSignal { job: id, signal, expected_seq, reason, .. } = request;
        unmoved(&id, &entries, expected_seq)?;
        let details = Details { reason, by, expected_seq };
        match self.check(&id, signal, &entries).await? {
            Checked::Unread => {
                let seq = self.append(call, &id, Signal::Retry, details).await?;
                Ok(Signaled { job: id, state: JobState::Working, seq })
            }
            Checked::Back(signal) => self.roll_back(call, &id, signal, details).await,
            Checked::Open { signal, mut job, below } => {
                let seq = self.append(call, &id, signal.clone(), details.clone()).await?;
                let details = Details { expected_seq: None, ..details };
                for child in &below {
                    self.append(call, child, signal.clone(), details.clone()).await?;
                }
                match signal {
                    Signal::Cancel => {
                        let is_over = |job: &Job| job.outcome().is_some();
                        if !self.follow(&mut job, (&signal, seq), until, is_over).await? {
                            tracing::warn!(job = %job.id(), "the job is canceled but has not ended yet");
                        }
                    }
                    Signal::EditGraph { .. } => {
                        self.until_edited(&mut job, (&signal, seq), until).await?
                    }
                    Signal::Pause
                    | Signal::Resume
                    | Signal::Retry
                    | Signal::Steer { .. }
                    | Signal::Snapshot { .. }
                    | Signal::Event { .. }
                    | Signal::RollBack { .. } => {
                        let entries = self.broker.log.read(&id, job.seq()).await?;
                        self.catch_up(&mut job, &entries, (&signal, seq)).await?;
                    }
                }
                let state = fold::view(&job)?.state;
                Ok(Signaled { job: id, state, seq })
            }
        }
    }

    /// Checks a signal against the log of its job. Positions are resolved here, so that the stored
    /// signal names records.
    ///
    /// # Errors
    /// The refusal that the signal gets.
    pub(super) async fn check(
        &self,
        id: &JobId,
        order: Order,
        entries: &[Entry],
    ) -> Result<Checked, Failure> {
        let signal = match order {
            Order::Cancel => Signal::Cancel,
            Order::Pause => Signal::Pause,
            Order::Resume => Signal::Resume,
            Order::Retry => Signal::Retry,
            Order::Steer { text } => instruction(text)?,
            Order::Event { name, data } => events::event(name, data)?,
            Order::Snapshot { name, at } => {
                let at = at.map(|point| earlier(id, entries, &point)).transpose()?;
                snapshot(name, at)?
            }
            Order::EditGraph { base, edits } => {
                let job = fold::whole(id, entries)?;
                self.workflows
                    .look(|shelf| workflow::edited(&job, base, &edits, &self.registry, shelf))?
            }
            Order::Migrate { base, source, workflows } => {
                let job = fold::whole(id, entries)?;
                let files = (source.as_str(), &workflows);
                self.workflows
                    .look(|shelf| workflow::migrated(&job, base, files, &self.registry, shelf))?
            }
            Order::RollBack { .. } | Order::Restart { .. } | Order::Recover { .. } => {
                let found = fold::apart(id, || {
                    let past = Past::of(id, entries);
                    let (to, again, field) = wanted(&past, &order)?;
                    let below = past.check_back(to, again, field)?;
                    Ok::<_, Box<Failure>>((to, again, past.last(), below, field))
                })?;
                let (to, again, seen, below, field) = found.map_err(|refused| *refused)?;
                descendants::check(&*self.broker.log, below, field).await?;
                return Ok(Checked::Back(Signal::RollBack { to, seen, again }));
            }
        };
        let folded = fold::whole(id, entries);
        if signal == Signal::Retry && folded.as_ref().map_or(true, is_parked) {
            return Ok(Checked::Unread);
        }
        let job = folded?;
        open(&job, &signal)?;
        let below = match signal == Signal::Retry {
            true => descendants::to_retry(&*self.broker.log, &job).await?,
            false => Vec::new(),
        };
        if signal == Signal::Retry && below.is_empty() {
            something_to_retry(&job)?;
        }
        counts(&job, &signal)?;
        Ok(Checked::Open { signal, job: Box::new(job), below })
    }

    /// Stores a signal of a person.
    ///
    /// # Errors
    /// `stale` if the job has a record after the one that the sender saw.
    async fn append(
        &self,
        call: &Call,
        job: &JobId,
        signal: Signal,
        details: Details,
    ) -> Result<Seq, Failure> {
        let Details { reason, by, expected_seq } = details;
        let fact = Fact::Signaled(fact::Signaled { signal, reason, by, parent_seq: None });
        let log = &self.broker.log;
        let Some(seen) = expected_seq else { return Ok(log.append(job, &fact, call.trace).await?) };
        match log.append_after(job, &fact, seen, call.trace).await? {
            CasOutcome::Stored(seq) => Ok(seq),
            CasOutcome::Conflict => Err(moved(job, seen)),
        }
    }

    /// Rolls a job back.
    async fn roll_back(
        &self,
        call: &Call,
        job: &JobId,
        signal: Signal,
        details: Details,
    ) -> Result<Signaled, Failure> {
        let seq = self.append(call, job, signal, details).await?;
        let entries = fold::read(&*self.broker.log, job).await?;
        let past = fold::apart(job, || Past::of(job, &entries))?;
        if !past.went_back(seq) {
            return Err(Failure::of(Code::WouldRepeat, Text::ChangedMeanwhile { job }));
        }
        let state = fold::view(past.job())?.state;
        Ok(Signaled { job: job.clone(), state, seq })
    }

    /// Follows the job until the supervisor has decided on an edit of its graph.
    ///
    /// # Errors
    /// The refusal of an edit that did not come into force, and `timeout` if nobody has decided
    /// on it when the wait is over.
    async fn until_edited(
        &self,
        job: &mut Job,
        (signal, seq): (&Signal, Seq),
        until: Instant,
    ) -> Result<(), Failure> {
        let Signal::EditGraph { base, run, .. } = signal else { return Ok(()) };
        let is_over = |job: &Job| {
            job.outcome().is_some() || job.poison().is_some() || !job.has_requested_edit()
        };
        if !self.follow(job, (signal, seq), until, is_over).await? {
            let id = job.id();
            let failure = Failure::about(Code::Timeout, "job", Text::GraphWaits { job: id });
            return Err(failure.next(Text::SeeState { job: id }));
        }
        if job.took_up_edit(seq) {
            return Ok(());
        }
        open(job, signal)?;
        workflow::check_edit(job, *base, run)?;
        // A path had no place in the new graph for a moment, or a rollback dropped the edit.
        Err(Failure::of(Code::Stale, Text::GraphLapsed { job: job.id() }))
    }

    /// Follows the job until it has the signal and `is_over`, and returns `false` if the wait is over
    /// before that.
    async fn follow(
        &self,
        job: &mut Job,
        signal: (&Signal, Seq),
        until: Instant,
        is_over: impl Fn(&Job) -> bool,
    ) -> Result<bool, Failure> {
        let entries = self.broker.log.watch(job.id(), job.seq()).await?;
        let mut entries = entries.ready_chunks(64);
        while !is_over(job) || job.seq() < signal.1 {
            let Ok(next) = tokio::time::timeout_at(until, entries.next()).await else {
                return Ok(false);
            };
            let entries: Result<Vec<_>, _> = next.unwrap_or_default().into_iter().collect();
            let entries = entries?;
            if entries.is_empty() {
                return Ok(false);
            }
            // Later records of the same burst may change what `is_over` looks at.
            for entry in &entries {
                self.catch_up(job, std::slice::from_ref(entry), signal).await?;
                if is_over(job) && job.seq() >= signal.1 {
                    return Ok(true);
                }
            }
        }
        Ok(true)
    }

    /// Folds further entries. It is an error if the job did not take the signal, because records that
    /// were stored before it ended the job or changed what the signal is for.
    async fn catch_up(
        &self,
        job: &mut Job,
        entries: &[Entry],
        (signal, seq): (&Signal, Seq),
    ) -> Result<(), Failure> {
        let heard = entries.partition_point(|entry| entry.seq < seq);
        let (before, after) = entries.split_at(heard);
        fold::more(&*self.broker.log, job, before).await?;
        if after.first().is_some_and(|entry| entry.seq == seq) {
            open(job, signal)?;
            counts(job, signal)?;
        }
        fold::more(&*self.broker.log, job, after).await
    }
}

/// Checks that the last record of a job is the one that the sender saw.
pub(super) fn unmoved(
    job: &JobId,
    entries: &[Entry],
    expected: Option<Seq>,
) -> Result<(), Failure> {
    let last = entries.last().map(|entry| entry.seq);
    match expected.filter(|expected| last != Some(*expected)) {
        None => Ok(()),
        Some(seen) => Err(moved(job, seen)),
    }
}

fn moved(job: &JobId, seen: Seq) -> Failure {
    let why = Text::JobMoved { job, record: &seen };
    Failure::about(Code::Stale, "expected_seq", why).next(Text::SeeState { job })
}

/// Checks the length of a reason.
pub(super) fn check_reason(reason: Option<&str>) -> Result<(), Failure> {
    if reason.is_some_and(|reason| reason.len() > limits::REASON_BYTES_MAX) {
        let why = Text::AtMostBytes { max: &limits::REASON_BYTES_MAX };
        return Err(Failure::about(Code::TooLarge, "reason", why));
    }
    Ok(())
}

/// Returns the target of a rollback, whether effects may be repeated, and the request's field with
/// the target.
fn wanted(past: &Past<'_>, order: &Order) -> Result<(Seq, bool, &'static str), Box<Failure>> {
    match order {
        Order::RollBack { to, again } => {
            let field = "signal.roll_back.to";
            Ok((past.seq_of(to, field)?, *again, field))
        }
        Order::Restart { step, again } => {
            Ok((past.before_step(step)?, *again, "signal.restart.step"))
        }
        Order::Recover { again } => Ok((past.before_failure()?, *again, "signal.recover")),
        Order::Cancel
        | Order::Pause
        | Order::Resume
        | Order::Retry
        | Order::Steer { .. }
        | Order::Event { .. }
        | Order::EditGraph { .. }
        | Order::Migrate { .. }
        | Order::Snapshot { .. } => {
            Err(Box::new(Failure::new(Code::Internal, "this signal is not a rollback")))
        }
    }
}

/// Checks an instruction to a job's agents.
fn instruction(text: String) -> Result<Signal, Failure> {
    let field = "signal.steer.text";
    if text.trim().is_empty() {
        return Err(Failure::about(Code::InvalidRequest, field, Text::NoInstruction));
    }
    if text.len() > limits::INSTRUCTION_BYTES_MAX {
        let why = Text::AtMostBytes { max: &limits::INSTRUCTION_BYTES_MAX };
        return Err(Failure::about(Code::TooLarge, field, why));
    }
    Ok(Signal::Steer { text })
}

/// Checks the name of a snapshot. A number is refused, because it would read as a position.
fn snapshot(name: SnapshotName, at: Option<Seq>) -> Result<Signal, Failure> {
    if name.as_str().bytes().all(|b| b.is_ascii_digit()) {
        let field = "signal.snapshot.name";
        let why = Text::SnapshotNumber { name: &name };
        return Err(Failure::about(Code::InvalidRequest, field, why));
    }
    Ok(Signal::Snapshot { name, at })
}

/// Returns the position of a point to which the job could be rolled back.
fn earlier(id: &JobId, entries: &[Entry], point: &Point) -> Result<Seq, Failure> {
    let field = "signal.snapshot.at";
    let found = fold::apart(id, || {
        let past = Past::of(id, entries);
        let seq = past.seq_of(point, field)?;
        past.check_named(seq, field).map(|()| seq)
    })?;
    found.map_err(|refused| *refused)
}

/// Checks that the job, as it is now, takes the signal.
fn counts(job: &Job, signal: &Signal) -> Result<(), Failure> {
    match signal {
        Signal::Snapshot { name, .. } => room_for(job, name),
        Signal::Event { name, .. } => events::check_kept(job, name),
        Signal::EditGraph { base, run, .. } => workflow::check_edit(job, *base, run),
        Signal::Cancel
        | Signal::Pause
        | Signal::Resume
        | Signal::Retry
        | Signal::Steer { .. }
        | Signal::RollBack { .. } => Ok(()),
    }
}

fn room_for(job: &Job, name: &SnapshotName) -> Result<(), Failure> {
    let known = job.snapshots();
    if known.len() < limits::SNAPSHOTS_MAX || known.iter().any(|known| known.name == *name) {
        return Ok(());
    }
    let why = Text::Snapshots { max: &limits::SNAPSHOTS_MAX };
    Err(Failure::about(Code::TooLarge, "signal.snapshot.name", why))
}

/// Refuses a retry that would change nothing, so that a user who named the wrong job gets an error.
fn something_to_retry(job: &Job) -> Result<(), Failure> {
    if descendants::has_something_to_retry(job) {
        return Ok(());
    }
    let job = job.id();
    let failure = Failure::of(Code::NotFound, Text::NothingToRetry { job }).at("signal");
    Err(failure.next(Text::SeeDeadLetters { job }))
}

/// Returns `true` if the job is held by an unreadable record.
fn is_parked(job: &Job) -> bool {
    job.poison().is_some() && !job.has_ended()
}

/// Returns an error if the signal can no longer change the job. A poisoned job can only be cancelled.
fn open(job: &Job, signal: &Signal) -> Result<(), Failure> {
    let view = fold::view(job)?;
    let poison = job.poison().filter(|_| is_parked(job) && *signal != Signal::Cancel);
    if let Some(poison) = poison {
        return Err(fold::poisoned(job.id(), poison.seq, &poison.reason));
    }
    if view.state.is_terminal() { Err(ended(job.id(), view.state)) } else { Ok(()) }
}

fn ended(job: &JobId, state: JobState) -> Failure {
    Failure::of(Code::JobEnded, Text::Ended { job, state: &state }).at("job")
}
