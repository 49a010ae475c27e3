//! The front door's server side: new jobs, looking at jobs, watching them, and telling them what to
//! do. Answers to questions are taken by the interaction actor, under the same service.
//!
//! It must never decide anything: it appends facts and reads logs. What is stored is what counts;
//! a request whose answer got lost can be sent again.

mod admit;
pub mod agents;
mod conversation;
mod dead_letters;
mod descendants;
mod direct;
mod files;
mod fold;
mod forking;
mod list;
mod presets;
mod pricing;
mod quota;
mod rollback;
mod secrets;
pub mod settings;
mod signal;
mod submit;
mod truncate;
mod watch;

use std::{collections::BTreeSet, sync::Arc};

use ::agents::price::ByModel;
use async_trait::async_trait;
use broker::{Broker, bus::Endpoint, clock::Clock};
use proto::{
    budget::Price,
    door::{Crew as CrewReply, Get, Tools, verbs},
    error::Failure,
    id::ToolName,
    strict,
};
use runtime::{
    config::Role,
    people::{Caller, People},
    presence::Crew,
    registry::Registry,
    schema::Schemas,
    service::{Call, Handled, Service},
};
use tokio::sync::Semaphore;

use self::{agents::Agents, quota::Quota, watch::Hub};

/// Bytes of records that the watches of a process keep in memory.
pub const WATCH_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What a door is made of.
#[derive(Debug, Clone)]
pub struct DoorParts {
    /// Where jobs live.
    pub broker: Broker,
    /// The agents that submissions may name. One without an agent gets `default`.
    pub agents: Agents,
    /// What the configured model costs, for budgets of money.
    pub prices: ByModel<Price>,
    /// Who may do what.
    pub people: People,
    /// Submissions of one person in a minute, in this process; unlimited when absent.
    pub submits_per_minute: Option<u32>,
    /// Watches in hand at most; [`proto::limits::WATCHES_MAX`] is usual.
    pub watches: usize,
    /// Bytes of records that all watches keep in memory together; [`WATCH_BYTES_MAX`] is usual. What
    /// a slow or late watcher needs beyond that is read from the log again.
    pub watch_bytes: usize,
    /// The tools that are shown.
    pub registry: Registry,
    /// The processes that are shown.
    pub crew: Crew,
    /// Measures the minute.
    pub clock: Arc<dyn Clock>,
}

/// The front door: give it to a [`runtime::service::ServiceActor`].
#[derive(Debug)]
pub struct Door {
    broker: Broker,
    agents: Agents,
    prices: ByModel<Price>,
    people: People,
    quota: Quota,
    watches: Arc<Semaphore>,
    hub: Hub,
    registry: Registry,
    schemas: Schemas,
    crew: Crew,
}

const ENDPOINTS: [Endpoint; 12] = [
    Endpoint {
        verb: verbs::SUBMIT,
        description: "Stores a new job, or attaches to the one with the same id and body.",
    },
    Endpoint { verb: verbs::GET, description: "One job." },
    Endpoint { verb: verbs::LIST, description: "Jobs, newest first." },
    Endpoint {
        verb: verbs::WATCH,
        description: "A job's log from a position on, then live: many replies.",
    },
    Endpoint {
        verb: verbs::SIGNAL,
        description: "Cancels, pauses, resumes or rolls back a job, has it try again, or tells it something.",
    },
    Endpoint {
        verb: verbs::DEAD,
        description: "Dead letters: jobs and work that wait for an operator.",
    },
    Endpoint { verb: verbs::TOOLS, description: "Registered tools." },
    Endpoint { verb: verbs::CREW, description: "Live processes." },
    Endpoint { verb: verbs::AGENTS, description: "Agents that submissions may name." },
    Endpoint { verb: verbs::SET_AGENT, description: "Puts an agent into the bucket of agents." },
    Endpoint { verb: verbs::DROP_AGENT, description: "Takes an agent out of the bucket." },
    Endpoint {
        verb: verbs::UPLOAD,
        description: "Stores a piece of a file that a submission will name; the request is its bytes.",
    },
];

impl Door {
    /// Puts a door together.
    #[must_use]
    pub fn new(parts: DoorParts) -> Self {
        Self {
            hub: Hub::new(parts.broker.clone(), parts.watch_bytes),
            broker: parts.broker,
            agents: parts.agents,
            prices: parts.prices,
            people: parts.people,
            quota: Quota::new(parts.submits_per_minute, parts.clock),
            watches: Arc::new(Semaphore::new(parts.watches)),
            registry: parts.registry,
            schemas: Schemas::default(),
            crew: parts.crew,
        }
    }

    fn admit(&self, call: &Call, role: Role) -> Result<Caller, Failure> {
        self.people.admit(call.token.as_deref(), &[role])
    }

    async fn get(&self, call: &Call) -> Result<Handled, Failure> {
        self.admit(call, Role::Read)?;
        let request: Get = strict::request(&call.payload)?;
        let job = match &request.at {
            None => fold::load(&*self.broker.log, &request.job).await?,
            Some(at) => {
                let entries = fold::read(&*self.broker.log, &request.job).await?;
                fold::apart(&request.job, || {
                    let past = rollback::Past::of(&request.job, &entries);
                    past.seq_of(at, "at").map(|seq| past.job_at(seq))
                })?
                .map_err(|refused| *refused)?
            }
        };
        Handled::json(&truncate::view(fold::view(&job)?)?)
    }

    /// The names of the tools that are registered now.
    fn tool_names(&self) -> BTreeSet<ToolName> {
        self.registry.all().iter().map(|tool| tool.spec.name.clone()).collect()
    }

    fn tools(&self, call: &Call) -> Result<Handled, Failure> {
        self.admit(call, Role::Read)?;
        admit::nothing(&call.payload)?;
        let tools = self.registry.all().iter().map(|tool| tool.spec.clone()).collect();
        Handled::json(&Tools { tools })
    }

    fn crew(&self, call: &Call) -> Result<Handled, Failure> {
        self.admit(call, Role::Read)?;
        admit::nothing(&call.payload)?;
        Handled::json(&CrewReply { workers: self.crew.members().values().cloned().collect() })
    }
}

#[async_trait]
impl Service for Door {
    fn name(&self) -> &'static str {
        "front door"
    }

    fn endpoints(&self) -> Vec<Endpoint> {
        ENDPOINTS.to_vec()
    }

    async fn handle(&self, call: &Call) -> Result<Handled, Failure> {
        match call.verb {
            verbs::SUBMIT => self.submit(call).await,
            verbs::GET => self.get(call).await,
            verbs::LIST => self.list(call).await,
            verbs::WATCH => self.watch(call).await,
            verbs::SIGNAL => self.signal(call).await,
            verbs::DEAD => self.dead(call).await,
            verbs::TOOLS => self.tools(call),
            verbs::CREW => self.crew(call),
            verbs::AGENTS => self.agents(call),
            verbs::SET_AGENT => self.set_agent(call).await,
            verbs::DROP_AGENT => self.drop_agent(call).await,
            verbs::UPLOAD => self.upload(call).await,
            other => {
                let why = format!("there is no verb {other:?} here");
                Err(Failure::new(proto::error::Code::InvalidRequest, why))
            }
        }
    }
}
