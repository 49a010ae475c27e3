//! Scenario W: the cost of watchers. A thousand watchers over fifty jobs receive every event, and
//! some watchers open one job with a long log.
//!
//! The records are signals that the bench appends to the log itself, because the work of the front
//! door for a signal is not part of the scenario.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use broker::Broker;
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

/// The number of records of each job in each round.
const SIGNALS: usize = 10;
/// The number of steps of the long job: the maximum of a plan.
const STEPS: usize = 500;
/// The number of writes and watches that are started concurrently.
pub(crate) const AT_ONCE: usize = 100;
/// Timeout until every watcher has all records.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);
/// The interval between checks of the watchers.
pub(crate) const LOOK: Duration = Duration::from_millis(2);

/// The figures of scenario W.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Watching {
    /// The version of the broker.
    pub(crate) server: String,
    /// The number of watched jobs.
    pub(crate) jobs: usize,
    /// The number of watchers of all jobs.
    pub(crate) watchers: usize,
    /// The number of records of each round.
    pub(crate) records: usize,
    /// CPU time per record of each part, in milliseconds.
    pub(crate) cpu_ms_per_record: BTreeMap<Part, Spread>,
    /// Time from the first write of a round until every watcher has every record, in milliseconds.
    pub(crate) round_ms: Spread,
    /// Memory per watcher in the process that serves it, in KiB.
    pub(crate) kib_per_watcher: f64,
    /// The figures of the long job.
    pub(crate) long: Long,
}

/// The figures of watches of one long job, from its first record to its last.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Long {
    /// The number of records in the log.
    pub(crate) records: usize,
    /// The number of watchers that start at once.
    pub(crate) watchers: usize,
    /// Time until each watcher has every event and the view, in milliseconds.
    pub(crate) open_ms: Spread,
    /// CPU time of the serving process per record and watcher, in microseconds.
    pub(crate) cpu_us_per_record: Spread,
}

/// The parts whose CPU time is reported.
const PARTS: [Part; 2] = [Part::Broker, Part::Supervisor];

/// Measures watchers of parked jobs, and then those of the long job.
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
            last =
                stream::iter(&parked)
                    .map(|job| async move {
                        Ok::<_, Failed>((job, signal(&company.broker, job, n).await?))
                    })
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

/// Opens the long job, in several rounds.
async fn long(company: &Company, options: &Options) -> Result<Long, Failed> {
    let (job, _) = long_job(company, options.records).await?;
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

/// Creates a paused job with a plan of [`STEPS`] steps, one after the other. Further pauses fill its
/// log up to about `records` records. Also returns the position of the last one.
pub(crate) async fn long_job(company: &Company, records: usize) -> Result<(JobId, Seq), Failed> {
    let steps = (1..=STEPS).map(|n| {
        json!({"id": format!("s{n}"), "title": format!("Step {n}"), "action": "agent",
            "description": "Read the offers, and note what they leave open.",
            "depends_on": if n > 1 { vec![format!("s{}", n - 1)] } else { Vec::new() }})
    });
    let mut submitted: Submitted = serde_json::from_value(json!({
        "goal": "Compare the offers", "agent": {"name": "unattended", "confirm": true}, "language": "en",
        "digest": "bench", "plan": {"title": "Offers", "steps": steps.collect::<Vec<_>>()},
    }))?;
    submitted.rules = Rules::NOW;
    let job = client::new_id();
    let fact = Fact::Submitted(submitted);
    company.broker.log.submit(&job, &fact, trace()).await?;
    let mut last = Seq::default();
    for _ in 1..records {
        last = signal(&company.broker, &job, PAUSE).await?;
    }
    Ok((job, last))
}

/// The number of a signal that pauses.
const PAUSE: usize = 0;

/// Appends a pause signal or, for odd numbers, a resume signal.
pub(crate) async fn signal(broker: &Broker, job: &JobId, n: usize) -> Result<Seq, Failed> {
    let signal = if n.is_multiple_of(2) { Signal::Pause } else { Signal::Resume };
    let by = Some("bench".to_owned());
    let fact = Fact::Signaled(Signaled { signal, reason: None, by, parent_seq: None });
    Ok(broker.log.append(job, &fact, trace()).await?)
}

fn trace() -> TraceContext {
    TraceContext::new(1, 1, false)
}

/// Watchers that receive every event. They end when this value is dropped.
struct Watchers {
    /// The position of the last event of each watcher.
    seen: Vec<(JobId, Arc<AtomicU64>)>,
    tasks: JoinSet<()>,
}

impl Watchers {
    /// Starts the watchers, and waits until each has received its job's view.
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

    /// Waits until every watcher has an event of the last record of its job.
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

/// Returns the memory of the process that serves watchers, in KiB.
pub(crate) fn memory(company: &Company) -> f64 {
    figure(company.pids().get(&Part::Supervisor).map_or(0, |pids| memory_kib(pids)))
}

pub(crate) fn figure(kib: u64) -> f64 {
    count(usize::try_from(kib).unwrap_or(usize::MAX))
}

pub(crate) fn each(kib: f64, watchers: usize) -> f64 {
    kib / count(watchers.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "a figure")]
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}
