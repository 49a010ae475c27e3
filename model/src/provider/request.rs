//! Translation of requests to `genai`'s format.
//!
//! `genai` interprets model names (a trailing `-high` selects a reasoning effort, `::` ends a
//! namespace). Names must be sent unchanged, so both are disabled here.

use genai::{
    Headers, ModelIden, ServiceTarget,
    chat::{
        ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, ContentPart, MessageContent,
        Tool, ToolCall, ToolResponse,
    },
    resolver::{AuthData, Endpoint},
};
use proto::message::{Message, ModelCall, ToolOffer};
use serde_json::{Map, Value, json};
use url::Url;

use super::{Provider, adapter};
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
        let options = options(provider, &model, &request.params, !request.tools.is_empty());
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(provider.base.as_str()),
            auth: AuthData::RequestOverride {
                url: url(provider.kind, &provider.base, &model)?.to_string(),
                headers: headers(provider.kind),
            },
            model: ModelIden::new(adapter(provider.kind), inert_name(&model)),
        };
        let mut chat = ChatRequest::new(request.messages.into_iter().map(message).collect());
        if !request.tools.is_empty() {
            chat = chat.with_tools(request.tools.into_iter().map(tool).collect::<Vec<_>>());
        }
        Ok(Self { model, target, chat, options })
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
    // OpenAI tool calls are collected in `calls`, which enforces limits.
    let capture_calls = provider.kind != ProviderKind::OpenAi;
    let mut extra = Map::new();
    match provider.kind {
        ProviderKind::OpenAi => {
            extra.insert("model".to_owned(), json!(model));
            if has_tools && !params.parallel_tool_calls {
                extra.insert("parallel_tool_calls".to_owned(), json!(false));
            }
        }
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
        ProviderKind::Ollama => {}
    }
    ChatOptions {
        temperature,
        top_p,
        max_tokens,
        capture_usage: Some(true),
        capture_tool_calls: Some(capture_calls),
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

/// Converts a past call. Providers accept only objects as arguments, so anything else is sent under
/// a field name.
fn tool_call(call: ModelCall) -> ToolCall {
    let args = match call.args {
        Value::Object(args) => Value::Object(args),
        Value::Null => json!({}),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            json!({"invalid_arguments": other})
        }
    };
    ToolCall { call_id: call.id, fn_name: call.name, fn_arguments: args, thought_signatures: None }
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
    fn a_gemini_name_cannot_change_the_path() {
        let base = Url::parse("http://h/v1beta/").unwrap();
        assert_eq!(
            url(ProviderKind::Gemini, &base, "../../x").unwrap_err().kind(),
            ErrorKind::Config
        );
    }
}
