//! Results of the built-in tools.

mod http_post;
mod tasks;

use std::sync::Arc;

use ::model::{Delta, ErrorKind, Model, ModelError, ModelRequest, ModelStream};
use async_trait::async_trait;
use futures::stream;
use proto::{
    budget::Price,
    cost::Cost,
    id::{Attempt, JobId, StepId, WorkId},
    message::{Message, StopReason, Usage},
    trace::TraceContext,
};
use tokio_util::sync::CancellationToken;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

use super::*;
use crate::{
    egress::{Egress, SystemLookup},
    settings::Http,
    tool::{CallContext, Meter, Tool},
    workspace::{Limits, Workspaces},
};

pub(crate) fn context(key: &str, language: Language) -> CallContext {
    CallContext {
        job: JobId::new("j").unwrap(),
        work: WorkId::new("g0.s1").unwrap(),
        step: StepId::new("1").unwrap(),
        attempt: Attempt::FIRST,
        idempotency_key: key.to_owned(),
        hosts: None,
        language,
        trace: TraceContext::new(1, 2, true),
        canceled: CancellationToken::new(),
        meter: Meter::default(),
        files: crate::JobFiles::default(),
        artifacts: crate::tool::Artifacts::default(),
    }
}

async fn call(tool: &dyn Tool, args: Value) -> Result<ToolResult, ToolFault> {
    tool.call(context("key", Language::En), args).await
}

#[tokio::test(start_paused = true)]
async fn the_small_tools_do_what_they_say() {
    let value = json!({"any": [1, null]});
    let echoed = call(&Echo, json!({"value": value})).await.unwrap();
    assert_eq!(echoed, ToolResult::ok(value));
    let stopped = call(&Stop, json!({})).await.unwrap();
    assert_eq!(stopped.data, Some(json!({"response": "", "isEnd": true})));
    let begun = tokio::time::Instant::now();
    call(&Sleep, json!({"ms": 20})).await.unwrap();
    assert_eq!(begun.elapsed().as_millis(), 20);
}

#[tokio::test]
async fn files_are_written_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let workspaces = Workspaces::open(&dir.path().join("made"), Limits::default()).unwrap();
    let (read, write) = (ReadFile(workspaces.clone()), WriteFile(workspaces));
    let written = call(&write, json!({"path": "a/b.txt", "content": "hé"})).await.unwrap();
    assert_eq!(written.data, Some(json!({"path": "a/b.txt", "bytes": 3, "created": true})));
    let content = call(&read, json!({"path": "a/b.txt"})).await.unwrap();
    let expected = json!({"path": "a/b.txt", "content": "hé", "bytes": 3, "truncated": false});
    assert_eq!(content.data, Some(expected));
    for (tool, args) in [
        (&read as &dyn Tool, json!({"path": "../x"})),
        (&write, json!({"path": "../x", "content": ""})),
        (&write, json!({"path": "callboard.toml", "content": ""})),
        (&read, json!({"path": "missing"})),
    ] {
        let result = call(tool, args).await.unwrap();
        assert!(!result.success && result.error.is_some());
    }
    let missing = read.call(context("key", Language::Zh), json!({"path": "missing"})).await;
    assert_eq!(missing.unwrap(), ToolResult::failed("missing：文件不存在"));
}

#[tokio::test]
async fn an_answer_of_the_web_is_an_answer_and_a_server_in_need_is_a_fault() {
    let server = MockServer::start().await;
    for status in [200, 404, 503] {
        let answer = ResponseTemplate::new(status).set_body_raw("hello", "text/plain");
        Mock::given(path(format!("/{status}"))).respond_with(answer).mount(&server).await;
    }
    let config = Http { allow_private: true, ..Http::default() };
    let get = HttpGet::new(Egress::new(config, Arc::new(SystemLookup)).unwrap(), 100, 1000);
    let url = |path: &str| format!("{}/{path}", server.uri());
    let found = call(&get, json!({"url": url("200"), "max_bytes": 4})).await.unwrap();
    let expected = json!({"url": url("200"), "status": 200, "content_type": "text/plain",
        "format": "raw", "body": "hell", "truncated": true});
    assert_eq!(found, ToolResult::ok(expected));
    let missing = call(&get, json!({"url": url("404")})).await.unwrap();
    assert_eq!((missing.success, &missing.data.unwrap()["body"]), (false, &json!("hello")));
    let fault = call(&get, json!({"url": url("503")})).await.unwrap_err();
    assert_eq!(fault.fault, Fault::Unavailable);
    let refused = call(&get, json!({"url": "file:///etc/passwd"})).await.unwrap();
    assert!(!refused.success);
}

#[tokio::test]
async fn a_page_is_given_as_markdown_and_anything_else_as_it_is() {
    const PAGE: &str = "<title>The  house</title><nav>menu</nav><main><p>It has <a href=seats>410</a> seats.</main>";
    let server = MockServer::start().await;
    for (at, kind) in [("page", "Text/HTML; charset=utf-8"), ("other", "text/plain")] {
        let answer = ResponseTemplate::new(200).set_body_raw(PAGE, kind);
        Mock::given(path(format!("/{at}"))).respond_with(answer).mount(&server).await;
    }
    let config = Http { allow_private: true, ..Http::default() };
    let get = HttpGet::new(Egress::new(config, Arc::new(SystemLookup)).unwrap(), 200, 1000);
    let markdown = format!("It has [410]({}/seats) seats.", server.uri());
    for (at, more, body, format, title) in [
        ("page", json!({}), markdown.as_str(), "markdown", json!("The house")),
        ("page", json!({"format": "markdown"}), &markdown, "markdown", json!("The house")),
        ("page", json!({"format": "raw"}), PAGE, "raw", Value::Null),
        ("other", json!({}), PAGE, "raw", Value::Null),
    ] {
        let mut args = json!({"url": format!("{}/{at}", server.uri())});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let data = call(&get, args).await.unwrap().data.unwrap();
        assert_eq!((&data["body"], &data["format"]), (&json!(body), &json!(format)));
        assert_eq!((&data["title"], &data["truncated"]), (&title, &json!(false)));
    }
}

/// A model that repeats its prompt, or fails.
struct Parrot(Option<ErrorKind>);

/// [`Parrot`] with a price for its tokens.
struct Priced(Parrot);

#[async_trait]
impl Model for Priced {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.0.stream(request).await
    }

    fn price(&self, model: Option<&str>) -> Option<Price> {
        model.is_none().then_some(Price::new(1e6, 2e6))
    }
}

#[async_trait]
impl Model for Parrot {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        if let Some(kind) = self.0 {
            return Err(ModelError::new(kind, "no"));
        }
        let words: Vec<_> = request
            .messages
            .iter()
            .map(|message| match message {
                Message::System { text } => format!("[{text}]"),
                Message::User { text } => text.clone(),
                Message::Assistant { .. } | Message::Tool { .. } => panic!("{message:?}"),
            })
            .collect();
        let usage = Usage::reported(5, 7);
        let end = Delta::End { usage, stop: StopReason::End, model: "m".into() };
        Ok(Box::pin(stream::iter([Ok(Delta::Text(words.join(" "))), Ok(end)])))
    }
}

#[tokio::test]
async fn the_model_tool_answers_with_the_words_of_the_model() {
    let args = json!({"task": "sum up", "systemPrompt": "be brief"});
    let said = call(&AskModel(Arc::new(Parrot(None))), args.clone()).await.unwrap();
    assert_eq!(said.data.unwrap()["response"], "[be brief] sum up");
    let context = context("key", Language::En);
    let meter = context.meter.clone();
    AskModel(Arc::new(Parrot(None))).call(context, args.clone()).await.unwrap();
    let usage = Usage::reported(5, 7);
    assert_eq!(meter.read(), Cost { usage, money: None }, "its tokens are the job's");
    let priced = self::context("key", Language::En);
    let meter = priced.meter.clone();
    AskModel(Arc::new(Priced(Parrot(None)))).call(priced, args.clone()).await.unwrap();
    assert_eq!(meter.read(), Cost { usage, money: Some(19.0) }, "whichever the job's model is");
    let away = AskModel(Arc::new(Parrot(Some(ErrorKind::Overloaded))));
    assert_eq!(call(&away, args.clone()).await.unwrap_err().fault, Fault::Unavailable);
    // A retry would not help, so this is a result and not a fault.
    let refused = AskModel(Arc::new(Parrot(Some(ErrorKind::Refused))));
    assert!(!call(&refused, args).await.unwrap().success);
}

#[rstest::rstest]
#[case::named(vec!["127.0.0.1".to_owned()], true)]
#[case::anywhere(Vec::new(), false)]
#[tokio::test]
async fn a_host_continues_the_trace_only_when_the_operator_named_it(
    #[case] allow_hosts: Vec<String>,
    #[case] told: bool,
) {
    let server = MockServer::start().await;
    Mock::given(wiremock::matchers::any())
        .respond_with(ResponseTemplate::new(200))
        .mount(&server)
        .await;
    let config = Http { allow_private: true, allow_hosts, ..Http::default() };
    let egress = Egress::new(config, Arc::new(SystemLookup)).unwrap();
    let get = HttpGet::new(egress.clone(), 100, 1000);
    call(&get, json!({"url": server.uri()})).await.unwrap();
    let post = HttpPost::new(egress, 100, 1000);
    call(&post, json!({"url": server.uri(), "json": 1})).await.unwrap();
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests.len(), 2);
    for request in requests {
        let sent = request.headers.get("traceparent").map(|value| value.to_str().unwrap());
        let expected = TraceContext::new(1, 2, true).to_string();
        assert_eq!(sent, told.then_some(expected.as_str()));
    }
}
