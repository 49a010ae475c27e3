//! The settings of the connection to the broker.

use std::path::PathBuf;

use broker::nats::{
    Certificate, InvalidInbox, NatsOptions, check_inbox,
    keys::{InvalidSeed, check_user},
};
use proto::{
    lang::Words,
    subject::{InvalidInstallation, Subjects},
};
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use crate::config::{Check, HOUR, Secret, Section, words::Text};

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
    /// Time of reads without an acknowledged write after which a submission or an answer fails, in
    /// milliseconds (100 ms to 1 h).
    pub overloaded_after_ms: u64,
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
            credentials: fetched(nats.credentials.as_ref()),
            nkey: fetched(nats.nkey.as_ref()),
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
            overloaded_after_ms: nats.overloaded_after_ms,
            ..Self::default()
        }
    }
}

/// Returns a secret, which the check of the settings has found.
fn fetched(secret: Option<&Secret>) -> Option<SecretString> {
    secret.and_then(|secret| secret.value().ok().cloned())
}

impl Section for Nats {
    const NAME: &'static str = "nats";
    const DEFAULTS: &'static str = include_str!("nats.toml");
    const SECRETS: &'static [&'static str] = &["nats.credentials", "nats.nkey"];

    fn secrets(&mut self) -> Vec<&mut Option<Secret>> {
        vec![&mut self.credentials, &mut self.nkey]
    }

    fn check(&self, check: &mut Check) {
        check.bounds(&[
            ("nats.ack_wait_ms", self.ack_wait_ms, 1_000, HOUR),
            ("nats.facts_ack_wait_ms", self.facts_ack_wait_ms, 1_000, HOUR),
            ("nats.pin_timeout_ms", self.pin_timeout_ms, 1_000, HOUR),
            ("nats.connect_timeout_ms", self.connect_timeout_ms, 10, HOUR),
            ("nats.request_timeout_ms", self.request_timeout_ms, 10, HOUR),
            ("nats.overloaded_after_ms", self.overloaded_after_ms, 100, 30_000),
        ]);
        addresses(self, check);
        inboxes(self, check);
        credentials(self, check);
        if self.pin_timeout_ms > self.facts_ack_wait_ms {
            let why = Text::PinTimeout { value: &self.facts_ack_wait_ms };
            check.wrong("nats.pin_timeout_ms", why);
        }
    }
}

fn addresses(nats: &Nats, check: &mut Check) {
    for server in nats.servers() {
        if let Err(why) = server_url(server) {
            check.wrong("nats.url", why);
        }
    }
    if let Err(error) = Subjects::new(&nats.prefix, 1) {
        check.wrong("nats.prefix", installation(&error));
    }
    if let Err(error) = Subjects::new("cb", nats.shards) {
        check.wrong("nats.shards", installation(&error));
    }
    if ![1, 3, 5].contains(&nats.replicas) {
        check.wrong("nats.replicas", Text::Replicas { value: &nats.replicas });
    }
}

fn installation(error: &InvalidInstallation) -> Text<'_> {
    match error {
        InvalidInstallation::Prefix(got) => Text::Prefix { got },
        InvalidInstallation::Shards(got) => Text::Shards { got },
    }
}

fn inbox(error: InvalidInbox) -> Text<'static> {
    match error {
        InvalidInbox::Form => Text::InboxForm,
        InvalidInbox::OfJobs => Text::InboxOfJobs,
        InvalidInbox::OfServer => Text::InboxOfServer,
    }
}

fn inboxes(nats: &Nats, check: &mut Check) {
    if let Err(why) = check_inbox(&nats.inbox_prefix, &nats.prefix) {
        check.wrong("nats.inbox_prefix", inbox(why));
    }
    if nats.reply_inboxes.is_empty() {
        check.wrong("nats.reply_inboxes", Text::NoInbox);
    }
    for (n, given) in nats.reply_inboxes.iter().enumerate() {
        if let Err(why) = check_inbox(given, &nats.prefix) {
            check.wrong(format!("nats.reply_inboxes[{n}]"), inbox(why));
        }
    }
}

fn credentials(nats: &Nats, check: &mut Check) {
    check.secret("nats.credentials", nats.credentials.as_ref());
    check.secret("nats.nkey", nats.nkey.as_ref());
    if nats.credentials.is_some() && nats.nkey.is_some() {
        check.wrong("nats.nkey", Text::OneIdentity);
    }
    if let Some(seed) = &nats.nkey
        && let Ok(seed) = seed.value()
        && let Err(InvalidSeed) = check_user(seed)
    {
        check.wrong("nats.nkey", Text::NoSeed);
    }
    match (&nats.tls.cert, &nats.tls.key) {
        (Some(_), None) => check.missing_beside("nats.tls.key", "nats.tls.cert"),
        (None, Some(_)) => check.missing_beside("nats.tls.cert", "nats.tls.key"),
        (Some(_), Some(_)) | (None, None) => {}
    }
    let files = [("ca_file", &nats.tls.ca_file), ("cert", &nats.tls.cert), ("key", &nats.tls.key)];
    for (key, file) in files {
        if file.as_ref().is_some_and(|file| file.as_os_str().is_empty()) {
            check.wrong(format!("nats.tls.{key}"), Text::NoFile);
        }
    }
}

/// Checks one address. An error never repeats the whole address, which may hold a password.
fn server_url(server: &str) -> Result<(), Words> {
    let url = Url::parse(server).map_err(|why| Words::from(Text::NoAddress { why: &why }))?;
    if !["nats", "tls", "ws", "wss"].contains(&url.scheme()) {
        return Err(Text::Scheme { scheme: &url.scheme() }.into());
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(Text::NoHost.into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Text::PasswordInstead { key: &"nats.credentials / nats.nkey" }.into());
    }
    Ok(())
}
