//! Four-step diamonds: s1, then s2 and s3, then s4. Twelve records a job.

use std::{
    collections::HashMap,
    fmt::Write,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use clap::Args;
use futures::{StreamExt, stream};
use proto::{
    door::{AgentChoice, Submit},
    id::{AgentName, JobId},
};
use tokio::sync::oneshot;

use crate::{
    company::{Company, Failed},
    usage,
};

/// What is measured.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Jobs of the throughput run.
    #[arg(long, default_value_t = 10_000)]
    jobs: usize,
    /// Jobs in flight during the throughput run.
    #[arg(long, default_value_t = 200)]
    in_flight: usize,
    /// Jobs run one at a time for the latency.
    #[arg(long, default_value_t = 500)]
    alone: usize,
    /// Have nats-server flush every write to disk before it acknowledges.
    #[arg(long)]
    sync_always: bool,
}

/// Hears the ends of jobs.
#[derive(Clone, Default)]
struct Ends(Arc<Mutex<HashMap<JobId, oneshot::Sender<()>>>>);

impl Ends {
    fn expect(&self, job: &JobId) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(job.clone(), sender);
        receiver
    }

    fn ended(&self, job: &JobId) {
        if let Some(sender) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(job) {
            // Whoever waited may have given up.
            let _ = sender.send(());
        }
    }
}

struct Runner {
    client: client::Client,
    ends: Ends,
}

impl Runner {
    async fn run(&self, name: String) -> Result<Duration, Failed> {
        let job = JobId::new(name)?;
        let end = self.ends.expect(&job);
        let agent = AgentChoice::Named(AgentName::new("unattended")?);
        let submit = Submit { id: Some(job), agent: Some(agent), ..Submit::goal("a diamond") };
        let started = Instant::now();
        self.client.submit(submit).await?;
        tokio::time::timeout(Duration::from_secs(60), end).await??;
        Ok(started.elapsed())
    }
}

pub(crate) async fn run(options: Options) -> Result<String, Failed> {
    let company = Company::start(options.sync_always).await?;
    let runner = runner(&company).await?;
    for n in 0..200 {
        runner.run(format!("warm-{n}")).await?;
    }
    let alone = alone(&runner, options.alone).await?;
    let before: Vec<_> = company.pids().into_iter().map(|(_, pid)| usage::cpu(pid)).collect();
    let (rate, elapsed) = together(&runner, &options).await?;

    let mut report = String::new();
    let sync = if options.sync_always { "always" } else { "default" };
    writeln!(report, "nats-server on this machine, 1 replica, sync {sync}, 8 shards")?;
    writeln!(
        report,
        "throughput  {rate:8.0} jobs/s  ({} jobs, {} in flight, {elapsed:.1?})",
        options.jobs, options.in_flight
    )?;
    let at = |share: f64| percentile(&alone, share);
    writeln!(
        report,
        "alone       p50 {:.2?}  p90 {:.2?}  p99 {:.2?}  ({} jobs)",
        at(0.5),
        at(0.9),
        at(0.99),
        alone.len()
    )?;
    for ((name, pid), before) in company.pids().into_iter().zip(before) {
        let used = usage::cpu(pid).saturating_sub(before);
        #[expect(clippy::cast_precision_loss, reason = "a number of jobs")]
        let each = used.as_secs_f64() * 1000.0 / options.jobs as f64;
        writeln!(report, "{name:<12}{each:.2} ms CPU a job, {} MiB", usage::resident_mib(pid))?;
    }
    Ok(report)
}

async fn runner(company: &Company) -> Result<Runner, Failed> {
    let ends = Ends::default();
    let subjects = company.broker.log.subjects().clone();
    let mut finishes =
        company.broker.bus.subscribe(format!("{}.*.*.do.finish.*", subjects.prefix())).await?;
    let heard = ends.clone();
    tokio::spawn(async move {
        while let Some(message) = finishes.next().await {
            if let Ok(place) = subjects.parse(&message.subject) {
                heard.ended(&place.job);
            }
        }
    });
    let client = client::Client::new(&company.broker);
    let started = Instant::now();
    while client.list(&proto::door::List::default()).await.is_err()
        || client.tools().await?.tools.is_empty()
    {
        if started.elapsed() > Duration::from_secs(30) {
            return Err("the processes never came up; see their logs".into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(Runner { client, ends })
}

async fn alone(runner: &Runner, jobs: usize) -> Result<Vec<Duration>, Failed> {
    let mut took = Vec::with_capacity(jobs);
    for n in 0..jobs {
        took.push(runner.run(format!("alone-{n}")).await?);
    }
    took.sort_unstable();
    Ok(took)
}

async fn together(runner: &Runner, options: &Options) -> Result<(f64, Duration), Failed> {
    let started = Instant::now();
    let mut ended = stream::iter(0..options.jobs)
        .map(|n| runner.run(format!("many-{n}")))
        .buffer_unordered(options.in_flight);
    while let Some(one) = ended.next().await {
        one?;
    }
    let elapsed = started.elapsed();
    #[expect(clippy::cast_precision_loss, reason = "a number of jobs")]
    let rate = options.jobs as f64 / elapsed.as_secs_f64();
    Ok((rate, elapsed))
}

fn percentile(sorted: &[Duration], share: f64) -> Duration {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index into a short list"
    )]
    let index = (sorted.len() as f64 * share) as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}
