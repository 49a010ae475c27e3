//! A broker and the processes of an installation: supervisors and workers apart, or processes with all
//! roles. This process submits the jobs. The processes are those of users: `callboard serve` with its
//! defaults.

use std::{
    collections::BTreeSet,
    net::{SocketAddr, TcpListener},
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
    usage::{Part, Pids, memory_kib},
    workload::{self, Workload},
};

/// The number of shards: the default of an installation.
pub(crate) const SHARDS: u16 = 8;

/// Timeout of the start of all processes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The distribution of the roles over processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Roles {
    /// Supervisors and workers are processes of their own. All work goes through the queue.
    Apart,
    /// Each process has all roles, and carries out quick work without the queue.
    Together,
}

impl Roles {
    /// Returns the words for tables.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Apart => "roles apart",
            Self::Together => "all roles",
        }
    }
}

/// Roles of a supervisor process, which is the front door and the inbox as well.
const SUPERVISOR: &str = "supervisor,interaction,door";
/// Roles of a worker process.
const WORKER: &str = "planner,executor,tools";

/// The system under measurement.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Setup {
    /// The nats-server program. When absent, the one that is found in the usual places.
    #[serde(skip)]
    pub(crate) program: Option<PathBuf>,
    /// The durability of the broker's writes.
    pub(crate) keeping: Keeping,
    /// The distribution of the roles.
    pub(crate) roles: Roles,
    /// The number of supervisor processes, and of worker processes; or of processes with all roles.
    pub(crate) processes: usize,
    /// The plan of every job.
    #[serde(skip)]
    pub(crate) workload: Workload,
    /// Settings that differ from the defaults, as environment variables of the processes.
    pub(crate) settings: Vec<(String, String)>,
}

impl Setup {
    /// Creates a setup of one supervisor and one worker with their defaults.
    pub(crate) fn new(program: Option<PathBuf>, keeping: Keeping, workload: Workload) -> Self {
        let (roles, processes, settings) = (Roles::Apart, 1, Vec::new());
        Self { program, keeping, roles, processes, workload, settings }
    }

    /// Returns the setup without the broker's version, for tables.
    pub(crate) fn name(&self) -> String {
        format!("{}, {}", self.keeping.as_str(), self.roles.as_str())
    }
}

/// The processes of a measurement.
pub(crate) struct Company {
    /// The distribution of the roles.
    pub(crate) roles: Roles,
    /// This process's own connection.
    pub(crate) broker: Broker,
    /// The client of the front door.
    pub(crate) client: Client,
    /// The listener for the ends of jobs.
    pub(crate) ends: Ends,
    supervisors: Vec<Child>,
    workers: Vec<Child>,
    /// The processes with all roles.
    whole: Vec<Child>,
    gateway: Option<Child>,
    /// The last field to drop: the servers end after all processes that are connected to them.
    pub(crate) servers: Servers,
    dir: TempDir,
}

impl Company {
    /// Starts the processes, and waits until every shard has an owner and every worker is present.
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
        // This connection creates the streams, so that no two processes create them at once.
        let broker = nats::connect(&options, subjects.clone(), WorkerId::new("bench")?).await?;
        let ends = Ends::listen(&servers.urls(), &subjects, setup.workload).await?;
        std::fs::write(dir.path().join("script.yaml"), workload::script(setup.workload))?;
        let client = Client::new(&broker);
        let mut company = Self {
            roles: setup.roles,
            broker,
            client,
            ends,
            supervisors: Vec::new(),
            workers: Vec::new(),
            whole: Vec::new(),
            gateway: None,
            servers,
            dir,
        };
        for _ in 0..setup.processes {
            company.spawn(setup)?;
        }
        company.wait_until_up(setup).await?;
        Ok(company)
    }

    /// Starts a supervisor and a worker, or a process that is both.
    fn spawn(&mut self, setup: &Setup) -> Result<(), Failed> {
        match setup.roles {
            Roles::Apart => {
                self.hire_supervisor(setup)?;
                let name = format!("worker{}", self.workers.len() + 1);
                self.workers.push(self.command(&name, WORKER, setup)?.spawn()?);
            }
            Roles::Together => {
                let name = format!("process{}", self.whole.len() + 1);
                let roles = format!("{SUPERVISOR},{WORKER}");
                self.whole.push(self.command(&name, &roles, setup)?.spawn()?);
            }
        }
        Ok(())
    }

    /// Starts one process more of each kind, and waits until `setup` is complete, which counts them.
    pub(crate) async fn grow(&mut self, setup: &Setup) -> Result<(), Failed> {
        self.spawn(setup)?;
        self.wait_until_up(setup).await
    }

    fn command(&self, name: &str, roles: &str, setup: &Setup) -> Result<Command, Failed> {
        command(self.dir.path(), name, roles, &self.servers.urls().join(","), setup)
    }

    /// Starts another supervisor, and returns its index.
    pub(crate) fn hire_supervisor(&mut self, setup: &Setup) -> Result<usize, Failed> {
        let name = format!("supervisor{}", self.supervisors.len() + 1);
        self.supervisors.push(self.command(&name, SUPERVISOR, setup)?.spawn()?);
        Ok(self.supervisors.len() - 1)
    }

    /// Sends SIGTERM to a supervisor. The returned handle waits for its end.
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

    /// Starts a gateway whose limits of a caller are out of the way, because all readers of a
    /// measurement are one caller. Returns its address once it answers.
    pub(crate) async fn hire_gateway(&mut self, setup: &Setup) -> Result<SocketAddr, Failed> {
        // The port is free until another process happens to take it, which the wait then reports.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = self.command("gateway", "gateway", setup)?;
        command
            .env("CALLBOARD__GATEWAY__LISTEN", address.to_string())
            .env("CALLBOARD__GATEWAY__READS_PER_SECOND", "100000")
            .env("CALLBOARD__GATEWAY__STREAMS", "100000");
        let gateway = self.gateway.insert(command.spawn()?);
        let began = Instant::now();
        while tokio::net::TcpStream::connect(address).await.is_err() {
            if let Some(status) = gateway.try_wait()? {
                return Err(format!("the gateway ended: {status}\n{}", self.logged()).into());
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("no gateway\n{}", self.logged()).into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(address)
    }

    /// Returns the memory of the gateway in KiB; zero without one.
    pub(crate) fn gateway_kib(&self) -> u64 {
        self.gateway.as_ref().map_or(0, |gateway| memory_kib(&[gateway.id()]))
    }

    async fn wait_until_up(&mut self, setup: &Setup) -> Result<(), Failed> {
        let began = Instant::now();
        loop {
            let missing = self.missing(setup).await;
            let Some(missing) = missing else { return Ok(()) };
            let children = self.supervisors.iter_mut().chain(&mut self.workers);
            for child in children.chain(&mut self.whole) {
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

    /// Describes the first part that has not started yet; `None` when all have.
    async fn missing(&self, setup: &Setup) -> Option<String> {
        let Ok(crew) = self.client.crew().await else { return Some("no front door".to_owned()) };
        let held: BTreeSet<_> = crew.workers.iter().flat_map(|w| &w.shards).collect();
        let holders = crew.workers.iter().filter(|w| !w.shards.is_empty()).count();
        if held.len() < usize::from(SHARDS) || holders < setup.processes {
            return Some(format!("{} shards with {holders} supervisors", held.len()));
        }
        if setup.roles == Roles::Together {
            return self.no_tools().await;
        }
        let workers = crew.workers.iter().filter(|w| w.shards.is_empty()).count();
        if workers < setup.processes {
            return Some(format!("{workers} workers"));
        }
        self.no_tools().await
    }

    async fn no_tools(&self) -> Option<String> {
        let tools = self.client.tools().await.is_ok_and(|tools| !tools.tools.is_empty());
        (!tools).then(|| "no tools".to_owned())
    }

    /// Returns the last warnings and errors of the processes; empty when there are none.
    pub(crate) fn logged(&self) -> String {
        let most = [&self.supervisors, &self.workers, &self.whole].map(Vec::len).into_iter().max();
        let names = (1..=most.unwrap_or_default())
            .flat_map(|n| ["supervisor", "worker", "process"].map(|name| format!("{name}{n}")));
        names
            .chain(["gateway".to_owned()])
            .filter_map(|name| {
                let log = std::fs::read_to_string(self.dir.path().join(format!("{name}.log")));
                let log = log.ok()?;
                // Every process logs this line, at every level.
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

    /// Returns the process ids by part. A part without a process is absent.
    pub(crate) fn pids(&self) -> Pids {
        let ids = |children: &[Child]| children.iter().map(Child::id).collect();
        let pids = [
            (Part::Broker, self.servers.pids()),
            (Part::Supervisor, ids(&self.supervisors)),
            (Part::Worker, ids(&self.workers)),
            (Part::AllRoles, ids(&self.whole)),
            (Part::Submitter, vec![std::process::id()]),
        ];
        pids.into_iter().filter(|(_, pids)| !pids.is_empty()).collect()
    }

    /// Ends all processes except the broker, which is idle afterwards.
    pub(crate) fn end_processes(&mut self) {
        let workers = self.workers.drain(..).chain(self.whole.drain(..)).chain(self.gateway.take());
        for mut process in self.supervisors.drain(..).chain(workers) {
            // The process may have ended by itself.
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
        // The user's environment may contain settings, or enable the export of telemetry.
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

/// Returns the path of the `callboard` program beside this one.
fn program() -> Result<PathBuf, Failed> {
    let program = std::env::current_exe()?.with_file_name("callboard");
    if program.is_file() {
        Ok(program)
    } else {
        Err("build callboard first, with the same profile: `make bench` does".into())
    }
}
