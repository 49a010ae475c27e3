//! Translation of requests to the providers' formats. Names of models are sent unchanged.

use std::sync::Arc;

use proto::{effort::Effort, message::Message, opaque::Opaque};
use serde_json::{Map, Value, json};
use url::Url;

use super::{Provider, anthropic, gemini, ollama, openai};
use crate::{
    config::{ProviderKind, check_model_name},
    error::{ErrorKind, ModelError},
    port::{ModelRequest, Params},
};

/// A request that can be sent repeatedly.
pub(super) struct Prepared {
    /// Name of the requested model.
    pub(super) model: String,
    /// Provider and model, to which opaque parts of replies belong.
    pub(super) identity: String,
    /// The request before its translation.
    pub(super) request: Arc<ModelRequest>,
    pub(super) url: Url,
    /// The request in the provider's format.
    pub(super) body: Value,
}

impl Prepared {
    pub(super) fn new(provider: &Provider, request: ModelRequest) -> Result<Self, ModelError> {
        let model = request.params.model.clone().unwrap_or_else(|| provider.model.clone());
        check_model_name(&model)?;
        if request.messages.is_empty() {
            return Err(ModelError::new(ErrorKind::InvalidRequest, "the conversation is empty"));
        }
        let url = url(provider.kind, &provider.base, &model)?;
        let translate = match provider.kind {
            ProviderKind::OpenAi => openai::body,
            ProviderKind::Anthropic => anthropic::body,
            ProviderKind::Gemini => gemini::body,
            ProviderKind::Ollama => ollama::body,
        };
        let host = provider.base.host_str().unwrap_or_default();
        let identity = format!("{}:{host}/{model}", provider.kind.as_str());
        let asked = Asked { provider, model: &model, identity: &identity, request: &request };
        let body = translate(asked);
        Ok(Self { model, identity, request: Arc::new(request), url, body })
    }
}

/// A request before its translation, with the model that it is for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) provider: &'a Provider,
    pub(super) model: &'a str,
    identity: &'a str,
    pub(super) request: &'a ModelRequest,
}

impl<'a> Asked<'a> {
    /// Returns the schema to hold the model to. Providers refuse schemas beside tools.
    pub(super) fn schema(self) -> Option<&'a Value> {
        let schema = self.request.params.schema.as_ref()?;
        (self.provider.structured_outputs && self.request.tools.is_empty()).then_some(schema)
    }

    /// Returns the opaque parts of an earlier reply, if this model gave it.
    pub(super) fn parts(self, opaque: Option<&'a Opaque>) -> &'a [Value] {
        opaque.map_or(&[], |opaque| opaque.parts_for(self.identity))
    }
}

/// The settings of a reply that every format has: those of a request, or the configured ones.
pub(super) struct Sampling {
    pub(super) temperature: Option<Value>,
    pub(super) top_p: Option<Value>,
    pub(super) effort: Option<Effort>,
    pub(super) max_tokens: Option<Value>,
}

impl Sampling {
    pub(super) fn of(provider: &Provider, params: &Params) -> Self {
        Self {
            temperature: params.temperature.or(provider.temperature).map(Value::from),
            top_p: params.top_p.or(provider.top_p).map(Value::from),
            effort: params.effort.or(provider.effort),
            max_tokens: params.max_tokens.or(provider.max_tokens).map(Value::from),
        }
    }
}

/// Builds an object of the fields that have a value.
pub(super) fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let present = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(present.collect::<Map<_, _>>())
}

/// Joins the system messages, for formats where they are no part of the conversation.
pub(super) fn system(messages: &[Message], between: &str) -> Option<Value> {
    let texts = messages.iter().filter_map(|message| match message {
        Message::System { text } => Some(text.as_str()),
        Message::User { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
    });
    let texts: Vec<_> = texts.collect();
    (!texts.is_empty()).then(|| json!(texts.join(between)))
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

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
