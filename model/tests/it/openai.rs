//! An OpenAI-compatible provider: replies, faults, retries and time limits.

use std::time::Duration;

use futures::StreamExt;
use model::{Delta, ErrorKind, ModelRequest, Phase, ProviderKind, complete};
use proto::message::{Message, ModelCall, StopReason, Usage};
use rstest::rstest;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{header, method, path},
};

use crate::support::{ask, canned, local, reply, scripted, scripted_with};

#[tokio::test]
async fn text_comes_in_pieces_and_whole() {
    let (server, model) = scripted("else: {text: '你好, world', thought: hm, stream: {chunk: 3}, usage: {input: 7, output: 3}}").await;
    let mut pieces = Vec::new();
    let reply =
        complete(model.as_ref(), ask("hi"), |delta| pieces.push(delta.clone())).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.thought.as_str()), ("你好, world", "hm"));
    assert_eq!(reply.usage, Usage::reported(7, 3));
    assert_eq!((reply.stop, reply.model.as_str()), (StopReason::End, "test-model"));
    let texts = pieces.iter().filter(|delta| matches!(delta, Delta::Text(_))).count();
    assert_eq!(texts, 3);
    assert_eq!((server.requests(), server.unanswered()), (1, 0));
}

#[tokio::test]
async fn tool_calls_arrive_whole_and_in_order() {
    let script = r#"
else:
  stream: {chunk: 3}
  calls:
    - {tool: get_weather, args: {place: 北京}, id: one}
    - {tool: get_weather, args: {place: Paris}, id: two}
"#;
    let (_server, model) = scripted(script).await;
    let reply = reply(&model, "weather?").await.unwrap();
    let call = |id: &str, place: &str| ModelCall {
        id: id.into(),
        name: "get_weather".into(),
        args: json!({"place": place}),
    };
    assert_eq!(reply.calls, [call("one", "北京"), call("two", "Paris")]);
    assert_eq!(reply.stop, StopReason::ToolCalls);
}

#[tokio::test]
async fn arguments_that_are_not_json_stay_as_they_were_written() {
    let (_server, model) =
        scripted(r#"else: {calls: [{tool: get_weather, args: '{"place": '}]}"#).await;
    assert_eq!(reply(&model, "x").await.unwrap().calls[0].args, json!(r#"{"place": "#));
}

#[rstest]
#[case::truncated_call(
    "else: {calls: [{tool: get_weather}], finish: length}",
    ErrorKind::CutByLength
)]
#[case::same_call("else: {calls: [{tool: a, id: x}, {tool: a, id: x}]}", ErrorKind::DuplicateCall)]
#[case::empty("else: {text: ''}", ErrorKind::Empty)]
#[case::filtered("else: {text: no, finish: content_filter}", ErrorKind::Refused)]
#[case::cut(
    "rules: [{reply: {text: abcdef, stream: {chunk: 2}}, fault: {cut: true}}]",
    ErrorKind::CutStream
)]
#[case::cut_at_once("rules: [{fault: {cut: true}}]", ErrorKind::CutStream)]
#[case::malformed(
    "rules: [{reply: {text: abcdef, stream: {chunk: 2}}, fault: {malformed: true}}]",
    ErrorKind::Malformed
)]
#[case::malformed_at_once("rules: [{fault: {malformed: true}}]", ErrorKind::Malformed)]
#[case::dropped_midway(
    "rules: [{reply: {text: abcdef, stream: {chunk: 2}}, fault: {drop: middle}}]",
    ErrorKind::CutStream
)]
#[case::unauthorised("rules: [{fault: {status: 401}}]", ErrorKind::Auth)]
#[case::bad_request("rules: [{fault: {status: 400}}]", ErrorKind::InvalidRequest)]
#[case::too_long(
    "rules: [{fault: {status: 400, code: context_length_exceeded}}]",
    ErrorKind::ContextTooLong
)]
#[case::no_credit("rules: [{fault: {status: 429, code: insufficient_quota}}]", ErrorKind::Quota)]
#[case::filter_status("rules: [{fault: {status: 400, code: content_filter}}]", ErrorKind::Refused)]
#[tokio::test]
async fn what_cannot_be_mended_fails_once_with_its_kind(
    #[case] script: &str,
    #[case] kind: ErrorKind,
) {
    let (server, model) = scripted(script).await;
    let error = reply(&model, "x").await.unwrap_err();
    assert_eq!((error.kind(), server.requests()), (kind, 1), "{error}");
}

#[rstest]
#[case::too_many("{status: 429}")]
#[case::server_error("{status: 500}")]
#[case::unavailable("{status: 503}")]
#[case::overloaded("{status: 529}")]
#[case::request_timeout("{status: 408}")]
#[case::dropped("{drop: start}")]
#[tokio::test]
async fn a_passing_fault_is_tried_again(#[case] fault: &str) {
    let (server, model) =
        scripted(&format!("rules: [{{times: 2, fault: {fault}}}]\nelse: {{text: fine}}")).await;
    assert_eq!(reply(&model, "x").await.unwrap().text, "fine");
    assert_eq!(server.requests(), 3);
}

#[tokio::test]
async fn attempts_are_bounded_and_told() {
    let (server, model) = scripted("rules: [{fault: {status: 503}}]").await;
    let error = reply(&model, "x").await.unwrap_err();
    assert_eq!(
        (error.kind(), error.status(), error.attempts()),
        (ErrorKind::Overloaded, Some(503), 4)
    );
    assert_eq!(server.requests(), 4);
}

#[tokio::test]
async fn after_a_short_retry_after_the_request_is_made_again() {
    let (server, model) =
        scripted("rules: [{times: 1, fault: {status: 429, retry_after: 1}}]\nelse: {text: fine}")
            .await;
    assert_eq!(reply(&model, "x").await.unwrap().text, "fine");
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn a_long_retry_after_is_handed_to_the_caller() {
    let (server, model) = scripted("rules: [{fault: {status: 429, retry_after: 3600}}]").await;
    let error = reply(&model, "x").await.unwrap_err();
    assert_eq!(
        (error.kind(), error.retry_after()),
        (ErrorKind::RateLimited, Some(Duration::from_secs(3600)))
    );
    assert!(error.is_transient());
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn a_reply_that_has_begun_is_never_asked_for_again() {
    let (server, model) = scripted("rules: [{times: 1, reply: {text: abcd, stream: {chunk: 1}}, fault: {drop: middle}}]\nelse: {text: fine}").await;
    assert_eq!(reply(&model, "x").await.unwrap_err().kind(), ErrorKind::CutStream);
    assert_eq!(server.requests(), 1);
}

#[rstest]
#[case::first_token(
    "rules: [{reply: {text: abcd}, fault: {hang: first_token}}]",
    Phase::FirstToken
)]
#[case::idle(
    "rules: [{reply: {text: abcd, stream: {chunk: 1}}, fault: {hang: idle}}]",
    Phase::Idle
)]
#[case::total(
    "else: {text: abcdefghijklmnopqrstuvwxyz, stream: {chunk: 1, delay_ms: 60}}",
    Phase::Total
)]
#[tokio::test]
async fn every_time_limit_has_its_name(#[case] script: &str, #[case] which: Phase) {
    // All other limits are far away.
    let of = |phase| if phase == which { 300 } else { 600_000 };
    let (_server, model) = scripted_with(script, |config| {
        config.timeouts.first_token = of(Phase::FirstToken);
        config.timeouts.idle = of(Phase::Idle);
        config.timeouts.total = of(Phase::Total);
    })
    .await;
    assert_eq!(reply(&model, "x").await.unwrap_err().kind(), ErrorKind::Timeout { which });
}

#[tokio::test]
async fn a_connection_that_is_never_accepted_is_a_connect_timeout() {
    // A listener with a full backlog: further connections get no reply at all.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut fillers = Vec::new();
    for _ in 0..4 {
        fillers.push(tokio::spawn(tokio::net::TcpStream::connect(address)));
        tokio::task::yield_now().await;
    }
    let mut config = local(ProviderKind::OpenAi, &format!("http://{address}"));
    config.timeouts.connect = 200;
    config.retry.max_attempts = 1;
    let model = model::connect(&config).unwrap();
    let error = reply(&model, "x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout { which: Phase::Connect }, "{error}");
}

#[tokio::test]
async fn nobody_listening_is_unreachable_and_says_where() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let model = model::connect(&local(ProviderKind::OpenAi, &format!("http://{free}/v1"))).unwrap();
    let error = reply(&model, "x").await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Unreachable, 4));
    assert!(error.to_string().contains(&free.to_string()), "{error}");
}

#[rstest]
#[case::text(
    "else: {text: '{% for i in range(3000) %}0123456789{% endfor %}', stream: {chunk: 100}}"
)]
#[case::calls(
    "else: {calls: [{tool: t, args: {x: '{% for i in range(3000) %}0123456789{% endfor %}'}}], stream: {chunk: 100}}"
)]
#[tokio::test]
async fn a_reply_beyond_the_bound_ends_the_call(#[case] script: &str) {
    let (_server, model) = scripted_with(script, |config| config.max_reply_bytes = 10_000).await;
    assert_eq!(reply(&model, "x").await.unwrap_err().kind(), ErrorKind::TooLarge);
}

#[tokio::test]
async fn a_dropped_stream_ends_the_call() {
    let (_server, model) =
        scripted("else: {text: abcdefgh, stream: {chunk: 1, delay_ms: 20}}").await;
    let mut stream = model.stream(ask("x")).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), Delta::Text("a".into()));
    drop(stream);
    assert_eq!(reply(&model, "x").await.unwrap().text, "abcdefgh");
}

#[tokio::test]
async fn an_empty_conversation_is_refused_before_it_is_sent() {
    let (server, model) = scripted("else: {text: x}").await;
    let error = complete(model.as_ref(), ModelRequest::default(), |_| {}).await.unwrap_err();
    assert_eq!((error.kind(), server.requests()), (ErrorKind::InvalidRequest, 0));
}

#[tokio::test]
async fn a_whole_conversation_is_sent_in_the_providers_words() {
    let server = MockServer::start().await;
    let body = "data: {\"model\":\"m-2\",\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    Mock::given(method("POST"))
        .and(path("/api/v3/chat/completions"))
        .and(header("authorization", "Bearer sk-1"))
        .respond_with(ResponseTemplate::new(200).set_body_raw(body, "text/event-stream"))
        .mount(&server)
        .await;
    let mut config = local(ProviderKind::OpenAi, &format!("{}/api/v3", server.uri()));
    config.api_key = Some("sk-1".into());
    let model = model::connect(&config).unwrap();
    let mut request = ask("weather?");
    request.messages.push(Message::Assistant {
        text: String::new(),
        calls: vec![ModelCall {
            id: "c1".into(),
            name: "get_weather".into(),
            args: json!({"place": "Paris"}),
        }],
        opaque: None,
    });
    request.messages.push(Message::Tool {
        call: "c1".into(),
        name: "get_weather".into(),
        text: "{\"c\":21}".into(),
    });
    request.params.model = Some("org::my-model-high".into());
    request.params.temperature = Some(0.5);
    request.params.max_tokens = Some(50);
    request.params.json = true;
    request.params.parallel_tool_calls = false;
    let reply = complete(model.as_ref(), request, |_| {}).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str()), ("ok", "m-2"));
    let sent: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    insta::assert_json_snapshot!(sent);
}

#[tokio::test]
async fn a_hostile_index_costs_nothing() {
    let piece = r#"{"choices":[{"delta":{"tool_calls":[{"index":4294967295,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    let body = format!(
        "data: {piece}\n\ndata: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n"
    );
    let (_server, model) = canned(ProviderKind::OpenAi, "text/event-stream", &body).await;
    assert_eq!(reply(&model, "x").await.unwrap().calls.len(), 1);
}

#[rstest]
#[case::refusal(
    "data: {\"choices\":[{\"delta\":{\"refusal\":\"I cannot\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    ErrorKind::Refused
)]
#[case::error_event(
    "data: {\"error\":{\"type\":\"server_error\",\"message\":\"x\"}}\n\n",
    ErrorKind::ProviderFailed
)]
#[case::empty_choices("data: {\"choices\":[]}\n\ndata: [DONE]\n\n", ErrorKind::Empty)]
#[case::odd_reason(
    "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"abort\"}]}\n\ndata: [DONE]\n\n",
    ErrorKind::Malformed
)]
#[case::calls_of_wrong_shape(
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":\"f\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n",
    ErrorKind::Malformed
)]
#[tokio::test]
async fn odd_replies_have_kinds(#[case] body: &str, #[case] kind: ErrorKind) {
    let (_server, model) = canned(ProviderKind::OpenAi, "text/event-stream", body).await;
    let error = reply(&model, "x").await.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
}

#[tokio::test]
async fn retry_after_may_be_a_date() {
    let server = MockServer::start().await;
    let passed =
        ResponseTemplate::new(429).insert_header("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT");
    Mock::given(method("POST")).respond_with(passed).up_to_n_times(1).mount(&server).await;
    let far =
        ResponseTemplate::new(429).insert_header("retry-after", "Fri, 21 Oct 2095 07:28:00 GMT");
    Mock::given(method("POST")).respond_with(far).mount(&server).await;
    let model = model::connect(&local(ProviderKind::OpenAi, &server.uri())).unwrap();
    let error = reply(&model, "x").await.unwrap_err();
    assert_eq!(error.attempts(), 2);
    assert!(error.retry_after().unwrap() > Duration::from_secs(1_000_000_000));
}
