//! The scripted model as a server: rules, counts, templates, invalid scripts.

use model::{
    Timeouts, complete,
    script::{Script, ScriptModel, serve},
};
use reqwest::StatusCode;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{ask, reply, scripted};

async fn post(base: &str, body: &Value) -> (StatusCode, Value) {
    let answer = http().post(format!("{base}/chat/completions")).json(body).send().await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

/// Creates a plain client without certificates and without a proxy.
fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only(std::iter::empty()).no_proxy().build().unwrap()
}

#[tokio::test]
async fn the_first_rule_that_is_not_spent_answers() {
    let script = r"
rules:
  - {times: 1, when: {last: hi}, reply: {text: first}}
  - {when: {last: hi}, reply: {text: 'again {{ seen }} of {{ request }}'}}
else: {text: other}
";
    let (server, model) = scripted(script).await;
    let mut said = Vec::new();
    for words in ["hi", "hi", "ho", "hi"] {
        said.push(reply(&model, words).await.unwrap().text);
    }
    assert_eq!(said, ["first", "again 1 of 2", "other", "again 2 of 4"]);
    assert_eq!((server.requests(), server.unanswered()), (4, 0));
}

#[tokio::test]
async fn a_tool_conversation_is_followed() {
    let script = r#"
rules:
  - when: {turn: 1, last: 'file (?<path>\S+)'}
    reply: {calls: [{tool: read_file, args: {path: '{{ captures.path }}', max: '{{ turn * 10 }}'}}]}
  - when: {tool_result: {tool: read_file, content: '"lines": (?<n>\d+)'}}
    reply: {text: '{{ result.data.lines }} lines ({{ captures.n }}) for: {{ user }}'}
"#;
    let server =
        serve(Script::parse(script).unwrap(), "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let ask = json!({"role": "user", "content": "read file a.txt"});
    let (_, first) = post(&server.base_url(), &json!({"model": "m", "messages": [ask]})).await;
    let call = &first["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(call["function"]["arguments"], json!(r#"{"path":"a.txt","max":10}"#));
    assert_eq!(first["choices"][0]["finish_reason"], "tool_calls");
    let result =
        json!({"role": "tool", "tool_call_id": call["id"], "content": r#"{"data": {"lines": 7}}"#});
    let assistant = first["choices"][0]["message"].clone();
    let (_, second) =
        post(&server.base_url(), &json!({"model": "m", "messages": [ask, assistant, result]}))
            .await;
    assert_eq!(second["choices"][0]["message"]["content"], "7 lines (7) for: read file a.txt");
    assert!(second["usage"]["prompt_tokens"].as_u64().unwrap() > 0);
    server.shutdown().await;
}

#[tokio::test]
async fn what_a_script_cannot_answer_is_an_error_that_says_why() {
    let script =
        "rules:\n  - {name: bad, when: {last: t}, reply: {text: '{{ captures.nobody }}'}}\n";
    let server =
        serve(Script::parse(script).unwrap(), "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let body = |text: &str| json!({"model": "m", "messages": [{"role": "user", "content": text}]});
    let (status, answer) = post(&server.base_url(), &body("x")).await;
    assert_eq!((status, &answer["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("no_rule")));
    let (status, answer) = post(&server.base_url(), &body("t")).await;
    assert_eq!((status, &answer["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("template")));
    assert!(answer["error"]["message"].as_str().unwrap().starts_with("bad: "), "{answer}");
    let (status, answer) =
        post(&server.base_url(), &json!({"messages": [{"role": "king", "content": "x"}]})).await;
    assert_eq!(
        (status, &answer["error"]["type"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_request_error"))
    );
    assert_eq!((server.requests(), server.unanswered()), (3, 3));
}

#[tokio::test]
async fn models_are_listed() {
    let script = Script::parse("models: [a, b]\nelse: {text: x}").unwrap();
    let server = serve(script, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let list: Value = http()
        .get(format!("{}/models", server.base_url()))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(list["data"][1]["id"], "b");
}

#[tokio::test]
async fn a_stopping_server_ends_hanging_replies() {
    let (server, model) =
        scripted("rules: [{reply: {text: ab, stream: {chunk: 1}}, fault: {hang: idle}}]").await;
    let waiting = tokio::spawn(async move { reply(&model, "x").await });
    while server.requests() == 0 {
        tokio::task::yield_now().await;
    }
    server.shutdown().await;
    assert_eq!(waiting.await.unwrap().unwrap_err().kind(), model::ErrorKind::CutStream);
}

#[rstest]
#[case::unknown_key("rules:\n  - reply: {text: a}\n    wen: {}\n", Some(3), "wen")]
#[case::unknown_condition(
    "rules:\n  - when:\n      lst: x\n    reply: {text: a}\n",
    Some(3),
    "lst"
)]
#[case::pattern(
    "rules:\n  - when:\n      last: '('\n    reply: {text: a}\n",
    Some(3),
    "regular expression"
)]
#[case::template("rules:\n  - reply: {text: a}\n  - reply: {text: '{{ x'}\n", Some(3), "template")]
#[case::no_reply("rules:\n  - name: a\n", Some(2), "a reply, a fault")]
#[case::two_faults("rules:\n  - fault: {cut: true, malformed: true}\n", Some(2), "exactly one")]
#[case::no_fault("rules:\n  - fault: {}\n", Some(2), "exactly one")]
#[case::status("rules:\n  - fault: {status: 200}\n", Some(2), "200")]
#[case::retry_alone("rules:\n  - fault: {cut: true, retry_after: 1}\n", Some(2), "retry_after")]
#[case::zero_times("rules:\n  - times: 0\n    reply: {text: a}\n", Some(2), "times")]
#[case::zero_turn("rules:\n  - when: {turn: 0}\n    reply: {text: a}\n", Some(2), "turn")]
#[case::zero_chunk("else:\n  text: a\n  stream: {chunk: 0}\n", Some(2), "chunk")]
#[case::text_and_json("else: {text: a, json: {}}\n", Some(1), "not both")]
#[case::role("rules:\n  - when: {role: king}\n    reply: {text: a}\n", Some(2), "king")]
#[case::not_yaml("rules: [", None, "")]
#[case::nothing("models: [a]\n", None, "neither")]
fn a_script_that_is_none_says_where_and_why(
    #[case] script: &str,
    #[case] line: Option<u64>,
    #[case] word: &str,
) {
    let error = Script::parse(script).unwrap_err();
    assert!(error.to_string().contains(word), "{error}");
    if line.is_some() {
        assert_eq!(error.line(), line, "{error}");
    }
}

#[test]
fn a_missing_script_file_is_named() {
    let error = Script::load("/nonexistent/script.yaml").unwrap_err();
    assert!(error.to_string().contains("/nonexistent/script.yaml"), "{error}");
}

#[test]
fn a_script_file_is_loaded() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "models: [from-file]\nelse: {text: x}\n").unwrap();
    assert_eq!(Script::load(file.path()).unwrap().models(), ["from-file"]);
}

/// Compares the replies that a provider's client and a caller in the same process get.
#[rstest]
#[case::words("else: {text: 'hello {{ user }}', thought: hm}", "hi")]
#[case::calls(
    "else: {calls: [{tool: get_weather, args: {place: '{{ user }}'}}, {tool: x, args: 'not json'}]}",
    "Ulm"
)]
#[case::cut_short("else: {text: half, finish: length}", "hi")]
#[case::auth("rules: [{when: {}, fault: {status: 401}, reply: {text: a}}]", "hi")]
#[case::no_rule("rules: [{when: {last: never}, reply: {text: a}}]", "hi")]
#[case::usage("else: {text: a, usage: {input: 7, output: 9}}", "hi")]
#[tokio::test]
async fn a_script_says_the_same_inside_the_process_and_over_http(
    #[case] script: &str,
    #[case] words: &str,
) {
    let (_server, outside) = scripted(script).await;
    let inside =
        ScriptModel::new(Script::parse(script).unwrap(), "test-model", Timeouts::default());
    let outside = reply(&outside, words).await.map_err(|error| error.kind());
    let inside = complete(&inside, ask(words), |_| {}).await.map_err(|error| error.kind());
    assert_eq!(inside, outside);
}
