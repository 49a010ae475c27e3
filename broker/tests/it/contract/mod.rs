//! The contract of [`broker::log`], [`broker::bus`], [`broker::kv`] and [`broker::objects`]: one
//! test per promise. Every case is written once and runs on every broker: [`on_every_broker`]
//! expands the cases of a file. Tests of a single broker have files beside this directory.

mod answers;
mod bodies;
mod buckets;
mod bus;
mod collecting;
mod commands;
mod conditions;
mod decisions;
mod facts;
pub(crate) mod fixtures;
mod large;
mod load;
mod outboxes;
mod progress;
mod purging;
mod reading;
mod submissions;
mod timers;
pub(crate) mod words;

/// Expands each case to one test per broker; a new broker is added here and in
/// [`race_on_every_broker`]. In memory, time is tokio's and is paused except for waiting, so that
/// waits cost nothing.
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

/// Expands cases with concurrent callers: in memory on two threads.
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
