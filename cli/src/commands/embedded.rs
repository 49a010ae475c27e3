//! A complete installation in one process, for `demo` and `dev`: a child nats-server or an
//! in-memory log, a model, all roles, and a client.

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
use proto::{
    id::WorkerId,
    lang::{Language, Words},
    subject::Subjects,
};
use runtime::telemetry::Identity;
use tokio_util::sync::CancellationToken;

use crate::{
    connect,
    failure::CliError,
    roles::{self, Company, ModelSetup, Role},
    settings::Config,
    words::Text,
};

/// Time limit for stopping nats-server.
const STOP: Duration = Duration::from_secs(10);

/// Settings of an embedded installation.
#[derive(Debug, Clone)]
pub(super) struct Options {
    /// Data directory of nats-server.
    pub(super) dir: PathBuf,
    /// `true` to run without a nats-server.
    pub(super) memory: bool,
    /// Port of nats-server; 0 for a free one.
    pub(super) port: u16,
    /// Script of the model, if none is configured.
    pub(super) script: String,
}

/// Storage of the log.
#[derive(Debug, Clone)]
pub(super) enum Storage {
    /// A child nats-server.
    Server {
        version: Version,
        url: String,
        /// Data directory of the server.
        dir: PathBuf,
    },
    /// Memory only; holds the reason.
    Memory(Words),
}

impl Storage {
    /// Describes the storage for users.
    pub(super) fn words(&self, language: Language) -> String {
        match self {
            Self::Server { version, url, dir } => {
                Text::KeptByServer { version, url, dir: &dir.display() }.text(language)
            }
            Self::Memory(why) => Text::KeptInMemory { why: &why.text(language) }.text(language),
        }
    }
}

#[derive(Debug)]
pub(super) struct Embedded {
    /// Connection to the log, bus, buckets and objects.
    pub(super) broker: Broker,
    /// Storage of the log.
    pub(super) kept: Storage,
    /// Client of the front door.
    pub(super) client: Client,
    pub(super) model: ModelSetup,
    pub(super) company: Company,
    server: Option<Child>,
    shutdown: CancellationToken,
}

impl Embedded {
    /// Starts everything. Sets the server's URL in `config`.
    ///
    /// # Errors
    /// If a part cannot start; the parts started before are stopped.
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

    /// Stops everything, in reverse order of dependency.
    pub(super) async fn stop(self) -> runtime::actor::End {
        self.shutdown.cancel();
        let end = self.company.ended().await;
        // The connection closes before the server ends, which would count as a lost connection.
        self.broker.log.close().await;
        if let Some(server) = self.server {
            server.stop(STOP).await;
        }
        end
    }
}

pub(super) fn all() -> BTreeSet<Role> {
    Role::ALL.iter().copied().collect()
}

/// Starts a child nats-server, or returns the reason for running without one.
async fn server(options: &Options) -> Result<(Option<Child>, Storage), CliError> {
    if options.memory {
        return Ok((None, Storage::Memory(Text::MemoryFlag.into())));
    }
    let found = match nats_server::find() {
        None => {
            return Ok((None, Storage::Memory(Text::NoServer.into())));
        }
        Some(found) if found.version < Version::FLOOR => {
            let why = Text::OldServer { found: &found.version, needed: &Version::FLOOR };
            return Ok((None, Storage::Memory(why.into())));
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
    let kept = Storage::Server { version: child.version(), url: child.url(), dir };
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

/// Copies the files of the demo's goals to the workspace, unless they exist.
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

/// Script of the demo's model.
pub(super) const SCRIPT: &str = include_str!("../../../examples/demo/script.yaml");
/// File that the demo's second job reads.
const NOTES: &str = include_str!("../../../examples/demo/notes.md");
