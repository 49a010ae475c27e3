//! The settings of the program, put together from the sections of its parts.

pub mod model;

use std::{collections::BTreeMap, sync::Arc};

use agents::conflicts;
use door::settings::Door;
use gateway::{settings::Gateway, webhooks::Webhooks};
use mcp_client::settings::{Given, Mcp};
use oidc::Oidc;
use proto::{agent::Agent, id::AgentName};
use runtime::{
    admin::settings::Admin,
    config::{
        self, Check, ConfigErrors, Entries, Part, Secret, Section, Setting, Settings, Sources,
    },
    nats::Nats,
    telemetry::{
        Content,
        settings::{Log, Telemetry},
    },
    worker::Workers,
};
use secrecy::SecretString;
use serde::Deserialize;
use supervisor::settings::Supervisor;
use tool_actors::settings::Tools;

use self::model::Model;
use crate::words::Text;

/// The checked configuration of a process.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The connection to the broker, and the layout of its streams.
    pub nats: Nats,
    /// Limits of the supervisor role.
    pub supervisor: Supervisor,
    /// Limits of the worker roles.
    pub workers: Workers,
    /// The language model.
    pub model: Model,
    /// Settings of the built-in tools.
    pub tools: Tools,
    /// MCP servers, whose tools the role `tools` offers.
    pub mcp: Mcp,
    /// Settings of the front door.
    pub door: Door,
    /// The issuer of tokens.
    pub oidc: Oidc,
    /// Settings of the HTTP gateway.
    pub gateway: Gateway,
    /// Settings of webhooks.
    pub webhooks: Webhooks,
    /// The log of this process.
    pub log: Log,
    /// The export of traces, metrics and logs.
    pub telemetry: Telemetry,
    /// The admin listener.
    pub admin: Admin,
    /// Policies by name. Each agent's name is its key.
    pub agents: Agents,
    #[serde(skip)]
    settings: Vec<Setting>,
}

/// Policies by name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Agents(pub BTreeMap<AgentName, Agent>);

impl Section for Agents {
    const NAME: &'static str = "agents";
    const DEFAULTS: &'static str = include_str!("agents.toml");
    const ENTRIES: Option<Entries> = Some(Entries {
        one: || Text::AnAgent.into(),
        name: |name| AgentName::new(name).map(drop).map_err(|error| error.words()),
    });

    fn check(&self, check: &mut Check) {
        for (name, agent) in &self.0 {
            if let Err(error) = conflicts::check(agent) {
                check.wrong(format!("agents.{name}.{}", error.field), error.why);
            }
        }
    }
}

impl Settings for Config {
    fn parts() -> Vec<Part> {
        vec![
            Part::of::<Nats>(),
            Part::of::<Supervisor>(),
            Part::of::<Workers>(),
            Part::of::<Model>(),
            Part::of::<Tools>(),
            Part::of::<Mcp>(),
            Part::of::<Door>(),
            Part::of::<Oidc>(),
            Part::of::<Gateway>(),
            Part::of::<Webhooks>(),
            Part::of::<Log>(),
            Part::of::<Telemetry>(),
            Part::of::<Admin>(),
            Part::of::<Agents>(),
        ]
    }

    fn secrets(&mut self) -> Vec<&mut Option<Secret>> {
        let mut secrets = self.nats.secrets();
        secrets.extend(self.model.secrets());
        secrets.extend(self.tools.secrets());
        secrets.extend(self.oidc.secrets());
        secrets.extend(self.webhooks.secrets());
        secrets
    }

    fn secrets_of_entries(&mut self) -> Vec<&mut Secret> {
        let mut secrets = self.mcp.secrets_of_entries();
        secrets.extend(self.webhooks.secrets_of_entries());
        secrets
    }

    fn check(&self, check: &mut Check) {
        let Self {
            nats,
            supervisor,
            workers,
            model,
            tools,
            mcp,
            door,
            oidc,
            gateway,
            webhooks,
            log,
            telemetry,
            admin,
            agents,
            settings: _,
        } = self;
        nats.check(check);
        supervisor.check(check);
        workers.check(check);
        model.check(check);
        tools.check(check);
        mcp.check(check);
        door.check(check);
        oidc.check(check);
        gateway.check(check);
        webhooks.check(check);
        if gateway.is_public() && door.people.is_empty() && oidc.issuer.is_none() {
            check.wrong("gateway.listen", Text::GatewayNeedsPeople);
        }
        log.check(check);
        telemetry.check(check);
        admin.check(check);
        agents.check(check);
        let ack_wait_ms = nats.ack_wait_ms;
        if workers.heartbeat_ms.is_some_and(|ms| ms > ack_wait_ms / 2) {
            check.wrong("workers.heartbeat_ms", Text::HalfOfAckWait { value: &ack_wait_ms });
        }
    }
}

impl Config {
    /// Reads and checks all sources.
    ///
    /// # Errors
    /// Every mistake in the sources.
    pub fn load(sources: &Sources) -> Result<Self, ConfigErrors> {
        let (config, settings) = config::load::<Self>(sources)?;
        Ok(Self { settings, ..config })
    }

    /// Returns every setting with its origin, in the order of the keys. Secrets are masked.
    #[must_use]
    pub fn explain(&self) -> &[Setting] {
        &self.settings
    }

    /// Returns the values of the secrets that are set.
    fn known_secrets(&self) -> impl Iterator<Item = SecretString> {
        let Self { model, nats, oidc, tools, mcp, .. } = self;
        let tool_actors::search::settings::Search { brave, tavily, exa, .. } = &tools.search;
        let secrets = [
            &model.api_key,
            &nats.credentials,
            &nats.nkey,
            &oidc.client_secret,
            &brave.api_key,
            &tavily.api_key,
            &exa.api_key,
        ];
        let servers = mcp.servers.values();
        let given = servers.flat_map(|server| server.env.values().chain(server.headers.values()));
        let given = given.filter_map(|given| match given {
            Given::Plain(_) => None,
            Given::Secret(secret) => Some(secret),
        });
        let secrets = secrets.into_iter().flatten().chain(given);
        secrets.filter_map(|secret| secret.value().ok().cloned())
    }

    /// Returns the filter of content in traces, or `None` when `telemetry.content` is off.
    pub(crate) fn content(&self) -> Option<Arc<Content>> {
        Content::of(&self.telemetry, self.known_secrets())
    }
}

#[cfg(test)]
mod tests;
