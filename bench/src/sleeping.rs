//! Scenario D: many jobs at once whose every activity takes a second. It measures waiting for
//! others, which is most of an agent's time.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::Serialize;

use crate::{
    Failed,
    broker::Keeping,
    company::{Company, Roles, Setup},
    figures::Spread,
    load::Submitter,
    options::Options,
    stages,
    usage::{Part, memory_kib},
    workload::{SLEEPING_IDEAL, Workload},
};

/// The interval at which memory is read while jobs run.
const LOOK: Duration = Duration::from_millis(250);

/// The figures of scenario D.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sleeping {
    /// The broker's version.
    pub(crate) server: String,
    /// The number of jobs that were submitted at once.
    pub(crate) n: usize,
    /// Time from the first submission to the last end, in seconds.
    pub(crate) makespan_s: Spread,
    /// The theoretical minimum, in seconds.
    pub(crate) ideal_s: f64,
    /// The distribution of the roles.
    pub(crate) roles: Roles,
    /// Peak memory of our processes, in MiB.
    pub(crate) memory_mib: BTreeMap<Part, u64>,
    /// The slowest transition of the last job in the slowest round.
    pub(crate) slowest: String,
}

/// Returns the setup of D: a worker whose slots suffice for all jobs at once.
/// Two steps of each job sleep concurrently.
pub(crate) fn setup(program: Option<std::path::PathBuf>) -> Setup {
    let slots = ["PLAN", "CALL"]
        .map(|kind| (format!("CALLBOARD__WORKERS__{kind}_SLOTS"), "20000".to_owned()));
    Setup { settings: slots.into(), ..Setup::new(program, Keeping::Default, Workload::Sleeping) }
}

/// Runs `n` jobs at once, in several rounds.
pub(crate) async fn measure(
    company: &Company,
    options: &Options,
    n: usize,
) -> Result<Sleeping, Failed> {
    let submitter = Submitter::new(company)?;
    submitter.together(50).await?;
    let mut pids = company.pids();
    pids.retain(|part, _| !matches!(part, Part::Broker | Part::Submitter));
    let most: BTreeMap<Part, AtomicU64> = pids.keys().map(|part| (*part, 0.into())).collect();
    let most = Arc::new(most);
    let seen = Arc::clone(&most);
    let watch = tokio::spawn(async move {
        loop {
            for (pids, most) in pids.values().zip(seen.values()) {
                most.fetch_max(memory_kib(pids), Ordering::Relaxed);
            }
            tokio::time::sleep(LOOK).await;
        }
    });
    let (mut took, mut last) = (Vec::new(), None);
    for _ in 0..options.rounds {
        let (time, job) = submitter.together(n).await?;
        took.push(time.as_secs_f64());
        last = last.max(job.map(|job| (time, job)));
    }
    watch.abort();
    let slowest = match last {
        Some((_, job)) => stages::slowest(&company.broker, &job).await?,
        None => return Err("no round was measured: --rounds must be at least 1".into()),
    };
    let mib = |(part, kib): (&Part, &AtomicU64)| (*part, kib.load(Ordering::Relaxed) / 1024);
    Ok(Sleeping {
        server: company.servers.version().to_string(),
        n,
        makespan_s: Spread::of(took),
        ideal_s: SLEEPING_IDEAL,
        roles: company.roles,
        memory_mib: most.iter().map(mib).collect(),
        slowest,
    })
}
