//! The settings of webhooks.

use std::collections::{BTreeMap, BTreeSet};

use proto::{
    id::{AgentName, HookName},
    lang::{Language, Words},
    limits,
};
use runtime::config::{Check, DAY, Secret, Section};
use serde::Deserialize;
use url::Url;

use super::{event::EventType, signature::Keys};
use crate::words::Text;

/// Largest number of webhooks of one direction. Each one that sends has a consumer in every shard.
pub const HOOKS_MAX: usize = 16;
/// Largest number of secrets of a webhook: the old and the new one while it changes.
pub const SECRETS_MAX: usize = 2;

/// Largest number of tries after the first one.
pub const RETRIES_MAX: usize = 16;

/// Settings of webhooks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhooks {
    /// Address of the console, for links. `None`: events have no links, and notifications no files.
    pub console: Option<Url>,
    /// Token with which the gateway asks the front door what events mean.
    pub token: Option<Secret>,
    /// Waits after failed tries, in seconds. After the last one an event is dropped.
    pub retry_after_seconds: Vec<u64>,
    /// Notifications of A2A tasks.
    pub a2a: Notifications,
    /// Events that go out, by the name of the webhook.
    #[serde(default)]
    pub out: BTreeMap<HookName, Outgoing>,
    /// Deliveries that become jobs, by the name of the webhook.
    #[serde(default, rename = "in")]
    pub incoming: BTreeMap<HookName, Incoming>,
}

/// Notifications of A2A tasks, which go to receivers that clients set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notifications {
    /// `true` if clients may set receivers.
    pub enabled: bool,
    /// `true` if receivers may have private addresses.
    pub allow_private: bool,
    /// `true` if the addresses of receivers may begin with `http`.
    pub allow_http: bool,
}

/// A webhook that sends events.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outgoing {
    /// Address of the receiver.
    pub url: Url,
    /// Secrets of the signature.
    pub secrets: Vec<Secret>,
    /// Events to send. `None`: all.
    #[serde(default)]
    pub events: Option<Vec<EventType>>,
    /// Agents whose jobs are told of. `None`: all.
    #[serde(default)]
    pub agents: Option<Vec<AgentName>>,
    /// `true` if the receiver may have a private address.
    #[serde(default)]
    pub allow_private: bool,
    /// `true` if the address of the receiver may begin with `http`.
    #[serde(default)]
    pub allow_http: bool,
}

impl Outgoing {
    /// `true` if the receiver wants such events.
    #[must_use]
    pub fn wants(&self, event: EventType) -> bool {
        self.events.as_ref().is_none_or(|events| events.contains(&event))
    }

    /// `true` if the receiver is told of the jobs of this agent.
    #[must_use]
    pub fn concerns(&self, agent: &AgentName) -> bool {
        self.agents.as_ref().is_none_or(|agents| agents.contains(agent))
    }
}

/// A webhook whose deliveries become jobs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incoming {
    /// Agent of the jobs.
    pub agent: AgentName,
    /// Goal of the jobs.
    pub goal: String,
    /// Secrets of the signature.
    pub secrets: Vec<Secret>,
    /// Token whose owner submits the jobs.
    #[serde(default)]
    pub token: Option<Secret>,
}

impl Section for Webhooks {
    const NAME: &'static str = "webhooks";
    const DEFAULTS: &'static str = include_str!("settings.toml");
    const SECRETS: &'static [&'static str] = &["webhooks.token"];

    fn secrets(&mut self) -> Vec<&mut Option<Secret>> {
        vec![&mut self.token]
    }

    fn secrets_of_entries(&mut self) -> Vec<&mut Secret> {
        let out = self.out.values_mut().flat_map(|hook| &mut hook.secrets);
        let incoming = self.incoming.values_mut();
        let incoming = incoming.flat_map(|hook| hook.secrets.iter_mut().chain(&mut hook.token));
        out.chain(incoming).collect()
    }

    fn check(&self, check: &mut Check) {
        for (key, count) in [("webhooks.out", self.out.len()), ("webhooks.in", self.incoming.len())]
        {
            if count > HOOKS_MAX {
                check.wrong(key, Text::HooksMax { max: &HOOKS_MAX });
            }
        }
        let key = "webhooks.retry_after_seconds";
        if self.retry_after_seconds.len() > RETRIES_MAX {
            check.wrong(key, Text::RetriesMax { max: &RETRIES_MAX });
        }
        for wait in &self.retry_after_seconds {
            check.bounds(&[(key, *wait, 1, DAY / 1_000)]);
        }
        if let Some(console) = &self.console {
            check.http("webhooks.console", console, None);
        }
        let tasks = HookName::tasks();
        if self.out.contains_key(&tasks) {
            check.wrong(format!("webhooks.out.{tasks}"), Text::HookReserved);
        }
        for (name, hook) in &self.out {
            let key = |last: &str| format!("webhooks.out.{name}.{last}");
            check.http(&key("url"), &hook.url, None);
            if hook.url.scheme() == "http" && !hook.allow_http {
                check.wrong(key("url"), Text::HookHttps);
            }
            if hook.events.as_ref().is_some_and(Vec::is_empty) {
                check.wrong(key("events"), Text::HookEmpty);
            }
            if hook.agents.as_ref().is_some_and(Vec::is_empty) {
                check.wrong(key("agents"), Text::HookEmpty);
            }
            secrets(&key("secrets"), &hook.secrets, check);
        }
        for (name, hook) in &self.incoming {
            let key = |last: &str| format!("webhooks.in.{name}.{last}");
            if hook.goal.trim().is_empty() || hook.goal.len() > limits::GOAL_BYTES_MAX {
                check.outside(key("goal"), &1, &limits::GOAL_BYTES_MAX);
            }
            secrets(&key("secrets"), &hook.secrets, check);
        }
    }
}

fn secrets(key: &str, secrets: &[Secret], check: &mut Check) {
    if !(1..=SECRETS_MAX).contains(&secrets.len()) {
        check.outside(key, &1, &SECRETS_MAX);
    }
}

/// A secret that the role needs and cannot use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.words().text(Language::En))]
pub struct Unusable {
    /// Key of the setting.
    key: String,
    /// The reason.
    why: Words,
}

impl Unusable {
    /// Returns the key and the reason, for users.
    #[must_use]
    pub fn words(&self) -> Words {
        Words::new(|language| format!("{}: {}", self.key, self.why.text(language)))
    }
}

impl Webhooks {
    /// Returns the names of all outboxes: of the webhooks that send, and of notifications.
    #[must_use]
    pub fn outboxes(&self) -> BTreeSet<HookName> {
        let tasks = self.a2a.enabled.then(HookName::tasks);
        self.out.keys().cloned().chain(tasks).collect()
    }

    /// Checks the secrets, which only the role itself needs.
    ///
    /// # Errors
    /// The first secret that cannot be fetched, or has another form than the standard's.
    pub fn usable(&self) -> Result<(), Unusable> {
        let out = self.out.iter().map(|(name, hook)| ("out", name, &hook.secrets, None));
        let incoming = self.incoming.iter();
        let incoming =
            incoming.map(|(name, hook)| ("in", name, &hook.secrets, hook.token.as_ref()));
        for (direction, name, secrets, token) in out.chain(incoming) {
            let key = |last: &str| format!("webhooks.{direction}.{name}.{last}");
            Keys::of(secrets).map_err(|why| Unusable { key: key("secrets"), why })?;
            if let Some(Err(why)) = token.map(Secret::value) {
                return Err(Unusable { key: key("token"), why: why.clone() });
            }
        }
        match self.token.as_ref().map(Secret::value) {
            Some(Err(why)) => Err(Unusable { key: "webhooks.token".to_owned(), why: why.clone() }),
            Some(Ok(_)) | None => Ok(()),
        }
    }
}
