//! Tests of sessions: hosts and askers on a broker in memory and on a nats-server.

mod death;
mod opening;
mod stage;
mod working;

/// Expands each case to one test per broker. In memory, time is tokio's and is paused except for
/// waiting, so that waits cost nothing.
macro_rules! on_both_brokers {
    ($($name:ident),* $(,)?) => {
        mod memory {
            use crate::sessions::tests::stage::Stage;
            $(#[tokio::test(start_paused = true)]
            async fn $name() {
                super::$name(&Stage::in_memory()).await;
            })*
        }
        mod nats {
            use crate::sessions::tests::stage::Stage;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(&Stage::on_nats().await).await;
            })*
        }
    };
}

use on_both_brokers;
