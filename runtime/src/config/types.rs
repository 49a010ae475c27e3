//! The settings as types. The shapes are here; where a value came from and whether values fit each
//! other is told elsewhere. Every key has its meaning in `defaults.toml` too.

use broker::nats::{Certificate, NatsOptions};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use proto::{
    agent::Agent,
    budget::Price,
    door::Role,
    id::{AgentName, ID_MAX},
    price::ByModel,
};
use serde::Deserialize;
use url::Url;

use super::{Admin, Secret, Telemetry};

/// Everything that can be set. A value of this type was checked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The broker.
    pub nats: Nats,
    /// Supervisors.
    pub supervisor: Supervisor,
    /// Workers of every role.
    pub workers: Workers,
    /// The language model.
    pub model: Model,
    /// Built-in tools.
    pub tools: Tools,
    /// The front door.
    pub door: Door,
    /// The log of the process.
    pub log: Log,
    /// Traces, metrics and logs that are sent elsewhere.
    pub telemetry: Telemetry,
    /// The listener for operators.
    pub admin: Admin,
    /// Policies by name. Each agent's name is its key.
    pub agents: BTreeMap<AgentName, Agent>,
    #[serde(skip)]
    pub(super) settings: Vec<super::Setting>,
}

/// The broker.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nats {
    /// Servers, comma-separated.
    pub url: String,
    /// First token of every subject.
    pub prefix: String,
    /// Streams that jobs are spread over (1 to 256).
    pub shards: u16,
    /// Copies of every record (1, 3 or 5).
    pub replicas: u8,
    /// How long a command may go without a heartbeat (1 s to 1 h).
    pub ack_wait_ms: u64,
    /// How long a supervisor may keep a fact (1 s to 1 h).
    pub facts_ack_wait_ms: u64,
    /// How soon the shards of a dead supervisor are taken over (1 s to 1 h).
    pub pin_timeout_ms: u64,
    /// Longest wait for a connection.
    pub connect_timeout_ms: u64,
    /// Longest wait for an answer to a request.
    pub request_timeout_ms: u64,
    /// A NATS credentials file.
    pub credentials: Option<Secret>,
    /// The seed of an nkey, instead of credentials.
    pub nkey: Option<Secret>,
    /// Where every answer to this process goes; broker permissions keep others out of it.
    pub inbox_prefix: String,
    /// Prefixes of the inboxes in which the front door answers.
    pub reply_inboxes: Vec<String>,
    /// Whether what is missing on the server is made. Otherwise it is refused with its name.
    pub create: bool,
    /// Encryption of the connection.
    pub tls: NatsTls,
}

/// Encryption of the connection to the broker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NatsTls {
    /// Whether a connection without TLS is refused.
    pub required: bool,
    /// Certificates of authorities in PEM, beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// The certificate of this client in PEM. There is a key when there is one.
    pub cert: Option<PathBuf>,
    /// The certificate's key in PEM.
    pub key: Option<PathBuf>,
}

impl Nats {
    /// The servers, one by one.
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

/// Supervisors.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Supervisor {
    /// How often every open job is looked at again.
    pub sweep_interval_ms: u64,
    /// Jobs whose state is kept in memory, at most.
    pub cache_jobs: usize,
}

/// Workers of every role.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workers {
    /// Plans made at a time.
    pub plan_slots: usize,
    /// Model turns taken at a time.
    pub turn_slots: usize,
    /// Tools running at a time, in all.
    pub call_slots: usize,
    /// Questions put at a time; an open question takes none.
    pub ask_slots: usize,
    /// How long tasks may go on after the shutdown begins.
    pub drain_ms: u64,
    /// Deliveries of a command before it is reported lost.
    pub deliveries_max: u64,
    /// How often a command is kept alive; a third of `nats.ack_wait_ms` when absent.
    pub heartbeat_ms: Option<u64>,
}

impl Workers {
    /// How long tasks may go on after the shutdown begins.
    #[must_use]
    pub fn drain(&self) -> Duration {
        Duration::from_millis(self.drain_ms)
    }

    /// How often a command is kept alive, when that is set.
    #[must_use]
    pub fn heartbeat(&self) -> Option<Duration> {
        self.heartbeat_ms.map(Duration::from_millis)
    }
}

/// The language model; no model without a kind.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The wire format of the provider.
    pub kind: Option<ModelKind>,
    /// Where it is; its public address when absent.
    pub base_url: Option<Url>,
    /// The model, as the provider knows it. Present when there is a kind.
    pub name: Option<String>,
    /// The script of the scripted model. Present when that is the kind.
    pub script: Option<PathBuf>,
    /// The key.
    pub api_key: Option<Secret>,
    /// Sampling temperature (0.0 to 2.0).
    pub temperature: Option<f64>,
    /// Nucleus sampling (above 0.0, at most 1.0).
    pub top_p: Option<f64>,
    /// Longest reply in tokens.
    pub max_tokens: Option<u32>,
    /// Tokens of a conversation that the model takes, the reply not included; nothing is left out
    /// of one when absent.
    pub context_tokens: Option<u32>,
    /// Largest reply in bytes.
    pub max_reply_bytes: usize,
    /// Time limits of one call.
    pub timeouts_ms: ModelTimeouts,
    /// Retries inside one call, before a reply has begun.
    pub retry: ModelRetry,
    /// What tokens cost, for the metric of money and for budgets; nothing is counted when absent.
    pub price: Option<ModelPrice>,
    /// What is known of models by name. What stands here of a model counts in place of `price` and
    /// `context_tokens`.
    pub known: Vec<KnownModel>,
}

/// What is known of a model. Models are in a list and no table, because their names have dots and
/// slashes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownModel {
    /// The model, as the provider knows it.
    pub name: String,
    /// Tokens of a conversation that it takes, the reply not included.
    pub context_tokens: Option<u32>,
    /// What its tokens cost.
    pub price: Option<ModelPrice>,
}

impl Model {
    /// What models cost. `price` is that of the model that is asked where none is named.
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

    /// Tokens that models take. `context_tokens` is that of every model of which nothing else is known.
    #[must_use]
    pub fn windows(&self) -> ByModel<u32> {
        let known = self.known.iter().filter_map(|m| Some((&m.name, m.context_tokens?)));
        let usual = ByModel::usual(self.name.clone(), self.context_tokens);
        let usual = usual.others(self.context_tokens);
        known.fold(usual, |windows, (name, tokens)| windows.with(name, tokens))
    }
}

/// What a model's tokens cost, in US dollars for a million.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Tokens that are read.
    pub input_per_million: f64,
    /// Tokens that are written.
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
    /// Opening a connection.
    pub connect: u64,
    /// From the request to the first piece of the reply.
    pub first_token: u64,
    /// Between two pieces of the reply.
    pub idle: u64,
    /// The whole call, retries included.
    pub total: u64,
}

/// Retries inside one model call.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRetry {
    /// Attempts in all (1 to 20).
    pub max_attempts: u32,
    /// Wait before the second attempt, in milliseconds.
    pub initial_interval_ms: u64,
    /// Each further wait is this many times the one before (1.0 to 10.0).
    pub backoff_factor: f32,
    /// Longest single wait, in milliseconds.
    pub max_interval_ms: u64,
    /// Whether waits are spread at random.
    pub jitter: bool,
    /// Waiting in all, in milliseconds.
    pub max_wait_ms: u64,
}

/// Built-in tools.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// The directory that file tools see. Relative to the working directory of the process.
    pub workspace: PathBuf,
    /// The HTTP tool.
    pub http: Http,
}

/// The HTTP tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Whether it may reach private and local addresses.
    pub allow_private: bool,
    /// Hosts it may reach; every public one when empty.
    pub allow_hosts: Vec<String>,
    /// Longest request, in milliseconds.
    pub timeout_ms: u64,
    /// Largest response, in bytes.
    pub max_bytes: usize,
}

/// The front door.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Door {
    /// Who may do what, by name. Empty: everybody may do everything.
    pub people: BTreeMap<PersonName, Person>,
    /// Requests one process serves at a time.
    pub max_in_flight: usize,
    /// Submissions of one person in a minute; unlimited when absent.
    pub submits_per_minute: Option<u32>,
    /// A directory of agents, one YAML file each; none when absent.
    pub agents_dir: Option<PathBuf>,
}

/// Somebody who is known at the front door.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Person {
    /// SHA-256 of their token, in lower-case hex.
    pub token_sha256: String,
    /// What they may do.
    pub roles: Vec<Role>,
}

/// The name of somebody at the front door: 1 to 64 characters of A-Z a-z 0-9 _ - @
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct PersonName(String);

impl PersonName {
    /// The name as a string.
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
    /// A level or a filter.
    pub level: String,
    /// How lines look.
    pub format: LogFormat,
}

/// How lines of the log look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people on a terminal, JSON otherwise.
    Auto,
    /// For people.
    Pretty,
    /// One JSON object a line.
    Json,
}
