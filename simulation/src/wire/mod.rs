//! A broker as one process sees it: every call and every delivery passes the process's link, and is
//! late, lost or repeated by the fault rates. The broker itself is not touched.

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
    plant::Plant,
    props::Props,
};

/// The parts that every wire of one process shares.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    /// The process.
    pub(crate) name: WorkerId,
    pub(crate) link: Arc<Link>,
    pub(crate) chance: Chance,
    pub(crate) fault_rates: FaultRates,
    pub(crate) plant: Option<Plant>,
    /// The process is a supervisor.
    pub(crate) decides: bool,
    pub(crate) props: Option<Arc<dyn Props>>,
}

/// The same broker behind a link.
pub(crate) fn behind(wire: &Wire, broker: Broker) -> Broker {
    Broker {
        log: Arc::new(log::WiredLog::new(wire.clone(), broker.log)),
        bus: Arc::new(bus::WiredBus::new(wire.clone(), broker.bus)),
        kv: Arc::new(kv::WiredKv::new(wire.clone(), broker.kv)),
        objects: Arc::new(objects::WiredObjects::new(wire.clone(), broker.objects)),
    }
}

/// The failure of a call.
enum Lost {
    /// It was not sent, or changes nothing.
    Unsent,
    /// It was sent, or may still arrive; no reply came.
    Unheard,
}

const DOWN: &str = "the link is down";

impl From<Lost> for LogError {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Unsent => Self::Unavailable(DOWN.to_owned()),
            Lost::Unheard => Self::Unknown("no reply came over the link".to_owned()),
        }
    }
}

impl From<Lost> for BusError {
    fn from(_: Lost) -> Self {
        Self::Unavailable(DOWN.to_owned())
    }
}

impl From<Lost> for KvError {
    fn from(_: Lost) -> Self {
        Self::Unavailable(DOWN.to_owned())
    }
}

impl From<Lost> for ObjectError {
    fn from(_: Lost) -> Self {
        Self::Unavailable(DOWN.to_owned())
    }
}

impl Wire {
    /// The planted bug that makes a supervisor misread records.
    fn misreads(&self) -> Option<Plant> {
        self.plant.filter(|_| self.decides)
    }

    /// Carries a question over the link and its answer back.
    async fn ask<T, E: From<Lost>>(
        &self,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.send().await?;
        let reply = call.await;
        self.link.hear().await.map_err(|Away| Lost::Unsent)?;
        reply
    }

    /// Carries a write over the link and its reply back. A write that could not leave may still
    /// arrive, long after the caller gave up.
    async fn write<T, E>(
        &self,
        call: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Lost> + Send + 'static,
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
            return Err(Lost::Unheard.into());
        }
        let reply = call.await;
        self.link.hear().await.map_err(|Away| Lost::Unheard)?;
        reply
    }

    async fn send(&self) -> Result<(), Lost> {
        self.link.send().await.map_err(|Away| Lost::Unsent)
    }
}
