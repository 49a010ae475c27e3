//! Collection of a whole reply from a stream, with checks against unusable replies.

use std::collections::HashSet;

use futures::StreamExt;
use proto::{
    fallback::AnsweredBy,
    message::{ModelCall, StopReason, Usage},
    opaque::Opaque,
};

use crate::{
    error::{ErrorKind, ModelError},
    fallback::Chain,
    port::{Delta, Model, ModelRequest},
    thoughts::{self, Splitter},
    written_calls,
};

/// A complete reply, safe to act upon: within its size limit, with distinct call ids. Reasoning and
/// tool calls that the model wrote into its text are not part of `text`.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The text; empty if the model only called tools.
    pub text: String,
    /// The model's reasoning, if the provider returns it or the text begins with it.
    pub thought: String,
    /// Tool calls, in the model's order. Always empty if `stop` is `Length`.
    pub calls: Vec<ModelCall>,
    /// Parts of the reply that only the same model reads.
    pub opaque: Option<Opaque>,
    /// Model that was asked in the end, when others did not answer.
    pub answered: Option<AnsweredBy>,
    /// Tokens of the call, estimated if the provider does not report them.
    pub usage: Usage,
    /// Reason for the end of the reply. `Length` means that `text` is cut short.
    pub stop: StopReason,
    /// Name of the model that answered, as the provider reports it.
    pub model: String,
}

/// Calls a model and collects its reply; passes every delta to `on_delta` as it arrives. Leading
/// `<think>` blocks arrive as reasoning. If the model does not answer for a reason that the request
/// has another model for, that one is asked, after all retries inside the call.
///
/// # Errors
/// Every error of [`Model::stream`], and: [`ErrorKind::CutStream`] if the stream lacks its end,
/// [`ErrorKind::CutByLength`] if the token limit cut tool calls or left nothing but reasoning,
/// [`ErrorKind::DuplicateCall`], [`ErrorKind::Empty`], [`ErrorKind::Refused`],
/// [`ErrorKind::TooLarge`] above [`Model::max_reply_bytes`].
pub async fn complete(
    model: &dyn Model,
    request: ModelRequest,
    mut on_delta: impl FnMut(&Delta) + Send,
) -> Result<Reply, ModelError> {
    let mut chain = Chain::of(request.params);
    loop {
        let request = ModelRequest {
            messages: request.messages.clone(),
            tools: request.tools.clone(),
            params: chain.params(),
        };
        match once(model, request, &mut on_delta).await {
            Ok(reply) => return Ok(Reply { answered: chain.answered(), ..reply }),
            Err(error) if chain.goes_on(&error) => {
                let (from, kind) = (chain.last(), error.kind().as_str());
                tracing::info!(
                    model = from,
                    kind,
                    "the model did not answer; another one is asked"
                );
            }
            Err(error) => return Err(error),
        }
    }
}

async fn once(
    model: &dyn Model,
    request: ModelRequest,
    on_delta: &mut (impl FnMut(&Delta) + Send),
) -> Result<Reply, ModelError> {
    let limit = model.max_reply_bytes();
    let mut collected = Collected { offered: written_calls::offered(&request), ..<_>::default() };
    let mut stream = model.stream(request).await?;
    while let Some(item) = stream.next().await {
        let delta = item?;
        collected.bytes = collected.bytes.saturating_add(size(&delta));
        if collected.bytes > limit {
            return Err(ModelError::new(
                ErrorKind::TooLarge,
                "the reply is larger than allowed (max_reply_bytes)",
            ));
        }
        for delta in collected.split(delta) {
            on_delta(&delta);
            match delta {
                Delta::Text(text) => collected.text.push_str(&text),
                Delta::Thought(thought) => collected.thought.push_str(&thought),
                Delta::Call(call) => collected.calls.push(call),
                Delta::Opaque(opaque) => collected.opaque = Some(opaque),
                Delta::End { usage, stop, model } => return collected.close(usage, stop, model),
            }
        }
    }
    Err(ModelError::new(ErrorKind::CutStream, "the reply stopped without its end"))
}

#[derive(Default)]
struct Collected {
    text: String,
    thought: String,
    calls: Vec<ModelCall>,
    opaque: Option<Opaque>,
    bytes: usize,
    splitter: Splitter,
    /// Names of the offered tools.
    offered: Vec<String>,
}

impl Collected {
    /// Separates reasoning from the text of a delta.
    fn split(&mut self, delta: Delta) -> Vec<Delta> {
        match delta {
            Delta::Text(text) => self.splitter.take(&text),
            end @ Delta::End { .. } => self.splitter.finish().into_iter().chain([end]).collect(),
            other @ (Delta::Thought(_) | Delta::Call(_) | Delta::Opaque(_)) => vec![other],
        }
    }

    fn close(
        mut self,
        usage: Usage,
        mut stop: StopReason,
        model: String,
    ) -> Result<Reply, ModelError> {
        // A provider that separates the reasoning leaves none of it in the text.
        if self.thought.is_empty()
            && let Some((thought, answer)) = thoughts::unopened(&self.text)
        {
            self.thought.push_str(thought);
            self.text = answer.to_owned();
        }
        if let (StopReason::End, true) = (stop, self.calls.is_empty())
            && let Some(calls) = written_calls::read(&self.text, &self.offered)
        {
            (self.text, self.calls, stop) = (String::new(), calls, StopReason::ToolCalls);
        }
        if let Some(error) = unusable(stop, !self.text.trim().is_empty(), !self.calls.is_empty()) {
            return Err(error);
        }
        let calls = distinct(self.calls)?;
        let Self { text, thought, opaque, .. } = self;
        let answered = None;
        Ok(Reply { text, thought, calls, opaque, answered, usage, stop, model })
    }
}

/// Makes the ids of calls distinct, because results are matched with calls by id.
///
/// # Errors
/// [`ErrorKind::DuplicateCall`] if a call is repeated as it is: it may be meant once or twice.
fn distinct(calls: Vec<ModelCall>) -> Result<Vec<ModelCall>, ModelError> {
    let mut ids: HashSet<String> = calls.iter().map(|call| call.id.clone()).collect();
    let mut found: Vec<ModelCall> = Vec::with_capacity(calls.len());
    for mut call in calls {
        if found.contains(&call) {
            return Err(ModelError::new(
                ErrorKind::DuplicateCall,
                "the reply repeats a tool call with its id",
            ));
        }
        if found.iter().any(|earlier| earlier.id == call.id) {
            let free = (2_u32..).map(|n| format!("{}_{n}", call.id)).find(|id| !ids.contains(id));
            call.id = free.unwrap_or_default();
            ids.insert(call.id.clone());
        }
        found.push(call);
    }
    Ok(found)
}

/// Returns the error of a complete reply that must not be acted upon, by its stop reason and
/// content.
pub(crate) const fn unusable(stop: StopReason, words: bool, calls: bool) -> Option<ModelError> {
    let (kind, detail) = match stop {
        StopReason::ContentFilter => {
            (ErrorKind::Refused, "the model refused, or a content filter withheld the reply")
        }
        StopReason::Length if calls => (
            ErrorKind::CutByLength,
            "the token limit cut the reply in the middle of its tool calls; raise max_tokens",
        ),
        StopReason::Length if !words => (
            ErrorKind::CutByLength,
            "the token limit was reached before the model said anything; raise max_tokens",
        ),
        StopReason::End | StopReason::ToolCalls if !words && !calls => {
            (ErrorKind::Empty, "the model answered with neither text nor tool calls")
        }
        StopReason::Length | StopReason::End | StopReason::ToolCalls => return None,
    };
    Some(ModelError::new(kind, detail))
}

/// Returns the bytes that a delta adds to a reply.
fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Thought(text) => text.len(),
        // Counts the serialised length without building the text.
        Delta::Call(call) => call.id.len() + call.name.len() + json_len(&call.args),
        // Bounded apart, because it is no content.
        Delta::Opaque(_) | Delta::End { .. } => 0,
    }
}

pub(crate) fn json_len(value: &serde_json::Value) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
            self.0 += buf.len();
            Ok(buf.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Writing a `Value` into a counter cannot fail: no I/O, and every key is a string.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use futures::stream;
    use proto::message::ToolOffer;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::port::ModelStream;

    struct Canned(Vec<Result<Delta, ModelError>>, usize);

    #[async_trait]
    impl Model for Canned {
        async fn stream(&self, _: ModelRequest) -> Result<ModelStream, ModelError> {
            Ok(Box::pin(stream::iter(self.0.clone())))
        }
        fn max_reply_bytes(&self) -> usize {
            self.1
        }
    }

    fn text(words: &str) -> Result<Delta, ModelError> {
        Ok(Delta::Text(words.to_owned()))
    }

    fn call(id: &str) -> Result<Delta, ModelError> {
        Ok(Delta::Call(ModelCall { id: id.to_owned(), name: "t".to_owned(), args: json!({}) }))
    }

    fn end(stop: StopReason) -> Result<Delta, ModelError> {
        Ok(Delta::End { usage: Usage::default(), stop, model: "m".to_owned() })
    }

    #[rstest]
    #[case::no_end(vec![text("half")], ErrorKind::CutStream)]
    #[case::nothing_at_all(vec![], ErrorKind::CutStream)]
    #[case::truncated_call(vec![call("a"), end(StopReason::Length)], ErrorKind::CutByLength)]
    #[case::only_thought(vec![Ok(Delta::Thought("hm".into())), end(StopReason::Length)], ErrorKind::CutByLength)]
    #[case::same_id(vec![call("a"), call("a"), end(StopReason::ToolCalls)], ErrorKind::DuplicateCall)]
    #[case::empty(vec![text(" \n"), end(StopReason::End)], ErrorKind::Empty)]
    #[case::filtered(vec![text("I"), end(StopReason::ContentFilter)], ErrorKind::Refused)]
    #[case::too_large(vec![text("123456789"), text("123456789"), end(StopReason::End)], ErrorKind::TooLarge)]
    #[case::failed_midway(vec![text("a"), Err(ModelError::timeout(crate::Phase::Idle))], ErrorKind::Timeout { which: crate::Phase::Idle })]
    #[tokio::test]
    async fn a_reply_that_must_not_be_acted_upon_is_a_typed_error(
        #[case] items: Vec<Result<Delta, ModelError>>,
        #[case] kind: ErrorKind,
    ) {
        let error =
            complete(&Canned(items, 16), ModelRequest::default(), |_| {}).await.unwrap_err();
        assert_eq!(error.kind(), kind);
    }

    #[tokio::test]
    async fn a_whole_reply_is_collected_and_shown_as_it_comes() {
        let mut shown = 0;
        let items = vec![
            text("a"),
            text("b"),
            call("1"),
            call("2"),
            end(StopReason::ToolCalls),
            text("ignored"),
        ];
        let reply =
            complete(&Canned(items, 100), ModelRequest::default(), |_| shown += 1).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.calls.len(), shown), ("ab", 2, 5));
    }

    #[tokio::test]
    async fn text_cut_by_length_is_returned_and_says_so() {
        let items = vec![text("a"), end(StopReason::Length)];
        let reply = complete(&Canned(items, 100), ModelRequest::default(), |_| {}).await.unwrap();
        assert_eq!(reply.stop, StopReason::Length);
    }

    #[tokio::test]
    async fn calls_with_one_id_stay_apart() {
        let other = ModelCall { id: "a".into(), name: "t".into(), args: json!({"x": 1}) };
        let items =
            vec![call("a"), call("a_2"), Ok(Delta::Call(other)), end(StopReason::ToolCalls)];
        let reply = complete(&Canned(items, 100), ModelRequest::default(), |_| {}).await.unwrap();
        let ids: Vec<_> = reply.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a", "a_2", "a_3"]);
    }

    /// The shown text, the shown reasoning, and the reply's text and reasoning.
    async fn said(pieces: &[&str]) -> [String; 4] {
        let (mut words, mut thoughts) = (String::new(), String::new());
        let items = pieces.iter().map(|piece| text(piece)).chain([end(StopReason::End)]).collect();
        let show = |delta: &Delta| match delta {
            Delta::Text(text) => words.push_str(text),
            Delta::Thought(thought) => thoughts.push_str(thought),
            Delta::Call(_) | Delta::Opaque(_) | Delta::End { .. } => {}
        };
        let model = Canned(items, 1000);
        let reply = complete(&model, ModelRequest::default(), show).await.unwrap();
        [words, thoughts, reply.text, reply.thought]
    }

    #[tokio::test]
    async fn reasoning_in_the_text_is_shown_and_kept_as_reasoning() {
        let split = said(&["<thi", "nk>let me", " see</th", "ink>\n\nfour"]).await;
        assert_eq!(split, ["four", "let me see", "four", "let me see"]);
        let quoted = "the tag `<think>` opens it, `</think>` closes it";
        assert_eq!(said(&[quoted]).await, [quoted, "", quoted, ""]);
        // The closing tag alone is noticed at the end, when the reasoning has been shown as text.
        let alone = said(&["let me see\n</think>\nfour"]).await;
        assert_eq!(alone[2..], ["four", "let me see"]);
    }

    #[tokio::test]
    async fn reasoning_alone_is_no_answer() {
        let items = vec![text("<think>let me see</think>"), end(StopReason::End)];
        let failed = complete(&Canned(items, 100), ModelRequest::default(), |_| {}).await;
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Empty);
    }

    #[tokio::test]
    async fn a_call_in_the_text_is_a_call_where_the_tool_was_offered() {
        let written = "<tool_call>{\"name\":\"look\",\"arguments\":{}}</tool_call>";
        let model = || Canned(vec![text(written), end(StopReason::End)], 1000);
        let schema = json!({"type": "object"});
        let tool = ToolOffer { name: "look".into(), description: String::new(), schema };
        let offering = ModelRequest { tools: vec![tool], ..ModelRequest::default() };
        let reply = complete(&model(), offering, |_| {}).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.calls.len()), ("", 1));
        assert_eq!(reply.stop, StopReason::ToolCalls);
        let reply = complete(&model(), ModelRequest::default(), |_| {}).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.calls.len()), (written, 0));
    }
}
