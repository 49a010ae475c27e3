//! The frame of a serving process: logging and telemetry, signals, the admin listener, and log
//! lines about start and end. The listener starts first and stops last, so that it answers every
//! request.

use runtime::{
    actor::End,
    admin::Admin,
    shutdown,
    telemetry::{self, Sink},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    exit::Exit,
    failure::{CliError, Outcome},
    roles::Company,
    settings::Config,
    words::Text,
};

/// Resources of a process besides its roles.
pub(super) struct Process {
    telemetry: telemetry::Telemetry,
    admin: Admin,
    /// Cancelled to start the shutdown, which finishes running work.
    pub(super) shutdown: CancellationToken,
}

impl Process {
    /// Sets up logging, telemetry, signals and the listener. Opens no connection to the broker.
    ///
    /// # Errors
    /// If the log level, a telemetry receiver or the listener's address is invalid.
    pub(super) async fn begin(
        config: &Config,
        sink: Sink,
        identity: &telemetry::Identity,
    ) -> Result<Self, CliError> {
        let telemetry = telemetry::start(&config.telemetry, &config.log, sink, identity)
            .map_err(|e| CliError::setting(e.to_string()))?;
        let shutdown = shutdown::on_signal().map_err(|e| CliError::io("signals", &e))?;
        let admin = Admin::start(config.admin.listen, identity, &telemetry, shutdown.clone());
        let admin = admin.await.map_err(|e| CliError::setting(e.to_string()))?;
        Ok(Self { telemetry, admin, shutdown })
    }

    /// Logs the complete start and exposes the roles on the admin listener.
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

    /// Waits for the end of the process and logs its reason. Flushes telemetry, and closes the
    /// listener last.
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
            // Standard error is a log too, so a panic's message, which may hold content, is in
            // neither.
            End::GaveUp { child, why, shown } => {
                tracing::debug!(child, why, "the last error of the child");
                tracing::error!(reason = "gave up", child, why = shown, drain_ms, "ended");
                Err(CliError::start(Text::KeptFailing { child: &child, why: &shown }))
            }
        };
        self.telemetry.end().await;
        self.admin.end().await;
        outcome
    }
}
