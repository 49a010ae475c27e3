//! An observed model: a `chat {model}` span and the metrics of every call, after the OpenTelemetry
//! GenAI conventions 1.42.0. It changes neither requests nor replies, and puts content into a span
//! only through a function that it was given for that.

mod call;
mod content;
mod instruments;
mod labels;

use std::{
    fmt,
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

/// Makes text fit to be seen: cut, and without secrets.
pub type Show = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The settings of an observed model.
#[derive(Clone, Default)]
pub struct Watching {
    /// For the metric of money; nothing is counted of a model that has none.
    pub prices: ByModel<Price>,
    /// Puts messages into spans, through this function; they are left out without it.
    pub show: Option<Show>,
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shows = self.show.is_some();
        f.debug_struct("Watching").field("prices", &self.prices).field("shows", &shows).finish()
    }
}

/// The attributes that all calls share.
struct Target {
    labels: Labels,
    /// Host and port.
    server: Option<(String, i64)>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_tokens: Option<u32>,
    watching: Watching,
}

/// A model that is watched.
pub struct Observed {
    model: Arc<dyn Model>,
    target: Arc<Target>,
}

impl Observed {
    /// Watches a model that was connected with this configuration.
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

    /// Watches a scripted model inside this process.
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

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed").field("watching", &self.target.watching).finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for Observed {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        // Dropped before it ends, here or below, it is recorded as canceled.
        let mut call = Call::begin(&self.target, &request);
        match self.model.stream(request).await {
            Ok(reply) => {
                call.replied();
                Ok(Box::pin(Watched { reply, call }))
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

/// A reply that is watched as it comes.
struct Watched {
    reply: ModelStream,
    call: Call,
}

impl Stream for Watched {
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
