//! Pulses: which jobs change, as the owners of the shards tell while somebody asks.

use std::time::Duration;

use broker::backoff::Backoff;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use proto::wire::{self, Pulse};
use tokio::time::MissedTickBehavior;

use super::Client;

/// Interval at which a reader asks for pulses. Owners stop two intervals after the last request.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// Wait before a broken subscription is opened again.
const REOPEN: Backoff = Backoff::doubling(Duration::from_millis(500), Duration::from_secs(30));

impl Client {
    /// Streams the pulses of all shards for as long as it is polled. Pulses may be lost; each shard
    /// repeats its figures every 5 s. The connection needs the rights to ask for pulses and to
    /// receive them, which a user of the front door has not.
    pub fn pulses(&self) -> impl Stream<Item = Pulse> + Send + 'static + use<> {
        let client = self.clone();
        async_stream::stream! {
            let mut backoff = REOPEN;
            loop {
                match client.bus.subscribe(client.subjects.all_pulses()).await {
                    Ok(mut pulses) => {
                        let mut asks = tokio::time::interval(ASK_EVERY);
                        asks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                        loop {
                            tokio::select! {
                                _ = asks.tick() => client.ask_for_pulses().await,
                                message = pulses.next() => {
                                    let Some(message) = message else { break };
                                    backoff = REOPEN;
                                    match wire::decode(&message.payload) {
                                        Ok(pulse) => yield pulse,
                                        Err(error) => tracing::debug!(%error, "a pulse is malformed"),
                                    }
                                }
                            }
                        }
                    }
                    Err(error) => tracing::debug!(%error, "pulses cannot be read; retrying"),
                }
                tokio::time::sleep(backoff.pause()).await;
            }
        }
    }

    /// Returns the number of shards whose pulses there are.
    #[must_use]
    pub fn shards(&self) -> u16 {
        self.subjects.shards()
    }

    async fn ask_for_pulses(&self) {
        let asked = self.bus.publish(self.subjects.pulse_ask(), Bytes::new()).await;
        if let Err(error) = asked {
            tracing::debug!(%error, "pulses cannot be asked for");
        }
    }
}
