//! Everything in this process: a nats-server as a child (or a log in memory), a model, all roles,
//! and a client. For `demo` and `dev`.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use broker::{
    Broker,
    clock::SystemClock,
    memory::{self, MemoryOptions},
    nats_server::{self, Child, ChildOptions, Version},
};
use client::Client;
use proto::{id::WorkerId, subject::Subjects};
use runtime::telemetry::Identity;
use tokio_util::sync::CancellationToken;

use crate::{
    connect,
    failure::CliError,
    roles::{self, Company, ModelSetup, Role},
    settings::Config,
};

/// How long a nats-server may take to end.
const STOP: Duration = Duration::from_secs(10);

/// What is started.
#[derive(Debug, Clone)]
pub(super) struct Options {
    /// Where nats-server keeps its data.
    pub(super) dir: PathBuf,
    /// Whether it runs without a nats-server.
    pub(super) memory: bool,
    /// Where it listens; 0 for a free port.
    pub(super) port: u16,
    /// The script of the model, where none is configured.
    pub(super) script: String,
}

/// Where the log is kept.
#[derive(Debug, Clone)]
pub(super) enum Kept {
    /// By a nats-server.
    Server {
        /// Its version.
        version: Version,
        /// Its address.
        url: String,
        /// Where it stores.
        dir: PathBuf,
    },
    /// Nowhere, and why.
    Memory(String),
}

impl Kept {
    /// What people are told.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Server { version, url, dir } => {
                format!("the log is kept by nats-server {version} at {url}, in {}", dir.display())
            }
            Self::Memory(why) => {
                format!("nothing is kept: {why}; everything is gone when this process ends")
            }
        }
    }
}

/// Everything in this process.
#[derive(Debug)]
pub(super) struct Embedded {
    /// The log and what stands beside it.
    pub(super) broker: Broker,
    /// Where the log is kept.
    pub(super) kept: Kept,
    /// Speaks to the front door.
    pub(super) client: Client,
    /// The model.
    pub(super) model: ModelSetup,
    /// The roles.
    pub(super) company: Company,
    server: Option<Child>,
    shutdown: CancellationToken,
}

impl Embedded {
    /// Starts everything. `config` is told where the server is.
    ///
    /// # Errors
    /// When something cannot start; what was started before is stopped.
    pub(super) async fn start(
        mut config: Config,
        identity: &Identity,
        options: Options,
        shutdown: CancellationToken,
    ) -> Result<Self, CliError> {
        let (server, kept) = server(&options).await?;
        if let Some(server) = &server {
            config.nats.url = server.url();
        }
        let broker = match &server {
            Some(_) => connect::broker(&config, identity.worker.clone(), true).await?,
            None => in_memory(&config, identity.worker.clone())?,
        };
        let model = roles::connect_model(&config, Some(&options.script))
            .await
            .map_err(|e| CliError::setting(e.to_string()))?;
        let all = all();
        let asked = Some(Arc::clone(&model.model));
        let company =
            Company::start(&config, identity, broker.clone(), &all, asked, shutdown.clone())
                .await?;
        let client = Client::new(&broker);
        Ok(Self { broker, kept, client, model, company, server, shutdown })
    }

    /// Ends everything that was started, in the order in which it is needed.
    pub(super) async fn stop(self) -> runtime::actor::End {
        self.shutdown.cancel();
        let end = self.company.ended().await;
        // Before the server goes: that would be a connection lost.
        self.broker.log.close().await;
        if let Some(server) = self.server {
            server.stop(STOP).await;
        }
        end
    }
}

/// Every role.
pub(super) fn all() -> BTreeSet<Role> {
    Role::ALL.into_iter().collect()
}

/// A nats-server as a child process, or the reason why it did not start.
async fn server(options: &Options) -> Result<(Option<Child>, Kept), CliError> {
    if options.memory {
        return Ok((None, Kept::Memory("--memory was given".to_owned())));
    }
    let found = match nats_server::find() {
        None => return Ok((None, Kept::Memory("there is no nats-server on the PATH".to_owned()))),
        Some(found) if found.version < Version::FLOOR => {
            let why =
                format!("nats-server {} is too old, {} is needed", found.version, Version::FLOOR);
            return Ok((None, Kept::Memory(why)));
        }
        Some(found) => found,
    };
    let dir = options.dir.join("nats");
    let child = ChildOptions {
        program: Some(found.path),
        port: options.port,
        store_dir: dir.clone(),
        ..ChildOptions::default()
    };
    let child = Child::start(&child).await.map_err(|e| CliError::start(e.to_string()))?;
    let kept = Kept::Server { version: child.version(), url: child.url(), dir };
    Ok((Some(child), kept))
}

fn in_memory(config: &Config, writer: WorkerId) -> Result<Broker, CliError> {
    let subjects = Subjects::new(&config.nats.prefix, config.nats.shards)
        .map_err(|e| CliError::usage(format!("nats.prefix: {e}")))?;
    let options = MemoryOptions {
        ack_wait: Duration::from_millis(config.nats.ack_wait_ms),
        facts_ack_wait: Duration::from_millis(config.nats.facts_ack_wait_ms),
        writer,
        clock: Arc::new(SystemClock::new()),
        ..MemoryOptions::default()
    };
    Ok(memory::start(subjects, options))
}

/// The files that the demo's goals speak of, put into a workspace unless they are there.
pub(super) fn put_examples(workspace: &Path) -> Result<(), CliError> {
    let notes = workspace.join("examples/demo/notes.md");
    let fail = |e: std::io::Error| CliError::io(&notes.display().to_string(), &e);
    if let Some(parent) = notes.parent() {
        std::fs::create_dir_all(parent).map_err(fail)?;
    }
    if !notes.exists() {
        std::fs::write(&notes, NOTES).map_err(fail)?;
    }
    Ok(())
}

/// What the model of the demo says.
pub(super) const SCRIPT: &str = include_str!("../../../examples/demo/script.yaml");
/// What the demo reads.
const NOTES: &str = include_str!("../../../examples/demo/notes.md");
