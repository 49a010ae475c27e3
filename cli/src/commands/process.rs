//! A process that serves, around what it serves: its log and telemetry, its signals, its listener
//! for operators, and the lines that say when it began and how it ended. The listener is there
//! before everything else and stops last, so that every request is answered.

use runtime::{actor::End, admin::Admin, shutdown, telemetry};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    exit::Exit,
    failure::{CliError, Outcome},
    roles::Company,
    settings::Config,
};

/// What a process has beside its roles.
pub(super) struct Process {
    telemetry: telemetry::Telemetry,
    admin: Admin,
    /// Canceled when the process is to finish what it has in hand.
    pub(super) shutdown: CancellationToken,
}

impl Process {
    /// Sets everything up. Nothing is connected to yet.
    ///
    /// # Errors
    /// When a setting cannot be used: the level of the log, a receiver, the listener's address.
    pub(super) async fn begin(
        config: &Config,
        identity: &telemetry::Identity,
    ) -> Result<Self, CliError> {
        let telemetry = telemetry::start(&config.telemetry, &config.log, identity)
            .map_err(|e| CliError::setting(e.to_string()))?;
        let shutdown = shutdown::on_signal().map_err(|e| CliError::io("signals", &e))?;
        let admin = Admin::start(config.admin.listen, identity, &telemetry, shutdown.clone());
        let admin = admin.await.map_err(|e| CliError::setting(e.to_string()))?;
        Ok(Self { telemetry, admin, shutdown })
    }

    /// Everything has started: says so, and has it looked at.
    pub(super) fn at_work(&self, company: &Company) {
        let watched = company.watched();
        let presence = watched.status.presence();
        tracing::info!(
            roles = presence.roles.join(","),
            shards = watched.broker.log.subjects().shards(),
            prefix = watched.broker.log.subjects().prefix(),
            log = watched.broker.log.server_info(),
            admin = self.admin.address().map_or_else(|| "off".to_owned(), |a| a.to_string()),
            pid = presence.pid,
            callboard = presence.version,
            id = %presence.worker,
            "at work"
        );
        self.admin.health().watch(watched);
    }

    /// Where the listener for operators is.
    pub(super) fn admin(&self) -> Option<std::net::SocketAddr> {
        self.admin.address()
    }

    /// Waits for the end of the process, and says how it came. What is still to be sent is sent, and
    /// the listener closes last.
    pub(super) async fn end(self, ended: impl Future<Output = End>) -> Outcome {
        let mut ended = std::pin::pin!(ended);
        let early = tokio::select! {
            end = &mut ended => Some(end),
            () = self.shutdown.cancelled() => None,
        };
        let drain = Instant::now();
        let end = match early {
            Some(end) => end,
            None => ended.await,
        };
        let drain_ms = u64::try_from(drain.elapsed().as_millis()).unwrap_or(u64::MAX);
        let outcome = match end {
            End::Finished => {
                let reason = if self.shutdown.is_cancelled() { "asked to" } else { "finished" };
                tracing::info!(reason, drain_ms, "ended");
                Ok(Exit::Success)
            }
            // Standard error is a log too, so what a panic said is in neither.
            End::GaveUp { child, why, shown } => {
                tracing::debug!(child, why, "what it kept failing with");
                tracing::error!(reason = "gave up", child, why = shown, drain_ms, "ended");
                Err(CliError::start(format!("{child} kept failing: {shown}")))
            }
        };
        self.telemetry.end().await;
        self.admin.end().await;
        outcome
    }
}
