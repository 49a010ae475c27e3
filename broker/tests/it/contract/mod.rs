//! The promises of [`broker::log`], [`broker::bus`], [`broker::kv`] and [`broker::objects`], one
//! test each. Every case is written once and runs on every broker: [`on_every_broker`] makes the
//! tests of a file. What only one broker can show has its own file beside this directory.

mod answers;
mod bodies;
mod buckets;
mod bus;
mod collecting;
mod commands;
mod decisions;
mod facts;
pub(crate) mod fixtures;
mod large;
mod load;
mod progress;
mod purging;
mod reading;
mod submissions;
mod timers;
pub(crate) mod words;

/// Makes a test of each case for each broker; a broker is added to the contract here and in
/// [`race_on_every_broker`]. In memory time is tokio's and is paused but for
/// waiting, so that cases that wait take none.
macro_rules! on_every_broker {
    ($($name:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(start_paused = true)]
            async fn $name() {
                super::$name(&$crate::contract::fixtures::InMemory::start()).await;
            })*
        }
        mod nats {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(&$crate::contract::fixtures::OnNats::start().await).await;
            })*
        }
    };
}

/// The same for cases in which many act at the same time: in memory on two threads.
macro_rules! race_on_every_broker {
    ($($name:ident),* $(,)?) => {
        mod memory_race {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(&$crate::contract::fixtures::InMemory::start()).await;
            })*
        }
        mod nats_race {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(&$crate::contract::fixtures::OnNats::start().await).await;
            })*
        }
    };
}

pub(crate) use on_every_broker;
pub(crate) use race_on_every_broker;
