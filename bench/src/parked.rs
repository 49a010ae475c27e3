//! Scenario C: jobs whose plan a person must confirm. Measures their cost while they wait, and the
//! time until one continues.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant, SystemTime},
};

use futures::{StreamExt, TryStreamExt, stream};
use proto::{
    decision::{Decision, DecisionKind, pools},
    door::GiveAnswer,
    fact::Fact,
    id::{JobId, Seq},
    interaction::{Question, QuestionKind, Verdict},
    record::Known,
};
use serde::Serialize;

use crate::{
    Failed,
    company::{Company, Roles},
    figures::{Spread, ms, per_second, percentile},
    load::Submitter,
    options::Options,
    usage::{Part, memory_kib},
};

/// The number of jobs that are parked concurrently.
pub(crate) const PARKING: usize = 200;

/// The figures of scenario C, and of the workflows of N that wait for an event.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Parked {
    /// The broker's version.
    pub(crate) server: String,
    /// The distribution of the roles.
    pub(crate) roles: Roles,
    /// The number of parked jobs.
    pub(crate) n: usize,
    /// Jobs that were parked per second.
    pub(crate) parked_per_s: f64,
    /// Memory in KiB before the jobs, with half of them and with all of them.
    pub(crate) memory_kib: BTreeMap<Part, [u64; 3]>,
    /// The broker's heap in use in KiB, without memory that Go has not returned, at the same times.
    pub(crate) live_kib: [u64; 3],
    /// Seconds between the last job and the reading of memory.
    pub(crate) settle_s: f64,
    /// Memory per job, in bytes.
    pub(crate) bytes_per_job: BTreeMap<Part, f64>,
    /// Memory per job of the second half, in bytes. Caches are full by then.
    pub(crate) bytes_per_later_job: BTreeMap<Part, f64>,
    /// Time from the request with the answer or the event to the next command in the log, or to the
    /// next decision of a workflow, in milliseconds.
    pub(crate) resumed_ms: Percentiles,
    /// Time from that request to the end of the job, which is four steps, or one visit of a
    /// workflow, in milliseconds.
    pub(crate) done_ms: Percentiles,
    /// The number of resumed jobs.
    pub(crate) resumed: usize,
}

/// Percentiles of each round.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Percentiles {
    /// The median.
    pub(crate) p50: Spread,
    /// The 99th percentile.
    pub(crate) p99: Spread,
}

impl Percentiles {
    fn of(rounds: &[Vec<f64>]) -> Self {
        let at =
            |share| Spread::of(rounds.iter().map(|round| percentile(&mut round.clone(), share)));
        Self { p50: at(0.5), p99: at(0.99) }
    }
}

/// Parks the jobs, reads the memory, and resumes some jobs.
pub(crate) async fn measure(company: &Company, options: &Options) -> Result<Parked, Failed> {
    let submitter = Submitter::new(company)?;
    measured(
        company,
        options,
        (options.parked, options.resumed),
        async |jobs| park(&submitter, jobs).await,
        async |jobs| resume(company, &submitter, jobs).await,
    )
    .await
}

/// Parks jobs in two halves, reads the memory, and resumes some of them. `sizes` are the numbers of
/// parked and of resumed jobs.
pub(crate) async fn measured<W>(
    company: &Company,
    options: &Options,
    sizes: (usize, usize),
    park: impl AsyncFn(usize) -> Result<(Vec<W>, Duration), Failed>,
    resume: impl AsyncFn(Vec<W>) -> Result<(Vec<f64>, Vec<f64>), Failed>,
) -> Result<Parked, Failed> {
    let (n, wanted) = sizes;
    let half = n / 2;
    tokio::time::sleep(options.settle()).await;
    let (before, live_before) = (memory(company), live_kib(company).await?);
    let (mut parked, mut took) = park(half).await?;
    settle(company, options).await?;
    let (between, live_between) = (memory(company), live_kib(company).await?);
    let (more, longer) = park(n - half).await?;
    parked.extend(more);
    took += longer;
    settle(company, options).await?;
    let (after, live_after) = (memory(company), live_kib(company).await?);

    let (mut resumed, mut done) = (Vec::new(), Vec::new());
    let mut parked = parked.into_iter();
    for _ in 0..options.rounds {
        let some: Vec<_> = parked.by_ref().take(wanted / options.rounds.max(1)).collect();
        let (first, last) = resume(some).await?;
        resumed.push(first);
        done.push(last);
    }
    let grown = |from: &BTreeMap<Part, u64>, to: &BTreeMap<Part, u64>, jobs: usize| {
        let of = |part: &Part| per_job(from.get(part).copied(), to.get(part).copied(), jobs);
        to.keys().map(|part| (*part, of(part))).collect()
    };
    let three = |part: &Part| {
        [&before, &between, &after].map(|at| at.get(part).copied().unwrap_or_default())
    };
    Ok(Parked {
        server: company.servers.version().to_string(),
        roles: company.roles,
        n,
        parked_per_s: per_second(n as u64, took),
        memory_kib: after.keys().map(|part| (*part, three(part))).collect(),
        live_kib: [live_before, live_between, live_after],
        settle_s: options.settle,
        bytes_per_job: grown(&before, &after, n),
        bytes_per_later_job: grown(&between, &after, n - half),
        resumed: resumed.iter().map(Vec::len).sum(),
        resumed_ms: Percentiles::of(&resumed),
        done_ms: Percentiles::of(&done),
    })
}

/// Returns the growth of memory per job, in bytes. Negative when memory was returned.
#[expect(clippy::cast_precision_loss, reason = "a figure of memory")]
pub(crate) fn per_job(from: Option<u64>, to: Option<u64>, jobs: usize) -> f64 {
    (to.unwrap_or_default() as f64 - from.unwrap_or_default() as f64) * 1024.0 / jobs.max(1) as f64
}

async fn live_kib(company: &Company) -> Result<u64, Failed> {
    Ok(company.servers.live_bytes().await? / 1024)
}

fn memory(company: &Company) -> BTreeMap<Part, u64> {
    let mut pids = company.pids();
    // Only this process keeps the questions, in order to answer them.
    pids.remove(&Part::Submitter);
    pids.into_iter().map(|(part, pids)| (part, memory_kib(&pids))).collect()
}

/// A parked job and its question.
pub(crate) type Waiting = (JobId, Question);

/// Parks `jobs` jobs, and measures the time.
pub(crate) async fn park(
    submitter: &Submitter,
    jobs: usize,
) -> Result<(Vec<Waiting>, Duration), Failed> {
    let began = Instant::now();
    let parked = stream::iter(0..jobs).map(|_| async move {
        let job = client::new_id();
        let asked = submitter.ends.expect(&job);
        submitter.client.submit(submitter.submit(&job, true)).await?;
        let question = asked.asks().await.map_err(|why| format!("job {job}: {why}"))?;
        Ok::<Waiting, Failed>((job, question))
    });
    let parked = parked.buffer_unordered(PARKING).try_collect().await?;
    Ok((parked, began.elapsed()))
}

/// Waits until every question is in the inbox, and then for the settling time.
async fn settle(company: &Company, options: &Options) -> Result<(), Failed> {
    loop {
        let depth = company.broker.log.depth(DecisionKind::Ask, &pools::people()).await?;
        if depth.pending + depth.in_flight == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    tokio::time::sleep(options.settle()).await;
    Ok(())
}

/// Answers jobs one after the other. Returns the times to the next command and to the end of each
/// job.
async fn resume(
    company: &Company,
    submitter: &Submitter,
    jobs: Vec<Waiting>,
) -> Result<(Vec<f64>, Vec<f64>), Failed> {
    let (mut asked, mut done) = (Vec::new(), Vec::new());
    for (job, question) in jobs {
        let QuestionKind::PlanCheck { digest, .. } = question.kind else {
            return Err(format!("job {job} asks {:?}, not for its plan", question.kind).into());
        };
        let answer = GiveAnswer {
            job: job.clone(),
            ask: question.id,
            decision: Verdict::Approve,
            value: None,
            text: None,
            digest: Some(digest),
            remember: None,
            by: Some("bench".to_owned()),
            four_eyes: false,
        };
        let end = submitter.ends.expect(&job);
        let (at, began) = (SystemTime::now(), Instant::now());
        submitter.client.call(&answer).await?;
        let ended = end.completed().await.map_err(|why| format!("job {job}: {why}"))?;
        done.push(ms(ended.saturating_duration_since(began)));
        asked.push((job, at));
    }
    let mut resumed = Vec::with_capacity(asked.len());
    for (job, at) in asked {
        let next = next_command(company, &job).await?;
        resumed.push(ms(next.duration_since(at).unwrap_or_default()));
    }
    Ok((resumed, done))
}

/// Returns the time at which the first tool call after the answer was stored, with its result if it
/// was carried out without the queue.
async fn next_command(company: &Company, job: &JobId) -> Result<SystemTime, Failed> {
    let entries = company.broker.log.read(job, Seq(0)).await?;
    let mut answered = false;
    for entry in &entries {
        match entry.record.as_ref().ok().and_then(|record| record.known().ok()) {
            Some(Known::Fact(fact)) => answered |= matches!(*fact, Fact::Answered(_)),
            Some(Known::Decision(decision)) if answered && is_call(&decision) => {
                return Ok(entry.time.into());
            }
            Some(Known::Decision(_)) | None => {}
        }
    }
    Err(format!("job {job} has no command after its answer").into())
}

/// Returns whether a decision commands a tool call, or stores one that was carried out.
fn is_call(decision: &Decision) -> bool {
    let commands = decision.clone().into_commands();
    commands.iter().any(|command| matches!(command, Decision::Call(_)))
}
