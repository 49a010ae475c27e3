//! The actor of one job, which carries out the effects of its [`Activation`].

use std::{sync::Arc, time::Duration};

use broker::{
    Broker,
    kv::KvError,
    log::{CasOutcome, Delivery, LogError, Submission},
};
use proto::{
    decision::{Decision, DecisionKind, Note},
    entry::Entry,
    fact::{Fact, Submitted},
    id::{JobId, Seq, Shard, ToolName, WorkId},
    notice::Notice,
    trace::TraceContext,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use machine::{Job, Next, OutageWait, States, Transition};
use runtime::{
    registry::Registry,
    worker::{LocalCommand, LocalPools, LocalResult},
};
use tokio::time::Instant;
use tracing::{Instrument, field::display};

use super::{
    inbox::{Inbox, Waiting},
    observe::{self, ActivationSpan, ActivationTimer, Census, Labels, ShardFigures, Tally},
    registered,
    shard::ShardMsg,
};
use crate::activation::{self, Activation, Arrival, Effect, Outcome, Ran, Rest};

/// Longest time that one activation spends on work of its own, so that the next facts wait no longer.
const LOCAL_MAX: Duration = Duration::from_millis(50);

pub(super) struct JobActor;

/// Wakes the actor: its inbox is not empty.
pub(super) struct Wake;

pub(super) struct JobArgs {
    pub(super) job: JobId,
    pub(super) shard: Shard,
    pub(super) inbox: Arc<Inbox>,
    pub(super) broker: Broker,
    pub(super) registry: Registry,
    pub(super) owner: ActorRef<ShardMsg>,
    pub(super) census: Arc<Census>,
    pub(super) labels: Labels,
    pub(super) local: LocalPools,
}

pub(super) struct JobState {
    args: JobArgs,
    activation: Activation,
    /// Span of all log lines about this job. It lives as long as the actor: filling its fields for
    /// each activation took a twentieth of a supervisor's time.
    span: tracing::Span,
    /// `true` once the span has the id of the job's trace.
    traced: bool,
    /// Generated trace of a job whose submission has none.
    own_trace: Option<TraceContext>,
    /// `true` once the job's poisoning was logged.
    parked: bool,
    /// Changes that metrics do not count yet.
    tally: Tally,
    /// States of the last look, whose transitions were logged; `None` unless debug lines are
    /// enabled.
    states: Option<States>,
}

/// The reason for which an activation was given up. Its facts stay unacknowledged and are
/// redelivered.
#[derive(Debug, thiserror::Error)]
enum GivenUp {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the tool registry cannot be read: {0}")]
    Registry(#[from] KvError),
    #[error(transparent)]
    Bound(#[from] activation::GivenUp),
}

impl Actor for JobActor {
    type Msg = Wake;
    type State = JobState;
    type Arguments = JobArgs;

    async fn pre_start(
        &self,
        _: ActorRef<Wake>,
        args: JobArgs,
    ) -> Result<JobState, ActorProcessingErr> {
        // At this level the span encloses log lines of every level.
        let span = tracing::error_span!(
            "job",
            job = %args.job,
            shard = %args.shard,
            trace_id = tracing::field::Empty,
        );
        Ok(JobState {
            activation: Activation::new(args.job.clone()),
            args,
            span,
            traced: false,
            own_trace: None,
            parked: false,
            tally: Tally::default(),
            states: None,
        })
    }

    async fn handle(
        &self,
        _: ActorRef<Wake>,
        _: Wake,
        state: &mut JobState,
    ) -> Result<(), ActorProcessingErr> {
        let span = state.span.clone();
        let settled = state.activate_until_empty().instrument(span).await;
        // Metrics count the rest of it with a later activation.
        let is_owed = state.tally.is_owed();
        let rest = if is_owed { Rest::Working } else { state.activation.rest() };
        let rested = ShardMsg::Rested { job: state.args.job.clone(), rest, settled };
        // On shutdown the shard's actor is gone first; this actor then ends as well.
        let _ = state.args.owner.cast(rested);
        Ok(())
    }
}

impl JobState {
    /// Runs activations until the inbox is empty. Returns `true` if none was given up.
    async fn activate_until_empty(&mut self) -> bool {
        let mut settled = true;
        while let Some(waiting) = self.args.inbox.take() {
            if let Err(given_up) = self.activate(&waiting).await {
                settled = false;
                self.give_up(&given_up, &waiting);
            }
        }
        settled
    }

    async fn activate(&mut self, waiting: &Waiting) -> Result<(), GivenUp> {
        let timer = ActivationTimer::start(waiting.facts.iter(), &mut self.tally);
        self.activation.begin(arrivals(waiting), waiting.look, waiting.forget);
        let Some(span) = self.take_in(timer, waiting).await? else { return Ok(()) };
        let mut local_left = LOCAL_MAX;
        loop {
            let outcome = match self.activation.effect() {
                Effect::Rest => break,
                Effect::GiveUp(bound) => return Err(bound.into()),
                Effect::Acknowledge => {
                    for fact in &waiting.facts {
                        fact.ack.done().await;
                    }
                    Outcome::Done
                }
                Effect::Store { next, after } => {
                    let report = Report::of(&next.decision);
                    let stored = self.args.store(next, after, span.trace).await;
                    self.stored(stored, after, &report)?;
                    continue;
                }
                Effect::Run(decision) => {
                    let ran = self.run_here(decision, &mut local_left, span.trace).await;
                    Outcome::Ran(ran.map(Box::new))
                }
                effect @ (Effect::Read
                | Effect::Count(_)
                | Effect::Compare(_)
                | Effect::Arm(_)
                | Effect::Submit { .. }
                | Effect::Append { .. }
                | Effect::Disarm(_)
                | Effect::StopWork) => self.args.perform(effect, span.trace).await?,
            };
            self.activation.done(outcome);
        }
        if let Some(job) = self.activation.folded_job() {
            let place = ShardFigures { census: &self.args.census, labels: &self.args.labels };
            span.end(job, place, &mut self.tally);
        }
        self.report_poison();
        Ok(())
    }

    /// Carries a command out in this process, if a pool of it can within the time that the activation
    /// has left for such work. Facts that arrived meanwhile come first.
    async fn run_here(
        &self,
        decision: &Decision,
        left: &mut Duration,
        trace: TraceContext,
    ) -> Option<Ran> {
        if left.is_zero() || self.args.inbox.has_facts() {
            return None;
        }
        let (job, limit) = (&self.args.job, *left);
        let seq = self.activation.folded_job().map_or(Seq(0), Job::seq);
        let command = LocalCommand { job, seq, decision, trace, limit };
        let started = Instant::now();
        let result = self.args.local.carry_out(command).await;
        *left = left.saturating_sub(started.elapsed());
        let LocalResult { fact, took } = result?;
        Some(Ran { fact, took })
    }

    /// Folds the facts and starts the span of the activation. Returns `None` if there is nothing to
    /// do.
    async fn take_in(
        &mut self,
        timer: ActivationTimer,
        waiting: &Waiting,
    ) -> Result<Option<ActivationSpan>, GivenUp> {
        if let Effect::Read = self.activation.effect() {
            let entries = self.args.read().await?;
            self.look_before(waiting, &entries);
            self.activation.done(Outcome::Read(entries));
        }
        let (Effect::Count(intake), Some(job)) =
            (self.activation.effect(), self.activation.folded_job())
        else {
            return Ok(None);
        };
        let root = self.activation.trace().unwrap_or_else(|| {
            let random = || TraceContext::new(fastrand::u128(..), fastrand::u64(..), false);
            *self.own_trace.get_or_insert_with(random)
        });
        if !self.traced {
            self.traced = true;
            self.span.record("trace_id", format!("{:032x}", root.trace_id()));
        }
        let span = timer.folded(job, root, waiting.facts.iter(), intake, &mut self.tally);
        self.activation.done(Outcome::Done);
        self.log_transitions();
        Ok(Some(span))
    }

    /// Takes the outcome of the write that followed the decision at `after`, and reports the decision.
    fn stored(
        &mut self,
        stored: Result<CasOutcome, LogError>,
        after: Seq,
        report: &Report,
    ) -> Result<(), LogError> {
        // A write with an unknown outcome was most likely stored. It is counted if the job turns out
        // to have ended.
        if matches!(stored, Ok(CasOutcome::Stored(_)) | Err(LogError::Unknown(_))) {
            self.tally.stored(after == Seq(0), report.kind == DecisionKind::Finish);
        }
        // The broker forbids records of local work, so the process stops doing any. The facts are
        // redelivered, and the command goes through the queue.
        if report.kind == DecisionKind::Done && matches!(stored, Err(LogError::Forbidden(_))) {
            self.args.local.forbid();
        }
        match stored? {
            CasOutcome::Stored(seq) => {
                self.activation.done(Outcome::Stored(seq));
                log_decided(&self.args.job, seq, report.kind, self.activation.folded_job());
                self.log_transitions();
                self.report(report);
            }
            CasOutcome::Conflict => {
                let job = &self.args.job;
                tracing::debug!(%job, "another supervisor decided first; reading the log again");
                self.activation.done(Outcome::Conflict);
            }
        }
        Ok(())
    }

    fn report(&self, report: &Report) {
        self.count_notices(&report.notices);
        if report.advances
            && let Some(job) = self.activation.folded_job()
        {
            observe::visits(job);
        }
        report.waits.iter().for_each(|work| self.report_outage(work));
    }

    /// Remembers the states before the facts that wait, if debug lines are enabled and this is the
    /// first look at the job.
    fn look_before(&mut self, waiting: &Waiting, entries: &[Entry]) {
        if self.states.is_none() && tracing::enabled!(tracing::Level::DEBUG) {
            let first = waiting.facts.iter().map(|fact| fact.entry.seq).min();
            let known = entries.partition_point(|entry| first.is_none_or(|seq| entry.seq < seq));
            let before = machine::replay(&self.args.job, &entries[..known]);
            self.states = Some(States::of(&before));
        }
    }

    /// Logs the transitions of the job, its steps and its questions since the last look, at debug
    /// level. User content is never logged.
    fn log_transitions(&mut self) {
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        let Some(folded) = self.activation.folded_job() else { return };
        let states = States::of(folded);
        let transitions = match self.states.replace(states.clone()) {
            Some(before) => before.transitions_to(&states),
            None => Vec::new(),
        };
        for transition in &transitions {
            log_transition(&self.args.job, folded.seq(), transition);
        }
    }

    /// Counts the wait of a unit of work, if it waits for the end of an outage, and logs it if no
    /// other wait for the service was logged in the last minute. The error may quote user content,
    /// so only the worker logs it, in its own words.
    fn report_outage(&self, work: &WorkId) {
        let Some(folded) = self.activation.folded_job() else { return };
        let Some(OutageWait { tool, retry, since }) = folded.outage_of(work) else { return };
        let (attempt, next_at) = (retry.attempt, retry.next_at.map(tracing::field::display));
        let service = tool.as_ref().map_or("model", ToolName::as_str);
        match observe::outage_warning(service) {
            Some(waits) => {
                tracing::warn!(service, waits, %work, %attempt, next_at, %since, "a model or a tool's service cannot be reached; the work waits for it");
            }
            None => {
                tracing::debug!(service, %work, %attempt, next_at, %since, "the work waits for the end of an outage");
            }
        }
        if let Some(status) = folded.standing() {
            observe::outage_wait(&status.agent, &self.args.labels);
        }
    }

    fn count_notices(&self, notices: &[Notice]) {
        if notices.is_empty() {
            return;
        }
        let Some(status) = self.activation.folded_job().and_then(Job::standing) else { return };
        for notice in notices {
            observe::notice(notice, &status.agent, &self.args.labels);
        }
    }

    fn give_up(&mut self, why: &GivenUp, waiting: &Waiting) {
        let (job, shard) = (&self.args.job, self.args.shard);
        tracing::warn!(%job, %shard, error = %why, "an activation of a job was aborted; it will be retried");
        self.activation.give_up(arrivals(waiting));
        let again = ShardMsg::GaveUp(self.args.job.clone());
        // On shutdown the shard's actor is gone; the next owner activates the job.
        let _ = self.args.owner.cast(again);
    }

    /// Logs, once, that the job is poisoned.
    fn report_poison(&mut self) {
        let poison = self.activation.folded_job().and_then(Job::poison);
        if let Some(poison) = poison.filter(|_| !std::mem::replace(&mut self.parked, true)) {
            let (job, seq, reason) = (&self.args.job, poison.seq, &poison.place);
            tracing::error!(%job, %seq, %reason, "the job is parked: a record of its log cannot be read");
        }
    }
}

impl JobArgs {
    /// Carries out an effect that needs only the broker and the registry.
    async fn perform(&self, effect: Effect<'_>, trace: TraceContext) -> Result<Outcome, GivenUp> {
        let log = &self.broker.log;
        match effect {
            Effect::Read => return Ok(Outcome::Read(self.read().await?)),
            Effect::Compare(call) => {
                let compared =
                    registered::compare(&self.job, call, &self.registry, &self.broker).await?;
                return Ok(Outcome::Compared(compared));
            }
            Effect::Arm(arm) => log.arm(&self.job, &arm.timer, arm.at, trace).await?,
            Effect::Append { to, fact } => _ = log.append(to, fact, trace).await?,
            Effect::Submit { child, submitted } => {
                return Ok(self.submit(child, submitted, trace).await?);
            }
            Effect::Disarm(timer) => {
                if let Err(error) = log.disarm(&self.job, timer).await {
                    tracing::debug!(job = %self.job, %timer, %error, "a timer could not be disarmed; it has no effect");
                }
            }
            Effect::StopWork => {
                let subject = log.subjects().stop(&self.job);
                if let Err(error) = self.broker.bus.publish(subject, bytes::Bytes::new()).await {
                    tracing::debug!(job = %self.job, %error, "workers find out by themselves that the job has ended");
                }
            }
            Effect::Rest
            | Effect::Count(_)
            | Effect::Run(_)
            | Effect::Store { .. }
            | Effect::Acknowledge
            | Effect::GiveUp(_) => {}
        }
        Ok(Outcome::Done)
    }

    async fn read(&self) -> Result<Vec<Entry>, LogError> {
        self.broker.log.read(&self.job, Seq(0)).await
    }

    async fn store(
        &self,
        next: &Next,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        self.broker.log.decide(&self.job, &next.decision, after, next.disarm.first(), trace).await
    }

    /// Submits a child. Repeated submissions of one child have no further effect.
    async fn submit(
        &self,
        child: &JobId,
        submitted: &Submitted,
        trace: TraceContext,
    ) -> Result<Outcome, LogError> {
        let fact = Fact::Submitted(submitted.clone());
        let Submission::Exists(first) = self.broker.log.submit(child, &fact, trace).await? else {
            return Ok(Outcome::Done);
        };
        let there = first.submission().and_then(|there| there.parent);
        if there != submitted.parent {
            tracing::warn!(job = %self.job, %child, "another job has the id of a child");
        }
        Ok(Outcome::Occupied(there))
    }
}

/// The parts of a decision that metrics and logs report once it is stored.
struct Report {
    kind: DecisionKind,
    /// `true` for an advance of a workflow.
    advances: bool,
    notices: Vec<Notice>,
    /// Work that waits for its next attempt.
    waits: Option<WorkId>,
}

impl Report {
    fn of(decision: &Decision) -> Self {
        let waits =
            if let Decision::Wait(wait) = decision { Some(wait.work.clone()) } else { None };
        Self {
            kind: decision.kind(),
            advances: matches!(decision, Decision::Note(Note::Advanced(_))),
            notices: decision.notices().into_iter().cloned().collect(),
            waits,
        }
    }
}

fn arrivals(waiting: &Waiting) -> impl ExactSizeIterator<Item = Arrival<'_>> + Clone {
    waiting.facts.iter().map(arrival)
}

fn arrival(fact: &Delivery) -> Arrival<'_> {
    Arrival { entry: &fact.entry, is_again: fact.delivered > 1 }
}

/// Logs a decision and the resulting status at debug level. User content is never logged.
fn log_decided(id: &JobId, seq: Seq, kind: DecisionKind, job: Option<&Job>) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let at = job.and_then(Job::standing);
    let sub_status = at.as_ref().and_then(|at| at.sub_status).map(|sub| sub.to_string());
    let state = at.as_ref().map(|at| tracing::field::display(at.state));
    tracing::debug!(job = %id, %seq, decision = kind.as_str(), state, sub_status, "decided");
}

fn log_transition(job: &JobId, seq: Seq, transition: &Transition) {
    match transition {
        Transition::Job { from, to, sub_status } => {
            let (from, sub_status) = (from.map(display), sub_status.map(display));
            tracing::debug!(%job, %seq, from, %to, sub_status, "the job changed");
        }
        Transition::Step { step, from, to } => {
            let from = from.map(display);
            tracing::debug!(%job, %seq, %step, from, %to, "a step changed");
        }
        Transition::Question { ask, from, to } => {
            let from = from.map(display);
            tracing::debug!(%job, %seq, %ask, from, %to, "a question changed");
        }
    }
}
