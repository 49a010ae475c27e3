//! The language model of a process: a configured provider, or the scripted model without one.

use std::sync::Arc;

use model::{
    CachedModel, Model, ModelError, Observed, ProviderConfig, ProviderKind, Show, Watching,
    script::{Script, ScriptError, ScriptModel, ScriptServer},
};

use proto::lang::{Language, Words};
use runtime::config::Secret;

use crate::{
    settings::{Config, model::ModelKind},
    words::Text,
};

/// A model, and its server if it is the scripted one.
#[derive(derive_more::Debug)]
#[debug("ModelSetup {{ scripted: {} }}", script.is_some())]
pub struct ModelSetup {
    /// The model, with telemetry.
    pub model: Arc<dyn Model>,
    /// Server of the scripted model; dropping it stops the server.
    pub script: Option<ScriptServer>,
}

/// The reason why no model is available.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.words().text(Language::En))]
pub enum ModelSetupError {
    /// No model is configured, and no script is given.
    Unconfigured,
    /// A kind is configured without a model name.
    Unnamed,
    /// The API key cannot be fetched.
    Key(Words),
    /// The provider's configuration is invalid.
    Provider(#[from] ModelError),
    /// The script is unreadable or invalid.
    Script(#[from] ScriptError),
    /// The scripted model's server cannot listen.
    Listen(#[from] std::io::Error),
}

impl ModelSetupError {
    /// Returns the reason for users.
    #[must_use]
    pub fn words(&self) -> Words {
        match self {
            Self::Unconfigured => Text::ModelUnconfigured.into(),
            Self::Unnamed => Text::ModelUnnamed.into(),
            Self::Key(why) => Words::new(|language| {
                let (key, why) = (&"model.api_key", &why.text(language));
                Text::OfSetting { key, why }.text(language)
            }),
            Self::Provider(why) => Text::OfSetting { key: &"model", why }.into(),
            Self::Script(why) => Text::ScriptUnusable { why }.into(),
            Self::Listen(why) => Text::ScriptMute { why }.into(),
        }
    }
}

/// Connects the configured model with telemetry. Without one, serves `script` over HTTP and
/// connects to that server.
///
/// # Errors
/// If neither a model nor a script is given, or the configuration is invalid.
pub async fn connect_model(
    config: &Config,
    script: Option<&str>,
) -> Result<ModelSetup, ModelSetupError> {
    if let Some(kind) = config.model.kind {
        let Some(kind) = provider_kind(kind) else {
            return Ok(ModelSetup { model: scripted(config)?, script: None });
        };
        let provider = provider(kind, config)?;
        return Ok(ModelSetup { model: watched(&provider, config)?, script: None });
    }
    let script = Script::parse(script.ok_or(ModelSetupError::Unconfigured)?)?;
    let server =
        model::script::serve(script, std::net::SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let mut provider = ProviderConfig::new(ProviderKind::OpenAi, "scripted");
    provider.base_url = server.base_url().parse().ok();
    Ok(ModelSetup { model: watched(&provider, config)?, script: Some(server) })
}

/// Connects a provider's model, with traces and metrics of its calls.
fn watched(provider: &ProviderConfig, config: &Config) -> Result<Arc<dyn Model>, ModelError> {
    let model = model::connect(provider)?;
    let model = Arc::new(Observed::new(model, provider, watching(config)));
    Ok(bounded(model, config))
}

fn watching(config: &Config) -> Watching {
    let prices = config.model.prices();
    let usual = prices.of(None);
    let show =
        config.content().map(|content| -> Show { Arc::new(move |text: &str| content.show(text)) });
    // The cost metric covers every call: models without a known price count like the default model.
    Watching { prices: prices.others(usual), show }
}

/// Returns the provider's wire format; `None` for the scripted model.
fn provider_kind(kind: ModelKind) -> Option<ProviderKind> {
    match kind {
        ModelKind::OpenAi => Some(ProviderKind::OpenAi),
        ModelKind::Anthropic => Some(ProviderKind::Anthropic),
        ModelKind::Gemini => Some(ProviderKind::Gemini),
        ModelKind::Ollama => Some(ProviderKind::Ollama),
        ModelKind::Script => None,
    }
}

/// Creates the scripted model within this process, without HTTP.
fn scripted(config: &Config) -> Result<Arc<dyn Model>, ModelSetupError> {
    let path = config.model.script.as_ref().ok_or(ModelSetupError::Unconfigured)?;
    let name = config.model.name.as_deref().ok_or(ModelSetupError::Unnamed)?;
    let model = ScriptModel::new(Script::load(path)?, name, config.model.timeouts_ms);
    let model = Arc::new(Observed::scripted(Arc::new(model), name, watching(config)));
    Ok(bounded(model, config))
}

/// Adds the context windows, and the cache of replies, to a model. A reply from the cache is no call
/// to the observed model.
fn bounded(model: Arc<dyn Model>, config: &Config) -> Arc<dyn Model> {
    let config = &config.model;
    let model = match config.cache_bytes {
        0 => model,
        bytes => Arc::new(CachedModel::new(model, config.temperature, bytes)),
    };
    model::bounded(model, config.windows())
}

fn provider(kind: ProviderKind, config: &Config) -> Result<ProviderConfig, ModelSetupError> {
    let known = config.model.known.iter().map(|known| known.name.clone());
    let models = known.chain(crate::agents::models(config)).collect();
    let config = &config.model;
    let api_key = config.api_key.as_ref().map(Secret::value).transpose();
    let api_key = api_key.map_err(|why| ModelSetupError::Key(why.clone()))?.cloned();
    Ok(ProviderConfig {
        kind,
        base_url: config.base_url.clone(),
        model: config.name.clone().ok_or(ModelSetupError::Unnamed)?,
        models,
        api_key,
        timeouts: config.timeouts_ms,
        retry: config.retry,
        temperature: config.temperature,
        top_p: config.top_p,
        effort: config.effort,
        prompt_caching: config.prompt_caching,
        structured_outputs: config.structured_outputs,
        max_tokens: config.max_tokens,
        max_reply_bytes: config.max_reply_bytes,
    })
}
