//! Connections for commands, from flags and configuration. No other module of the program opens
//! one.

use std::time::Duration;

use broker::{
    Broker,
    backoff::{Backoff, Retryable},
    nats::ConnectError,
    nats_server::Version,
};
use client::{Client, RetryPolicy};
use proto::{
    id::{JobId, WorkerId},
    lang::Words,
    subject::Subjects,
    view::JobView,
};
use runtime::config::{Flag, SecretFrom, Sources};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    args::Global, failure::CliError, output::Output, settings::Config, token, words::Text,
};

/// Pauses of a starting process between two attempts to connect.
const START_BACKOFF: Backoff =
    Backoff::doubling(Duration::from_millis(200), Duration::from_secs(5));

/// Reads the configuration, overridden by flags.
///
/// # Errors
/// Every mistake in the configuration.
pub(crate) fn config(global: &Global) -> Result<Config, CliError> {
    let flags = [("nats.url", "--url", &global.url), ("nats.prefix", "--prefix", &global.prefix)];
    let mut flags: Vec<Flag> = flags
        .into_iter()
        .filter_map(|(key, name, value)| {
            let value = value.clone()?;
            Some(Flag { key: key.to_owned(), value, name: name.to_owned() })
        })
        .collect();
    if let Some(timeout) = global.timeout {
        let value = timeout.as_millis().to_string();
        for key in ["nats.request_timeout_ms", "nats.connect_timeout_ms"] {
            flags.push(Flag {
                key: key.to_owned(),
                value: value.clone(),
                name: "--timeout".to_owned(),
            });
        }
    }
    Ok(Config::load(&Sources::of_process(global.config.clone(), flags))?)
}

/// Opens a connection. Creates missing streams only if both `create` and the configuration permit
/// it.
///
/// # Errors
/// If the server is unreachable or too old, or the installation differs from its configuration.
pub(crate) async fn broker(
    config: &Config,
    worker: WorkerId,
    create: bool,
) -> Result<Broker, CliError> {
    let subjects = subjects(config)?;
    let create = create && config.nats.create;
    let options = broker::nats::NatsOptions { create, ..(&config.nats).into() };
    broker::nats::connect(&options, subjects, worker)
        .await
        .map_err(|e| CliError::unavailable(refused(&e)))
}

/// Opens the connection of a serving process. Waits for a server that cannot be reached, until
/// `limit` has passed or the shutdown begins.
///
/// # Errors
/// If the wait ends without a connection, or a retry cannot succeed: the server is too old, the
/// credentials are invalid, or the installation differs from its configuration.
pub(crate) async fn wait_for_broker(
    config: &Config,
    worker: WorkerId,
    limit: Option<Duration>,
    shutdown: &CancellationToken,
) -> Result<Broker, CliError> {
    let subjects = subjects(config)?;
    let options = (&config.nats).into();
    let start = Instant::now();
    let has_time = || limit.is_none_or(|limit| start.elapsed() < limit);
    let connected = (|| broker::nats::connect(&options, subjects.clone(), worker.clone()))
        .retry(START_BACKOFF)
        .when(|error| error.is_transient() && has_time() && !shutdown.is_cancelled())
        .notify(|error, wait| {
            tracing::warn!(%error, ?wait, "waiting for nats-server; nothing runs before it answers");
        });
    tokio::select! {
        biased;
        () = shutdown.cancelled() => Err(CliError::unavailable(Text::EndedBeforeServer)),
        connected = connected => connected.map_err(|e| CliError::unavailable(refused(&e))),
    }
}

/// Returns the reason why there is no connection. What the server and the operating system say is
/// in English.
pub(crate) fn refused(error: &ConnectError) -> Words {
    match error {
        ConnectError::Unreachable { servers, why } => Text::CannotConnect { servers, why }.into(),
        ConnectError::TooOld(found) => {
            let (least, sound) = (&Version::FLOOR, &Version::SOUND);
            Text::ServerTooOld { found, least, sound }.into()
        }
        ConnectError::NoJetStream(why) => Text::NoJetstream { why }.into(),
        ConnectError::Credentials(why) => why.as_str().into(),
        ConnectError::Installation(why) => why.words(),
    }
}

/// Opens a client of the front door, with a token if there is one.
///
/// # Errors
/// If the configuration or the token is invalid, or the server is unreachable.
pub(crate) async fn client(global: &Global, output: Output) -> Result<Client, CliError> {
    let config = config(global)?;
    let token = token::find(global)?;
    token.exposed.iter().for_each(|file| output.warn(file.warning()));
    for secret in [&config.nats.credentials, &config.nats.nkey].into_iter().flatten() {
        if let SecretFrom::File(path) = secret.from() {
            token::open_to_others(path).iter().for_each(|file| output.warn(file.warning()));
        }
    }
    // The client notifies the user once when it retries.
    let retries = RetryPolicy::new(move |verb, total| {
        let seconds = total.as_secs_f64();
        let words = Text::Retrying { verb: &verb, seconds: &seconds }.text(output.language);
        output.note(format!("callboard: {words}"));
    });
    let client = door(&config).await?.with_token(token.value).with_retries(Some(retries));
    Ok(match global.timeout {
        None => client,
        Some(timeout) => client.with_timeout(timeout.max(Duration::from_millis(1))),
    })
}

/// Connects to the front door. If an operator creates the streams, commands have no permission to
/// read them, and the installation is not compared with the configuration.
async fn door(config: &Config) -> Result<Client, CliError> {
    let (subjects, options) = (subjects(config)?, (&config.nats).into());
    let bus = if config.nats.create {
        broker::nats::connect_client(&options, subjects.clone()).await
    } else {
        broker::nats::connect_bus(&options, subjects.clone()).await
    };
    Ok(Client::over(bus.map_err(|e| CliError::unavailable(refused(&e)))?, subjects))
}

/// Returns the subjects of the configured installation.
///
/// # Errors
/// If the prefix or the number of shards is invalid.
pub(crate) fn subjects(config: &Config) -> Result<Subjects, CliError> {
    Subjects::new(&config.nats.prefix, config.nats.shards)
        .map_err(|e| CliError::usage(format!("nats.prefix: {e}")))
}

/// Generates a writer id for this process. Commands write no records, but the broker requires one.
pub(crate) fn writer() -> WorkerId {
    let random = uuid::Uuid::new_v4().simple().to_string();
    WorkerId::new(format!("cli-{}", random.get(..8).unwrap_or_default()))
        .expect("letters, digits and a dash are an id")
}

/// Resolves a job id or a unique prefix of one.
///
/// # Errors
/// If no job or more than one matches.
pub(crate) async fn job(client: &Client, named: &str) -> Result<JobView, CliError> {
    let id = JobId::new(named).map_err(proto::error::Failure::from)?;
    let missing = match client.get(&id).await {
        Ok(view) => return Ok(view),
        Err(failure) if failure.code == proto::error::Code::NotFound => failure,
        Err(failure) => return Err(failure.into()),
    };
    let all = proto::door::List { limit: Some(proto::limits::LIST_MAX), ..Default::default() };
    let listed = client.call(&all).await?;
    let begin: Vec<&JobId> = listed
        .jobs
        .iter()
        .map(|job| &job.job)
        .filter(|job| job.as_str().starts_with(named))
        .collect();
    match begin.as_slice() {
        [] => Err(missing.into()),
        [one] => Ok(client.get(one).await?),
        [one, two, ..] => {
            Err(CliError::usage(Text::AmbiguousJob { named: &named, one, two })
                .hint(Text::LongerId))
        }
    }
}
