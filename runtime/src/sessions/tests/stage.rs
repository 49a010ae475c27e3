//! A broker with hosts whose keepers do what the test tells them.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use broker::{
    Broker,
    bus::{BusError, RequestContext},
    kv::{Bucket, session_key},
    memory::{self, MemoryOptions},
    nats::{NatsOptions, connect},
    testing::{
        NatsServer,
        wait::{soon, until},
    },
};
use bytes::Bytes;
use proto::{
    id::{Attempt, JobId, Unit, WorkId, WorkerId},
    session::{SessionKind, SessionPlace},
    subject::Subjects,
};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use crate::{
    actor::{Restarts, Tree},
    sessions::{
        Ask, AskError, HostArgs, HostLimits, Keeper, KeeperError, OpenError, SILENCE, Sessions,
        child,
    },
};

pub(super) const KIND: SessionKind = SessionKind::Browser;

/// A broker for one test.
pub(super) struct Stage {
    memory: Option<Broker>,
    server: Option<NatsServer>,
}

impl Stage {
    pub(super) fn in_memory() -> Self {
        let memory = Some(memory::start(subjects(), MemoryOptions::default()));
        Self { memory, server: None }
    }

    pub(super) async fn on_nats() -> Self {
        Self::on_nats_with(&[]).await
    }

    /// Starts a server with additional lines of configuration.
    pub(super) async fn on_nats_with(config: &[&str]) -> Self {
        Self { memory: None, server: Some(NatsServer::start_with(config, &[]).await) }
    }

    /// Opens a connection of its own, as a process does.
    pub(super) async fn broker(&self) -> Broker {
        if let Some(server) = &self.server {
            let servers = vec![server.url().to_owned()];
            let options = NatsOptions { servers, ..NatsOptions::default() };
            return Box::pin(connect(&options, subjects(), worker("w"))).await.unwrap();
        }
        self.memory.clone().unwrap()
    }

    pub(super) async fn asker(&self) -> Sessions {
        Sessions::new(self.broker().await)
    }

    /// Starts a host with room for two sessions and two units of work.
    pub(super) async fn host(&self, name: &str) -> Host {
        self.host_with(name, limits()).await
    }

    pub(super) async fn host_with(&self, name: &str, limits: HostLimits) -> Host {
        let (sender, heard) = mpsc::unbounded_channel();
        let keeper = Arc::new(Puppet { sender, go: Notify::new(), fails: Mutex::default() });
        let shutdown = CancellationToken::new();
        let broker = self.broker().await;
        let args = HostArgs {
            broker: broker.clone(),
            host: worker(name),
            keeper: Arc::clone(&keeper) as _,
            limits,
            shutdown: shutdown.clone(),
        };
        let tree = Tree::start(name, Restarts::default(), vec![child(args)]).await.unwrap();
        Host { broker, name: worker(name), keeper, heard, shutdown, tree }
    }

    /// Returns the host that the bucket names for a job.
    pub(super) async fn entry(&self, job: &JobId) -> Option<String> {
        let key = session_key(KIND, job);
        let entry = self.broker().await.kv.get(Bucket::Sessions, &key).await.unwrap()?;
        let place: SessionPlace = serde_json::from_slice(&entry.value).unwrap();
        Some(place.host.to_string())
    }
}

pub(super) fn limits() -> HostLimits {
    HostLimits { sessions: 2, in_flight: 2, idle: Duration::from_secs(3600) }
}

fn subjects() -> Subjects {
    Subjects::new("it", 2).unwrap()
}

pub(super) fn worker(name: &str) -> WorkerId {
    WorkerId::new(name).unwrap()
}

pub(super) fn job(name: &str) -> JobId {
    JobId::new(name).unwrap()
}

/// A request for the `n`-th unit of work of a job.
pub(super) fn ask(of: &JobId, n: u32, body: &str) -> Ask {
    let unit = Unit { work: WorkId::new(format!("g0.s{n}")).unwrap(), attempt: Attempt::FIRST };
    let body = Bytes::copy_from_slice(body.as_bytes());
    Ask { kind: KIND, job: of.clone(), unit, body, within: Duration::from_secs(600), opens: true }
}

/// Sends a request that is not canceled.
pub(super) async fn asked(sessions: &Sessions, ask: Ask) -> Result<String, AskError> {
    let answer = soon("an answer", sessions.ask(ask, &CancellationToken::new())).await;
    answer.map(|body| String::from_utf8(body.to_vec()).unwrap())
}

/// Sends a request in a task.
pub(super) fn asking(
    sessions: &Sessions,
    ask: Ask,
) -> tokio::task::JoinHandle<Result<String, AskError>> {
    let sessions = sessions.clone();
    tokio::spawn(async move { asked(&sessions, ask).await })
}

/// A request that a keeper received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Done {
    Opened(JobId),
    Began(JobId, String),
    Canceled(JobId),
    Closed(JobId),
}

/// A running host.
pub(super) struct Host {
    broker: Broker,
    name: WorkerId,
    pub(super) keeper: Arc<Puppet>,
    heard: mpsc::UnboundedReceiver<Done>,
    shutdown: CancellationToken,
    tree: Tree,
}

impl Host {
    /// Returns what the keeper does next.
    pub(super) async fn next(&mut self) -> Done {
        soon("the keeper", self.heard.recv()).await.unwrap()
    }

    /// Returns what the keeper has done since the last call.
    pub(super) fn done(&mut self) -> Vec<Done> {
        std::iter::from_fn(|| self.heard.try_recv().ok()).collect()
    }

    /// Ends the host as the death of its process does: nothing is closed and no entry is removed.
    pub(super) async fn kill(&self) {
        self.tree.stop();
        soon("the end of the host", self.tree.ended()).await;
        until("the broker has noticed", async || {
            let subject = self.broker.log.subjects().host(KIND, &self.name);
            let context = RequestContext::default();
            let asked = self.broker.bus.request(subject, Bytes::new(), context, SILENCE).await;
            matches!(asked, Err(BusError::NoResponders(_)))
        })
        .await;
    }

    pub(super) async fn shut_down(&self) {
        self.begin_shutdown();
        soon("the end of the host", self.tree.ended()).await;
    }

    pub(super) fn begin_shutdown(&self) {
        self.shutdown.cancel();
    }
}

/// A keeper that follows the body of each request.
pub(super) struct Puppet {
    sender: mpsc::UnboundedSender<Done>,
    /// Lets one request `wait` end.
    pub(super) go: Notify,
    /// The error of every session that is opened.
    pub(super) fails: Mutex<Option<OpenError>>,
}

impl Puppet {
    fn tell(&self, done: Done) {
        // The test may have ended.
        let _ = self.sender.send(done);
    }
}

#[async_trait]
impl Keeper for Puppet {
    fn kind(&self) -> SessionKind {
        KIND
    }

    async fn open(&self, job: &JobId) -> Result<(), OpenError> {
        if let Some(error) = self.fails.lock().unwrap().clone() {
            return Err(error);
        }
        self.tell(Done::Opened(job.clone()));
        Ok(())
    }

    async fn carry_out(
        &self,
        job: &JobId,
        body: Bytes,
        canceled: CancellationToken,
    ) -> Result<Bytes, KeeperError> {
        let text = std::str::from_utf8(&body).unwrap();
        self.tell(Done::Began(job.clone(), text.to_owned()));
        match text {
            "wait" => {
                let stopped = tokio::select! {
                    () = self.go.notified() => false,
                    () = canceled.cancelled() => true,
                };
                if stopped {
                    self.tell(Done::Canceled(job.clone()));
                    return Err(KeeperError::Canceled);
                }
                Ok(body)
            }
            "deaf" => std::future::pending().await,
            "refuse" => Err(KeeperError::Refused("no such button".to_owned())),
            "crash" => Err(KeeperError::Lost("the browser crashed".to_owned())),
            "panic" => panic!("a request that panics"),
            "half" => Ok(Bytes::from(vec![b'x'; proto::limits::SESSION_BODY_BYTES_MAX / 2])),
            "large" => Ok(Bytes::from(vec![b'x'; proto::limits::SESSION_BODY_BYTES_MAX + 1])),
            _ => Ok(body),
        }
    }

    async fn close(&self, job: &JobId) {
        self.tell(Done::Closed(job.clone()));
    }
}
