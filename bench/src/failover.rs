//! Scenario F: the time until jobs flow again after a nats-server that leads streams is killed, and
//! the time until shards are balanced after a supervisor joins or leaves.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use async_nats::jetstream;
use futures::{TryStreamExt, future::try_join_all};
use proto::id::{JobId, Seq, Shard};
use serde::Serialize;

use crate::{
    Failed,
    broker::Keeping,
    company::Company,
    company::{SHARDS, Setup},
    diamond,
    figures::percentile,
    load::Submitter,
    options::Options,
    say,
};

/// The interval between checks, which is the error of the measured times.
const LOOK: Duration = Duration::from_millis(20);
/// Time after which a request without an answer is sent again.
const REPEAT_AFTER: Duration = Duration::from_secs(1);
/// Timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// The figures of scenario F, in seconds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Failover {
    /// The broker's version.
    pub(crate) server: String,
    /// Time from the kill of a leader until every stream and every consumer has a leader again:
    /// the broker's own part.
    pub(crate) elected: Times,
    /// Time from the kill of a leader until a new job in every shard is submitted and planned.
    pub(crate) killed: Times,
    /// The difference of the two, of each kill: Callboard's part.
    pub(crate) added: Times,
    /// Time from the start of a supervisor until it owns half of the shards.
    pub(crate) joined: Times,
    /// Time from SIGTERM to a supervisor until the other one owns all shards.
    pub(crate) left: Times,
}

/// A distribution of times, in seconds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Times {
    /// The median.
    pub(crate) p50_s: f64,
    /// The 99th percentile.
    pub(crate) p99_s: f64,
    /// The maximum.
    pub(crate) most_s: f64,
    /// The number of measured times.
    pub(crate) n: usize,
}

impl Times {
    fn of(mut times: Vec<f64>) -> Self {
        let mut at = |share| percentile(&mut times, share);
        let (p50_s, p99_s, most_s) = (at(0.5), at(0.99), at(1.0));
        Self { p50_s, p99_s, most_s, n: times.len() }
    }
}

/// Returns the setup of F: three servers with three replicas, one supervisor and one worker.
pub(crate) fn setup(program: Option<PathBuf>) -> Setup {
    diamond::setup(program, Keeping::R3)
}

/// Kills leaders, and has a supervisor join and leave, `options.kills` times each.
pub(crate) async fn measure(
    company: &mut Company,
    setup: &Setup,
    options: &Options,
) -> Result<Failover, Failed> {
    let submitter = Submitter::new(company)?;
    let (mut elected, mut killed, mut added) = (Vec::new(), Vec::new(), Vec::new());
    let (mut joined, mut left) = (Vec::new(), Vec::new());
    for n in 1..=options.kills {
        say(&format!("f: {n} of {}", options.kills));
        let leader = leader(company).await?;
        let groups = groups(company).await?;
        let witness = company.servers.urls().swap_remove((leader + 1) % 3);
        let mut witness = jetstream::new(async_nats::connect(witness).await?);
        witness.set_timeout(LOOK * 5);
        let began = Instant::now();
        company.servers.kill(leader);
        let election = async {
            try_join_all(groups.iter().map(|group| group.led(&witness))).await?;
            Ok::<_, Failed>(began.elapsed().as_secs_f64())
        };
        let jobs = async {
            let jobs = one_a_shard(company);
            try_join_all(jobs.iter().map(|job| planned(&submitter, company, job))).await?;
            Ok(began.elapsed().as_secs_f64())
        };
        let (election, jobs) = tokio::try_join!(election, jobs)?;
        elected.push(election);
        killed.push(jobs);
        added.push((jobs - election).max(0.0));
        company.servers.restart(leader).await?;
        whole(company).await?;

        let began = Instant::now();
        let other = company.hire_supervisor(setup)?;
        shared(company, 2).await?;
        joined.push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        let leaving = company.dismiss(other)?;
        shared(company, 1).await?;
        left.push(began.elapsed().as_secs_f64());
        leaving.await??;
    }
    let server = company.servers.version().to_string();
    let [elected, killed, added] = [elected, killed, added].map(Times::of);
    let [joined, left] = [joined, left].map(Times::of);
    Ok(Failover { server, elected, killed, added, joined, left })
}

/// Polls until `look` returns a value, up to [`PATIENCE`].
async fn until<T>(
    what: &str,
    mut look: impl AsyncFnMut() -> Result<Option<T>, Failed>,
) -> Result<T, Failed> {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        if began.elapsed() > PATIENCE {
            return Err(format!("{what}: not within {PATIENCE:?}").into());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Returns new job ids, one for each shard.
fn one_a_shard(company: &Company) -> Vec<JobId> {
    let subjects = company.broker.log.subjects();
    let mut found: BTreeMap<Shard, JobId> = BTreeMap::new();
    while found.len() < usize::from(SHARDS) {
        let job = client::new_id();
        found.entry(subjects.shard_of(&job)).or_insert(job);
    }
    found.into_values().collect()
}

/// Submits a job until it is accepted, and waits for its first decision.
async fn planned(submitter: &Submitter, company: &Company, job: &JobId) -> Result<(), Failed> {
    // A request that was on its way through the killed server has no answer.
    let client = submitter.client.clone().with_timeout(REPEAT_AFTER);
    until("a submission", async || Ok(client.submit(submitter.submit(job, false)).await.ok()))
        .await?;
    until("a decision", async || {
        let read = company.broker.log.read(job, Seq(0)).await;
        Ok(read.is_ok_and(|entries| entries.len() > 1).then_some(()))
    })
    .await
}

fn jetstream(company: &Company) -> impl Future<Output = Result<jetstream::Context, Failed>> {
    let urls = company.servers.urls();
    async move { Ok(jetstream::new(async_nats::connect(urls).await?)) }
}

/// Returns the server that leads the stream of the first shard.
async fn leader(company: &Company) -> Result<usize, Failed> {
    let stream = company.broker.log.subjects().stream(Shard(0));
    let jetstream = jetstream(company).await?;
    let name = until("a leader", async || {
        let info = jetstream.get_stream(&stream).await.map(|s| s.cached_info().clone());
        Ok(info.ok().and_then(|info| info.cluster?.leader))
    })
    .await?;
    for (n, url) in company.servers.urls().iter().enumerate() {
        if async_nats::connect(url).await?.server_info().server_name == name {
            return Ok(n);
        }
    }
    Err(format!("{name} leads, and does not run").into())
}

/// A stream, or a consumer of it: each elects its own leader.
struct Group {
    stream: String,
    consumer: Option<String>,
}

impl Group {
    /// Waits until a server answers for the group, which only its leader does.
    async fn led(&self, jetstream: &jetstream::Context) -> Result<(), Failed> {
        let Self { stream, consumer } = self;
        let subject = match consumer {
            Some(consumer) => format!("CONSUMER.INFO.{stream}.{consumer}"),
            None => format!("STREAM.INFO.{stream}"),
        };
        until("an election", async || {
            let info = jetstream.request::<_, _, Answered>(subject.clone(), &()).await;
            // A consumer of a watch that has ended is missing, which a leader says too.
            let away = |error: &ApiError| error.code >= 500;
            Ok(info.is_ok_and(|info| !info.error.as_ref().is_some_and(away)).then_some(()))
        })
        .await
    }
}

/// The reply of the JetStream API, as far as it tells whether a leader sent it.
#[derive(Debug, serde::Deserialize)]
struct Answered {
    error: Option<ApiError>,
}

#[derive(Debug, serde::Deserialize)]
struct ApiError {
    code: u16,
}

/// Returns the stream of every shard, and its consumers.
async fn groups(company: &Company) -> Result<Vec<Group>, Failed> {
    let jetstream = jetstream(company).await?;
    let subjects = company.broker.log.subjects();
    let mut groups = Vec::new();
    for stream in subjects.all_shards().map(|shard| subjects.stream(shard)) {
        let mut names = jetstream.get_stream(&stream).await?.consumer_names();
        while let Some(name) = names.try_next().await? {
            groups.push(Group { stream: stream.clone(), consumer: Some(name) });
        }
        groups.push(Group { stream, consumer: None });
    }
    Ok(groups)
}

/// Waits until all replicas of every stream are current.
async fn whole(company: &Company) -> Result<(), Failed> {
    let jetstream = jetstream(company).await?;
    let subjects = company.broker.log.subjects();
    for shard in subjects.all_shards() {
        let stream = subjects.stream(shard);
        until("current copies", async || {
            let Ok(found) = jetstream.get_stream(&stream).await else { return Ok(None) };
            let cluster = found.cached_info().cluster.clone().unwrap_or_default();
            let is_whole = cluster.leader.is_some()
                && cluster.replicas.len() == 2
                && cluster.replicas.iter().all(|copy| copy.current && !copy.offline);
            Ok(is_whole.then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// Waits until `supervisors` supervisors own equal parts of all shards.
async fn shared(company: &Company, supervisors: usize) -> Result<(), Failed> {
    let client = company.client.clone().with_timeout(REPEAT_AFTER);
    until("shards in equal parts", async || {
        let Ok(crew) = client.crew().await else { return Ok(None) };
        let shares = crew.workers.iter().map(|member| member.shards.len()).filter(|n| *n > 0);
        let shares: Vec<_> = shares.collect();
        let each = usize::from(SHARDS) / supervisors;
        Ok((shares == vec![each; supervisors]).then_some(()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_time_is_one_that_was_measured() {
        let times = Times::of(vec![3.0, 1.0, 2.0]);
        assert_eq!((times.p50_s, times.most_s, times.n), (2.0, 3.0, 3));
    }
}
