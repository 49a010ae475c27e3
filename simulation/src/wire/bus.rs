//! The bus behind a link: messages and requests may be lost, repeated or late.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use broker::bus::{Answer, Bus, BusError, Direct, Message, Reply, Request, RequestContext};
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use proto::{door::Verb, error::Failure};

use super::Wire;
use crate::link::LinkState;

pub(super) struct WiredBus {
    wire: Wire,
    inner: Arc<dyn Bus>,
}

impl WiredBus {
    pub(super) fn new(wire: Wire, inner: Arc<dyn Bus>) -> Self {
        Self { wire, inner }
    }
}

#[async_trait]
impl Bus for WiredBus {
    async fn publish(&self, subject: String, payload: Bytes) -> Result<(), BusError> {
        self.wire.send().await?;
        let (chance, rough) = (&self.wire.chance, self.wire.fault_rates.messages_percent());
        if chance.percent(rough) {
            return Ok(());
        }
        if chance.percent(rough) {
            let (inner, late) = (Arc::clone(&self.inner), chance.millis(0..=5_000));
            let (subject, payload) = (subject.clone(), payload.clone());
            tokio::spawn(async move {
                tokio::time::sleep(late).await;
                let _ = inner.publish(subject, payload).await;
            });
        }
        self.inner.publish(subject, payload).await
    }

    async fn settle(&self) -> Result<(), BusError> {
        self.wire.send().await?;
        self.inner.settle().await
    }

    async fn subscribe(&self, subject: String) -> Result<BoxStream<'static, Message>, BusError> {
        self.wire.send().await?;
        let mut messages = self.inner.subscribe(subject).await?;
        let link = Arc::clone(&self.wire.link);
        Ok(Box::pin(async_stream::stream! {
            while let Some(message) = messages.next().await {
                // A message to a process that is cut off is lost. A paused process receives the
                // message when it runs again.
                if link.standing() != LinkState::Cut {
                    link.hold().await;
                    yield message;
                }
            }
        }))
    }

    async fn request(
        &self,
        subject: String,
        payload: Bytes,
        context: RequestContext,
        timeout: Duration,
    ) -> Result<Message, BusError> {
        self.wire.ask(self.inner.request(subject, payload, context, timeout)).await
    }

    async fn request_many(
        &self,
        subject: String,
        payload: Bytes,
        context: RequestContext,
        idle: Duration,
    ) -> Result<BoxStream<'static, Result<Message, BusError>>, BusError> {
        self.wire.send().await?;
        self.inner.request_many(subject, payload, context, idle).await
    }

    async fn listen(&self, subject: String) -> Result<BoxStream<'static, Direct>, BusError> {
        self.wire.send().await?;
        let mut requests = self.inner.listen(subject).await?;
        let wire = self.wire.clone();
        Ok(Box::pin(async_stream::stream! {
            while let Some(Direct { payload, answer }) = requests.next().await {
                if wire.link.standing() != LinkState::Cut {
                    wire.link.hold().await;
                    let answer = WiredAnswer { wire: wire.clone(), inner: answer };
                    yield Direct { payload, answer: Box::new(answer) };
                }
            }
        }))
    }

    async fn serve(&self, verbs: Vec<Verb>) -> Result<BoxStream<'static, Request>, BusError> {
        self.wire.send().await?;
        let mut requests = self.inner.serve(verbs).await?;
        let wire = self.wire.clone();
        Ok(Box::pin(async_stream::stream! {
            while let Some(request) = requests.next().await {
                if wire.link.standing() == LinkState::Cut {
                    continue;
                }
                wire.link.hold().await;
                let reply = Box::new(WiredReply { wire: wire.clone(), inner: request.reply });
                yield Request { reply, ..request };
            }
        }))
    }
}

#[derive(Debug)]
struct WiredAnswer {
    wire: Wire,
    inner: Box<dyn Answer>,
}

#[async_trait]
impl Answer for WiredAnswer {
    async fn send(&self, payload: Bytes) -> Result<(), BusError> {
        if arrives(&self.wire).await? { self.inner.send(payload).await } else { Ok(()) }
    }
}

#[derive(Debug)]
struct WiredReply {
    wire: Wire,
    inner: Box<dyn Reply>,
}

/// Returns whether an answer arrives. Its sender does not learn of a loss.
async fn arrives(wire: &Wire) -> Result<bool, BusError> {
    wire.send().await?;
    Ok(!wire.chance.percent(wire.fault_rates.messages_percent()))
}

#[async_trait]
impl Reply for WiredReply {
    fn inbox(&self) -> &str {
        self.inner.inbox()
    }

    async fn send(&self, payload: Bytes) -> Result<(), BusError> {
        if arrives(&self.wire).await? { self.inner.send(payload).await } else { Ok(()) }
    }

    async fn refuse(&self, failure: Failure) -> Result<(), BusError> {
        if arrives(&self.wire).await? { self.inner.refuse(failure).await } else { Ok(()) }
    }
}
