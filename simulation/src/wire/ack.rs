//! Acknowledgements behind a link. They are sent without a reply, so they are late or lost when the
//! link is down.

use std::time::Duration;

use async_trait::async_trait;
use broker::log::Ack;

use super::Wire;
use crate::link::LinkState;

/// An acknowledgement behind a link.
#[derive(Debug)]
pub(super) struct WiredAck {
    wire: Wire,
    inner: std::sync::Arc<dyn Ack>,
}

impl WiredAck {
    pub(super) fn new(wire: Wire, inner: Box<dyn Ack>) -> Self {
        Self { wire, inner: inner.into() }
    }

    /// Waits until a paused process runs again. Returns `false` for a process that is cut off,
    /// which does not notice that the message is lost.
    async fn leaves(&self) -> bool {
        loop {
            match self.wire.link.standing() {
                LinkState::Up => break,
                LinkState::Cut => return false,
                LinkState::Paused | LinkState::Gone => self.wire.link.run().await,
            }
        }
        tokio::task::yield_now().await;
        true
    }
}

#[async_trait]
impl Ack for WiredAck {
    async fn done(&self) {
        if self.leaves().await {
            return self.inner.done().await;
        }
        if self.wire.chance.percent(50) {
            let (inner, link) = (std::sync::Arc::clone(&self.inner), self.wire.link.clone());
            tokio::spawn(async move {
                link.hold().await;
                inner.done().await;
            });
        }
    }

    async fn working(&self) {
        if self.leaves().await {
            self.inner.working().await;
        }
    }

    async fn later(&self, wait: Duration) {
        if self.leaves().await {
            self.inner.later(wait).await;
        }
    }
}
