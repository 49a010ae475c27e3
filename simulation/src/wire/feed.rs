//! Deliveries behind a link: late, and only while the process is connected. When a process is
//! silent, the broker moves its pin of a shard's facts to another process. The first one finds out
//! when it is connected again.

use std::{sync::Arc, time::Duration};

use broker::log::{Delivery, Feed, LogError, Queues};
use futures::{StreamExt, stream::BoxStream};
use proto::id::Shard;

use super::{Wire, log::wired, misread::Misreading};
use crate::{
    link::{Link, LinkState},
    mutation::Mutation,
};

/// The silence after which the broker closes a process's streams.
const PLACE_KEPT: Duration = Duration::from_secs(2);

/// The silence of the server after which the client requests commands again, by another inbox. A
/// delivery that arrives later is ignored, and the broker redelivers the command.
const SILENCE: Duration = Duration::from_secs(5);

type Stream<T> = BoxStream<'static, Result<T, LogError>>;

/// A stream from the broker, which notices the death of the process only after a while.
struct FeedGuard<T: 'static> {
    stream: Option<Stream<T>>,
    link: Arc<Link>,
}

impl<T> FeedGuard<T> {
    async fn next(&mut self) -> Option<Result<T, LogError>> {
        match &mut self.stream {
            Some(stream) => stream.next().await,
            None => None,
        }
    }
}

impl<T> Drop for FeedGuard<T> {
    fn drop(&mut self) {
        let in_world = tokio::runtime::Handle::try_current();
        if let (Some(stream), LinkState::Gone, Ok(world)) =
            (self.stream.take(), self.link.standing(), in_world)
        {
            world.spawn(async move {
                tokio::time::sleep(PLACE_KEPT).await;
                drop(stream);
            });
        }
    }
}

/// Returns the facts of a shard, behind the link.
pub(super) fn facts(
    wire: Wire,
    misreading: Arc<Misreading>,
    queues: Arc<dyn Queues>,
    shard: Shard,
    first: Stream<Feed>,
) -> Stream<Feed> {
    let mut place = FeedGuard { stream: Some(first), link: Arc::clone(&wire.link) };
    let mut resets = 0;
    Box::pin(async_stream::stream! {
        loop {
            let next = tokio::select! {
                biased;
                () = wire.link.down() => None,
                next = place.next() => Some(next),
            };
            let fed = match next {
                Some(Some(Ok(fed))) => fed,
                Some(Some(Err(error))) => {
                    yield Err(error);
                    continue;
                }
                Some(None) => return,
                None => {
                    if tokio::time::timeout(PLACE_KEPT, wire.link.hold()).await.is_ok() {
                        continue;
                    }
                    if wire.link.standing() == LinkState::Gone {
                        std::future::pending::<()>().await;
                    }
                    place.stream = None;
                    wire.link.hold().await;
                    match queues.facts(shard).await {
                        Ok(stream) => place.stream = Some(stream),
                        Err(error) => {
                            yield Err(error);
                            return;
                        }
                    }
                    continue;
                }
            };
            wire.link.travel().await;
            wire.link.hold().await;
            match fed {
                Feed::Fact(delivery) => {
                    if wire.mutation == Some(Mutation::AckBeforeDeciding) {
                        delivery.ack.done().await;
                    }
                    let mut delivery = wired(&wire, delivery);
                    delivery.entry = misreading.of(wire.misreads(), delivery.entry);
                    yield Ok(Feed::Fact(delivery));
                }
                Feed::Reset => {
                    resets += 1;
                    if resets == 1 || wire.mutation != Some(Mutation::NoResets) {
                        yield Ok(Feed::Reset);
                    }
                }
            }
        }
    })
}

/// Returns the commands of one kind and pool, behind the link.
pub(super) fn commands(wire: Wire, commands: Stream<Delivery>) -> Stream<Delivery> {
    let mut place = FeedGuard { stream: Some(commands), link: Arc::clone(&wire.link) };
    Box::pin(async_stream::stream! {
        loop {
            wire.link.hold().await;
            let next = tokio::select! {
                biased;
                () = wire.link.down() => continue,
                next = place.next() => next,
            };
            let delivery = match next {
                Some(Ok(delivery)) => delivery,
                Some(Err(error)) => {
                    yield Err(error);
                    continue;
                }
                None => return,
            };
            let arrival = async {
                wire.link.travel().await;
                wire.link.hold().await;
            };
            if tokio::time::timeout(SILENCE, arrival).await.is_err() {
                continue;
            }
            if wire.mutation == Some(Mutation::AckBeforeWork) {
                delivery.ack.done().await;
            }
            yield Ok(wired(&wire, delivery));
        }
    })
}
