//! Scenario W: the cost of being watched. A thousand watchers over fifty jobs take every event as it
//! comes; and some watchers open one job with a long log.
//!
//! Records are signals that the bench appends to the log itself, because the front door's own work
//! for a signal is not what is measured.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use client::{Client, WatchOptions};
use futures::{StreamExt, TryStreamExt, stream};
use proto::{
    door::Watched,
    event::EventId,
    fact::{Fact, Signal, Signaled, Submitted},
    id::{JobId, Seq},
    rules::Rules,
    trace::TraceContext,
};
use serde::Serialize;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    Failed,
    company::Company,
    figures::{Spread, ms},
    load::Submitter,
    options::Options,
    parked::park,
    usage::{Cpu, Part, memory_kib},
};

/// Records of each job in each round.
const SIGNALS: usize = 10;
/// Steps of the job with the long log: as many as a plan may have.
const STEPS: usize = 500;
/// Writes and watches that are begun at the same time.
const AT_ONCE: usize = 100;
/// How long what was written may take to reach every watcher.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often the watchers are looked at.
const LOOK: Duration = Duration::from_millis(2);

/// Figures of W.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Watching {
    /// The broker's version.
    pub(crate) server: String,
    /// Jobs that are watched.
    pub(crate) jobs: usize,
    /// Watchers of all of them.
    pub(crate) watchers: usize,
    /// Records of each round.
    pub(crate) records: usize,
    /// CPU time of a record in each part, in milliseconds.
    pub(crate) cpu_ms_per_record: BTreeMap<Part, Spread>,
    /// From the first write of a round until every watcher has every record, in milliseconds.
    pub(crate) round_ms: Spread,
    /// Memory of each watcher in the process that serves it, in KiB.
    pub(crate) kib_per_watcher: f64,
    /// The job with the long log.
    pub(crate) long: Long,
}

/// Watches of one job with a long log, from its first record to its last.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Long {
    /// Records in the log.
    pub(crate) records: usize,
    /// Watchers that begin at the same time.
    pub(crate) watchers: usize,
    /// Until each has every event and the job, in milliseconds.
    pub(crate) open_ms: Spread,
    /// CPU time of the process that serves them, for each record and watcher, in microseconds.
    pub(crate) cpu_us_per_record: Spread,
}

/// The parts whose CPU time is shown.
const PARTS: [Part; 2] = [Part::Broker, Part::Supervisor];

/// Watches jobs that wait for a person, and then the long one.
pub(crate) async fn measure(company: &Company, options: &Options) -> Result<Watching, Failed> {
    let submitter = Submitter::new(company)?;
    let jobs = options.watched.max(1);
    let (parked, _) = park(&submitter, jobs).await?;
    let parked: Vec<_> = parked.into_iter().map(|(job, _)| job).collect();
    tokio::time::sleep(options.settle()).await;
    let before = memory(company);
    let watched = (0..options.watchers).filter_map(|n| parked.get(n % jobs));
    let watchers = Watchers::start(&company.client, watched, options.watchers).await?;
    tokio::time::sleep(options.settle()).await;
    let kib_per_watcher = each(memory(company) - before, options.watchers);

    let (mut cpu, mut round_ms) = (BTreeMap::<Part, Vec<f64>>::new(), Vec::new());
    let records = jobs * SIGNALS;
    for _ in 0..options.rounds {
        let (used, began) = (Cpu::read(&company.pids()), Instant::now());
        let mut last = BTreeMap::new();
        for n in 0..SIGNALS {
            last = stream::iter(&parked)
                .map(|job| async move { Ok::<_, Failed>((job, signal(company, job, n).await?)) })
                .buffer_unordered(AT_ONCE)
                .try_collect()
                .await?;
        }
        watchers.have(&last).await?;
        round_ms.push(ms(began.elapsed()));
        let (used, _) = Cpu::read(&company.pids()).since(&used);
        for part in PARTS {
            let spent = used.get(&part).copied().unwrap_or_default();
            cpu.entry(part).or_default().push(ms(spent) / count(records));
        }
    }
    drop(watchers);
    Ok(Watching {
        server: company.servers.version().to_string(),
        jobs,
        watchers: options.watchers,
        records,
        cpu_ms_per_record: cpu.into_iter().map(|(part, ms)| (part, Spread::of(ms))).collect(),
        round_ms: Spread::of(round_ms),
        kib_per_watcher,
        long: long(company, options).await?,
    })
}

/// Opens the long job, several times.
async fn long(company: &Company, options: &Options) -> Result<Long, Failed> {
    let job = long_job(company, options.records).await?;
    let (mut open_ms, mut cpu_us) = (Vec::new(), Vec::new());
    tokio::time::sleep(options.settle()).await;
    for _ in 0..options.rounds {
        let (used, began) = (Cpu::read(&company.pids()), Instant::now());
        let watched = std::iter::repeat_n(&job, options.long_watchers);
        drop(Watchers::start(&company.client, watched, options.long_watchers).await?);
        open_ms.push(ms(began.elapsed()));
        let (used, _) = Cpu::read(&company.pids()).since(&used);
        let spent = used.get(&Part::Supervisor).copied().unwrap_or_default();
        let times = count(options.records * options.long_watchers);
        cpu_us.push(ms(spent) * 1000.0 / times);
    }
    Ok(Long {
        records: options.records,
        watchers: options.long_watchers,
        open_ms: Spread::of(open_ms),
        cpu_us_per_record: Spread::of(cpu_us),
    })
}

/// A job that waits for the confirmation of a plan of [`STEPS`] steps, and is paused and resumed until
/// its log is that long.
async fn long_job(company: &Company, records: usize) -> Result<JobId, Failed> {
    let steps = (1..=STEPS).map(|n| {
        json!({"id": format!("s{n}"), "title": format!("Step {n}"), "action": "agent",
            "description": "Read the offers, and note what they leave open."})
    });
    let mut submitted: Submitted = serde_json::from_value(json!({
        "goal": "Compare the offers", "agent": {"name": "unattended", "confirm": true}, "language": "en",
        "digest": "bench", "plan": {"title": "Offers", "steps": steps.collect::<Vec<_>>()},
    }))?;
    submitted.rules = Rules::NOW;
    let job = client::new_id();
    let fact = Fact::Submitted(submitted);
    company.broker.log.submit(&job, &fact, trace()).await?;
    for n in 1..records {
        signal(company, &job, n).await?;
    }
    Ok(job)
}

/// Appends a pause or, for odd numbers, the end of one.
async fn signal(company: &Company, job: &JobId, n: usize) -> Result<Seq, Failed> {
    let signal = if n.is_multiple_of(2) { Signal::Pause } else { Signal::Resume };
    let by = Some("bench".to_owned());
    let fact = Fact::Signaled(Signaled { signal, reason: None, by, parent_seq: None });
    Ok(company.broker.log.append(job, &fact, trace()).await?)
}

fn trace() -> TraceContext {
    TraceContext::new(1, 1, false)
}

/// Watchers that take every event. They end when this is dropped.
struct Watchers {
    /// The last record that each has an event of.
    seen: Vec<(JobId, Arc<AtomicU64>)>,
    tasks: JoinSet<()>,
}

impl Watchers {
    /// Starts them, and waits until each has the job.
    async fn start(
        client: &Client,
        jobs: impl Iterator<Item = &JobId>,
        watchers: usize,
    ) -> Result<Self, Failed> {
        let (mut seen, mut tasks) = (Vec::with_capacity(watchers), JoinSet::new());
        let (ready, mut readies) = tokio::sync::mpsc::channel(AT_ONCE);
        for job in jobs {
            let last = Arc::new(AtomicU64::new(0));
            seen.push((job.clone(), Arc::clone(&last)));
            let mut events = Box::pin(client.watch(job, WatchOptions::events(EventId::START)));
            let ready = ready.clone();
            tasks.spawn(async move {
                let mut is_ready = false;
                while let Some(item) = events.next().await {
                    match item {
                        Ok(Watched::Event { event }) => {
                            last.store(event.id.seq.0, Ordering::Relaxed)
                        }
                        Ok(Watched::View { .. }) if !is_ready => {
                            is_ready = true;
                            let _ = ready.send(Ok(())).await;
                        }
                        Ok(_) => {}
                        Err(failure) => {
                            let _ = ready.send(Err(failure)).await;
                            return;
                        }
                    }
                }
            });
        }
        let waited = tokio::time::timeout(PATIENCE, async {
            for _ in 0..watchers {
                readies.recv().await.ok_or("a watcher has gone")??;
            }
            Ok::<_, Failed>(())
        });
        waited.await.map_err(|_| "the watchers were not shown their jobs in time")??;
        Ok(Self { seen, tasks })
    }

    /// Waits until every watcher has an event of these records of its jobs.
    async fn have(&self, last: &BTreeMap<&JobId, Seq>) -> Result<(), Failed> {
        let has = |(job, seen): &(JobId, Arc<AtomicU64>)| {
            last.get(job).is_none_or(|seq| seen.load(Ordering::Relaxed) >= seq.0)
        };
        let all = async {
            while !self.seen.iter().all(has) {
                tokio::time::sleep(LOOK).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, all).await;
        waited.map_err(|_| format!("{} watchers miss records", self.tasks.len()).into())
    }
}

/// Memory of the process that serves watchers, in KiB.
fn memory(company: &Company) -> f64 {
    let kib = company.pids().get(&Part::Supervisor).map_or(0, |pids| memory_kib(pids));
    count(usize::try_from(kib).unwrap_or(usize::MAX))
}

fn each(kib: f64, watchers: usize) -> f64 {
    kib / count(watchers.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "a figure")]
fn count(n: usize) -> f64 {
    n as f64
}
