//! Scenario H: the gateway and the console. A thousand readers of event streams over HTTP, with some
//! that never read; a page of the console beside them; lists; and the throughput of diamonds while
//! the readers are there.
//!
//! The records are signals that the bench appends to the log itself, at a fixed rate that does not
//! wait for the readers.

mod pages;
mod readers;

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use proto::id::{JobId, Seq};
use serde::Serialize;
use tokio::{sync::Semaphore, task::JoinSet};

pub(crate) use self::pages::Pages;
use self::{
    pages::Followed,
    readers::{Readers, Silent},
};
use crate::{
    Failed,
    company::{Company, Setup},
    diamond::{self, Throughput},
    figures::{ms, percentile},
    listing::{self, RequestTimes, timed},
    load::Submitter,
    options::Options,
    parked::park,
    say,
    watching::{AT_ONCE, count, each, figure, long_job, memory, signal},
};

/// The figures of scenario H.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Http {
    /// The version of the broker.
    pub(crate) server: String,
    /// The number of jobs that are read.
    pub(crate) jobs: usize,
    /// The number of readers of all jobs.
    pub(crate) readers: usize,
    /// The number of further readers that take nothing.
    pub(crate) silent: usize,
    /// Memory per reader in the gateway and in the process of the front door, in KiB.
    pub(crate) kib_per_reader: [f64; 2],
    /// The times from a stored record to its readers, by rate.
    pub(crate) rates: Vec<Rate>,
    /// Requests for lists.
    pub(crate) lists: Vec<RequestTimes>,
    /// The number of ended jobs of the lists.
    pub(crate) listed: usize,
    /// Scenario A without readers, with them, and without again.
    pub(crate) throughput: [Throughput; 3],
    /// The console in a browser; `None` where there is no Chromium.
    pub(crate) pages: Option<Pages>,
}

/// The times from a stored record to its readers, in milliseconds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Rate {
    /// The records written in a second, as wanted.
    pub(crate) records_per_s: usize,
    /// The events that reached readers in a second.
    pub(crate) events_per_s: f64,
    /// Medians and 99th percentiles over HTTP.
    pub(crate) http_ms: [f64; 2],
    /// Medians and 99th percentiles to the document of the page; `None` without a browser.
    pub(crate) page_ms: Option<[f64; 2]>,
    /// The number of events that reached readers.
    pub(crate) n: usize,
}

/// A record that the bench wrote.
#[derive(Debug, Clone, Copy)]
struct Write {
    /// The place of the job in the list of jobs.
    job: usize,
    seq: Seq,
    /// The time at which the broker acknowledged it.
    stored: Instant,
    /// The same time by the clock that browsers have.
    at: SystemTime,
}

/// Measures readers, pages, lists and throughput, in this order.
pub(crate) async fn measure(
    company: &mut Company,
    setup: &Setup,
    options: &Options,
) -> Result<Http, Failed> {
    let gateway = company.hire_gateway(setup).await?;
    let company = &*company;
    let submitter = Submitter::new(company)?;
    diamond::warm_up(company, &submitter).await?;
    say("h: throughput without readers");
    let (before, _) = diamond::throughput(company, options).await?;

    let (parked, _) = park(&submitter, options.watched.max(1)).await?;
    let jobs: Arc<[JobId]> = parked.into_iter().map(|(job, _)| job).collect();
    // The first stream allocates what all share.
    drop(Readers::start(gateway, &jobs, 1).await?);
    tokio::time::sleep(options.settle()).await;
    let memory_now = || [figure(company.gateway_kib()), memory(company)];
    let unread = memory_now();
    let readers = Readers::start(gateway, &jobs, options.watchers).await?;
    tokio::time::sleep(options.settle()).await;
    let read = memory_now();
    let kib = |n: usize| each(read[n] - unread[n], options.watchers);
    let kib_per_reader = [kib(0), kib(1)];
    let silent = Silent::start(gateway, &jobs, options.silent).await?;

    say("h: throughput with readers");
    let (watched, _) = diamond::throughput(company, options).await?;
    let browser = pages::start().await?;
    let followed = match &browser {
        Some(browser) => Some(Followed::start(browser, gateway, first(&jobs)?).await?),
        None => None,
    };
    let mut rates = Vec::new();
    for records_per_s in options.rates.iter().copied() {
        say(&format!("h: {records_per_s} records a second"));
        let written = write(company, &jobs, records_per_s, options).await?;
        rates.push(of_rate(records_per_s, &readers, followed.as_ref(), &written).await?);
    }
    drop((readers, silent, followed));
    say("h: throughput without readers");
    let (after, _) = diamond::throughput(company, options).await?;

    let lists = lists(&submitter, gateway, options).await?;
    let pages = match &browser {
        Some(browser) => {
            say("h: pages");
            let long = long_job(company, options.records).await?;
            Some(pages::measure(browser, gateway, &long, options).await?)
        }
        None => None,
    };
    Ok(Http {
        server: company.servers.version().to_string(),
        jobs: jobs.len(),
        readers: options.watchers,
        silent: options.silent,
        kib_per_reader,
        rates,
        lists,
        listed: options.http_listed,
        throughput: [before, watched, after],
        pages,
    })
}

fn first(jobs: &[JobId]) -> Result<&JobId, Failed> {
    jobs.first().ok_or_else(|| "no job is read".into())
}

/// Writes records to all jobs in turn, at a rate that does not wait for anything.
async fn write(
    company: &Company,
    jobs: &Arc<[JobId]>,
    per_second: usize,
    options: &Options,
) -> Result<Vec<Write>, Failed> {
    let records = (options.seconds * count(per_second)).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
    let records = records as usize;
    let mut ticks =
        tokio::time::interval(Duration::from_secs(1) / u32::try_from(per_second.max(1))?);
    let (places, broker) = (Arc::new(Semaphore::new(AT_ONCE)), company.broker.clone());
    let mut writes: JoinSet<Result<Write, Failed>> = JoinSet::new();
    for n in 0..records {
        ticks.tick().await;
        let place = Arc::clone(&places).acquire_owned().await?;
        let (broker, jobs, job) = (broker.clone(), Arc::clone(jobs), n % jobs.len());
        writes.spawn(async move {
            let seq = signal(&broker, &jobs[job], n / jobs.len()).await?;
            drop(place);
            Ok(Write { job, seq, stored: Instant::now(), at: SystemTime::now() })
        });
    }
    let mut written = Vec::with_capacity(records);
    while let Some(write) = writes.join_next().await {
        written.push(write??);
    }
    Ok(written)
}

/// Waits until all readers have all records, and computes the times.
async fn of_rate(
    records_per_s: usize,
    readers: &Readers,
    followed: Option<&Followed>,
    written: &[Write],
) -> Result<Rate, Failed> {
    let (mut http, span) = readers.times(written).await?;
    let page_ms = match followed {
        Some(followed) => {
            let of_page: Vec<_> = written.iter().filter(|write| write.job == 0).copied().collect();
            let mut times = followed.times(&of_page).await?;
            Some([0.5, 0.99].map(|share| percentile(&mut times, share)))
        }
        None => None,
    };
    let n = http.len();
    let http_ms = [0.5, 0.99].map(|share| percentile(&mut http, share));
    Ok(Rate { records_per_s, events_per_s: count(n) / span.as_secs_f64(), http_ms, page_ms, n })
}

/// Fills the installation, and measures pages of lists over HTTP.
async fn lists(
    submitter: &Submitter,
    gateway: SocketAddr,
    options: &Options,
) -> Result<Vec<RequestTimes>, Failed> {
    listing::fill(submitter, options.http_listed).await?;
    let http = reqwest::Client::builder().no_proxy().build()?;
    let get = async |path: &str| {
        let reply = http.get(format!("http://{gateway}{path}")).send().await?;
        reply.error_for_status()?.bytes().await.map(|_| ())
    };
    Ok(vec![
        timed("50 completed jobs", async || get("/v1/jobs?state=completed&limit=50").await).await?,
        timed("50 jobs of an agent with a word in the goal", async || {
            get("/v1/jobs?agent=unattended&q=offers&limit=50").await
        })
        .await?,
        timed("the numbers of jobs", async || get("/v1/jobs/count").await).await?,
    ])
}

/// Returns the duration from a stored record to a later time; zero if the reader was faster than the
/// acknowledgement.
fn since(stored: Instant, at: Instant) -> f64 {
    ms(at.saturating_duration_since(stored))
}

impl Http {
    /// Returns the throughput with readers as a share of that without.
    pub(crate) fn share(&self) -> f64 {
        let [before, with, after] = &self.throughput.each_ref().map(|a| a.jobs_per_s.median);
        with / f64::midpoint(*before, *after)
    }
}
