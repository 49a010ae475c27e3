//! One job that moves: folds its facts, stores the decisions that follow, and acknowledges the
//! facts once those are stored.

use std::{collections::BTreeSet, sync::Arc};

use broker::{
    Broker,
    kv::KvError,
    log::{CasOutcome, Delivery, LogError},
};
use proto::{
    decision::{Decision, DecisionKind, Note},
    entry::Entry,
    id::{JobId, Seq, Shard},
    trace::TraceContext,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use machine::{Job, Next};
use runtime::registry::Registry;
use tracing::Instrument;

use super::{
    folded::{Folded, MustRead, News},
    inbox::{Inbox, Waiting},
    observe::{Census, Labels, Look, Place, Taken, Tally},
    registered,
    shard::ShardMsg,
    tell,
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
    pub(super) registry: Registry,
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
    /// Whether it was said that the job is parked.
    parked: bool,
    /// What is still to be counted.
    tally: Tally,
    /// Facts of looks that were given up and that had not been handed out before.
    owed: BTreeSet<Seq>,
}

/// Why a look was given up. The facts stay unacknowledged and are handed out again.
#[derive(Debug, thiserror::Error)]
enum GivenUp {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the tool registry cannot be read: {0}")]
    Registry(#[from] KvError),
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
        Ok(JobCache {
            args,
            folded: None,
            span,
            traced: false,
            parked: false,
            tally: Tally::default(),
            owed: BTreeSet::new(),
        })
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
        let may_leave = rests && !cache.tally.is_owed();
        let seen = ShardMsg::Rested { job: cache.args.job.clone(), may_leave, settled };
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
            if let Err(given_up) = self.look(&waiting).await {
                settled = false;
                self.give_up(&given_up, &waiting);
            }
        }
        settled
    }

    async fn look(&mut self, waiting: &Waiting) -> Result<(), GivenUp> {
        let redelivered = waiting.facts.iter().any(|fact| fact.delivered > 1);
        if waiting.forget || redelivered {
            self.folded = None;
        }
        if waiting.facts.is_empty() && !waiting.look {
            return Ok(());
        }
        let look = Look::begin(waiting.facts.iter(), &mut self.tally);
        let taken = self.take_in(waiting).await?;
        let Some(folded) = &self.folded else { return Ok(()) };
        let root = folded.trace;
        if !self.traced {
            self.traced = true;
            self.span.record("trace_id", format!("{:032x}", root.trace_id()));
        }
        let looking = look.taken(&folded.job, root, waiting.facts.iter(), taken, &mut self.tally);
        self.decide(looking.trace).await?;
        for fact in &waiting.facts {
            fact.ack.done().await;
        }
        if let Some(folded) = &self.folded {
            let place = Place { census: &self.args.census, labels: &self.args.labels };
            looking.over(&folded.job, root, place, &mut self.tally);
        }
        self.report_poison();
        self.owed.clear();
        Ok(())
    }

    /// Folds what came, on top of what is cached or of the whole log.
    async fn take_in(&mut self, waiting: &Waiting) -> Result<Taken, GivenUp> {
        if let Some(mut folded) = self.folded.take() {
            let mut facts: Vec<&Delivery> = waiting.facts.iter().collect();
            facts.sort_by_key(|fact| fact.entry.seq);
            let mut taken = Taken::default();
            let insert = |fact: &&Delivery| {
                taken.ignored.extend(folded.insert(&fact.entry)?);
                Ok::<(), MustRead>(())
            };
            if facts.iter().try_for_each(insert).is_ok() {
                self.folded = Some(folded);
                return Ok(taken);
            }
        }
        let news = self.news(waiting);
        let (folded, taken) = match waiting.facts.front() {
            // A job's first record, handed out for the first time: there is nothing to read. Should
            // that be wrong, the first compare-and-set says so.
            Some(first) if waiting.facts.len() == 1 && is_new(first) => {
                Folded::of(&self.args.job, std::slice::from_ref(&first.entry), &news)
            }
            _ => Folded::of(&self.args.job, &self.read().await?, &news),
        };
        self.folded = Some(folded);
        Ok(taken)
    }

    fn news(&self, waiting: &Waiting) -> News {
        let (mut fresh, mut again) = (self.owed.clone(), BTreeSet::new());
        for fact in &waiting.facts {
            let facts = if fact.delivered == 1 { &mut fresh } else { &mut again };
            facts.insert(fact.entry.seq);
        }
        News { fresh, again }
    }

    async fn read(&self) -> Result<Vec<Entry>, LogError> {
        self.args.broker.log.read(&self.args.job, Seq(0)).await
    }

    /// Stores decisions until nothing more follows.
    async fn decide(&mut self, trace: TraceContext) -> Result<(), GivenUp> {
        let mut conflicts = 0;
        for _ in 0..DECISIONS_MAX {
            let Some(folded) = &mut self.folded else { return Ok(()) };
            let Some(mut next) = folded.job.decide() else { return Ok(()) };
            let JobArgs { job, broker, registry, .. } = &self.args;
            next.decision = registered::compare(job, next.decision, registry, broker).await?;
            let is_first = folded.job.last_decision() == Seq(0);
            let is_end = matches!(next.decision, Decision::Finish(_));
            let settles = matches!(next.decision, Decision::Note(Note::Concluded { .. }));
            let stored = store(&self.args.broker, folded, next, trace).await;
            // What could not be found out most likely is stored: it counts, if the job then ended.
            if matches!(stored, Ok(CasOutcome::Stored(_)) | Err(LogError::Unknown(_))) {
                self.tally.stored(is_first, is_end);
            }
            match stored? {
                // From here on nothing counts any more. What counted before says what the job cost,
                // and the one above is told that once: it must be what the log has.
                CasOutcome::Stored(_) if settles => {
                    conflicts = 0;
                    let entries = self.read().await?;
                    self.folded = Some(Folded::of(&self.args.job, &entries, &News::default()).0);
                }
                CasOutcome::Stored(_) => conflicts = 0,
                CasOutcome::Conflict => {
                    conflicts += 1;
                    if conflicts > CONFLICTS_MAX {
                        return Err(GivenUp::Contended);
                    }
                    tracing::debug!(job = %self.args.job, "somebody else decided first; reading the log again");
                    let entries = self.read().await?;
                    self.folded = Some(Folded::of(&self.args.job, &entries, &News::default()).0);
                }
            }
        }
        Err(GivenUp::Runaway)
    }

    fn give_up(&mut self, why: &GivenUp, waiting: &Waiting) {
        let (job, shard) = (&self.args.job, self.args.shard);
        tracing::warn!(%job, %shard, error = %why, "a look at a job was given up; it will be looked at again");
        self.folded = None;
        let fresh = waiting.facts.iter().filter(|fact| fact.delivered == 1);
        self.owed.extend(fresh.map(|fact| fact.entry.seq));
        let again = ShardMsg::GaveUp(self.args.job.clone());
        // The shard's actor is gone when the process shuts down; another process looks then.
        let _ = self.args.owner.cast(again);
    }

    /// Says once that the job is parked.
    fn report_poison(&mut self) {
        let poison = self.folded.as_ref().and_then(|folded| folded.job.poison());
        if let Some(poison) = poison.filter(|_| !std::mem::replace(&mut self.parked, true)) {
            let (job, seq, reason) = (&self.args.job, poison.seq, &poison.place);
            tracing::error!(%job, %seq, %reason, "the job is parked: a record of its log cannot be read");
        }
    }
}

fn is_new(delivery: &Delivery) -> bool {
    let submitted =
        |entry: &Entry| entry.record.as_ref().is_ok_and(|record| record.kind == "submitted");
    delivery.delivered == 1 && submitted(&delivery.entry)
}

/// Arms what the decision needs, stores it, and applies it.
async fn store(
    broker: &Broker,
    folded: &mut Folded,
    next: Next,
    trace: TraceContext,
) -> Result<CasOutcome, LogError> {
    let Next { decision, arm, tell, disarm } = next;
    let id = folded.job.id().clone();
    for timer in arm {
        broker.log.arm(&id, &timer.timer, timer.at, trace).await?;
    }
    tell::tell(broker, &id, tell, trace).await?;
    let (job, after) = (&folded.job, folded.job.last_decision());
    let ends = matches!(decision, Decision::Finish(_)) && job.has_work_out();
    let stops_work = ends || job.begins_anew();
    let stored = broker.log.decide(&id, &decision, after, disarm.first(), trace).await?;
    let CasOutcome::Stored(seq) = stored else { return Ok(stored) };
    let kind = decision.kind();
    folded.stored(seq, decision);
    log_decided(&folded.job, seq, kind);
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

/// Says at debug what was decided and where the job stands then, and nothing that anybody wrote.
fn log_decided(job: &Job, seq: Seq, kind: DecisionKind) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let Some(at) = job.standing() else { return };
    let sub_status = at.sub_status.map(|sub| sub.to_string());
    tracing::debug!(job = %job.id(), %seq, decision = kind.as_str(), state = %at.state, sub_status, "decided");
}
