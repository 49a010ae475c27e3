//! Translation of requests: OpenAI's by its own adapter, all others to `genai`'s format.
//!
//! `genai` interprets model names (a trailing `-high` selects a reasoning effort, `::` ends a
//! namespace). Names must be sent unchanged, so both are disabled here.

use std::{collections::BTreeSet, sync::Arc};

use genai::{
    Headers, ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::{
        ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, ContentPart, MessageContent,
        Tool, ToolCall, ToolResponse,
    },
    resolver::{AuthData, Endpoint},
};
use proto::message::{Message, ModelCall, ToolOffer};
use serde_json::{Map, Value, json};
use url::Url;

use super::{Provider, openai};
use crate::{
    config::{ProviderKind, check_model_name},
    error::{ErrorKind, ModelError},
    port::{ModelRequest, Params},
};

const ANTHROPIC_VERSION: &str = "2023-06-01";
/// Anthropic requires a limit; `genai` would send 64,000.
const ANTHROPIC_MAX_TOKENS: u32 = 8192;
/// Suffixes of model names that `genai` interprets as reasoning effort.
const EFFORT_SUFFIXES: [&str; 9] =
    ["none", "zero", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"];

/// A request that can be sent repeatedly.
pub(super) struct Prepared {
    /// Name of the requested model.
    pub(super) model: String,
    /// The request before its translation.
    pub(super) request: Arc<ModelRequest>,
    pub(super) wire: Wire,
}

/// A request in a provider's format.
pub(super) enum Wire {
    OpenAi { url: Url, body: Value },
    Library(Box<ForLibrary>),
}

/// A request in `genai`'s format.
pub(super) struct ForLibrary {
    pub(super) target: ServiceTarget,
    pub(super) chat: ChatRequest,
    pub(super) options: ChatOptions,
}

impl Prepared {
    pub(super) fn new(provider: &Provider, request: ModelRequest) -> Result<Self, ModelError> {
        let model = request.params.model.clone().unwrap_or_else(|| provider.model.clone());
        check_model_name(&model)?;
        if request.messages.is_empty() {
            return Err(ModelError::new(ErrorKind::InvalidRequest, "the conversation is empty"));
        }
        let url = url(provider.kind, &provider.base, &model)?;
        let wire = match adapter(provider.kind) {
            None => Wire::OpenAi { url, body: openai::body(provider, &model, &request) },
            Some(adapter) => {
                Wire::Library(Box::new(for_library(provider, adapter, &url, &model, &request)))
            }
        };
        Ok(Self { model, request: Arc::new(request), wire })
    }
}

fn for_library(
    provider: &Provider,
    adapter: AdapterKind,
    url: &Url,
    model: &str,
    request: &ModelRequest,
) -> ForLibrary {
    let target = ServiceTarget {
        endpoint: Endpoint::from_owned(provider.base.as_str()),
        auth: AuthData::RequestOverride { url: url.to_string(), headers: headers(provider.kind) },
        model: ModelIden::new(adapter, inert_name(model)),
    };
    let mut chat = ChatRequest::new(request.messages.iter().cloned().map(message).collect());
    let mut options = options(provider, model, &request.params, !request.tools.is_empty());
    let mut tools: Vec<Tool> = request.tools.iter().cloned().map(tool).collect();
    if tools.is_empty() && provider.kind == ProviderKind::Anthropic {
        let stub = |name: String| Tool::new(name).with_schema(json!({"type": "object"}));
        tools = called(&request.messages).map(stub).collect();
        if !tools.is_empty() {
            let extra = options.extra_body.get_or_insert_with(|| json!({}));
            extra["tool_choice"] = json!({"type": "none"});
        }
    }
    if !tools.is_empty() {
        chat = chat.with_tools(tools);
    }
    ForLibrary { target, chat, options }
}

/// Returns the names of the tools that a conversation called. Anthropic refuses a conversation with
/// calls of tools that the request does not define.
fn called(messages: &[Message]) -> impl Iterator<Item = String> {
    let names = messages.iter().flat_map(|message| match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        Message::System { .. } | Message::User { .. } | Message::Tool { .. } => &[],
    });
    names.map(|call| call.name.clone()).collect::<BTreeSet<_>>().into_iter()
}

/// Returns the library's adapter; `None` for OpenAI's format, which has its own.
const fn adapter(kind: ProviderKind) -> Option<AdapterKind> {
    match kind {
        ProviderKind::OpenAi => None,
        ProviderKind::Anthropic => Some(AdapterKind::Anthropic),
        ProviderKind::Gemini => Some(AdapterKind::Gemini),
        ProviderKind::Ollama => Some(AdapterKind::Ollama),
    }
}

fn url(kind: ProviderKind, base: &Url, model: &str) -> Result<Url, ModelError> {
    let path = match kind {
        ProviderKind::OpenAi => "chat/completions".to_owned(),
        ProviderKind::Anthropic => "messages".to_owned(),
        ProviderKind::Ollama => "api/chat".to_owned(),
        ProviderKind::Gemini => {
            let name = model.strip_prefix("models/").unwrap_or(model);
            if !name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'))
            {
                return Err(ModelError::new(
                    ErrorKind::Config,
                    "model: not a name Gemini can have",
                ));
            }
            format!("models/{name}:streamGenerateContent")
        }
    };
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path()));
    if kind == ProviderKind::Gemini {
        url.query_pairs_mut().append_pair("alt", "sse");
    }
    Ok(url)
}

fn headers(kind: ProviderKind) -> Headers {
    match kind {
        ProviderKind::Anthropic => Headers::from(("anthropic-version", ANTHROPIC_VERSION)),
        ProviderKind::OpenAi | ProviderKind::Gemini | ProviderKind::Ollama => Headers::default(),
    }
}

/// Changes a name so that `genai` does not interpret it, but still recognises the model family.
fn inert_name(model: &str) -> String {
    let last = model.rsplit_once('-').map(|(_, last)| last.to_ascii_lowercase());
    match last {
        Some(last) if EFFORT_SUFFIXES.contains(&last.as_str()) => format!("{model}-"),
        Some(_) | None => model.to_owned(),
    }
}

fn options(provider: &Provider, model: &str, params: &Params, has_tools: bool) -> ChatOptions {
    let mut max_tokens = params.max_tokens.or(provider.max_tokens);
    let temperature = params.temperature.or(provider.temperature);
    let top_p = params.top_p.or(provider.top_p);
    let mut extra = Map::new();
    match provider.kind {
        ProviderKind::Anthropic => {
            extra.insert("model".to_owned(), json!(model));
            max_tokens = Some(max_tokens.unwrap_or(ANTHROPIC_MAX_TOKENS));
            if has_tools && !params.parallel_tool_calls {
                extra.insert(
                    "tool_choice".to_owned(),
                    json!({"type": "auto", "disable_parallel_tool_use": true}),
                );
            }
        }
        ProviderKind::Gemini => {
            // `genai` supports Gemini's JSON mode only with a schema. Its merge is shallow, so the
            // whole section is sent. Gemini rejects JSON mode together with tools.
            if params.json && !has_tools {
                let mut section = Map::new();
                section.insert("responseMimeType".to_owned(), json!("application/json"));
                if let Some(value) = temperature {
                    section.insert("temperature".to_owned(), json!(value));
                }
                if let Some(value) = top_p {
                    section.insert("topP".to_owned(), json!(value));
                }
                if let Some(value) = max_tokens {
                    section.insert("maxOutputTokens".to_owned(), json!(value));
                }
                extra.insert("generationConfig".to_owned(), Value::Object(section));
            }
        }
        ProviderKind::OpenAi | ProviderKind::Ollama => {}
    }
    ChatOptions {
        temperature,
        top_p,
        max_tokens,
        capture_usage: Some(true),
        capture_tool_calls: Some(true),
        response_format: params.json.then_some(ChatResponseFormat::JsonMode),
        extra_body: (!extra.is_empty()).then_some(Value::Object(extra)),
        ..ChatOptions::default()
    }
}

fn message(message: Message) -> ChatMessage {
    match message {
        Message::System { text } => ChatMessage::system(text),
        Message::User { text } => ChatMessage::user(text),
        Message::Assistant { text, calls } => {
            let words = (!text.is_empty()).then_some(ContentPart::Text(text));
            let calls = calls.into_iter().map(|call| ContentPart::ToolCall(tool_call(call)));
            ChatMessage::assistant(MessageContent::from_parts(
                words.into_iter().chain(calls).collect::<Vec<_>>(),
            ))
        }
        Message::Tool { call, name, text } => {
            ChatMessage::from(ToolResponse::new(call, text).with_fn_name(name))
        }
    }
}

fn tool_call(call: ModelCall) -> ToolCall {
    ToolCall {
        call_id: call.id,
        fn_name: call.name,
        fn_arguments: sent_args(call.args),
        thought_signatures: None,
    }
}

/// Converts the arguments of a past call. Providers accept only objects, so anything else is sent
/// under a field name.
pub(super) fn sent_args(args: Value) -> Value {
    match args {
        Value::Object(args) => Value::Object(args),
        Value::Null => json!({}),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            json!({"invalid_arguments": other})
        }
    }
}

fn tool(offer: ToolOffer) -> Tool {
    Tool::new(offer.name).with_description(offer.description).with_schema(offer.schema)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("gpt-5", "gpt-5")]
    #[case("my-model-high", "my-model-high-")]
    #[case("o3-Max", "o3-Max-")]
    #[case("high", "high")]
    fn reasoning_words_in_a_name_mean_nothing(#[case] name: &str, #[case] inert: &str) {
        assert_eq!(inert_name(name), inert);
    }

    #[rstest]
    #[case(
        ProviderKind::OpenAi,
        "http://h/v1/?api-version=1",
        "m/x",
        "http://h/v1/chat/completions?api-version=1"
    )]
    #[case(ProviderKind::Anthropic, "http://h/v1/", "m", "http://h/v1/messages")]
    #[case(ProviderKind::Ollama, "http://h/", "qwen3:8b", "http://h/api/chat")]
    #[case(
        ProviderKind::Gemini,
        "http://h/v1beta/",
        "models/g-2.5",
        "http://h/v1beta/models/g-2.5:streamGenerateContent?alt=sse"
    )]
    fn the_address_follows_the_provider(
        #[case] kind: ProviderKind,
        #[case] base: &str,
        #[case] model: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(url(kind, &Url::parse(base).unwrap(), model).unwrap().as_str(), expected);
    }

    #[test]
    fn tools_that_a_conversation_called_are_named_once_each() {
        let call = |name: &str| ModelCall { id: name.into(), name: name.into(), args: json!({}) };
        let calls = vec![call("ask_user"), call("echo"), call("ask_user")];
        let messages = [
            Message::User { text: "plan".into() },
            Message::Assistant { text: String::new(), calls },
        ];
        assert_eq!(called(&messages).collect::<Vec<_>>(), ["ask_user", "echo"]);
    }

    #[test]
    fn a_gemini_name_cannot_change_the_path() {
        let base = Url::parse("http://h/v1beta/").unwrap();
        assert_eq!(
            url(ProviderKind::Gemini, &base, "../../x").unwrap_err().kind(),
            ErrorKind::Config
        );
    }
}
