//! Settings of the connection and of the streams on the server.

use std::{path::PathBuf, time::Duration};

use secrecy::SecretString;
use serde::Deserialize;

use super::reply::REPLY_INBOXES;
use crate::objects::RENEWED_AFTER;

/// The address of an installation, and the settings of a new one. Times are in milliseconds.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NatsOptions {
    /// Server URLs; several only for the members of one cluster. A user or a token in a URL is
    /// ignored.
    pub servers: Vec<String>,
    /// Name of the connection, as the server shows it. The writer's id is appended.
    pub name: String,
    /// Path of a NATS credentials file.
    pub credentials_file: Option<PathBuf>,
    /// Content of a NATS credentials file.
    pub credentials: Option<SecretString>,
    /// User name, used together with `password`.
    pub user: Option<String>,
    /// Password of `user`.
    pub password: Option<SecretString>,
    /// Seed of an nkey (`SU…`).
    pub nkey: Option<SecretString>,
    /// Authentication token.
    pub token: Option<SecretString>,
    /// Rejects connections without TLS.
    pub require_tls: bool,
    /// PEM file of certificate authorities, in addition to those of the system.
    pub ca_file: Option<PathBuf>,
    /// Client certificate for mutual TLS.
    pub certificate: Option<Certificate>,
    /// Inbox prefix of this connection; no other user should be permitted to subscribe to it.
    pub inbox_prefix: String,
    /// Allowed prefixes of callers' reply inboxes, without a trailing dot.
    pub reply_inboxes: Vec<String>,
    /// Number of copies of every record: 1, 3 or 5.
    pub replicas: u8,
    /// Creates missing streams and consumers. If `false`, a missing one is an error.
    pub create: bool,
    /// Time without an acknowledgement or sign of life after which a command is redelivered.
    pub ack_wait_ms: u64,
    /// Time for which a supervisor may hold a fact before it is redelivered.
    pub facts_ack_wait_ms: u64,
    /// Time without a request after which a supervisor loses the pin of a shard's facts.
    pub pin_timeout_ms: u64,
    /// Time limit for establishing a connection.
    pub connect_timeout_ms: u64,
    /// Time limit of one request.
    pub request_timeout_ms: u64,
    /// Time for which writes are retried; the election of a leader takes up to 8 s.
    pub write_patience_ms: u64,
    /// Time for which submissions are retried. A caller waits for a submission and does not repeat
    /// it.
    pub submit_patience_ms: u64,
    /// Time for which the server may answer reads and acknowledge no write before a submission or an
    /// answer fails as overloaded.
    pub overloaded_after_ms: u64,
    /// Time for which a consumer with pending messages may deliver none before its subscription is
    /// reopened. After the same time again, the stream of deliveries fails.
    pub stall_ms: u64,
    /// Largest number of unacknowledged commands, or facts, of one consumer.
    pub ack_pending_max: u32,
    /// Age above which storing a large value again rewrites it.
    pub objects_renewed_after_ms: u64,
}

/// A client certificate and its private key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Path of the certificate, in PEM.
    pub file: PathBuf,
    /// Path of the private key, in PEM.
    pub key_file: PathBuf,
}

impl Default for NatsOptions {
    fn default() -> Self {
        Self {
            servers: vec!["nats://127.0.0.1:4222".to_owned()],
            name: "callboard".to_owned(),
            credentials_file: None,
            credentials: None,
            user: None,
            password: None,
            nkey: None,
            token: None,
            require_tls: false,
            ca_file: None,
            certificate: None,
            inbox_prefix: "_INBOX".to_owned(),
            reply_inboxes: REPLY_INBOXES.map(str::to_owned).to_vec(),
            replicas: 1,
            create: true,
            ack_wait_ms: 30_000,
            facts_ack_wait_ms: 30_000,
            pin_timeout_ms: 2_000,
            connect_timeout_ms: 5_000,
            request_timeout_ms: 5_000,
            write_patience_ms: 12_000,
            submit_patience_ms: 30_000,
            overloaded_after_ms: 5_000,
            stall_ms: 60_000,
            ack_pending_max: 20_000,
            objects_renewed_after_ms: u64::try_from(RENEWED_AFTER.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl NatsOptions {
    pub(super) fn ack_wait(&self) -> Duration {
        Duration::from_millis(self.ack_wait_ms)
    }

    pub(super) fn facts_ack_wait(&self) -> Duration {
        Duration::from_millis(self.facts_ack_wait_ms)
    }

    pub(super) fn pin_timeout(&self) -> Duration {
        Duration::from_millis(self.pin_timeout_ms)
    }

    pub(super) fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.connect_timeout_ms)
    }

    pub(super) fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.request_timeout_ms)
    }

    pub(super) fn overloaded_after(&self) -> Duration {
        Duration::from_millis(self.overloaded_after_ms)
    }

    pub(super) fn stall(&self) -> Duration {
        Duration::from_millis(self.stall_ms)
    }

    pub(super) fn objects_renewed_after(&self) -> Duration {
        Duration::from_millis(self.objects_renewed_after_ms)
    }
}
