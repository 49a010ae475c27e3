//! A broker as one process sees it: every call and every delivery passes the process's link, and is
//! late, lost or repeated as the weather has it. What the broker itself does is not touched.

mod ack;
mod bus;
mod feed;
mod kv;
mod log;
mod misread;
mod objects;

use std::sync::Arc;

use broker::Broker;
use futures::future::BoxFuture;
use proto::id::WorkerId;

use crate::{
    chance::Chance,
    link::{Away, Link},
    plant::Plant,
    rehearsal::Stage,
    weather::Weather,
};

/// What every wire of one process needs.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    /// The process.
    pub(crate) name: WorkerId,
    pub(crate) link: Arc<Link>,
    pub(crate) chance: Chance,
    pub(crate) weather: Weather,
    pub(crate) plant: Option<Plant>,
    /// Whether the process decides about jobs.
    pub(crate) decides: bool,
    pub(crate) stage: Option<Arc<Stage>>,
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

/// Why a call came to nothing.
enum Lost {
    /// It was never sent.
    Unsent,
    /// It was sent, or may still arrive; no reply came.
    Unheard,
}

impl Wire {
    /// The planted bug by which the process takes records for what they are not: only those who
    /// decide have it.
    fn misreads(&self) -> Option<Plant> {
        self.plant.filter(|_| self.decides)
    }

    /// Carries a call over the link and its reply back. A write that could not leave may still
    /// arrive, long after the caller gave up.
    async fn carry<T: Send + 'static>(
        &self,
        writes: bool,
        call: BoxFuture<'static, T>,
    ) -> Result<T, Lost> {
        if let Err(Away) = self.link.send().await {
            if !writes || !self.chance.percent(self.weather.late_percent()) {
                return Err(Lost::Unsent);
            }
            let late = self.chance.millis(0..=20_000);
            tokio::spawn(async move {
                tokio::time::sleep(late).await;
                call.await;
            });
            return Err(Lost::Unheard);
        }
        let reply = call.await;
        match self.link.hear().await {
            Ok(()) => Ok(reply),
            Err(Away) => Err(Lost::Unheard),
        }
    }
}
