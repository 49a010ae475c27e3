//! One job that moves: folds its facts, stores the decisions that follow, and acknowledges the
//! facts once those are stored.

use std::{collections::BTreeSet, sync::Arc};

use proto::{
    decision::Decision,
    id::{JobId, Seq, Shard},
    record::Known,
    subject::Family,
    trace::TraceContext,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use runtime::{
    broker::Broker,
    log::{Delivery, Entry, Guarded, LogError},
    worker::dead_letter,
};

use tracing::Instrument;

use super::{
    inbox::{Inbox, Waiting},
    observe::{Census, Labels, Look, Place, Taken},
    shard::ShardMsg,
};
use crate::{
    machine::{At, Job, Next},
    replay,
};

/// Decisions one look may lead to. A job that wants more is not converging.
const DECISIONS_MAX: usize = 2 * proto::limits::PLAN_STEPS_MAX + 100;

/// Conflicts in a row after which a look is given up: somebody else is deciding this job.
const CONFLICTS_MAX: u32 = 20;

pub(super) struct JobActor;

/// There is something in the inbox.
pub(super) struct Wake;

pub(super) struct JobArgs {
    pub(super) job: JobId,
    pub(super) shard: Shard,
    pub(super) inbox: Arc<Inbox>,
    pub(super) broker: Broker,
    pub(super) owner: ActorRef<ShardMsg>,
    pub(super) census: Arc<Census>,
    pub(super) labels: Labels,
}

pub(super) struct JobCache {
    args: JobArgs,
    /// The fold so far; nothing when the log must be read.
    folded: Option<Folded>,
    /// What every line of the log about this job is within. One for all looks: writing its fields
    /// anew for each took a twentieth of a supervisor's time.
    span: tracing::Span,
    /// Whether the span has the id of the job's trace.
    traced: bool,
}

/// The fold, and enough to put a fact in its place that was stored before a decision and arrives
/// after it: facts arrive in the order of the log, so it is never older than the last one that did.
struct Folded {
    job: Job,
    trace: TraceContext,
    /// The job as of the last fact that arrived, or as it was read.
    base: Job,
    /// Decisions stored from here since then.
    tail: Vec<(At, Known)>,
}

/// A fact is older than one that arrived before it.
struct OutOfOrder;

/// Why a look was given up. The facts stay unacknowledged and are handed out again.
#[derive(Debug, thiserror::Error)]
enum GivenUp {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("somebody else keeps deciding this job")]
    Contended,
    #[error("the job wants more than {DECISIONS_MAX} decisions at once")]
    Runaway,
}

impl Actor for JobActor {
    type Msg = Wake;
    type State = JobCache;
    type Arguments = JobArgs;

    async fn pre_start(
        &self,
        _: ActorRef<Wake>,
        args: JobArgs,
    ) -> Result<JobCache, ActorProcessingErr> {
        // Of this level so that lines of any level are within it.
        let span = tracing::error_span!(
            "job",
            job = %args.job,
            shard = %args.shard,
            trace_id = tracing::field::Empty,
        );
        Ok(JobCache { args, folded: None, span, traced: false })
    }

    async fn handle(
        &self,
        _: ActorRef<Wake>,
        _: Wake,
        cache: &mut JobCache,
    ) -> Result<(), ActorProcessingErr> {
        let span = cache.span.clone();
        let settled = cache.look_at_all().instrument(span).await;
        let rests = cache.folded.as_ref().is_none_or(|folded| !folded.job.has_work_out());
        let seen = ShardMsg::Rested { job: cache.args.job.clone(), may_leave: rests, settled };
        // The shard's actor is gone when the process shuts down; then so is this one.
        let _ = cache.args.owner.cast(seen);
        Ok(())
    }
}

impl JobCache {
    /// Looks as long as there is something to look at. Whether no look was given up.
    async fn look_at_all(&mut self) -> bool {
        let mut settled = true;
        while let Some(waiting) = self.args.inbox.take() {
            if let Err(given_up) = self.look(waiting).await {
                settled = false;
                self.give_up(&given_up);
            }
        }
        settled
    }

    async fn look(&mut self, waiting: Waiting) -> Result<(), GivenUp> {
        let redelivered = waiting.facts.iter().any(|fact| fact.delivered > 1);
        if waiting.forget || redelivered {
            self.folded = None;
        }
        if waiting.facts.is_empty() && !waiting.look {
            return Ok(());
        }
        let look = Look::begin();
        let taken = self.take_in(&waiting).await?;
        let Some(folded) = &self.folded else { return Ok(()) };
        let root = folded.trace;
        if !self.traced {
            self.traced = true;
            self.span.record("trace_id", format!("{:032x}", root.trace_id()));
        }
        let looking = look.taken(&folded.job, root, waiting.facts.iter(), taken);
        self.decide(looking.trace).await?;
        for fact in &waiting.facts {
            fact.ack.done().await;
        }
        if let Some(folded) = &self.folded {
            let place = Place { census: &self.args.census, labels: &self.args.labels };
            looking.over(&folded.job, root, place);
        }
        self.report_poison(&waiting);
        Ok(())
    }

    /// Folds what came, on top of what is cached or of the whole log.
    async fn take_in(&mut self, waiting: &Waiting) -> Result<Taken, GivenUp> {
        if let Some(mut folded) = self.folded.take() {
            let mut facts: Vec<&Delivery> = waiting.facts.iter().collect();
            facts.sort_by_key(|fact| fact.entry.seq);
            let mut taken = Taken { before: folded.job.standing(), ignored: Vec::new() };
            let insert = |fact: &&Delivery| {
                let ignored = folded.job.ignored();
                folded.insert(&fact.entry)?;
                if folded.job.ignored() > ignored {
                    taken.ignored.push(kind(&fact.entry));
                }
                Ok::<(), OutOfOrder>(())
            };
            if facts.iter().try_for_each(insert).is_ok() {
                self.folded = Some(folded);
                return Ok(taken);
            }
        }
        let new: BTreeSet<Seq> = waiting.facts.iter().map(|fact| fact.entry.seq).collect();
        let (folded, taken) = match waiting.facts.front() {
            // A job's first record, handed out for the first time: there is nothing to read. Should
            // that be wrong, the first compare-and-set says so.
            Some(first) if waiting.facts.len() == 1 && is_new(first) => {
                fold(&self.args.job, std::slice::from_ref(&first.entry), &new)
            }
            _ => fold(&self.args.job, &self.read().await?, &new),
        };
        self.folded = Some(folded);
        Ok(taken)
    }

    async fn read(&self) -> Result<Vec<Entry>, LogError> {
        self.args.broker.log.read(&self.args.job, Seq(0)).await
    }

    /// Stores decisions until nothing more follows.
    async fn decide(&mut self, trace: TraceContext) -> Result<(), GivenUp> {
        let mut conflicts = 0;
        for _ in 0..DECISIONS_MAX {
            let Some(folded) = &mut self.folded else { return Ok(()) };
            let Some(next) = folded.job.decide() else { return Ok(()) };
            match store(&self.args.broker, folded, next, trace).await? {
                Guarded::Stored(_) => conflicts = 0,
                Guarded::Conflict => {
                    conflicts += 1;
                    if conflicts > CONFLICTS_MAX {
                        return Err(GivenUp::Contended);
                    }
                    tracing::debug!(job = %self.args.job, "somebody else decided first; reading the log again");
                    let entries = self.read().await?;
                    self.folded = Some(fold(&self.args.job, &entries, &BTreeSet::new()).0);
                }
            }
        }
        Err(GivenUp::Runaway)
    }

    fn give_up(&mut self, why: &GivenUp) {
        let (job, shard) = (&self.args.job, self.args.shard);
        tracing::warn!(%job, %shard, error = %why, "a look at a job was given up; it will be looked at again");
        self.folded = None;
        let again = ShardMsg::GaveUp(self.args.job.clone());
        // The shard's actor is gone when the process shuts down; another process looks then.
        let _ = self.args.owner.cast(again);
    }

    fn report_poison(&self, waiting: &Waiting) {
        if let Some(poison) = self.folded.as_ref().and_then(|folded| folded.job.poison()) {
            let is_new = |fact: &Delivery| fact.delivered == 1 && fact.entry.seq == poison.seq;
            if waiting.facts.iter().any(is_new) {
                dead_letter("unreadable");
            }
            let (job, seq, reason) = (&self.args.job, poison.seq, &poison.reason);
            tracing::error!(%job, %seq, %reason, "the job is parked: a record of its log cannot be read");
        }
    }
}

fn is_new(delivery: &Delivery) -> bool {
    let submitted =
        |entry: &Entry| entry.record.as_ref().is_ok_and(|record| record.kind == "submitted");
    delivery.delivered == 1 && submitted(&delivery.entry)
}

fn kind(entry: &Entry) -> String {
    entry.record.as_ref().map_or_else(|_| "unreadable".to_owned(), |record| record.kind.clone())
}

/// Folds a whole log, and notes what the entries that are new in it changed.
fn fold(job: &JobId, entries: &[Entry], new: &BTreeSet<Seq>) -> (Folded, Taken) {
    let trace = entries.iter().find_map(|entry| entry.trace);
    let trace =
        trace.unwrap_or_else(|| TraceContext::new(fastrand::u128(..), fastrand::u64(..), false));
    let mut job = Job::new(job.clone());
    let mut taken = Taken::default();
    let first_new = new.first();
    for entry in entries {
        if first_new == Some(&entry.seq) {
            taken.before = job.standing();
        }
        let ignored = job.ignored();
        replay::apply(&mut job, entry);
        if job.ignored() > ignored && new.contains(&entry.seq) {
            taken.ignored.push(kind(entry));
        }
    }
    if first_new.is_none() {
        taken.before = job.standing();
    }
    (Folded { base: job.clone(), job, trace, tail: Vec::new() }, taken)
}

impl Folded {
    /// Puts a fact in its place.
    fn insert(&mut self, entry: &Entry) -> Result<(), OutOfOrder> {
        if entry.seq <= self.base.seq() {
            return Err(OutOfOrder);
        }
        if entry.seq > self.job.seq() {
            replay::apply(&mut self.job, entry);
            self.tail.clear();
            self.base.clone_from(&self.job);
            return Ok(());
        }
        let later = self.tail.partition_point(|(at, _)| at.seq < entry.seq);
        let later = self.tail.split_off(later);
        let earlier = std::mem::replace(&mut self.tail, later);
        earlier.iter().for_each(|(at, decision)| apply_decision(&mut self.base, *at, decision));
        replay::apply(&mut self.base, entry);
        self.job.clone_from(&self.base);
        self.tail.iter().for_each(|(at, decision)| apply_decision(&mut self.job, *at, decision));
        Ok(())
    }

    /// A decision was stored from here.
    fn stored(&mut self, seq: Seq, decision: Decision) {
        // The broker's own time of this record is not known here; the last known one stands in for
        // it, so that nothing is ever computed from this machine's clock.
        let at = At { seq, time: self.job.updated() };
        let decision = Known::Decision(Box::new(decision));
        apply_decision(&mut self.job, at, &decision);
        self.tail.push((at, decision));
    }
}

fn apply_decision(job: &mut Job, at: At, decision: &Known) {
    if let Known::Decision(known) = decision {
        job.apply(at, &Family::Do(known.kind(), known.pool()), Ok(decision));
    }
}

/// Arms what the decision needs, stores it, and applies it.
async fn store(
    broker: &Broker,
    folded: &mut Folded,
    next: Next,
    trace: TraceContext,
) -> Result<Guarded, LogError> {
    let Next { decision, arm, disarm } = next;
    let id = folded.job.id().clone();
    for timer in arm {
        broker.log.arm(&id, &timer.timer, timer.at, trace).await?;
    }
    let (job, after) = (&folded.job, folded.job.last_decision());
    let stops_work = matches!(decision, Decision::Finish(_)) && job.has_work_out();
    let stored = broker.log.decide(&id, &decision, after, disarm.first(), trace).await?;
    let Guarded::Stored(seq) = stored else { return Ok(stored) };
    folded.stored(seq, decision);
    for timer in disarm.iter().skip(1) {
        if let Err(error) = broker.log.disarm(&id, timer).await {
            tracing::debug!(job = %id, %timer, %error, "a timer that nothing waits for stays armed");
        }
    }
    if stops_work {
        let subject = broker.log.subjects().stop(&id);
        if let Err(error) = broker.bus.publish(subject, bytes::Bytes::new()).await {
            tracing::debug!(job = %id, %error, "workers find out by themselves that the job has ended");
        }
    }
    Ok(stored)
}
