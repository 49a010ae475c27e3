//! The admin listener: health, metrics and the log level, over HTTP.
//!
//! There is no authentication, so no response may contain a secret, the environment or anything of
//! a job's content. The listener answers before the process has connected to the broker and until
//! all other parts have ended. It must never delay a job: connections, time and sizes are bounded.

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
use crate::{
    http::{self, Serving},
    telemetry::{Identity, Telemetry},
};

/// The admin listener. Dropping it stops the listener.
#[derive(Debug)]
pub struct Admin {
    address: Option<SocketAddr>,
    health: Health,
    listening: Option<Serving>,
}

impl Admin {
    /// Binds the listener and starts to answer. With [`Listen::Off`] there is only a [`Health`]
    /// that nothing reads. The process drains once `shutdown` is canceled.
    ///
    /// # Errors
    /// An error is returned when a given address cannot be bound.
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
                "this address has no authentication: everybody who reaches it can read metrics and change the log level"
            );
        }
        let level = LevelControl::new(telemetry.level().clone());
        let router = routes::router(health.clone(), level, telemetry.clone(), address);
        let listening = http::serve(listener, router, listen::BOUNDS);
        Ok(Self { address: Some(address), health, listening: Some(listening) })
    }

    /// Returns the address of the listener; `None` when it is off.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Returns the health of the process, to which [`Health::watch`] adds the parts to check.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Answers pending requests, for a bounded time, and closes the listener.
    pub async fn end(self) {
        if let Some(listening) = self.listening {
            listening.end().await;
        }
    }
}
