//! Keys and prompts never appear in errors or log lines.

use model::{ProviderKind, complete};
use proto::lang::Language;
use rstest::rstest;
use wiremock::{Mock, MockServer, Respond, ResponseTemplate, matchers::method};

use crate::support::{Lines, ask, local};

const KEY: &str = "sk-canary-key-4711";
const PROMPT: &str = "canary-prompt-0815";

/// Answers with everything in the request: key and prompt, in headers and body.
struct Echo(u16, &'static str);

impl Respond for Echo {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        let said = String::from_utf8_lossy(&request.body).replace('\n', " ");
        let echo = format!("{}{said} {:?} {KEY}\n\n", self.1, request.headers);
        ResponseTemplate::new(self.0)
            .insert_header("x-echo", KEY)
            .insert_header("retry-after", KEY)
            .set_body_raw(echo, "text/event-stream")
    }
}

#[rstest]
#[case::bad_request(400, "")]
#[case::unauthorised(401, "")]
#[case::server_error(500, "")]
#[case::broken_event(200, "data: ")]
#[case::error_event(200, "event: error\ndata: {\"error\":{\"message\":")]
#[case::unknown_event(200, "event: strange\ndata: ")]
#[case::no_events(200, "")]
#[tokio::test]
async fn the_key_and_the_prompt_of_a_provider_that_echoes_everything_appear_nowhere(
    #[values(
        ProviderKind::OpenAi,
        ProviderKind::Anthropic,
        ProviderKind::Gemini,
        ProviderKind::Ollama
    )]
    kind: ProviderKind,
    #[case] status: u16,
    #[case] prefix: &'static str,
) {
    let lines = Lines::default();
    let _guard = lines.record();

    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(Echo(status, prefix)).mount(&server).await;
    let mut config = local(kind, &server.uri());
    config.api_key = Some(KEY.into());
    config.retry.max_attempts = 2;
    let model = model::connect(&config).unwrap();
    let error = complete(model.as_ref(), ask(PROMPT), |_| {}).await.unwrap_err();

    let shown = format!("{error} {error:?} {} {config:?}", error.reason(Language::En));
    let logged = lines.text();
    // The server runs in this process too, but logs no bodies.
    for (place, text) in [("error", &shown), ("log", &logged)] {
        for canary in [KEY, PROMPT] {
            assert!(!text.contains(canary), "{canary} in the {place}: {text}");
        }
    }
}
