//! The front door's server side: verbs that submit, show, watch and signal jobs. Answers to
//! questions go to the interaction actor, which serves the same NATS service.
//!
//! Architecture invariant: the door decides nothing. It appends facts and reads logs, and only
//! stored records count. A request whose reply was lost can be sent again.

mod admit;
pub mod agents;
mod batch;
mod bucket;
mod conversation;
mod count;
mod dead_letters;
mod descendants;
mod direct;
mod download;
mod events;
mod files;
mod fold;
mod folds;
mod forking;
mod graph;
mod index;
mod list;
mod output;
mod planned;
mod presets;
mod preview;
pub mod pricing;
mod quota;
mod rollback;
mod row;
mod secrets;
pub mod settings;
mod signal;
mod submit;
mod surroundings;
mod truncate;
mod usage;
mod watch;
mod workflow;
pub mod workflows;

use std::{collections::BTreeSet, sync::Arc};

use ::agents::price::ByModel;
use async_trait::async_trait;
use broker::{Broker, clock::Clock};
use proto::{
    budget::Price,
    door::{
        self, About, AgentRevisions, Batch, Count, Dead, Download, DropAgent, DropWorkflow, Get,
        GetAbout, GetCrew, GetGraph, GetTools, GetUsage, List, Preview, RefusedTool, SendSignal,
        Server, SetAgent, SetWorkflow, Submit, Tools, Upload, Verb,
    },
    error::Failure,
    id::ToolName,
    view::JobView,
};
use runtime::{
    people::People,
    presence::Crew,
    registry::Registry,
    schema::Schemas,
    service::{Answers, Asked, Call, Handled, Service},
};

use self::{
    agents::Agents,
    folds::Found,
    index::Index,
    quota::Quota,
    surroundings::Observer,
    watch::{Hub, Slots},
    workflows::Workflows,
};

/// Usual value of [`DoorParts::watch_bytes`].
pub const WATCH_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The parts that a [`Door`] is built from.
#[derive(Debug, Clone)]
pub struct DoorParts {
    /// Connection to the logs, buckets and objects.
    pub broker: Broker,
    /// Agents that submissions may name. A submission without an agent gets `default`.
    pub agents: Agents,
    /// Workflows that submissions, agents and nodes may name.
    pub workflows: Workflows,
    /// Prices of the configured models, for budgets of money.
    pub prices: ByModel<Price>,
    /// Users and their roles.
    pub people: People,
    /// Limit on the submissions of one user per minute, in this process; `None` for no limit.
    pub submits_per_minute: Option<u32>,
    /// Limit on concurrent watches; usually [`proto::limits::WATCHES_MAX`].
    pub watches: usize,
    /// Limit on the bytes of records that all watches together keep in memory; usually
    /// [`WATCH_BYTES_MAX`]. A slow or late watcher reads older records from the log.
    pub watch_bytes: usize,
    /// Tool registry.
    pub registry: Registry,
    /// Presence of all processes.
    pub crew: Crew,
    /// Clock of the submission quota, and of the changes of agents.
    pub clock: Arc<dyn Clock>,
}

/// The front door, to be run by a [`runtime::service::ServiceActor`].
#[derive(Debug)]
pub struct Door {
    broker: Broker,
    agents: Agents,
    workflows: Workflows,
    prices: ByModel<Price>,
    clock: Arc<dyn Clock>,
    people: People,
    quota: Quota,
    watches: Arc<Slots>,
    hub: Hub,
    index: Index,
    registry: Registry,
    schemas: Schemas,
    crew: Crew,
    observer: Observer,
}

impl Door {
    /// Builds a door from its parts.
    #[must_use]
    pub fn new(parts: DoorParts) -> Self {
        let observer = Observer::new(parts.broker.clone(), parts.crew.clone());
        Self {
            hub: Hub::new(parts.broker.clone(), observer.clone(), parts.watch_bytes),
            observer,
            index: Index::default(),
            broker: parts.broker,
            agents: parts.agents,
            workflows: parts.workflows,
            prices: parts.prices,
            people: parts.people,
            quota: Quota::new(parts.submits_per_minute, Arc::clone(&parts.clock)),
            clock: parts.clock,
            watches: Slots::new(parts.watches),
            registry: parts.registry,
            schemas: Schemas::default(),
            crew: parts.crew,
        }
    }

    /// The names of the tools that are registered now.
    fn tool_names(&self) -> BTreeSet<ToolName> {
        self.registry.all().iter().map(|tool| tool.spec.name.clone()).collect()
    }
}

impl Answers<Get> for Door {
    async fn answer(&self, asked: Asked<'_, Get>) -> Result<JobView, Failure> {
        let request = asked.request()?;
        let view = match &request.at {
            None => match self.observer.folds.job(&*self.broker.log, &request.job).await? {
                Found::Folded(folded) => self.observer.view(&folded.job).await?,
                Found::Broken(failure) => return Err(failure),
                Found::Missing => return Err(fold::missing(&request.job)),
            },
            Some(at) => {
                let entries = fold::read(&*self.broker.log, &request.job).await?;
                let job = fold::apart(&request.job, || {
                    let past = rollback::Past::of(&request.job, &entries);
                    past.seq_of(at, "at").map(|seq| past.job_at(seq))
                })?
                .map_err(|refused| *refused)?;
                fold::view(&job)?
            }
        };
        truncate::view(view)
    }
}

impl Answers<GetTools> for Door {
    async fn answer(&self, asked: Asked<'_, GetTools>) -> Result<Tools, Failure> {
        let GetTools {} = asked.request()?;
        let tools: Vec<_> = self.registry.all().iter().map(|tool| tool.spec.clone()).collect();
        let refused = self.registry.refused().into_iter();
        let refused = refused.map(|(name, why)| RefusedTool { name, why }).collect();
        let workers = self.observer.workers(tools.iter());
        Ok(Tools { tools, refused, workers })
    }
}

impl Answers<GetCrew> for Door {
    async fn answer(&self, asked: Asked<'_, GetCrew>) -> Result<door::Crew, Failure> {
        let GetCrew { queues } = asked.request()?;
        let workers = self.crew.members().values().cloned().collect();
        let queues = if queues { Some(self.observer.depths().await) } else { None };
        Ok(door::Crew { workers, queues })
    }
}

impl Answers<GetAbout> for Door {
    async fn answer(&self, asked: Asked<'_, GetAbout>) -> Result<About, Failure> {
        let GetAbout {} = asked.request()?;
        let (caller, roles) = self.people.identify(asked.call.token.as_deref()).await?;
        let may = Verb::ALL.into_iter().filter(|verb| verb.is_allowed(&roles));
        Ok(About {
            by: caller.recorded(None)?,
            may: may.map(|verb| verb.name().to_owned()).collect(),
            roles,
            shards: self.broker.log.subjects().shards(),
        })
    }
}

#[async_trait]
impl Service for Door {
    fn name(&self) -> &'static str {
        "front door"
    }

    fn verbs(&self) -> Vec<Verb> {
        Server::Door.verbs().collect()
    }

    async fn handle(&self, call: &Call) -> Result<Handled, Failure> {
        let people = &self.people;
        match call.verb {
            Verb::Submit => call.answer::<Submit>(people, self).await,
            Verb::Get => call.answer::<Get>(people, self).await,
            Verb::Graph => call.answer::<GetGraph>(people, self).await,
            Verb::List => call.answer::<List>(people, self).await,
            Verb::Count => call.answer::<Count>(people, self).await,
            Verb::Usage => call.answer::<GetUsage>(people, self).await,
            Verb::Watch => self.watch(Asked::admit(call, people).await?).await,
            Verb::Signal => call.answer::<SendSignal>(people, self).await,
            Verb::Preview => call.answer::<Preview>(people, self).await,
            Verb::Batch => call.answer::<Batch>(people, self).await,
            Verb::Dead => call.answer::<Dead>(people, self).await,
            Verb::Tools => call.answer::<GetTools>(people, self).await,
            Verb::About => call.answer::<GetAbout>(people, self).await,
            Verb::Crew => call.answer::<GetCrew>(people, self).await,
            Verb::Agents => call.answer::<door::Agents>(people, self).await,
            Verb::SetAgent => call.answer::<SetAgent>(people, self).await,
            Verb::DropAgent => call.answer::<DropAgent>(people, self).await,
            Verb::AgentRevisions => call.answer::<AgentRevisions>(people, self).await,
            Verb::Workflows => call.answer::<door::Workflows>(people, self).await,
            Verb::SetWorkflow => call.answer::<SetWorkflow>(people, self).await,
            Verb::DropWorkflow => call.answer::<DropWorkflow>(people, self).await,
            Verb::Upload => call.answer::<Upload>(people, self).await,
            Verb::Download => call.answer::<Download>(people, self).await,
            Verb::Inbox | Verb::Answer | Verb::Link | Verb::Unlink | Verb::Redeem => {
                Err(call.served_elsewhere())
            }
        }
    }
}
