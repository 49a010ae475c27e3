//! Opening of a connection to an installation: checks the server, then creates or checks streams,
//! buckets and consumers.
//!
//! From the creation on, a missing stream is a lost stream. A lost bucket holds no job and may be created
//! again. A lost shard makes only its own jobs unavailable. Lost large values are an error.
//! See [`installation`](super::installation) for the marker.

use std::{io::ErrorKind, sync::Arc, time::Duration};

use async_nats::{Client, ConnectErrorKind, ConnectOptions};
use proto::{
    decision::DecisionKind,
    id::{Pool, WorkerId},
    lang::{Language, Words},
    subject::Subjects,
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{
    NatsOptions,
    bus::NatsBus,
    installation::{self, Found},
    keys,
    kv::{self, NatsKv},
    link::{AskError, Events, Link},
    log::NatsLog,
    objects::{self, NatsObjects},
    setup::{self, Loss, Missing, may_make},
};
use crate::{
    Broker,
    backoff::{self, Backoff, Retryable},
    bus::Bus,
    kv::Bucket,
    log::LogError,
    nats_server::Version,
};

/// Interval of pings on an idle connection.
const PING: Duration = Duration::from_secs(10);
/// Pause between two requests to a cluster without a leader, and between two attempts to connect to
/// a server that starts.
const BACKOFF: Backoff = Backoff::constant(Duration::from_millis(100));
/// Time in which a server that closes new connections is expected to have started.
const STARTING: Duration = Duration::from_secs(2);
/// Pauses between later attempts to reconnect; the first ones follow at once.
const RECONNECT: Backoff = Backoff::doubling(Duration::from_millis(20), Duration::from_secs(1));

/// The reason why a connection cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No server answers, or it rejects the connection.
    #[error("cannot connect to {servers}: {why}")]
    Unreachable {
        /// The server URLs without credentials.
        servers: String,
        /// The client library's reason.
        why: String,
    },
    /// The credentials or a certificate cannot be used.
    #[error("{0}")]
    Credentials(String),
    /// The server is older than [`Version::FLOOR`].
    #[error("nats-server {0} is too old: Callboard needs {floor} or newer, and recommends {sound} or newer", floor = Version::FLOOR, sound = Version::SOUND)]
    TooOld(String),
    /// JetStream does not answer, so nothing can be stored.
    #[error("JetStream does not answer: is it switched on for this account? ({0})")]
    NoJetStream(String),
    /// The installation on the server has other settings, or cannot be read.
    #[error(transparent)]
    Installation(LogError),
}

impl ConnectError {
    /// `true` if the same call may succeed once the server has started or a leader is elected.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::NoJetStream(_) => true,
            Self::Installation(error) => error.is_transient(),
            Self::Credentials(_) | Self::TooOld(_) => false,
        }
    }
}

/// The treatment of a lost bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostBuckets {
    /// Creates the bucket again, empty, and logs the loss.
    Recreate,
    /// Fails, with the loss and the user's next step.
    Refuse,
}

/// The treatment of an installation whose messages have no mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldRecords {
    /// Messages without a mark count up to the present end of their stream. No process of an older
    /// release may be running.
    Accept,
    /// Fails, with the user's next step.
    Refuse,
}

/// Opens a connection to an installation. Creates missing streams and buckets if `options.create`
/// is set, lost buckets included.
///
/// # Errors
/// If the server is unreachable, too old or without JetStream; if the installation differs from the
/// options, or has lost its large values. A lost shard is logged; the others can be used.
pub async fn connect(
    options: &NatsOptions,
    subjects: Subjects,
    writer: WorkerId,
) -> Result<Broker, ConnectError> {
    let link = Arc::new(open(options, writer.as_str()).await?);
    wait_for_jetstream(&link, options).await?;
    let kv = NatsKv::new(Arc::clone(&link), subjects.clone(), options);
    let lost = if options.create { LostBuckets::Recreate } else { LostBuckets::Refuse };
    let prepared = prepare_patiently(&link, &kv, &subjects, options, lost).await?;
    for error in prepared.lost_shards {
        let error = error.text(Language::En);
        tracing::error!(error, "a shard is lost; the others are served");
    }
    let objects = NatsObjects::new(Arc::clone(&link), subjects.clone(), options);
    let (kv, objects) = (Arc::new(kv), Arc::new(objects));
    let bus = Arc::new(NatsBus::new(Arc::clone(&link), subjects.clone(), options));
    let shared = Arc::clone(&objects) as _;
    let log = NatsLog::new(link, subjects, shared, Arc::new(options.clone()), writer);
    Ok(Broker { log: Arc::new(log), bus, kv, objects })
}

/// Creates and checks everything that roles need on the server: streams, buckets, and the consumers
/// of facts and of every kind of command, for the built-in pools and `tool_pools`. Needs an
/// operator's permissions. Afterwards roles can run with `create` off and without those
/// permissions.
///
/// # Errors
/// If the server is unreachable, too old or without JetStream; if the installation differs from the
/// options, has lost a stream, or this user may not create one.
pub async fn set_up(
    options: &NatsOptions,
    subjects: &Subjects,
    tool_pools: &[Pool],
    lost: LostBuckets,
    old: OldRecords,
) -> Result<SetUp, ConnectError> {
    let options = NatsOptions { create: true, ..options.clone() };
    let link = Arc::new(open(&options, "setup").await?);
    wait_for_jetstream(&link, &options).await?;
    let kv = NatsKv::new(Arc::clone(&link), subjects.clone(), &options);
    let has_accepted = match old {
        OldRecords::Accept => {
            let accept = || installation::accept_unmarked(&link, &kv, subjects, &options);
            patiently(&options, || Box::pin(accept())).await?
        }
        OldRecords::Refuse => false,
    };
    let Prepared { is_new, recreated, lost_shards } =
        prepare_patiently(&link, &kv, subjects, &options, lost).await?;
    if let Some(lost) = lost_shards.into_iter().next() {
        return Err(ConnectError::Installation(LogError::Lost(lost)));
    }
    let queues = setup::queues(tool_pools);
    let facts = subjects.all_shards().map(|shard| setup::facts(&link, subjects, shard, &options));
    let commands =
        queues.iter().map(|(kind, pool)| setup::commands(&link, subjects, *kind, pool, &options));
    futures::future::try_join_all(facts).await.map_err(ConnectError::Installation)?;
    futures::future::try_join_all(commands).await.map_err(ConnectError::Installation)?;
    Ok(SetUp { is_new, recreated, has_accepted, queues })
}

/// The result of [`set_up`].
#[derive(Debug, Clone)]
pub struct SetUp {
    /// `true` if no installation existed before.
    pub is_new: bool,
    /// Lost buckets that were created again, empty.
    pub recreated: Vec<Bucket>,
    /// `true` if the messages of an older release were accepted now.
    pub has_accepted: bool,
    /// Every kind of command with its pool; each pair has a consumer in every shard.
    pub queues: Vec<(DecisionKind, Pool)>,
}

/// Opens a connection for the bus alone, to an existing installation: compares the settings that it
/// was created with. The loss of any other bucket or stream is no error, as clients read none.
///
/// # Errors
/// If the server is unreachable or too old, or no installation has these settings.
pub async fn connect_client(
    options: &NatsOptions,
    subjects: Subjects,
) -> Result<Arc<dyn Bus>, ConnectError> {
    let options = NatsOptions { create: false, ..options.clone() };
    let link = Arc::new(open(&options, "client").await?);
    wait_for_jetstream(&link, &options).await?;
    let kv = NatsKv::new(Arc::clone(&link), subjects.clone(), &options);
    let lost = LostBuckets::Refuse;
    let find = || installation::find(&link, &kv, &subjects, &options, lost);
    patiently(&options, || Box::pin(find())).await?;
    Ok(Arc::new(NatsBus::new(link, subjects, &options)))
}

/// Opens a connection for the bus alone, for clients of the front door, which need no permission to
/// read streams. Creates nothing and checks only the server's version.
///
/// # Errors
/// If the server is unreachable or too old.
pub async fn connect_bus(
    options: &NatsOptions,
    subjects: Subjects,
) -> Result<Arc<dyn Bus>, ConnectError> {
    let link = open(options, "client").await?;
    Ok(Arc::new(NatsBus::new(Arc::new(link), subjects, options)))
}

pub(super) async fn open(options: &NatsOptions, who: &str) -> Result<Link, ConnectError> {
    let (events, start) = (Events::default(), tokio::time::Instant::now());
    let client = loop {
        match dial(options, who, &events).await? {
            Ok(client) => break client,
            Err(error) if is_starting(&error) && start.elapsed() < STARTING => {
                tokio::time::sleep(BACKOFF.after(0)).await;
            }
            Err(error) => {
                let why = error.to_string();
                return Err(ConnectError::Unreachable { servers: shown(&options.servers), why });
            }
        }
    };
    let said = client.server_info().version;
    let version: Version = said.parse().map_err(|_| ConnectError::TooOld(said.clone()))?;
    if version < Version::FLOOR {
        return Err(ConnectError::TooOld(said));
    }
    if version < Version::SOUND {
        let better = Version::SOUND;
        tracing::warn!(%version, %better, "this nats-server has known faults in features that jobs use");
    }
    Ok(Link::new(client, &events, options.request_timeout()))
}

/// Attempts to connect once.
async fn dial(
    options: &NatsOptions,
    who: &str,
    events: &Events,
) -> Result<Result<Client, async_nats::ConnectError>, ConnectError> {
    let events = events.clone();
    let connect = authenticated(options)?
        .name(format!("{} {who}", options.name))
        .connection_timeout(options.connect_timeout())
        .request_timeout(Some(options.request_timeout()))
        .ping_interval(PING)
        .reconnect_delay_callback(reconnect_delay)
        .event_callback(move |event| {
            events.hear(event);
            std::future::ready(())
        });
    Ok(connect.connect(&options.servers).await)
}

/// `true` if a server accepted the connection and closed it without a word, as one does that starts
/// or stops. One that refuses connections does not run.
fn is_starting(error: &async_nats::ConnectError) -> bool {
    let source = std::error::Error::source(error);
    let io = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    error.kind() == ConnectErrorKind::Io
        && io.is_none_or(|io| {
            matches!(io.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof)
        })
}

/// Waits until JetStream answers: a cluster that has just started has no leader yet.
async fn wait_for_jetstream(link: &Link, options: &NatsOptions) -> Result<(), ConnectError> {
    let start = tokio::time::Instant::now();
    let lacks_leader = |error: &AskError| match error {
        AskError::Lost(_) => true,
        AskError::Refused(refusal) => refusal.err_code == 10008,
        AskError::NoResponders(_)
        | AskError::Denied(_)
        | AskError::TooLarge(_)
        | AskError::Malformed(_) => false,
    };
    let nothing = json!({});
    (|| link.ask::<Value>("INFO", &nothing))
        .retry(BACKOFF)
        .when(|error| lacks_leader(error) && start.elapsed() < options.connect_timeout())
        .await
        .map(|_| ())
        .map_err(|error| ConnectError::NoJetStream(error.to_string()))
}

/// Builds the authentication, TLS and inbox settings of every connection.
///
/// # Errors
/// If a credentials file, a seed or a certificate cannot be used.
pub(crate) fn authenticated(options: &NatsOptions) -> Result<ConnectOptions, ConnectError> {
    // Fails only if a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let refused = |what: &str, why: &dyn std::fmt::Display| {
        ConnectError::Credentials(format!("the {what} cannot be used: {why}"))
    };
    let mut connect = ConnectOptions::new();
    if let Some(file) = &options.credentials_file {
        let text = std::fs::read_to_string(file)
            .map_err(|e| refused("credentials file", &format!("{}: {e}", file.display())))?;
        connect = connect.credentials(&text).map_err(|e| refused("credentials file", &e))?;
    }
    if let Some(text) = &options.credentials {
        let text = text.expose_secret();
        connect = connect.credentials(text).map_err(|e| refused("credentials", &e))?;
    }
    if let Some(user) = &options.user {
        let password = options.password.as_ref().map_or("", |p| p.expose_secret());
        connect = connect.user_and_password(user.clone(), password.to_owned());
    }
    if let Some(seed) = &options.nkey {
        keys::check_user(seed).map_err(|e| refused("nkey", &e))?;
        connect = connect.nkey(seed.expose_secret().to_owned());
    }
    if let Some(token) = &options.token {
        connect = connect.token(token.expose_secret().to_owned());
    }
    if let Some(file) = &options.ca_file {
        connect = connect.add_root_certificates(file.clone());
    }
    if let Some(certificate) = &options.certificate {
        let (file, key) = (certificate.file.clone(), certificate.key_file.clone());
        connect = connect.add_client_certificate(file, key);
    }
    if options.require_tls {
        connect = connect.require_tls(true);
    }
    Ok(connect.custom_inbox_prefix(&options.inbox_prefix))
}

/// Returns no pause for the first attempts, then growing pauses up to a second, with jitter so that
/// clients do not reconnect together.
fn reconnect_delay(attempt: usize) -> Duration {
    match u32::try_from(attempt).unwrap_or(u32::MAX) {
        0 | 1 => Duration::ZERO,
        attempt => backoff::jittered(RECONNECT.after(attempt - 1)),
    }
}

/// Joins the server URLs without their credentials.
fn shown(servers: &[String]) -> String {
    let bare = |server: &String| match (server.split_once("://"), server.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        (None, Some((_, host))) => host.to_owned(),
        (_, None) => server.clone(),
    };
    servers.iter().map(bare).collect::<Vec<_>>().join(", ")
}

/// Prepares the installation, with retries.
async fn prepare_patiently(
    link: &Link,
    kv: &NatsKv,
    subjects: &Subjects,
    options: &NatsOptions,
    lost: LostBuckets,
) -> Result<Prepared, ConnectError> {
    // Boxed, because the futures of all callers contain it.
    patiently(options, || Box::pin(prepare(link, kv, subjects, options, lost))).await
}

/// Repeats a request: a stream that another process has just created has no leader yet, and
/// requests for it are not answered.
async fn patiently<T, F: Future<Output = Result<T, LogError>>>(
    options: &NatsOptions,
    request: impl FnMut() -> F,
) -> Result<T, ConnectError> {
    let start = tokio::time::Instant::now();
    let patience = options.connect_timeout().max(Duration::from_millis(options.write_patience_ms));
    request
        .retry(BACKOFF)
        .when(|error| matches!(error, LogError::Unavailable(_)) && start.elapsed() < patience)
        .notify(|error, _| {
            tracing::warn!(%error, "the installation cannot be read; retrying");
        })
        .await
        .map_err(ConnectError::Installation)
}

/// The result of the preparation of an installation.
struct Prepared {
    /// `true` if no installation existed before.
    is_new: bool,
    /// Lost buckets that were created again.
    recreated: Vec<Bucket>,
    /// The reason for each shard that cannot be used.
    lost_shards: Vec<Words>,
}

/// Creates or checks the installation.
async fn prepare(
    link: &Link,
    kv: &NatsKv,
    subjects: &Subjects,
    options: &NatsOptions,
    lost: LostBuckets,
) -> Result<Prepared, LogError> {
    let found = installation::find(link, kv, subjects, options, lost).await?;
    // Once the marker exists, a missing stream was lost.
    let is_new = found == Found::Nothing;
    let missing = |loss| if is_new { may_make(options) } else { Missing::Refuse(loss) };
    let shards = subjects.all_shards().map(|shard| async move {
        match setup::shard(link, subjects, shard, options, missing(Loss::Jobs)).await {
            Err(LogError::Lost(why)) => Ok(Some(why)),
            done => done.map(|()| None),
        }
    });
    let lost_shards: Vec<_> =
        futures::future::try_join_all(shards).await?.into_iter().flatten().collect();
    objects::ensure(link, subjects, options, missing(Loss::LargeValues)).await?;
    let given = match &found {
        Found::Nothing => &[],
        Found::Marker(given) => given.as_slice(),
        Found::Records => Bucket::ALL,
    };
    let mut recreated = ensure_buckets(link, subjects, options, lost, given).await?;
    match found {
        Found::Marker(given) if given.len() < Bucket::ALL.len() && options.create => {
            installation::note_buckets(kv).await?;
        }
        Found::Marker(_) => {}
        Found::Nothing => {
            installation::mark(kv, subjects, options).await?;
            return Ok(Prepared { is_new, recreated: Vec::new(), lost_shards });
        }
        Found::Records => {
            installation::mark(kv, subjects, options).await?;
            recreated.push(Bucket::Installation);
        }
    }
    Ok(Prepared { is_new, recreated, lost_shards })
}

/// Creates or checks the buckets of an installation that was given these. Returns those that were
/// lost and are created again.
async fn ensure_buckets(
    link: &Link,
    subjects: &Subjects,
    options: &NatsOptions,
    lost: LostBuckets,
    given: &[Bucket],
) -> Result<Vec<Bucket>, LogError> {
    let buckets = Bucket::ALL.iter().map(|bucket| async move {
        // A bucket that a newer release adds was never there to be lost.
        let was_there = given.contains(bucket);
        let missing = match lost {
            LostBuckets::Refuse if was_there => Missing::Refuse(Loss::Bucket(*bucket)),
            LostBuckets::Refuse | LostBuckets::Recreate => may_make(options),
        };
        let is_made = kv::ensure(link, subjects, *bucket, options, missing).await?;
        if is_made && was_there {
            let (name, loss) = (subjects.bucket(bucket.name()), bucket.loss(Language::En));
            tracing::error!(
                bucket = name,
                loss,
                "a lost bucket was created again, empty; no job is lost"
            );
        }
        Ok::<_, LogError>((is_made && was_there).then_some(*bucket))
    });
    Ok(futures::future::try_join_all(buckets).await?.into_iter().flatten().collect())
}

impl From<AskError> for ConnectError {
    fn from(error: AskError) -> Self {
        Self::Installation(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_show_no_password() {
        let servers = ["nats://user:secret@host:4222", "host:4223", "token@h"].map(str::to_owned);
        assert_eq!(shown(&servers), "nats://host:4222, host:4223, h");
    }

    #[test]
    fn connecting_again_is_tried_at_once_and_then_less_often() {
        assert_eq!(reconnect_delay(1), Duration::ZERO);
        assert!(reconnect_delay(3) < Duration::from_millis(100));
        for attempt in [2, 10, 1000, usize::MAX] {
            assert!(reconnect_delay(attempt) <= Duration::from_secs(1));
        }
    }
}
