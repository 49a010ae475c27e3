//! Scenario L: lists by state and dead letters of an installation with many ended jobs.

use std::time::Instant;

use proto::{
    door::{Count, Dead, Filter, List},
    job::JobState,
};
use serde::Serialize;

use crate::{
    Failed,
    company::Company,
    figures::{ms, percentile},
    load::Submitter,
    options::Options,
    say,
};

/// The number of jobs that run concurrently while the installation is filled.
const TOGETHER: usize = 5_000;
/// The number of measured requests of each kind.
const REQUESTS: usize = 100;

/// The figures of scenario L.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Listing {
    /// The broker's version.
    pub(crate) server: String,
    /// The number of ended jobs.
    pub(crate) jobs: usize,
    /// Each request, with the time of its first answer and of later ones.
    pub(crate) requests: Vec<RequestTimes>,
}

/// The times of one request, in milliseconds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RequestTimes {
    /// The request.
    pub(crate) request: &'static str,
    /// The time of the first answer, while the front door reads its index of jobs.
    pub(crate) first_ms: f64,
    /// The median of the later answers.
    pub(crate) p50_ms: f64,
    /// Their 99th percentile.
    pub(crate) p99_ms: f64,
}

/// Runs the jobs to their ends, and measures the requests.
pub(crate) async fn measure(company: &Company, options: &Options) -> Result<Listing, Failed> {
    let submitter = Submitter::new(company)?;
    let jobs = options.listed;
    fill(&submitter, jobs).await?;
    let of_state =
        |state| List { filter: Filter::of_states([state]), limit: Some(50), ..List::default() };
    let client = &company.client;
    let completed = async || client.call(&of_state(JobState::Completed)).await.map(|_| ());
    let failed = async || client.call(&of_state(JobState::Failed)).await.map(|_| ());
    let dead = async || client.call(&Dead::default()).await.map(|_| ());
    let count = async || client.call(&Count::default()).await.map(|_| ());
    let requests = vec![
        timed("list completed, 50 of them", completed).await?,
        timed("list failed, none of them", failed).await?,
        timed("dead letters, none of them", dead).await?,
        timed("the numbers of jobs", count).await?,
    ];
    Ok(Listing { server: company.servers.version().to_string(), jobs, requests })
}

/// Runs `jobs` jobs to their ends.
pub(crate) async fn fill(submitter: &Submitter, jobs: usize) -> Result<(), Failed> {
    let mut ended = 0;
    while ended < jobs {
        let some = TOGETHER.min(jobs - ended);
        submitter.together(some).await?;
        ended += some;
        say(&format!("{ended} jobs ended"));
    }
    Ok(())
}

/// Measures a request. As many requests as are measured precede, so that the front door has read its
/// index.
pub(crate) async fn timed<E: Into<Failed>>(
    name: &'static str,
    request: impl AsyncFn() -> Result<(), E>,
) -> Result<RequestTimes, Failed> {
    let once = async || {
        let began = Instant::now();
        request().await.map_err(Into::into)?;
        Ok::<_, Failed>(ms(began.elapsed()))
    };
    let first_ms = once().await?;
    for _ in 0..REQUESTS {
        once().await?;
    }
    let mut times = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        times.push(once().await?);
    }
    let mut at = |share| percentile(&mut times, share);
    Ok(RequestTimes { request: name, first_ms, p50_ms: at(0.5), p99_ms: at(0.99) })
}
