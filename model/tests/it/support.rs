//! Shared test support: models connected to local servers, and requests.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use model::{
    Model, ModelError, ModelRequest, ProviderConfig, ProviderKind, Reply, RetryConfig, complete,
    script::{Script, ScriptServer, serve},
};
use proto::message::{Message, ToolOffer};
use serde_json::json;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

/// Creates a configuration for a local server, with short pauses.
pub(crate) fn local(kind: ProviderKind, base: &str) -> ProviderConfig {
    let mut config = ProviderConfig::new(kind, "test-model");
    config.base_url = Some(base.parse().unwrap());
    config.retry = RetryConfig {
        initial_interval_ms: 1,
        max_interval_ms: 5,
        jitter: false,
        ..RetryConfig::default()
    };
    config
}

/// Serves a script and connects to it.
pub(crate) async fn scripted(script: &str) -> (ScriptServer, Arc<dyn Model>) {
    scripted_with(script, |_| {}).await
}

/// Serves a script and connects to it with a changed configuration.
pub(crate) async fn scripted_with(
    script: &str,
    change: impl FnOnce(&mut ProviderConfig),
) -> (ScriptServer, Arc<dyn Model>) {
    let server =
        serve(Script::parse(script).unwrap(), "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let mut config = local(ProviderKind::OpenAi, &server.base_url());
    change(&mut config);
    let model = model::connect(&config).unwrap();
    (server, model)
}

/// Starts a server that answers every POST with one body, and connects to it.
pub(crate) async fn canned(
    kind: ProviderKind,
    content_type: &str,
    body: &str,
) -> (MockServer, Arc<dyn Model>) {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200).set_body_raw(body.to_owned(), content_type);
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    let model = model::connect(&local(kind, &server.uri())).unwrap();
    (server, model)
}

/// Creates a conversation with one user message and one offered tool.
pub(crate) fn ask(words: &str) -> ModelRequest {
    ModelRequest {
        messages: vec![
            Message::System { text: "You are brief.".to_owned() },
            Message::User { text: words.to_owned() },
        ],
        tools: vec![ToolOffer {
            name: "get_weather".to_owned(),
            description: "The weather of a place.".to_owned(),
            schema: json!({"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}),
        }],
        ..ModelRequest::default()
    }
}

pub(crate) async fn reply(model: &Arc<dyn Model>, words: &str) -> Result<Reply, ModelError> {
    complete(model.as_ref(), ask(words), |_| {}).await
}

/// The log lines of this thread.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    /// Records until the guard is dropped.
    pub(crate) fn record(&self) -> tracing::subscriber::DefaultGuard {
        let writer = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Lines {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(buf)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
