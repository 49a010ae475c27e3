//! A cache of complete replies. Only a request at temperature zero has a reply that another call
//! would most likely repeat, and only its sender knows whether a repetition is of use.

use std::sync::{Arc, LazyLock};

use async_stream::stream;
use async_trait::async_trait;
use futures::StreamExt;
use opentelemetry::{global, metrics::Counter};
use proto::{budget::Price, digest, message::StopReason};
use quick_cache::{Weighter, sync::Cache};
use serde_json::json;

use crate::{
    complete::json_len,
    error::ModelError,
    port::{Delta, Model, ModelRequest, ModelStream, Params},
};

/// Expected size of a reply in bytes, by which the cache allocates its table.
const USUAL_REPLY: u64 = 4_096;

/// Replies by the digest of their request.
type Replies = Cache<String, Arc<[Delta]>, BySize>;

static HITS: LazyLock<Counter<u64>> = LazyLock::new(|| {
    global::meter("callboard")
        .u64_counter("callboard.model.cache.hits")
        .with_description("Model calls that were answered from `model.cache_bytes`.")
        .build()
});

/// A model whose complete replies at temperature zero are kept in memory, for requests with
/// [`Params::may_be_cached`].
#[derive(derive_more::Debug)]
#[debug("CachedModel({} bytes of {})", replies.weight(), replies.capacity())]
pub struct CachedModel {
    model: Arc<dyn Model>,
    temperature: Option<f64>,
    replies: Arc<Replies>,
}

impl CachedModel {
    /// Adds a cache of at most `bytes` to a model. `temperature` is the one of requests without one.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, temperature: Option<f64>, bytes: u64) -> Self {
        let replies = usize::try_from(bytes / USUAL_REPLY).unwrap_or(usize::MAX).max(1);
        let replies = Arc::new(Cache::with_weighter(replies, bytes, BySize));
        Self { model, temperature, replies }
    }

    /// Returns the key of a request, or `None` if its reply is not kept. Whether the sender takes a
    /// kept reply makes no difference: a later reply takes the place of one that was of no use.
    fn key(&self, request: &ModelRequest) -> Option<String> {
        let ModelRequest { messages, tools, params } = request;
        let Params {
            model,
            temperature,
            top_p,
            effort,
            max_tokens,
            fallback: _,
            fell_back: _,
            json,
            schema,
            parallel_tool_calls,
            may_be_cached: _,
        } = params;
        let is_greedy = temperature.or(self.temperature) == Some(0.0);
        is_greedy.then(|| {
            let params =
                json!([model, top_p, effort, max_tokens, json, schema, parallel_tool_calls]);
            digest::of_json(&json!([messages, tools, params]))
        })
    }
}

#[async_trait]
impl Model for CachedModel {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let Some(key) = self.key(&request) else { return self.model.stream(request).await };
        let kept = self.replies.get(&key).filter(|_| request.params.may_be_cached);
        if let Some(reply) = kept {
            HITS.add(1, &[]);
            let deltas: Vec<_> = reply.iter().cloned().map(Ok).collect();
            return Ok(Box::pin(futures::stream::iter(deltas)));
        }
        let mut reply = self.model.stream(request).await?;
        let replies = Arc::clone(&self.replies);
        Ok(Box::pin(stream! {
            let mut deltas = Vec::new();
            while let Some(delta) = reply.next().await {
                deltas.extend(delta.clone().ok());
                let is_complete = delta.as_ref().is_ok_and(is_complete_end);
                if is_complete {
                    replies.insert(key.clone(), std::mem::take(&mut deltas).into());
                }
                yield delta;
            }
        }))
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
        self.model.price(model)
    }
}

/// `true` for the end of a reply that was neither cut nor withheld.
fn is_complete_end(delta: &Delta) -> bool {
    match delta {
        Delta::End { stop, .. } => match stop {
            StopReason::End | StopReason::ToolCalls => true,
            StopReason::Length | StopReason::ContentFilter => false,
        },
        Delta::Text(_) | Delta::Thought(_) | Delta::Call(_) | Delta::Opaque(_) => false,
    }
}

/// Weighs a reply by its bytes.
#[derive(Debug, Clone)]
struct BySize;

impl Weighter<String, Arc<[Delta]>> for BySize {
    fn weight(&self, key: &String, reply: &Arc<[Delta]>) -> u64 {
        let deltas = reply.iter().map(|delta| {
            let text = match delta {
                Delta::Text(text) | Delta::Thought(text) => text.len(),
                Delta::Call(call) => call.id.len() + call.name.len() + call.args.to_string().len(),
                Delta::Opaque(opaque) => opaque.parts.iter().map(json_len).sum::<usize>(),
                Delta::End { model, .. } => model.len(),
            };
            text + size_of::<Delta>()
        });
        u64::try_from(key.len() + deltas.sum::<usize>()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proto::message::{Message, Usage};
    use rstest::rstest;

    use super::*;

    /// A model that gives every request the same reply, and counts them.
    #[derive(Default)]
    struct Counting {
        calls: AtomicUsize,
        reply: Vec<Delta>,
    }

    #[async_trait]
    impl Model for Counting {
        async fn stream(&self, _: ModelRequest) -> Result<ModelStream, ModelError> {
            self.calls.fetch_add(1, Ordering::Relaxed);
            Ok(Box::pin(futures::stream::iter(self.reply.clone().into_iter().map(Ok))))
        }
    }

    fn end(stop: StopReason) -> Delta {
        Delta::End { usage: Usage::reported(3, 1), stop, model: "m".to_owned() }
    }

    fn request(text: &str, temperature: Option<f64>) -> ModelRequest {
        ModelRequest {
            messages: vec![Message::User { text: text.to_owned() }],
            tools: Vec::new(),
            params: Params { temperature, may_be_cached: true, ..Params::default() },
        }
    }

    fn fresh(text: &str) -> ModelRequest {
        let mut request = request(text, Some(0.0));
        request.params.may_be_cached = false;
        request
    }

    fn hard(text: &str) -> ModelRequest {
        let mut request = request(text, Some(0.0));
        request.params.effort = Some(proto::effort::Effort::High);
        request
    }

    /// Sends both requests to a cache of `bytes` before a model with this reply, and returns the
    /// number of calls that the model had.
    async fn calls(requests: [ModelRequest; 2], reply: Vec<Delta>, bytes: u64) -> usize {
        let model = Arc::new(Counting { reply: reply.clone(), ..Counting::default() });
        let cached = CachedModel::new(Arc::clone(&model) as Arc<dyn Model>, None, bytes);
        for request in requests {
            let got: Vec<_> = cached.stream(request).await.unwrap().collect().await;
            let got: Vec<_> = got.into_iter().map(Result::unwrap).collect();
            assert_eq!(got, reply);
        }
        model.calls.load(Ordering::Relaxed)
    }

    fn said() -> Vec<Delta> {
        vec![Delta::Text("yes".to_owned()), end(StopReason::End)]
    }

    #[rstest]
    #[case::an_equal_request([request("a", Some(0.0)), request("a", Some(0.0))], said(), 1)]
    #[case::another_text([request("a", Some(0.0)), request("b", Some(0.0))], said(), 2)]
    #[case::another_effort([request("a", Some(0.0)), hard("a")], said(), 2)]
    #[case::a_higher_temperature([request("a", Some(0.1)), request("a", Some(0.1))], said(), 2)]
    #[case::the_provider_s_temperature([request("a", None), request("a", None)], said(), 2)]
    #[case::a_further_attempt([request("a", Some(0.0)), fresh("a")], said(), 2)]
    #[case::a_cut_reply([request("a", Some(0.0)), request("a", Some(0.0))], vec![end(StopReason::Length)], 2)]
    #[case::a_reply_without_an_end([request("a", Some(0.0)), request("a", Some(0.0))], vec![Delta::Text("y".to_owned())], 2)]
    #[tokio::test]
    async fn only_a_complete_reply_at_temperature_zero_is_given_again(
        #[case] requests: [ModelRequest; 2],
        #[case] reply: Vec<Delta>,
        #[case] expected: usize,
    ) {
        assert_eq!(calls(requests, reply, 1_000_000).await, expected);
    }

    #[tokio::test]
    async fn a_further_attempt_replaces_the_reply_that_was_of_no_use() {
        let model = Arc::new(Counting { reply: said(), ..Counting::default() });
        let cached = CachedModel::new(Arc::clone(&model) as Arc<dyn Model>, None, 1_000_000);
        for request in [fresh("a"), request("a", Some(0.0)), fresh("a"), request("a", Some(0.0))] {
            let _: Vec<_> = cached.stream(request).await.unwrap().collect().await;
        }
        assert_eq!(model.calls.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn the_configured_temperature_counts() {
        let model = Arc::new(Counting { reply: said(), ..Counting::default() });
        let cached = CachedModel::new(Arc::clone(&model) as Arc<dyn Model>, Some(0.0), 1_000_000);
        for _ in 0..2 {
            let _: Vec<_> = cached.stream(request("a", None)).await.unwrap().collect().await;
        }
        assert_eq!(model.calls.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn replies_never_exceed_the_bytes_of_the_cache() {
        let reply = vec![Delta::Text("y".repeat(10_000)), end(StopReason::End)];
        let requests = [request("a", Some(0.0)), request("a", Some(0.0))];
        assert_eq!(calls(requests, reply, 9_000).await, 2);
    }
}
