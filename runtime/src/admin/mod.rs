//! The listener for operators: health, metrics and the level of the log, over HTTP.
//!
//! There is no authentication, so there must never be anything secret in it: no credentials, no
//! environment, nothing of what jobs hold. It answers before the process is connected to anything
//! and until everything else has ended, and it must never cost a job anything: connections, time and
//! sizes are bounded.

mod health;
mod host;
mod level;
mod listen;
mod routes;
pub mod settings;

use std::net::SocketAddr;

use tokio_util::sync::CancellationToken;

use self::settings::Listen;
pub use self::{
    health::{Check, Health, Report, Watched},
    level::{LevelControl, LevelError},
    listen::{AdminError, PORT},
};
use crate::telemetry::{Identity, Telemetry};

/// The listener. It stops answering when this is dropped.
#[derive(Debug)]
pub struct Admin {
    address: Option<SocketAddr>,
    health: Health,
    listening: Option<listen::Listening>,
}

impl Admin {
    /// Binds and answers from now on; with [`Listen::Off`] there is nothing but a [`Health`] that
    /// nobody asks. The process drains from when `shutdown` is canceled.
    ///
    /// # Errors
    /// When an address that was named cannot be bound.
    pub async fn start(
        listen: Listen,
        identity: &Identity,
        telemetry: &Telemetry,
        shutdown: CancellationToken,
    ) -> Result<Self, AdminError> {
        let health = Health::new(identity.clone(), shutdown);
        let Some(listener) = listen::bind(listen).await? else {
            return Ok(Self { address: None, health, listening: None });
        };
        let address = listener.local_addr().map_err(|e| AdminError::new(listen, &e))?;
        if !address.ip().is_loopback() {
            tracing::warn!(
                %address,
                "everybody who reaches this address reads metrics and may change the log's level: there is no authentication"
            );
        }
        let level = LevelControl::new(telemetry.level().clone());
        let router = routes::router(health.clone(), level, telemetry.clone(), address);
        let listening = listen::serve(listener, router);
        Ok(Self { address: Some(address), health, listening: Some(listening) })
    }

    /// Where it listens, if it does.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// What is told about the process; to be told in turn what there is to look at.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Answers what was asked already, for a bounded time, and closes.
    pub async fn end(self) {
        if let Some(listening) = self.listening {
            listening.end().await;
        }
    }
}
