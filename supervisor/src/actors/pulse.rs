//! The pulses of an owned shard: while somebody asks, which of its jobs changed, and how many are in
//! each state. They may be lost, and nobody decides by them. Without a reader there is a subscription
//! and nothing else.

use std::{sync::Arc, time::Duration};

use broker::{Broker, backoff::Backoff, bus::Message};
use futures::{Stream, StreamExt};
use proto::{id::Shard, wire};
use tokio::time::{Instant, MissedTickBehavior};

use super::observe::Census;

/// Interval of pulses.
const EVERY: Duration = Duration::from_millis(250);
/// Time after which a reader that has not asked again is gone. Readers ask every 5 s.
const ASKED_FOR: Duration = Duration::from_secs(12);
/// Wait before a broken subscription is opened again.
const REOPEN: Backoff = Backoff::doubling(Duration::from_millis(500), Duration::from_secs(30));

/// Sends the pulses of a shard until it is dropped.
pub(super) async fn run(broker: Broker, shard: Shard, census: Arc<Census>) {
    let mut backoff = REOPEN;
    loop {
        let asked = broker.log.subjects().pulse_ask();
        match broker.bus.subscribe(asked).await {
            Ok(mut asks) => {
                backoff = REOPEN;
                while asks.next().await.is_some() {
                    serve(&broker, shard, &census, &mut asks).await;
                }
            }
            Err(error) => tracing::debug!(%shard, %error, "requests for pulses cannot be read"),
        }
        tokio::time::sleep(backoff.pause()).await;
    }
}

/// Sends pulses until nobody has asked for [`ASKED_FOR`].
async fn serve(
    broker: &Broker,
    shard: Shard,
    census: &Census,
    asks: &mut (impl Stream<Item = Message> + Unpin),
) {
    let _watched = Watched::of(census);
    let mut until = Instant::now() + ASKED_FOR;
    // A reader that has just come needs the figures, whether or not they change.
    let mut is_due = true;
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = ticks.tick() => {}
            ask = asks.next() => match ask {
                Some(_) => {
                    (until, is_due) = (Instant::now() + ASKED_FOR, true);
                    continue;
                }
                None => return,
            },
        }
        if Instant::now() >= until {
            return;
        }
        let Some(pulse) = census.pulse(shard, std::mem::take(&mut is_due)) else { continue };
        let sent = match wire::encode(&pulse) {
            Ok(bytes) => {
                let subject = broker.log.subjects().pulse(shard);
                broker.bus.publish(subject, bytes.into()).await.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = sent {
            tracing::debug!(%shard, %error, "a pulse was not sent");
        }
    }
}

/// Has a census remember changes as long as this value lives.
struct Watched<'a>(&'a Census);

impl<'a> Watched<'a> {
    fn of(census: &'a Census) -> Self {
        census.remember_changes(true);
        Self(census)
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.0.remember_changes(false);
    }
}
