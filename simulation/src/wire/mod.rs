//! The broker as one process sees it. Every call and every delivery passes the process's link, and
//! is late, lost or repeated according to the fault rates. The broker itself is unchanged.

mod ack;
mod bus;
mod feed;
mod kv;
mod log;
mod misread;
mod objects;

use std::sync::Arc;

use broker::{Broker, bus::BusError, kv::KvError, log::LogError, objects::ObjectError};
use proto::id::WorkerId;

use crate::{
    chance::Chance,
    fault_rates::FaultRates,
    link::{Away, Link},
    mutation::Mutation,
    props::Props,
};

/// The parts that all wires of one process share.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    pub(crate) name: WorkerId,
    pub(crate) link: Arc<Link>,
    pub(crate) chance: Chance,
    pub(crate) fault_rates: FaultRates,
    pub(crate) mutation: Option<Mutation>,
    /// `true` if the process is a supervisor.
    pub(crate) decides: bool,
    pub(crate) props: Option<Arc<dyn Props>>,
}

/// Returns the same broker behind a link.
pub(crate) fn behind(wire: &Wire, broker: Broker) -> Broker {
    Broker {
        log: Arc::new(log::WiredLog::new(wire.clone(), broker.log)),
        bus: Arc::new(bus::WiredBus::new(wire.clone(), broker.bus)),
        kv: Arc::new(kv::WiredKv::new(wire.clone(), broker.kv)),
        objects: Arc::new(objects::WiredObjects::new(wire.clone(), broker.objects)),
    }
}

/// The failure of a call on the link.
enum CallFailure {
    /// The call was not sent, or is a read.
    Unsent,
    /// The call was sent, or may still arrive, and has no reply.
    Unheard,
}

const DOWN: &str = "the link is down";

impl From<CallFailure> for LogError {
    fn from(lost: CallFailure) -> Self {
        match lost {
            CallFailure::Unsent => Self::Unavailable(DOWN.to_owned()),
            CallFailure::Unheard => Self::Unknown("no reply came over the link".to_owned()),
        }
    }
}

impl From<CallFailure> for BusError {
    fn from(_: CallFailure) -> Self {
        Self::Unavailable(DOWN.to_owned())
    }
}

impl From<CallFailure> for KvError {
    fn from(_: CallFailure) -> Self {
        Self::Unavailable(DOWN.to_owned())
    }
}

impl From<CallFailure> for ObjectError {
    fn from(_: CallFailure) -> Self {
        Self::Unavailable(DOWN.to_owned())
    }
}

impl Wire {
    /// Returns the planted bug that makes a supervisor misread records.
    fn misreads(&self) -> Option<Mutation> {
        self.mutation.filter(|_| self.decides)
    }

    /// Sends a read over the link, and returns its reply.
    async fn ask<T, E: From<CallFailure>>(
        &self,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.send().await?;
        let reply = call.await;
        self.link.hear().await.map_err(|Away| CallFailure::Unsent)?;
        reply
    }

    /// Sends a write over the link, and returns its reply. A write that could not be sent may still
    /// arrive, long after the caller gave up.
    async fn write<T, E>(
        &self,
        call: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<CallFailure> + Send + 'static,
    {
        if let Err(unsent) = self.send().await {
            if !self.chance.percent(self.fault_rates.late_percent()) {
                return Err(unsent.into());
            }
            let late = self.chance.millis(0..=20_000);
            tokio::spawn(async move {
                tokio::time::sleep(late).await;
                let _ = call.await;
            });
            return Err(CallFailure::Unheard.into());
        }
        let reply = call.await;
        self.link.hear().await.map_err(|Away| CallFailure::Unheard)?;
        reply
    }

    async fn send(&self) -> Result<(), CallFailure> {
        self.link.send().await.map_err(|Away| CallFailure::Unsent)
    }
}
