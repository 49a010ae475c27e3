//! A front door without supervisors and workers, and requests to it.

use std::{collections::HashMap, fmt::Display, sync::Arc, time::Duration};

use agents::{catalogue::Catalogue, price::ByModel};
use broker::{
    Broker,
    bus::{BusError, RequestContext},
    clock::SystemClock,
    memory::{Memory, MemoryOptions},
};
use bytes::Bytes;
use door::{Door, DoorParts, agents::Agents, workflows::Workflows};
use proto::{
    agent::Agent,
    budget::Price,
    door::Refusal,
    error::{Code, Failure},
    id::{AgentName, WorkerId},
    limits,
    subject::Subjects,
};
use ractor::{Actor, ActorRef};
use runtime::{
    people::People,
    presence::Crew,
    registry::Registry,
    service::{ServiceActor, ServiceArgs, ServiceMsg},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// An installation with one door and no other process.
pub(super) struct Hall {
    pub(super) memory: Memory,
    pub(super) broker: Broker,
    pub(super) door: OpenDoor,
}

/// A running door.
pub(super) struct OpenDoor {
    pub(super) shutdown: CancellationToken,
    pub(super) actor: ActorRef<ServiceMsg>,
}

/// The settings of a door that tests vary.
pub(super) struct Setup {
    pub(super) people: People,
    pub(super) submits_per_minute: Option<u32>,
    pub(super) watches: usize,
    /// The maximum size of the records that watches keep in memory.
    pub(super) watch_bytes: usize,
    pub(super) in_flight: usize,
    /// `true` if the agents are the presets and those of the bucket. Otherwise there are two fixed
    /// agents.
    pub(super) presets: bool,
    /// The prices of models in the configuration.
    pub(super) prices: ByModel<Price>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            people: People::default(),
            submits_per_minute: None,
            watches: limits::WATCHES_MAX,
            watch_bytes: door::WATCH_BYTES_MAX,
            in_flight: 2_000,
            presets: false,
            prices: ByModel::default(),
        }
    }
}

pub(super) async fn open(memory: &Memory, setup: Setup) -> OpenDoor {
    open_on(memory.connect(WorkerId::new("door").unwrap()), setup).await
}

/// Opens a door on any broker.
pub(super) async fn open_on(broker: Broker, setup: Setup) -> OpenDoor {
    let named = |name: &str, confirm| {
        let name = AgentName::new(name).unwrap();
        (name.clone(), Agent { name, confirm, ..Agent::default() })
    };
    let agents = if setup.presets {
        Agents::open(&broker, Catalogue::presets()).await.unwrap()
    } else {
        HashMap::from([named("default", true), named("unattended", false)]).into()
    };
    let door = Door::new(DoorParts {
        agents,
        workflows: Workflows::open(&broker).await.unwrap(),
        prices: setup.prices,
        people: setup.people,
        submits_per_minute: setup.submits_per_minute,
        watches: setup.watches,
        watch_bytes: setup.watch_bytes,
        registry: Registry::open(&broker).await.unwrap(),
        crew: Crew::open(&broker),
        clock: Arc::new(SystemClock::new()),
        broker: broker.clone(),
    });
    let shutdown = CancellationToken::new();
    let args = ServiceArgs {
        broker,
        service: Arc::new(door),
        in_flight: setup.in_flight,
        shutdown: shutdown.clone(),
    };
    let (actor, _) = Actor::spawn(None, ServiceActor, args).await.unwrap();
    OpenDoor { shutdown, actor }
}

impl Hall {
    pub(super) async fn new() -> Self {
        Self::with(MemoryOptions::default(), Setup::default()).await
    }

    pub(super) async fn with(options: MemoryOptions, setup: Setup) -> Self {
        let memory = Memory::new(Subjects::new("cb", 4).unwrap(), options);
        let broker = memory.connect(WorkerId::new("test").unwrap());
        let door = open(&memory, setup).await;
        Self { memory, broker, door }
    }

    pub(super) async fn ask(
        &self,
        verb: impl Display + Copy,
        body: impl AsRef<[u8]>,
    ) -> Result<Value, Failure> {
        ask(&self.broker, verb, body, None).await
    }

    /// Returns the code of a refusal and the field that it names.
    pub(super) async fn refused(
        &self,
        verb: impl Display + Copy,
        body: impl AsRef<[u8]>,
    ) -> (Code, String) {
        let failure = match self.ask(verb, &body).await {
            Err(failure) => failure,
            Ok(answer) => {
                panic!("{} was taken: {answer}", String::from_utf8_lossy(body.as_ref()))
            }
        };
        assert!(!failure.hint.is_empty(), "{failure}");
        (failure.code, failure.field.unwrap_or_default())
    }

    /// Returns the ids of all jobs.
    pub(super) async fn jobs(&self) -> Vec<String> {
        let listed = self.ask("list", r#"{"limit":500}"#).await.unwrap();
        let jobs = listed["jobs"].as_array().unwrap();
        jobs.iter().map(|job| job["job"].as_str().unwrap().to_owned()).collect()
    }
}

/// Sends a request as any program would: bytes to a subject.
pub(super) async fn ask(
    broker: &Broker,
    verb: impl Display + Copy,
    body: impl AsRef<[u8]>,
    token: Option<&str>,
) -> Result<Value, Failure> {
    let answer = send(broker, verb, body, token).await.unwrap();
    match serde_json::from_slice::<Refusal>(&answer) {
        Ok(refusal) => Err(refusal.error),
        Err(_) => Ok(serde_json::from_slice(&answer).unwrap()),
    }
}

pub(super) async fn send(
    broker: &Broker,
    verb: impl Display + Copy,
    body: impl AsRef<[u8]>,
    token: Option<&str>,
) -> Result<Bytes, BusError> {
    let context = RequestContext { trace: None, token: token.map(str::to_owned) };
    let subject = broker.log.subjects().service(verb);
    let body = Bytes::copy_from_slice(body.as_ref());
    let wait = Duration::from_secs(20);
    broker.bus.request(subject, body, context, wait).await.map(|message| message.payload)
}
