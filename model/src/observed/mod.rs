//! Telemetry of a model: a `chat {model}` span and metrics for every call, after the OpenTelemetry
//! GenAI conventions 1.42.0. Requests and replies are unchanged. A span contains messages only as
//! redacted by a given function.

mod call;
mod content;
mod instruments;
mod labels;

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context as Poller, Poll},
};

use agents::price::ByModel;
use async_trait::async_trait;
use futures::Stream;
use proto::budget::Price;

use self::call::Call;
pub(crate) use self::{instruments::count_retry, labels::Labels};
use crate::{
    ErrorKind, ModelError, ProviderConfig,
    port::{Delta, Model, ModelRequest, ModelStream},
};

/// Redacts a text for display: truncates it and removes secrets.
pub type Show = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Settings of a model's telemetry.
#[derive(Clone, Default, derive_more::Debug)]
#[debug("Watching {{ prices: {prices:?}, shows: {} }}", show.is_some())]
pub struct Watching {
    /// Prices by model, for the cost metric; calls without a price are not counted.
    pub prices: ByModel<Price>,
    /// Redacts messages for spans; absent to omit them.
    pub show: Option<Show>,
}

/// The attributes common to all calls.
struct Target {
    labels: Labels,
    /// Host and port of the provider.
    server: Option<(String, i64)>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_tokens: Option<u32>,
    watching: Watching,
}

/// A model with telemetry.
#[derive(derive_more::Debug)]
#[debug("Observed({:?})", target.watching)]
pub struct Observed {
    model: Arc<dyn Model>,
    target: Arc<Target>,
}

impl Observed {
    /// Adds telemetry to a model connected by `config`.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, config: &ProviderConfig, watching: Watching) -> Self {
        let target = Target {
            labels: Labels::new(config),
            server: config.server(),
            temperature: config.temperature,
            top_p: config.top_p,
            max_tokens: config.max_tokens,
            watching,
        };
        Self { model, target: Arc::new(target) }
    }

    /// Adds telemetry to a scripted model within this process.
    #[must_use]
    pub fn scripted(model: Arc<dyn Model>, name: &str, watching: Watching) -> Self {
        let labels = Labels::scripted(name);
        let target = Target {
            labels,
            server: None,
            temperature: None,
            top_p: None,
            max_tokens: None,
            watching,
        };
        Self { model, target: Arc::new(target) }
    }
}

#[async_trait]
impl Model for Observed {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        // A call that is dropped before its end is recorded as cancelled.
        let mut call = Call::begin(&self.target, &request);
        match self.model.stream(request).await {
            Ok(reply) => {
                call.replied();
                Ok(Box::pin(ObservedReply { reply, call }))
            }
            Err(error) => {
                call.fail(error.kind());
                Err(error)
            }
        }
    }

    fn max_reply_bytes(&self) -> usize {
        self.model.max_reply_bytes()
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.model.count_tokens(text)
    }

    fn context_tokens(&self, model: Option<&str>) -> Option<u32> {
        self.model.context_tokens(model)
    }

    fn price(&self, model: Option<&str>) -> Option<Price> {
        self.target.watching.prices.of(model)
    }
}

/// A reply whose pieces are recorded as they arrive.
struct ObservedReply {
    reply: ModelStream,
    call: Call,
}

impl Stream for ObservedReply {
    type Item = Result<Delta, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, poller: &mut Poller<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.reply.as_mut().poll_next(poller);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(delta))) => self.call.take(delta),
            Poll::Ready(Some(Err(error))) => self.call.fail(error.kind()),
            Poll::Ready(None) => self.call.fail(ErrorKind::CutStream),
        }
        polled
    }
}
