//! The promises of a tool worker, and a check of each. A check leaves no call behind.

use std::time::Duration;

use broker::bus::RequestContext;
use bytes::Bytes;
use futures::StreamExt;
use proto::{fact::Called, tool::Fault};
use serde_json::{Value, json};

use super::{
    ACK_WAIT_MS, Verdict,
    stage::{Job, PATIENCE, Stage},
};
use crate::{failure::CliError, words::Text};

/// Time in which a worker that breaks a promise is observed: longer than the acknowledgement wait.
const OBSERVED: Duration = Duration::from_millis(2 * ACK_WAIT_MS);
/// Time in which a worker ends a call that is no longer needed: shorter than a slow call.
const ENDS_WITHIN: Duration = Duration::from_secs(5);
/// The largest concurrency that is checked, in calls.
const CONCURRENCY_MAX: u32 = 256;
/// Bytes of a call that travels beside its record.
const LARGE: usize = 70_000;

macro_rules! checks {
    ($($(#[$doc:meta])* $check:ident = $name:literal, $promise:ident;)*) => {
        /// A promise of the protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Check { $($(#[$doc])* $check,)* }

        impl Check {
            /// Every check, in the order in which they run.
            pub(super) const ALL: &[Self] = &[$(Self::$check),*];

            /// Name of the check.
            pub(super) fn name(self) -> &'static str {
                match self { $(Self::$check => $name,)* }
            }

            /// The promise that a worker keeps.
            pub(super) fn promise(self) -> Text<'static> {
                match self { $(Self::$check => Text::$promise,)* }
            }
        }
    };
}

checks! {
    /// The tool is in the registry.
    Announcement = "announcement", WorkerAnnounces;
    /// Calls of every shard are answered.
    Answer = "answer", WorkerAnswers;
    /// An approval binds the arguments.
    Digest = "digest", WorkerBinds;
    /// A large call is fetched from the object store.
    BodyRef = "body_ref", WorkerFetches;
    /// The acknowledgement follows the stored result.
    AckOrder = "ack_order", WorkerStoresFirst;
    /// Another worker answers for a killed one.
    Redelivery = "redelivery", WorkerTakesOver;
    /// A redelivered call of an ended job does not run.
    EndedJob = "ended_job", WorkerLooksFirst;
    /// A running call is kept.
    Heartbeat = "heartbeat", WorkerBeats;
    /// A call of a canceled job ends.
    Cancel = "cancel", WorkerCancels;
    /// No more calls are taken than can run.
    Concurrency = "concurrency", WorkerIsBounded;
}

type Checking = Result<Verdict, CliError>;

impl Check {
    /// Returns the checks without which this one says nothing, each with the reason.
    pub(super) fn needs(self) -> &'static [(Self, Text<'static>)] {
        const ANNOUNCED: (Check, Text<'static>) = (Check::Announcement, Text::WorkerNotAnnounced);
        match self {
            Self::Announcement => &[],
            Self::Answer
            | Self::Digest
            | Self::BodyRef
            | Self::AckOrder
            | Self::Redelivery
            | Self::EndedJob => &[ANNOUNCED],
            Self::Heartbeat | Self::Cancel | Self::Concurrency => {
                &[ANNOUNCED, (Self::AckOrder, Text::WorkerAcksEarly)]
            }
        }
    }

    /// Runs the check.
    ///
    /// # Errors
    /// If the server fails or the worker cannot be started again; no fault of the worker's protocol.
    pub(super) async fn run(self, stage: &mut Stage) -> Checking {
        match self {
            Self::Announcement => announcement(stage).await,
            Self::Answer => answer(stage).await,
            Self::Digest => digest(stage).await,
            Self::BodyRef => body_ref(stage).await,
            Self::AckOrder => ack_order(stage).await,
            Self::Redelivery => redelivery(stage).await,
            Self::EndedJob => ended_job(stage).await,
            Self::Heartbeat => heartbeat(stage).await,
            Self::Cancel => cancel(stage).await,
            Self::Concurrency => concurrency(stage).await,
        }
    }
}

fn failed(text: Text<'_>) -> Checking {
    Ok(Verdict::Failed(text.into()))
}

fn unless(broken: bool, text: Text<'_>) -> Checking {
    if broken { failed(text) } else { Ok(Verdict::Passed) }
}

/// Judges the answer to a call that must succeed.
fn succeeds(called: Option<&Called>) -> Checking {
    let Some(called) = called else { return failed(Text::WorkerNoAnswer) };
    match (called.fault, &called.result.error) {
        (Some(fault), error) => {
            let error = error.as_deref().unwrap_or_default();
            failed(Text::WorkerFault { fault: &fault.as_str(), error: &error })
        }
        (None, Some(error)) if !called.result.success => failed(Text::WorkerRefused { error }),
        (None, _) => Ok(Verdict::Passed),
    }
}

async fn announcement(stage: &mut Stage) -> Checking {
    if let Err(why) = stage.announced().await {
        let (tool, why) = (&stage.target.tool, &why);
        return failed(Text::WorkerSilent { tool, why });
    }
    let pool = stage.spec().map(|spec| spec.pool.clone());
    let wrong = pool.filter(|pool| *pool != stage.target.pool);
    match &wrong {
        Some(pool) => failed(Text::WorkerOtherPool { pool }),
        None => Ok(Verdict::Passed),
    }
}

async fn answer(stage: &mut Stage) -> Checking {
    let args = stage.target.args.clone();
    for shard in [0, 1] {
        let mut job = stage.job(shard);
        let call = stage.call(&mut job, &args);
        let verdict = succeeds(stage.ask(&mut job, &call).await?.as_ref())?;
        if verdict != Verdict::Passed {
            return Ok(verdict);
        }
    }
    Ok(Verdict::Passed)
}

async fn digest(stage: &mut Stage) -> Checking {
    let args = stage.target.args.clone();
    let mut job = stage.job(0);
    let mut call = stage.call(&mut job, &args);
    call.approved = Some("0".repeat(64));
    let called = stage.ask(&mut job, &call).await?;
    let fault = called.as_ref().and_then(|called| called.fault);
    if fault != Some(Fault::VersionMismatch) {
        return failed(Text::WorkerRanUnapproved);
    }
    let mut call = stage.call(&mut job, &args);
    let (work, tool) = (call.work.as_str(), &call.tool);
    let digest = proto::interaction::approval_digest(&job.id, work, tool, &call.version, &args);
    call.approved = Some(digest);
    succeeds(stage.ask(&mut job, &call).await?.as_ref())
}

async fn body_ref(stage: &mut Stage) -> Checking {
    let args = stage.target.args.clone();
    let mut job = stage.job(0);
    let mut call = stage.call(&mut job, &args);
    // The key is opaque, so it may be as long as this.
    call.idempotency_key.push_str(&"k".repeat(LARGE));
    succeeds(stage.ask(&mut job, &call).await?.as_ref())
}

/// Lets no result be stored for a while, and observes that the call stays unacknowledged.
async fn ack_order(stage: &mut Stage) -> Checking {
    let args = stage.target.args.clone();
    let mut job = stage.job(0);
    let call = stage.call(&mut job, &args);
    stage.worker.suspend();
    stage.send(&mut job, &call).await?;
    let unlimited = set_record_max(stage, 1).await?;
    stage.worker.resume();
    let early = stage.acknowledged(OBSERVED).await?;
    set_record_max(stage, unlimited).await?;
    if early {
        return failed(Text::WorkerAcksFirst);
    }
    let called = stage.result(&job, &call).await?;
    if called.is_none() {
        return failed(Text::WorkerStoresOnce);
    }
    unless(!stage.acknowledged(PATIENCE).await?, Text::WorkerNeverAcks)
}

/// Limits the size of a record in the first shard; returns the limit before.
async fn set_record_max(stage: &Stage, bytes: i64) -> Result<i64, CliError> {
    let stream = stage.broker.log.subjects().stream(proto::id::Shard(0));
    let mut config =
        api(stage, &format!("STREAM.INFO.{stream}"), &json!({})).await?["config"].take();
    let before = config["max_msg_size"].as_i64().unwrap_or(-1);
    config["max_msg_size"] = json!(bytes);
    let answer = api(stage, &format!("STREAM.UPDATE.{stream}"), &config).await?;
    match answer.get("error") {
        None => Ok(before),
        Some(error) => Err(CliError::unavailable(error.to_string())),
    }
}

async fn api(stage: &Stage, verb: &str, body: &Value) -> Result<Value, CliError> {
    let unavailable = |why: String| CliError::unavailable(why);
    let (subject, body) = (format!("$JS.API.{verb}"), Bytes::from(body.to_string()));
    let asked = stage.broker.bus.request(subject, body, RequestContext::default(), PATIENCE);
    let answer = asked.await.map_err(|e| unavailable(e.to_string()))?;
    serde_json::from_slice(&answer.payload).map_err(|e| unavailable(e.to_string()))
}

async fn redelivery(stage: &mut Stage) -> Checking {
    let args = stage.target.args.clone();
    let mut job = stage.job(0);
    let call = stage.call(&mut job, &args);
    if !taken_by_a_killed_worker(stage, &mut job, &call).await? {
        return Ok(Verdict::NotChecked(Text::WorkerTookNone.into()));
    }
    stage.worker.restart()?;
    let called = stage.result(&job, &call).await?;
    if called.is_none() {
        return failed(Text::WorkerNoAnswer);
    }
    unless(!stage.acknowledged(PATIENCE).await?, Text::WorkerNeverAcks)
}

async fn ended_job(stage: &mut Stage) -> Checking {
    let args = stage.target.args.clone();
    let mut job = stage.job(0);
    let call = stage.call(&mut job, &args);
    if !taken_by_a_killed_worker(stage, &mut job, &call).await? {
        return Ok(Verdict::NotChecked(Text::WorkerTookNone.into()));
    }
    stage.finish(&mut job).await?;
    stage.worker.restart()?;
    if !stage.acknowledged(PATIENCE).await? {
        return failed(Text::WorkerNeverAcks);
    }
    unless(stage.results(&job).await? > 0, Text::WorkerRanEnded)
}

/// Lets a suspended worker take a call, and kills it.
async fn taken_by_a_killed_worker(
    stage: &mut Stage,
    job: &mut Job,
    call: &proto::decision::CallWork,
) -> Result<bool, CliError> {
    stage.worker.suspend();
    stage.send(job, call).await?;
    let taken = stage.delivered().await?;
    stage.worker.kill();
    if !taken {
        stage.worker.restart()?;
        stage.acknowledged(PATIENCE).await?;
    }
    Ok(taken)
}

async fn heartbeat(stage: &mut Stage) -> Checking {
    let Some(slow) = stage.target.slow.clone() else { return not_slow() };
    let subjects = format!("$JS.ACK.*.call-{}.>", stage.target.pool);
    let heard = stage.broker.bus.subscribe(subjects).await;
    let mut heard = heard.map_err(|e| CliError::unavailable(e.to_string()))?;
    let mut job = stage.job(0);
    let call = stage.call(&mut job, &slow);
    stage.send(&mut job, &call).await?;
    let beat = async {
        while let Some(message) = heard.next().await {
            if message.payload.starts_with(b"+WPI") {
                return true;
            }
        }
        false
    };
    let beats = tokio::time::timeout(OBSERVED, beat).await.unwrap_or(false);
    drop_slow(stage, &mut job).await?;
    unless(!beats, Text::WorkerNeverBeats)
}

async fn cancel(stage: &mut Stage) -> Checking {
    let Some(slow) = stage.target.slow.clone() else { return not_slow() };
    let mut job = stage.job(0);
    let call = stage.call(&mut job, &slow);
    stage.send(&mut job, &call).await?;
    if !stage.delivered().await? {
        return failed(Text::WorkerTookNone);
    }
    stage.finish(&mut job).await?;
    stop(stage, &job).await?;
    let ended = stage.acknowledged(ENDS_WITHIN).await?;
    let answered = stage.results(&job).await? > 0;
    if !ended {
        drop_slow(stage, &mut job).await?;
        return failed(Text::WorkerRunsOn);
    }
    unless(answered, Text::WorkerRanEnded)
}

async fn concurrency(stage: &mut Stage) -> Checking {
    let Some(slow) = stage.target.slow.clone() else { return not_slow() };
    let most = stage.spec().map_or(1, |spec| spec.concurrency);
    if most > CONCURRENCY_MAX {
        return Ok(Verdict::NotChecked(Text::WorkerTooMany { most: &most }.into()));
    }
    let mut job = stage.job(0);
    for _ in 0..most + 4 {
        let call = stage.call(&mut job, &slow);
        stage.send(&mut job, &call).await?;
    }
    let (mut held, end) = (0, tokio::time::Instant::now() + OBSERVED);
    while tokio::time::Instant::now() < end {
        held = held.max(stage.in_flight().await?);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    drop_slow(stage, &mut job).await?;
    // One call may wait in the worker for a place.
    let broken = held > u64::from(most) + 1;
    unless(broken, Text::WorkerTakesTooMany { held: &held, most: &most })
}

fn not_slow() -> Checking {
    Ok(Verdict::NotChecked(Text::WorkerNeedsSlow.into()))
}

async fn stop(stage: &Stage, job: &Job) -> Result<(), CliError> {
    let bus = &stage.broker.bus;
    let sent = bus.publish(stage.broker.log.subjects().stop(&job.id), Bytes::new()).await;
    sent.map_err(|e| CliError::unavailable(e.to_string()))
}

/// Removes the slow calls of a check, whatever the worker does with them.
async fn drop_slow(stage: &mut Stage, job: &mut Job) -> Result<(), CliError> {
    stage.worker.kill();
    let stream = stage.broker.log.subjects().stream(proto::id::Shard(0));
    api(stage, &format!("STREAM.PURGE.{stream}"), &json!({})).await?;
    stage.acknowledged(PATIENCE).await?;
    stage.worker.restart()?;
    *job = stage.job(0);
    Ok(())
}
