//! The driver of a peer. It reads the harness's commands from standard input, one JSON object per
//! line, and writes its results to standard output in the same form. It announces the beginning and
//! the end of each measurement, so that the harness reads processor time over exactly that window.
//! The driver starts and stops no process: the harness owns the servers and workers.

use std::{
    collections::VecDeque,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    task::JoinSet,
};

use crate::{
    latency::milliseconds,
    work::{Job, expected},
};

/// The operations that a submitter needs of a peer. Errors are texts for the user.
pub trait Peer: Send + Sync + 'static {
    /// Submits a job, and waits for its result.
    fn run(&self, job: Job) -> impl Future<Output = Result<String, String>> + Send;
    /// Submits a job that needs an approval, without waiting for the job.
    fn park(&self, job: Job) -> impl Future<Output = Result<(), String>> + Send;
    /// Returns the number of jobs that wait for an approval.
    fn parked(&self) -> impl Future<Output = Result<u64, String>> + Send;
    /// Approves a job, and waits for its result.
    fn resume(&self, job: Job) -> impl Future<Output = Result<String, String>> + Send;
}

/// A command of the harness.
#[derive(Deserialize)]
#[serde(tag = "run", rename_all = "snake_case")]
enum Command {
    /// Keep jobs in flight for the warm-up and then for the window. With `graph` they are workflows.
    Throughput {
        in_flight: usize,
        warm_s: f64,
        seconds: f64,
        #[serde(default)]
        graph: bool,
    },
    /// Run one job after the other. With `graph` they are workflows.
    Latency {
        warm: usize,
        n: usize,
        #[serde(default)]
        graph: bool,
    },
    /// Submit jobs until `n` of them wait for an approval.
    Park { n: usize },
    /// Approve `n` parked jobs one after the other.
    Resume { n: usize },
    /// Submit jobs with sleeping activities all at once, and wait for all of them.
    Makespan { n: usize, sleep_ms: u64 },
}

/// Carries out commands until the input ends.
///
/// # Errors
///
/// The error of the first job that fails or has a wrong result. It ends the run, because a peer
/// that drops work would look fast.
pub async fn drive<P: Peer>(peer: P) -> Result<(), String> {
    let peer = Arc::new(peer);
    let next = Arc::new(AtomicU64::new(0));
    let prefix = format!("j{}", std::process::id());
    let of = |graph| Arc::new(Jobs { prefix: prefix.clone(), next: Arc::clone(&next), graph });
    let jobs = of(false);
    let mut parked = VecDeque::new();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    say(&json!({"event": "ready"}));
    while let Some(line) = lines.next_line().await.map_err(|error| error.to_string())? {
        let command = serde_json::from_str(&line).map_err(|error| format!("{line}: {error}"))?;
        let result = match command {
            Command::Throughput { in_flight, warm_s, seconds, graph } => {
                throughput(&peer, &of(graph), in_flight, warm_s, seconds).await?
            }
            Command::Latency { warm, n, graph } => latency(&peer, &of(graph), warm, n).await?,
            Command::Park { n } => park(&peer, &jobs, n, &mut parked).await?,
            Command::Resume { n } => resume(&peer, n, &mut parked).await?,
            Command::Makespan { n, sleep_ms } => makespan(&peer, &jobs, n, sleep_ms).await?,
        };
        say(&result);
    }
    Ok(())
}

/// A generator of jobs. Their ids are unique over all drivers.
struct Jobs {
    prefix: String,
    next: Arc<AtomicU64>,
    /// `true` if the jobs are workflows.
    graph: bool,
}

impl Jobs {
    fn next(&self) -> Job {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Job { graph: self.graph, ..Job::new(format!("{}-{number}", self.prefix)) }
    }
}

async fn run<P: Peer>(peer: &P, job: Job) -> Result<(), String> {
    let wanted = expected(&job);
    checked(&job.id.clone(), peer.run(job).await, &wanted)
}

fn checked(id: &str, got: Result<String, String>, wanted: &str) -> Result<(), String> {
    match got {
        Ok(got) if got == wanted => Ok(()),
        Ok(got) => Err(format!("job {id}: its result is {got}, not {wanted}")),
        Err(error) => Err(format!("job {id}: {error}")),
    }
}

async fn throughput<P: Peer>(
    peer: &Arc<P>,
    jobs: &Arc<Jobs>,
    in_flight: usize,
    warm_s: f64,
    seconds: f64,
) -> Result<Value, String> {
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut clients = JoinSet::new();
    for _ in 0..in_flight {
        let (peer, jobs) = (Arc::clone(peer), Arc::clone(jobs));
        let (stop, done) = (Arc::clone(&stop), Arc::clone(&done));
        clients.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                run(&*peer, jobs.next()).await?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<(), String>(())
        });
    }
    pause(warm_s, &mut clients).await?;
    let (opened, before) = (Instant::now(), done.load(Ordering::Relaxed));
    say(&json!({"event": "open"}));
    pause(seconds, &mut clients).await?;
    // A queue moves slow jobs in step, so that they end in waves. The window must contain more than
    // one wave.
    let enough = before + 2 * in_flight as u64;
    while done.load(Ordering::Relaxed) < enough && opened.elapsed().as_secs_f64() < 4.0 * seconds {
        pause(1.0, &mut clients).await?;
    }
    let (after, took) = (done.load(Ordering::Relaxed), opened.elapsed());
    say(&json!({"event": "close"}));
    stop.store(true, Ordering::Relaxed);
    while let Some(client) = clients.join_next().await {
        client.map_err(|error| error.to_string())??;
    }
    Ok(json!({"event": "done", "n": after - before, "seconds": took.as_secs_f64()}))
}

/// Waits, or returns early with the error of a client.
async fn pause(seconds: f64, clients: &mut JoinSet<Result<(), String>>) -> Result<(), String> {
    tokio::select! {
        () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => Ok(()),
        Some(client) = clients.join_next() => client.map_err(|error| error.to_string())?,
    }
}

async fn latency<P: Peer>(
    peer: &Arc<P>,
    jobs: &Jobs,
    warm: usize,
    n: usize,
) -> Result<Value, String> {
    for _ in 0..warm {
        run(&**peer, jobs.next()).await?;
    }
    let mut latencies = Vec::with_capacity(n);
    say(&json!({"event": "open"}));
    for _ in 0..n {
        let (job, started) = (jobs.next(), Instant::now());
        run(&**peer, job).await?;
        latencies.push(started.elapsed());
    }
    say(&json!({"event": "close"}));
    Ok(json!({"event": "done", "n": n, "ms": milliseconds(&latencies)}))
}

async fn park<P: Peer>(
    peer: &Arc<P>,
    jobs: &Jobs,
    n: usize,
    parked: &mut VecDeque<Job>,
) -> Result<Value, String> {
    let wanted: Vec<Job> = (0..n).map(|_| Job { approve: true, ..jobs.next() }).collect();
    let (before, started) = (peer.parked().await?, Instant::now());
    say(&json!({"event": "open"}));
    for some in wanted.chunks(200) {
        let mut clients = JoinSet::new();
        for job in some.iter().cloned() {
            let peer = Arc::clone(peer);
            clients.spawn(async move { peer.park(job).await });
        }
        while let Some(client) = clients.join_next().await {
            client.map_err(|error| error.to_string())??;
        }
    }
    while peer.parked().await? < before + n as u64 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let took = started.elapsed();
    say(&json!({"event": "close"}));
    parked.extend(wanted);
    Ok(json!({"event": "done", "n": n, "seconds": took.as_secs_f64()}))
}

async fn resume<P: Peer>(
    peer: &Arc<P>,
    n: usize,
    parked: &mut VecDeque<Job>,
) -> Result<Value, String> {
    let mut latencies = Vec::with_capacity(n);
    say(&json!({"event": "open"}));
    for job in parked.drain(..n.min(parked.len())) {
        let (id, wanted, started) = (job.id.clone(), expected(&job), Instant::now());
        checked(&id, peer.resume(job).await, &wanted)?;
        latencies.push(started.elapsed());
    }
    say(&json!({"event": "close"}));
    Ok(json!({"event": "done", "n": latencies.len(), "ms": milliseconds(&latencies)}))
}

async fn makespan<P: Peer>(
    peer: &Arc<P>,
    jobs: &Jobs,
    n: usize,
    sleep_ms: u64,
) -> Result<Value, String> {
    let mut clients = JoinSet::new();
    let started = Instant::now();
    say(&json!({"event": "open"}));
    for _ in 0..n {
        let (peer, job) = (Arc::clone(peer), Job { sleep_ms, ..jobs.next() });
        clients.spawn(async move { run(&*peer, job).await });
    }
    while let Some(client) = clients.join_next().await {
        client.map_err(|error| error.to_string())??;
    }
    let took = started.elapsed();
    say(&json!({"event": "close"}));
    Ok(json!({"event": "done", "n": n, "seconds": took.as_secs_f64()}))
}

fn say(value: &Value) {
    println!("{value}");
}
