//! Tests of the tools on a port that answers as it is told.

use std::sync::Mutex;

use broker::memory::{self, MemoryOptions};
use proto::{decision::CallWork, file::Content, id::JobId, subject::Subjects, trace::TraceContext};
use rstest::rstest;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    refusal::Refusal,
    request::{Barred, Remark, Reply, Request, Snapshot},
};

/// A port with one answer. It keeps the requests.
struct Told {
    answer: Result<Reply, AskError>,
    asked: Mutex<Vec<Request>>,
}

#[async_trait]
impl Desk for Told {
    async fn ask(&self, _: Asking<'_>, request: Request) -> Result<Reply, AskError> {
        self.asked.lock().unwrap().push(request);
        self.answer.clone()
    }
}

fn context() -> CallContext {
    let call: CallWork = serde_json::from_value(json!({
        "work": "g0.r0.look", "attempt": 1, "step": "look", "tool": "browser_open", "version": "1",
        "pool": "builtin", "effect": "once", "args": {}, "idempotency_key": "k",
    }))
    .unwrap();
    let (job, trace) = (JobId::new("j").unwrap(), TraceContext::new(1, 1, false));
    let broker = memory::start(Subjects::new("cb", 1).unwrap(), MemoryOptions::default());
    CallContext::of(&job, &call, trace, CancellationToken::new()).with_files(&broker)
}

async fn call(
    tool: &str,
    args: Value,
    answer: Result<Reply, AskError>,
) -> Result<ToolResult, ToolFault> {
    let desk: Arc<dyn Desk> = Arc::new(Told { answer, asked: Mutex::default() });
    let tools = tools(&desk, 1_000);
    let tool = tools.iter().find(|it| it.spec().name.as_str() == tool).unwrap();
    tool.call(context(), args).await
}

fn page() -> Reply {
    let text = "- button \"Buy\" [ref=e1]\n".to_owned();
    Reply {
        url: "https://a.example/".to_owned(),
        title: "A".to_owned(),
        snapshot: Some(Snapshot { number: 3, text, omitted: 2 }),
        notes: vec![Remark::Dialog { message: "Hello".to_owned() }],
        ..Reply::default()
    }
}

fn element() -> Value {
    json!({"snapshot": 3, "ref": "e1", "name": "Buy"})
}

#[tokio::test]
async fn a_reply_is_a_result_with_the_page_and_what_happened() {
    let result = call("browser_click", element(), Ok(page())).await.unwrap();
    let data = result.data.unwrap();
    assert_eq!((&data["snapshot"], &data["url"]), (&json!(3), &json!("https://a.example/")));
    assert_eq!(data["page"], "- button \"Buy\" [ref=e1]\n");
    let notes = data["notes"].as_array().unwrap();
    assert!(notes[0].as_str().unwrap().contains("Hello"), "{notes:?}");
    assert!(notes[1].as_str().unwrap().contains('2'), "{notes:?}");
}

#[rstest]
#[case::of_an_action("browser_click", element(), true, Some(Fault::Unknown))]
#[case::before_an_action("browser_click", element(), false, None)]
#[case::of_a_read("browser_snapshot", json!({}), true, None)]
#[case::of_an_open("browser_open", json!({"url": "https://a.example/"}), true, Some(Fault::Unavailable))]
#[tokio::test]
async fn a_lost_session_is_told_by_the_effect(
    #[case] tool: &str,
    #[case] args: Value,
    #[case] may_have_begun: bool,
    #[case] fault: Option<Fault>,
) {
    let ended = call(tool, args, Err(AskError::Lost { may_have_begun })).await;
    match (ended, fault) {
        (Err(ended), Some(fault)) => assert_eq!(ended.fault, fault),
        (Ok(result), None) => assert!(!result.success),
        (ended, fault) => panic!("{ended:?}, {fault:?}"),
    }
}

#[tokio::test]
async fn a_refusal_is_a_failed_result_and_a_missing_host_a_fault() {
    let why = Barred::Private { host: "a.example".to_owned(), address: "10.0.0.1".to_owned() };
    let refused = Err(AskError::Refused(Refusal::Barred(why)));
    let result = call("browser_open", json!({"url": "https://a.example/"}), refused).await.unwrap();
    assert!(result.error.unwrap().contains("10.0.0.1"));
    let missing = call("browser_back", json!({}), Err(AskError::NoHost)).await.unwrap_err();
    assert_eq!(missing.fault, Fault::Unavailable);
}

#[tokio::test]
async fn a_picture_is_a_file_of_the_job() {
    let picture = Some(Picture { jpeg: vec![7; 100_000] });
    let reply = Reply { picture, snapshot: None, ..page() };
    let desk: Arc<dyn Desk> = Arc::new(Told { answer: Ok(reply), asked: Mutex::default() });
    let tools = tools(&desk, 1_000);
    let tool = tools.iter().find(|it| it.spec().name.as_str() == "browser_screenshot").unwrap();
    let context = context();
    let artifacts = context.artifacts.clone();
    let result = tool.call(context, json!({})).await.unwrap();
    let [file] = artifacts.read().try_into().unwrap();
    assert_eq!(file.name.as_str(), "screenshot-g0.r0.look.jpg");
    assert!(matches!(file.content, Content::Pieces(_)));
    let stored = &result.data.unwrap()["file"];
    assert_eq!(*stored, json!({"name": "screenshot-g0.r0.look.jpg", "bytes": 100_000}));
}

#[test]
fn every_tool_is_strict_untrusted_and_described_in_every_language() {
    let answer = Err(AskError::NoHost);
    let desk: Arc<dyn Desk> = Arc::new(Told { answer, asked: Mutex::default() });
    for tool in tools(&desk, 1_000) {
        let spec = tool.spec();
        runtime::registry::check(&spec).unwrap();
        assert!(spec.untrusted, "{}", spec.name);
        assert_eq!(spec.schema["additionalProperties"], json!(false), "{}", spec.name);
        for language in Language::ALL.iter().filter(|language| **language != Language::En) {
            let spoken = spec.in_language(*language);
            assert_ne!(spoken.description, spec.description, "{}", spec.name);
            for (name, argument) in spoken.schema["properties"].as_object().unwrap() {
                let english = &spec.schema["properties"][name]["description"];
                assert_ne!(argument["description"], *english, "{}: {name}", spec.name);
            }
        }
    }
}
