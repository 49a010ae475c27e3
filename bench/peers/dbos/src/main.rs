//! The workload on DBOS with its Rust SDK: `drive DATABASE_URL CONNECTIONS`. DBOS is a library, so
//! one process submits jobs and runs the workflows. Activities are steps of the workflow and run in
//! that process; after a crash another process would recover the whole workflow.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dbos::{Config, DBOS, StartOptions, WorkflowHandle, WorkflowRef};
use futures::future::try_join_all;
use peer_load::{Job, Peer, finished, plan, ready, step};
use tokio::sync::Mutex;

/// Longer than any measurement, so that no approval times out.
const APPROVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// The allocator of Callboard's own processes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Application {
    dbos: DBOS,
    job: WorkflowRef<Job, String, dbos::EngineOnly>,
    waiting: Arc<AtomicU64>,
    parked: Mutex<BTreeMap<String, WorkflowHandle<String, dbos::EngineOnly>>>,
}

impl Application {
    async fn launch(url: &str, connections: u32) -> dbos::Result<Self> {
        let dbos = DBOS::new(Config {
            app_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            max_connections: connections,
            // A message wakes its receiver at once, without waiting 10 ms for further messages.
            notification_coalesce: Some(Duration::ZERO),
            ..Config::new("callboard-peer", url)
        });
        let waiting = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&waiting);
        let job = dbos.register_workflow("job", move |job| work(job, Arc::clone(&counter)))?;
        dbos.launch().await?;
        Ok(Self { dbos, job, waiting, parked: Mutex::default() })
    }
}

/// The workflow. Its steps are created in a fixed order and then run concurrently, as DBOS
/// requires.
async fn work(job: Job, waiting: Arc<AtomicU64>) -> dbos::Result<String> {
    let plan = dbos::step("plan", || async { dbos::Result::Ok(plan(&job).await) }).await?;
    if job.approve {
        waiting.fetch_add(1, Ordering::Relaxed);
        dbos::recv::<String, _>(None, APPROVAL).await?;
        waiting.fetch_sub(1, Ordering::Relaxed);
    }
    let mut done = BTreeMap::new();
    while done.len() < plan.len() {
        let wave = ready(&job, &plan, &done);
        let steps = wave.iter().map(|input| {
            dbos::step(&input.id, move || async move { dbos::Result::Ok(step(input).await) })
        });
        let results = try_join_all(steps).await?;
        done.extend(wave.iter().map(|input| input.id.clone()).zip(results));
    }
    Ok(finished(done))
}

impl Peer for Application {
    async fn run(&self, job: Job) -> Result<String, String> {
        self.job.run(job).await.map_err(|error| error.to_string())
    }

    async fn park(&self, job: Job) -> Result<(), String> {
        let id = job.id.clone();
        let options = StartOptions { workflow_id: Some(&id), ..Default::default() };
        let started = self.job.start_with(job, options).await;
        let handle = started.map_err(|error| error.to_string())?;
        self.parked.lock().await.insert(id, handle);
        Ok(())
    }

    async fn parked(&self) -> Result<u64, String> {
        Ok(self.waiting.load(Ordering::Relaxed))
    }

    async fn resume(&self, job: Job) -> Result<String, String> {
        let handle = self.parked.lock().await.remove(&job.id);
        let handle = handle.ok_or_else(|| format!("{} was never parked", job.id))?;
        let sent = self.dbos.send(&job.id, &"yes".to_owned()).await;
        sent.map_err(|error| error.to_string())?;
        handle.result().await.map_err(|error| error.to_string())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ["drive", url, connections] = arguments.as_slice() else {
        return Err("usage: peer-dbos drive DATABASE_URL CONNECTIONS".into());
    };
    let application = Application::launch(url, connections.parse()?).await?;
    Ok(peer_load::drive(application).await?)
}
