//! The feed of a shard's facts, for the holder of the consumer's pin.
//!
//! The server assigns the pin with the first message it delivers and withdraws it after a pin
//! timeout without requests; so a feed always has a request open and renews it three times in that
//! time. It yields [`Feed::Reset`] whenever it cannot prove that no other feed received facts in
//! between. The proof is the consumer's own count of deliveries: the number after the last one seen
//! here was delivered here. After a lost connection that count is not trusted either, as a killed
//! server may have forgotten its last deliveries.

use std::{sync::Arc, time::Duration};

use futures::stream::BoxStream;
use proto::id::Shard;

use super::{
    ack::NatsAck,
    lane::Lane,
    log::NatsLog,
    pull::{Delivered, Event, Puller, Wait},
    setup,
};
use crate::log::{Ack, Delivery, Feed, LogError};

/// Largest number of facts requested or buffered.
const BATCH: usize = 512;
/// Delay before a fact whose body could not be fetched is redelivered.
const BODY_AWAY: Duration = Duration::from_secs(1);
/// Interval at which the consumer is checked for a stall.
const WATCH: Duration = Duration::from_secs(5);

/// Opens the feed of a shard's facts.
pub(super) async fn open(
    log: NatsLog,
    shard: Shard,
) -> Result<BoxStream<'static, Result<Feed, LogError>>, LogError> {
    setup::facts(&log.link, &log.subjects, shard, &log.options).await?;
    let lane = Lane::new(log.subjects.stream(shard), log.subjects.facts_consumer(), true);
    let puller = Puller::open(Arc::clone(&log.link), vec![lane], log.options.stall()).await?;
    let mut line = Line { puller, last: 0, pin: None };
    line.look().await?;
    let renewal = log.options.pin_timeout() / 3;
    Ok(Box::pin(async_stream::stream! {
        yield Ok(Feed::Reset);
        let mut watchdog = tokio::time::interval(WATCH);
        loop {
            line.ask(renewal).await;
            let event = tokio::select! {
                biased;
                event = line.puller.next() => event,
                _ = watchdog.tick() => match line.puller.watchdog().await {
                    Some(event) => event,
                    None => continue,
                },
            };
            match event {
                Event::Delivered(delivered) => {
                    if line.is_interrupted(&delivered) {
                        yield Ok(Feed::Reset);
                    }
                    match deliver(&log, *delivered).await {
                        Ok(Some(delivery)) => yield Ok(Feed::Fact(delivery)),
                        Ok(None) => {}
                        // Later facts must not be applied to a fold that lacks this one.
                        Err(NotYet) => yield Ok(Feed::Reset),
                    }
                }
                Event::Ended { .. } => {}
                Event::Broken(why) => {
                    tracing::warn!(%shard, why, "the request for facts failed; retrying");
                    match line.begin_anew().await {
                        Ok(()) => yield Ok(Feed::Reset),
                        Err(error) => {
                            yield Err(error);
                            return;
                        }
                    }
                }
                Event::Failed(error) => {
                    yield Err(error);
                    return;
                }
            }
        }
    }))
}

/// This feed's position in the consumer's deliveries.
struct Line {
    puller: Puller,
    /// Sequence number of the consumer's last accounted delivery.
    last: u64,
    pin: Option<String>,
}

impl Line {
    /// Accounts for all deliveries so far, as a reset follows.
    async fn look(&mut self) -> Result<(), LogError> {
        let infos = self.puller.infos().await?;
        self.last = infos.first().map_or(0, |info| info.delivered.consumer_seq);
        Ok(())
    }

    async fn begin_anew(&mut self) -> Result<(), LogError> {
        let infos = self.puller.reopen().await?;
        self.last = infos.first().map_or(0, |info| info.delivered.consumer_seq);
        self.pin = None;
        Ok(())
    }

    /// Keeps a request open, and renews it before it is used up.
    async fn ask(&mut self, renewal: Duration) {
        let credit = self.puller.lanes[0].credit;
        if credit <= BATCH / 2 {
            self.puller.request(0, BATCH - credit, Wait::For(renewal)).await;
        }
    }

    /// `true` if another feed may have received facts before this delivery.
    fn is_interrupted(&mut self, delivered: &Delivered) -> bool {
        let follows = delivered.consumer_seq == self.last + 1;
        let other_pin = self.pin.is_some() && self.pin != delivered.pin;
        self.last = delivered.consumer_seq;
        self.pin.clone_from(&delivered.pin);
        !follows || other_pin
    }
}

/// The fact's body is unavailable now; the fact will be redelivered.
struct NotYet;

/// Builds the delivery of a fact. Terminates a message that is not a record of this installation.
/// Has a fact redelivered soon if its body cannot be fetched.
async fn deliver(log: &NatsLog, delivered: Delivered) -> Result<Option<Delivery>, NotYet> {
    let ack = NatsAck { link: Arc::clone(&log.link), reply: delivered.reply };
    let (seq, times) = (delivered.message.seq, delivered.delivered);
    match log.entry(delivered.message).await {
        Ok(Some(entry)) if !entry.is_forged() => {
            Ok(Some(Delivery { entry, delivered: times, ack: Box::new(ack), slot: None }))
        }
        Ok(Some(_) | None) => {
            ack.never().await;
            Ok(None)
        }
        Err(error) => {
            tracing::warn!(%error, %seq, "the body of a fact cannot be fetched; the fact will be redelivered");
            ack.later(BODY_AWAY).await;
            Err(NotYet)
        }
    }
}
