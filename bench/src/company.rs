//! A broker, supervisors and workers, each a process of its own, and this process beside them as the
//! one that submits. It must use what users use: `callboard serve` with its defaults.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use broker::{
    Broker,
    nats::{self, NatsOptions},
};
use client::Client;
use proto::{id::WorkerId, subject::Subjects};
use serde::Serialize;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::{
    Failed,
    broker::{Keeping, Servers},
    ends::Ends,
    usage::{Part, Pids},
    workload::{self, Pace},
};

/// Streams that jobs are spread over: the default of an installation.
pub(crate) const SHARDS: u16 = 8;

/// How long the processes may take to come up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is measured.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Setup {
    /// The nats-server program; the one that is found when absent.
    #[serde(skip)]
    pub(crate) program: Option<PathBuf>,
    /// How it keeps what is written.
    pub(crate) keeping: Keeping,
    /// Supervisor processes, and as many worker processes.
    pub(crate) processes: usize,
    /// What the activities do.
    #[serde(skip)]
    pub(crate) pace: Pace,
    /// Settings of the processes that are not the defaults, as variables of the environment.
    pub(crate) settings: Vec<(String, String)>,
}

/// The processes of a measurement.
pub(crate) struct Company {
    /// This process's own connection.
    pub(crate) broker: Broker,
    /// The front door.
    pub(crate) client: Client,
    /// Hears how jobs end.
    pub(crate) ends: Ends,
    supervisors: Vec<Child>,
    workers: Vec<Child>,
    /// Last: the servers end after everything that is connected to them.
    pub(crate) servers: Servers,
    dir: TempDir,
}

impl Company {
    /// Starts the processes, and waits until every shard is looked after and every worker is there.
    pub(crate) async fn start(setup: &Setup) -> Result<Self, Failed> {
        let dir = tempfile::Builder::new().prefix("callboard-bench-").tempdir()?;
        let servers = Servers::start(setup.program.as_deref(), setup.keeping, dir.path()).await?;
        let subjects = Subjects::new("cb", SHARDS)?;
        let options = NatsOptions {
            servers: servers.urls(),
            replicas: setup.keeping.replicas(),
            connect_timeout_ms: 30_000,
            ..NatsOptions::default()
        };
        // It also makes the streams, so that no two processes begin with that at once.
        let broker = nats::connect(&options, subjects.clone(), WorkerId::new("bench")?).await?;
        let ends = Ends::listen(&servers.urls(), &subjects, setup.pace).await?;
        std::fs::write(dir.path().join("script.yaml"), workload::script(setup.pace))?;
        let client = Client::new(&broker);
        let mut company = Self {
            broker,
            client,
            ends,
            supervisors: Vec::new(),
            workers: Vec::new(),
            servers,
            dir,
        };
        company.spawn(setup)?;
        company.wait_until_up(setup).await?;
        Ok(company)
    }

    fn spawn(&mut self, setup: &Setup) -> Result<(), Failed> {
        let (dir, urls) = (self.dir.path().to_owned(), self.servers.urls().join(","));
        for n in 1..=setup.processes {
            let name = format!("supervisor{n}");
            let roles = "supervisor,interaction";
            self.supervisors.push(command(&dir, &name, roles, &urls, setup)?.spawn()?);
            let name = format!("worker{n}");
            let roles = "planner,executor,tools";
            self.workers.push(command(&dir, &name, roles, &urls, setup)?.spawn()?);
        }
        Ok(())
    }

    /// Starts one more supervisor; its place among them.
    pub(crate) fn hire_supervisor(&mut self, setup: &Setup) -> Result<usize, Failed> {
        let (dir, urls) = (self.dir.path(), self.servers.urls().join(","));
        let name = format!("supervisor{}", self.supervisors.len() + 1);
        let process = command(dir, &name, "supervisor,interaction", &urls, setup)?.spawn()?;
        self.supervisors.push(process);
        Ok(self.supervisors.len() - 1)
    }

    /// Asks a supervisor to end. What is given back ends with it.
    pub(crate) fn dismiss(
        &mut self,
        supervisor: usize,
    ) -> Result<JoinHandle<std::io::Result<ExitStatus>>, Failed> {
        let mut process = self.supervisors.remove(supervisor);
        let id = process.id().to_string();
        let waited = tokio::task::spawn_blocking(move || process.wait());
        Command::new("kill").args(["-TERM", &id]).status()?;
        Ok(waited)
    }

    async fn wait_until_up(&mut self, setup: &Setup) -> Result<(), Failed> {
        let began = Instant::now();
        loop {
            let missing = self.missing(setup).await;
            let Some(missing) = missing else { return Ok(()) };
            for child in self.supervisors.iter_mut().chain(&mut self.workers) {
                if let Some(status) = child.try_wait()? {
                    return Err(format!("a process ended: {status}\n{}", self.logged()).into());
                }
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("{missing}\n{}", self.logged()).into());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// What is not there yet.
    async fn missing(&self, setup: &Setup) -> Option<String> {
        let Ok(crew) = self.client.crew().await else { return Some("no front door".to_owned()) };
        let held: BTreeSet<_> = crew.workers.iter().flat_map(|w| &w.shards).collect();
        let holders = crew.workers.iter().filter(|w| !w.shards.is_empty()).count();
        if held.len() < usize::from(SHARDS) || holders < setup.processes {
            return Some(format!("{} shards with {holders} supervisors", held.len()));
        }
        let workers = crew.workers.iter().filter(|w| w.shards.is_empty()).count();
        if workers < setup.processes {
            return Some(format!("{workers} workers"));
        }
        let tools = self.client.tools().await.is_ok_and(|tools| !tools.tools.is_empty());
        (!tools).then(|| "no tools".to_owned())
    }

    /// What the processes logged: nothing, when all is well.
    pub(crate) fn logged(&self) -> String {
        let processes = 1..=self.supervisors.len().max(self.workers.len());
        let names = processes.flat_map(|n| [format!("supervisor{n}"), format!("worker{n}")]);
        names
            .filter_map(|name| {
                let log = std::fs::read_to_string(self.dir.path().join(format!("{name}.log")));
                let log = log.ok()?;
                // Every process says that it serves, whatever its level.
                let lines = log.lines().filter(|line| !line.contains(" serves "));
                let lines: Vec<&str> = lines.collect();
                if lines.is_empty() {
                    return None;
                }
                let end = lines[lines.len().saturating_sub(10)..].join("\n");
                Some(format!("{name}:\n{end}\n"))
            })
            .collect()
    }

    /// The processes by what they are.
    pub(crate) fn pids(&self) -> Pids {
        let ids = |children: &[Child]| children.iter().map(Child::id).collect();
        Pids::from([
            (Part::Broker, self.servers.pids()),
            (Part::Supervisor, ids(&self.supervisors)),
            (Part::Worker, ids(&self.workers)),
            (Part::Submitter, vec![std::process::id()]),
        ])
    }

    /// Ends everything but the broker, which then is as idle as it gets.
    pub(crate) fn end_processes(&mut self) {
        for mut process in self.supervisors.drain(..).chain(self.workers.drain(..)) {
            // It may have ended by itself, which is as good.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for Company {
    fn drop(&mut self) {
        self.end_processes();
    }
}

fn command(
    dir: &Path,
    name: &str,
    roles: &str,
    urls: &str,
    setup: &Setup,
) -> Result<Command, Failed> {
    let log = std::fs::File::create(dir.join(format!("{name}.log")))?;
    let mut command = Command::new(program()?);
    for (variable, _) in std::env::vars_os() {
        // The user's environment may have settings of its own, or export telemetry.
        let text = variable.to_string_lossy();
        if text.starts_with("CALLBOARD__") || text.starts_with("OTEL_") {
            command.env_remove(variable);
        }
    }
    command
        .args(["serve", "--roles", roles])
        .current_dir(dir)
        .env("CALLBOARD__NATS__URL", urls)
        .env("CALLBOARD__NATS__REPLICAS", setup.keeping.replicas().to_string())
        .env("CALLBOARD__MODEL__KIND", "script")
        .env("CALLBOARD__MODEL__NAME", "scripted")
        .env("CALLBOARD__MODEL__SCRIPT", dir.join("script.yaml"))
        .env("CALLBOARD__LOG__LEVEL", "warn")
        .env("CALLBOARD__TOOLS__WORKSPACE", dir)
        .envs(setup.settings.iter().map(|(key, value)| (key, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    Ok(command)
}

/// The `callboard` program beside this one.
fn program() -> Result<PathBuf, Failed> {
    let program = std::env::current_exe()?.with_file_name("callboard");
    if program.is_file() {
        Ok(program)
    } else {
        Err("build callboard first, with the same profile: `make bench` does".into())
    }
}
