//! The submitter. It sends one request per job to the front door, and waits for the job's end. It
//! is as cheap as possible, because it runs on the measured cores.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use client::Client;
use proto::{
    door::{AgentChoice, Submit, SubmitWorkflow},
    id::{AgentName, JobId},
};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    Failed,
    company::Company,
    ends::Ends,
    usage::{Cpu, Part, Pids},
    workload::GOAL,
};

/// The maximum number of concurrent requests. The front door accepts 1,024 and refuses more as
/// overloaded.
pub(crate) const REQUESTS_MAX: usize = 512;

/// A client that submits jobs and waits for them. Clones share the connection.
#[derive(Clone)]
pub(crate) struct Submitter {
    pub(crate) client: Client,
    pub(crate) ends: Ends,
    agent: AgentName,
    /// Workflow of each job; a plan of the model when absent.
    workflow: Option<SubmitWorkflow>,
}

/// A completed job.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) job: JobId,
    /// The time of the submission by this machine's clock, which is the broker's too.
    pub(crate) submitted: SystemTime,
    /// The time from before the request until the end of the job was received.
    pub(crate) took: Duration,
}

impl Submitter {
    /// Creates a submitter for the processes of a measurement.
    pub(crate) fn new(company: &Company) -> Result<Self, Failed> {
        let (client, ends) = (company.client.clone(), company.ends.clone());
        Ok(Self { client, ends, agent: AgentName::new("unattended")?, workflow: None })
    }

    /// Creates a submitter of a workflow.
    pub(crate) fn of_workflow(company: &Company, workflow: SubmitWorkflow) -> Result<Self, Failed> {
        Ok(Self { workflow: Some(workflow), ..Self::new(company)? })
    }

    /// Runs one job from its submission to its end.
    pub(crate) async fn run(&self) -> Result<Done, Failed> {
        let job = client::new_id();
        let end = self.ends.expect(&job);
        let submit = self.submit(&job, false);
        let (submitted, began) = (SystemTime::now(), Instant::now());
        self.client.submit(submit).await?;
        let ended = end.completed().await.map_err(|why| format!("job {job}: {why}"))?;
        Ok(Done { job, submitted, took: ended.saturating_duration_since(began) })
    }

    /// Returns the submission of a job; with `confirm` a person must confirm its plan.
    pub(crate) fn submit(&self, job: &JobId, confirm: bool) -> Submit {
        let agent = Some(AgentChoice::Named(self.agent.clone()));
        let confirm = confirm.then_some(true);
        let workflow = self.workflow.clone();
        Submit { id: Some(job.clone()), agent, confirm, workflow, ..Submit::goal(GOAL) }
    }

    /// Runs jobs one after the other.
    pub(crate) async fn alone(&self, jobs: usize) -> Result<Vec<Done>, Failed> {
        let mut done = Vec::with_capacity(jobs);
        for _ in 0..jobs {
            done.push(self.run().await?);
        }
        Ok(done)
    }

    /// Submits jobs all at once, up to [`REQUESTS_MAX`] requests at a time. Returns the time until
    /// the last one ended, and that job.
    pub(crate) async fn together(&self, jobs: usize) -> Result<(Duration, Option<JobId>), Failed> {
        let (began, requests) = (Instant::now(), Arc::new(Semaphore::new(REQUESTS_MAX)));
        let mut running: JoinSet<Result<JobId, Failed>> = JoinSet::new();
        for _ in 0..jobs {
            let (this, requests) = (self.clone(), Arc::clone(&requests));
            running.spawn(async move {
                let job = client::new_id();
                let end = this.ends.expect(&job);
                let request = requests.acquire().await?;
                this.client.submit(this.submit(&job, false)).await?;
                drop(request);
                end.completed().await.map_err(|why| format!("job {job}: {why}"))?;
                Ok(job)
            });
        }
        let mut last = None;
        while let Some(done) = running.join_next().await {
            last = Some(done??);
        }
        Ok((began.elapsed(), last))
    }
}

/// A time window under load.
#[derive(Debug)]
pub(crate) struct Window {
    /// The number of jobs that ended in the window.
    pub(crate) jobs: u64,
    /// The length of the window.
    pub(crate) time: Duration,
    /// CPU time of each part in the window.
    pub(crate) cpu: BTreeMap<Part, Duration>,
    /// CPU time of other processes in the window.
    pub(crate) others: Duration,
    /// Jobs that ended last, for the analysis by stage. Only the last window has them.
    pub(crate) last: Vec<JobId>,
}

/// The number of latest jobs that each loop remembers.
const KEPT_EACH: usize = 4;

/// Keeps `in_flight` jobs in flight during the warm-up and every window.
pub(crate) async fn closed_loop(
    submitter: &Submitter,
    pids: &Pids,
    in_flight: usize,
    warm_up: Duration,
    windows: &[Duration],
) -> Result<Vec<Window>, Failed> {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut loops: JoinSet<Result<Vec<JobId>, Failed>> = JoinSet::new();
    for _ in 0..in_flight {
        let (submitter, stop, count) = (submitter.clone(), Arc::clone(&stop), Arc::clone(&count));
        loops.spawn(async move {
            let mut last = std::collections::VecDeque::with_capacity(KEPT_EACH + 1);
            while !stop.load(Ordering::Relaxed) {
                last.push_back(submitter.run().await?.job);
                count.fetch_add(1, Ordering::Relaxed);
                if last.len() > KEPT_EACH {
                    last.pop_front();
                }
            }
            Ok(last.into())
        });
    }
    pause(warm_up, &mut loops).await?;
    let mut measured = Vec::with_capacity(windows.len());
    for window in windows {
        let (before, began) = (Cpu::read(pids), Instant::now());
        let ended = count.load(Ordering::Relaxed);
        pause(*window, &mut loops).await?;
        let (jobs, time) = (count.load(Ordering::Relaxed) - ended, began.elapsed());
        let (cpu, others) = Cpu::read(pids).since(&before);
        measured.push(Window { jobs, time, cpu, others, last: Vec::new() });
    }
    stop.store(true, Ordering::Relaxed);
    let mut last = Vec::new();
    while let Some(ended) = loops.join_next().await {
        last.extend(ended??);
    }
    if let Some(window) = measured.last_mut() {
        window.last = last;
    }
    Ok(measured)
}

/// Waits, or returns early with the first error.
async fn pause(
    time: Duration,
    loops: &mut JoinSet<Result<Vec<JobId>, Failed>>,
) -> Result<(), Failed> {
    tokio::select! {
        () = tokio::time::sleep(time) => Ok(()),
        Some(ended) = loops.join_next() => ended?.map(|_| ()),
    }
}
