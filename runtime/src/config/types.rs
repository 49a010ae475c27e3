//! The types of the settings. Origins and the checks across settings are in other modules.
//! `defaults.toml` documents every key too.

use broker::nats::{Certificate, NatsOptions};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use agents::price::ByModel;
use proto::{
    agent::Agent,
    budget::Price,
    door::Role,
    id::{AgentName, ID_MAX},
};
use serde::Deserialize;
use url::Url;

use super::{Admin, Secret, Telemetry};

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
    /// Settings of the front door.
    pub door: Door,
    /// The log of this process.
    pub log: Log,
    /// The export of traces, metrics and logs.
    pub telemetry: Telemetry,
    /// The admin listener.
    pub admin: Admin,
    /// The agents of this configuration. Each agent's name is its key.
    pub agents: BTreeMap<AgentName, Agent>,
    #[serde(skip)]
    pub(super) settings: Vec<super::Setting>,
}

/// The connection to the broker, and the layout of its streams.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nats {
    /// Addresses of the servers, separated by commas.
    pub url: String,
    /// The first token of every subject.
    pub prefix: String,
    /// The number of streams that hold the jobs (1 to 256). It cannot change after the installation
    /// is created.
    pub shards: u16,
    /// The number of replicas of every record (1, 3 or 5).
    pub replicas: u8,
    /// Time without a heartbeat after which a command is redelivered, in milliseconds (1 s to 1 h).
    pub ack_wait_ms: u64,
    /// Time after which a fact that no supervisor acknowledged is redelivered, in milliseconds (1 s
    /// to 1 h).
    pub facts_ack_wait_ms: u64,
    /// Time after which another supervisor takes over the shards of a dead one, in milliseconds (1
    /// s to 1 h).
    pub pin_timeout_ms: u64,
    /// Timeout of a connection attempt, in milliseconds.
    pub connect_timeout_ms: u64,
    /// Timeout of a request to the server, in milliseconds.
    pub request_timeout_ms: u64,
    /// The content of a NATS credentials file. Excludes `nkey`.
    pub credentials: Option<Secret>,
    /// The seed of an nkey. Excludes `credentials`.
    pub nkey: Option<Secret>,
    /// The inbox prefix of every reply to this process. Broker permissions keep other clients out
    /// of it.
    pub inbox_prefix: String,
    /// The inbox prefixes to which the front door sends replies.
    pub reply_inboxes: Vec<String>,
    /// `true` if missing streams, consumers and buckets are created. Otherwise a missing one is an
    /// error that names it.
    pub create: bool,
    /// TLS of the connection.
    pub tls: NatsTls,
}

/// TLS of the connection to the broker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NatsTls {
    /// `true` if a connection without TLS is refused.
    pub required: bool,
    /// A PEM file of certificate authorities, in addition to those of the system.
    pub ca_file: Option<PathBuf>,
    /// This client's certificate, in PEM. Present exactly when `key` is.
    pub cert: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    pub key: Option<PathBuf>,
}

impl Nats {
    /// Iterates over the addresses of the servers.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.url.split(',').map(str::trim)
    }
}

impl From<&Nats> for NatsOptions {
    fn from(nats: &Nats) -> Self {
        let certificate = nats.tls.cert.clone().zip(nats.tls.key.clone());
        Self {
            servers: nats.servers().map(str::to_owned).collect(),
            credentials: nats.credentials.as_ref().map(|secret| secret.value().clone()),
            nkey: nats.nkey.as_ref().map(|secret| secret.value().clone()),
            require_tls: nats.tls.required,
            ca_file: nats.tls.ca_file.clone(),
            certificate: certificate.map(|(file, key_file)| Certificate { file, key_file }),
            inbox_prefix: nats.inbox_prefix.clone(),
            reply_inboxes: nats.reply_inboxes.clone(),
            create: nats.create,
            replicas: nats.replicas,
            ack_wait_ms: nats.ack_wait_ms,
            facts_ack_wait_ms: nats.facts_ack_wait_ms,
            pin_timeout_ms: nats.pin_timeout_ms,
            connect_timeout_ms: nats.connect_timeout_ms,
            request_timeout_ms: nats.request_timeout_ms,
            ..Self::default()
        }
    }
}

/// Limits of the supervisor role.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Supervisor {
    /// The interval between sweeps over every open job, in milliseconds.
    pub sweep_interval_ms: u64,
    /// The maximum number of jobs whose fold is kept in memory.
    pub cache_jobs: usize,
}

/// Limits of the worker roles.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workers {
    /// The maximum number of concurrent planner calls.
    pub plan_slots: usize,
    /// The maximum number of concurrent model turns.
    pub turn_slots: usize,
    /// The maximum number of concurrent tool calls, over all tools.
    pub call_slots: usize,
    /// The maximum number of questions that are being put into the inbox. An open question takes no
    /// slot.
    pub ask_slots: usize,
    /// The time that running tasks have after the shutdown begins, in milliseconds.
    pub drain_ms: u64,
    /// Deliveries of a command before it is reported lost.
    pub deliveries_max: u64,
    /// The interval between heartbeats, in milliseconds. When absent, a third of
    /// `nats.ack_wait_ms`.
    pub heartbeat_ms: Option<u64>,
}

impl Workers {
    /// Returns the time that running tasks have after the shutdown begins.
    #[must_use]
    pub fn drain(&self) -> Duration {
        Duration::from_millis(self.drain_ms)
    }

    /// Returns the interval between heartbeats, if it is set.
    #[must_use]
    pub fn heartbeat(&self) -> Option<Duration> {
        self.heartbeat_ms.map(Duration::from_millis)
    }
}

/// The default language model. Without a `kind` there is no model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The wire format of the provider.
    pub kind: Option<ModelKind>,
    /// The address of the provider. When absent, the provider's public address.
    pub base_url: Option<Url>,
    /// The model's name at the provider. Present when `kind` is.
    pub name: Option<String>,
    /// The script of the scripted model. Present exactly when `kind` is [`ModelKind::Script`].
    pub script: Option<PathBuf>,
    /// The provider's API key. Required for a public address.
    pub api_key: Option<Secret>,
    /// The sampling temperature (0.0 to 2.0).
    pub temperature: Option<f64>,
    /// The nucleus sampling threshold (above 0.0, at most 1.0).
    pub top_p: Option<f64>,
    /// Bound of a reply, in tokens.
    pub max_tokens: Option<u32>,
    /// The context window: tokens of a conversation that the model takes, without the reply. When
    /// absent, conversations are not shortened.
    pub context_tokens: Option<u32>,
    /// Bound of a reply, in bytes.
    pub max_reply_bytes: usize,
    /// Time limits of one call.
    pub timeouts_ms: ModelTimeouts,
    /// Retries inside one call, before the first piece of a reply.
    pub retry: ModelRetry,
    /// The price of tokens, which the cost metric and budgets use. When absent, no cost is counted.
    pub price: Option<ModelPrice>,
    /// Context windows and prices of models by name. An entry overrides `price` and
    /// `context_tokens` for its model.
    pub known: Vec<KnownModel>,
}

/// The context window and the price of one model. Models are a list and not a table, because their
/// names contain dots and slashes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownModel {
    /// The model's name at the provider.
    pub name: String,
    /// The context window: tokens of a conversation that the model takes, without the reply.
    pub context_tokens: Option<u32>,
    /// The price of the model's tokens.
    pub price: Option<ModelPrice>,
}

impl Model {
    /// Returns the prices by model. `price` belongs to the default model.
    #[must_use]
    pub fn prices(&self) -> ByModel<Price> {
        let price = |price: ModelPrice| Price {
            input_per_million: price.input_per_million,
            output_per_million: price.output_per_million,
        };
        let known = self.known.iter().filter_map(|m| Some((&m.name, price(m.price?))));
        let usual = ByModel::usual(self.name.clone(), self.price.map(price));
        known.fold(usual, |prices, (name, price)| prices.with(name, price))
    }

    /// Returns the context windows by model. `context_tokens` applies to every model without an
    /// entry of its own.
    #[must_use]
    pub fn windows(&self) -> ByModel<u32> {
        let known = self.known.iter().filter_map(|m| Some((&m.name, m.context_tokens?)));
        let usual = ByModel::usual(self.name.clone(), self.context_tokens);
        let usual = usual.others(self.context_tokens);
        known.fold(usual, |windows, (name, tokens)| windows.with(name, tokens))
    }
}

/// The price of a model's tokens, in US dollars per million.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// The price of input tokens.
    pub input_per_million: f64,
    /// The price of output tokens.
    pub output_per_million: f64,
}

/// The wire format of a model provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Chat completions as OpenAI defined them.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// Ollama's own API.
    Ollama,
    /// The scripted model, inside this process.
    Script,
}

/// Time limits of one model call, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTimeouts {
    /// Timeout of opening a connection.
    pub connect: u64,
    /// Timeout from the request to the first piece of the reply.
    pub first_token: u64,
    /// Timeout between two pieces of the reply.
    pub idle: u64,
    /// Timeout of the whole call, retries included.
    pub total: u64,
}

/// Retries inside one model call.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRetry {
    /// The maximum number of attempts (1 to 20).
    pub max_attempts: u32,
    /// The wait before the second attempt, in milliseconds.
    pub initial_interval_ms: u64,
    /// The factor between two successive waits (1.0 to 10.0).
    pub backoff_factor: f32,
    /// The longest single wait, in milliseconds.
    pub max_interval_ms: u64,
    /// `true` if waits are randomised.
    pub jitter: bool,
    /// The bound of the sum of all waits, in milliseconds.
    pub max_wait_ms: u64,
}

/// Settings of the built-in tools.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// The directory that file tools see. A relative path starts at the working directory of the
    /// process.
    pub workspace: PathBuf,
    /// Settings of the HTTP tool.
    pub http: Http,
}

/// Settings of the HTTP tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// `true` if the tool may reach private and local addresses.
    pub allow_private: bool,
    /// Hosts that the tool may reach. Empty: every public host.
    pub allow_hosts: Vec<String>,
    /// Timeout of a request, in milliseconds.
    pub timeout_ms: u64,
    /// Bound of a response, in bytes.
    pub max_bytes: usize,
}

/// Settings of the front door.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Door {
    /// The users of the front door, by name. Empty: everybody may do everything.
    pub people: BTreeMap<PersonName, Person>,
    /// The maximum number of requests that one process serves at once.
    pub max_in_flight: usize,
    /// The maximum number of submissions of one user per minute. Unlimited when absent.
    pub submits_per_minute: Option<u32>,
    /// A directory of agents, one YAML file each. `None` adds no agents.
    pub agents_dir: Option<PathBuf>,
}

/// A user of the front door.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Person {
    /// The SHA-256 of the user's token, in lower-case hex.
    pub token_sha256: String,
    /// The user's rights; never empty.
    pub roles: Vec<Role>,
}

/// The name of a user of the front door: 1 to 64 characters of A-Z a-z 0-9 _ - @.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct PersonName(String);

impl PersonName {
    /// Returns the name as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for PersonName {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-@".contains(&b);
        if name.is_empty() || name.len() > ID_MAX || !name.bytes().all(plain) {
            return Err("a person's name is 1 to 64 characters of A-Z a-z 0-9 _ - @".to_owned());
        }
        Ok(Self(name))
    }
}

/// The log of the process.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// A level, or a filter such as `info,callboard_runtime=debug`.
    pub level: String,
    /// The format of the lines.
    pub format: LogFormat,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Pretty on a terminal, JSON otherwise.
    Auto,
    /// Readable by people, in colours where the terminal has them.
    Pretty,
    /// One JSON object a line.
    Json,
}
