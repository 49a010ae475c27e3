//! The settings of the language model.

use std::path::PathBuf;

use agents::price::ByModel;
use model::{RetryConfig, Timeouts};
use proto::{budget::Price, effort::Effort, price::is_model_name};
use runtime::config::{Check, DAY, HOUR, Secret, Section, wide};
use serde::Deserialize;
use url::Url;

use crate::words::Text;

/// The fewest tokens that a model takes, and the most.
const CONTEXT_TOKENS: std::ops::RangeInclusive<u32> =
    proto::observe::WINDOW_TOKENS_MIN..=100_000_000;

/// The default language model. Without a `kind` there is no model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The wire format of the provider.
    pub kind: Option<ModelKind>,
    /// The address of the provider. When absent, the provider's public address.
    pub base_url: Option<Url>,
    /// The model's name at the provider. Present when `kind` is.
    pub name: Option<String>,
    /// The script of the scripted model. Present exactly when `kind` is [`ModelKind::Script`].
    pub script: Option<PathBuf>,
    /// The provider's API key. Required for a public address. Only processes that call the model
    /// need its value.
    pub api_key: Option<Secret>,
    /// The sampling temperature (0.0 to 2.0).
    pub temperature: Option<f64>,
    /// The nucleus sampling threshold (above 0.0, at most 1.0).
    pub top_p: Option<f64>,
    /// The effort of the model's reasoning.
    pub effort: Option<Effort>,
    /// `true` if Anthropic is asked to keep prompts in its cache.
    pub prompt_caching: bool,
    /// `true` if the model is held to the schema of a structured result.
    pub structured_outputs: bool,
    /// Bound of a reply, in tokens.
    pub max_tokens: Option<u32>,
    /// The context window: tokens of a conversation that the model takes, without the reply. When
    /// absent, conversations are not shortened.
    pub context_tokens: Option<u32>,
    /// Bound of a reply, in bytes.
    pub max_reply_bytes: usize,
    /// Bound of the replies at temperature zero that a process keeps, in bytes; 0 to keep none.
    pub cache_bytes: u64,
    /// Time limits of one call.
    pub timeouts_ms: Timeouts,
    /// Retries inside one call, before the first piece of a reply.
    pub retry: RetryConfig,
    /// The price of tokens, which the cost metric and budgets use. When absent, no cost is counted.
    pub price: Option<Price>,
    /// Context windows and prices of models by name. An entry overrides `price` and
    /// `context_tokens` for its model.
    pub known: Vec<KnownModel>,
}

/// The context window and the price of one model. Models are a list and not a table, because their
/// names contain dots and slashes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownModel {
    /// The model's name at the provider.
    pub name: String,
    /// The context window: tokens of a conversation that the model takes, without the reply.
    pub context_tokens: Option<u32>,
    /// The price of the model's tokens.
    pub price: Option<Price>,
}

impl Model {
    /// Returns the prices by model. `price` belongs to the default model.
    #[must_use]
    pub fn prices(&self) -> ByModel<Price> {
        let known = self.known.iter().filter_map(|m| Some((&m.name, m.price?)));
        let usual = ByModel::usual(self.name.clone(), self.price);
        known.fold(usual, |prices, (name, price)| prices.with(name, price))
    }

    /// Returns the context windows by model. `context_tokens` applies to every model without an
    /// entry of its own.
    #[must_use]
    pub fn windows(&self) -> ByModel<u32> {
        let known = self.known.iter().filter_map(|m| Some((&m.name, m.context_tokens?)));
        let usual = ByModel::usual(self.name.clone(), self.context_tokens);
        let usual = usual.others(self.context_tokens);
        known.fold(usual, |windows, (name, tokens)| windows.with(name, tokens))
    }
}

/// The wire format of a model provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Chat completions as OpenAI defined them.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// Ollama's own API.
    Ollama,
    /// The scripted model, inside this process.
    Script,
}

impl Section for Model {
    const NAME: &'static str = "model";
    const DEFAULTS: &'static str = include_str!("model.toml");
    const SECRETS: &'static [&'static str] = &["model.api_key"];

    fn secrets(&mut self) -> Vec<&mut Option<Secret>> {
        vec![&mut self.api_key]
    }

    fn check(&self, check: &mut Check) {
        bounds(self, check);
        provider(self, check);
        known(self, check);
        waits(self, check);
    }
}

fn bounds(model: &Model, check: &mut Check) {
    let (timeouts, retry) = (&model.timeouts_ms, &model.retry);
    check.bounds(&[
        ("model.max_reply_bytes", wide(model.max_reply_bytes), 1_024, 1 << 30),
        ("model.cache_bytes", model.cache_bytes, 0, 1 << 30),
        ("model.timeouts_ms.connect", timeouts.connect, 1, DAY),
        ("model.timeouts_ms.first_token", timeouts.first_token, 1, DAY),
        ("model.timeouts_ms.idle", timeouts.idle, 1, DAY),
        ("model.timeouts_ms.total", timeouts.total, 1, DAY),
        ("model.retry.max_attempts", retry.max_attempts.into(), 1, 20),
        ("model.retry.initial_interval_ms", retry.initial_interval_ms, 0, HOUR),
        ("model.retry.max_interval_ms", retry.max_interval_ms, 0, HOUR),
        ("model.retry.max_wait_ms", retry.max_wait_ms, 0, DAY),
    ]);
    if let Some(tokens) = model.max_tokens {
        check.bounds(&[("model.max_tokens", tokens.into(), 1, 100_000_000)]);
    }
    if let Some(tokens) = model.context_tokens {
        let (min, max) = (*CONTEXT_TOKENS.start(), *CONTEXT_TOKENS.end());
        check.bounds(&[("model.context_tokens", tokens.into(), min.into(), max.into())]);
    }
    if model.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
        check.outside("model.temperature", &"0.0", &"2.0");
    }
    if model.top_p.is_some_and(|p| !(p > 0.0 && p <= 1.0)) {
        check.wrong("model.top_p", Text::MustBeAbove { low: &"0.0", high: &"1.0" });
    }
    if !(1.0..=10.0).contains(&retry.backoff_factor) {
        check.outside("model.retry.backoff_factor", &"1.0", &"10.0");
    }
}

fn provider(model: &Model, check: &mut Check) {
    match (model.kind, &model.name) {
        (Some(_), None) => check.missing_beside("model.name", "model.kind"),
        (None, Some(_)) => check.missing_beside("model.kind", "model.name"),
        (Some(_), Some(_)) | (None, None) => {}
    }
    if model.name.as_deref().is_some_and(|name| !is_model_name(name)) {
        check.wrong("model.name", Text::BadModelName);
    }
    match (model.kind, &model.script) {
        (Some(ModelKind::Script), None) => {
            check.wrong("model.script", Text::MissingAsScript);
        }
        (Some(ModelKind::Script), Some(_)) | (_, None) => {}
        (_, Some(_)) => check.wrong("model.script", Text::OnlyForScript),
    }
    let public = model.base_url.is_none()
        && model.kind.is_some_and(|k| k != ModelKind::Ollama && k != ModelKind::Script);
    if public && model.api_key.is_none() {
        check.wrong("model.api_key", Text::MissingKey);
    }
    if let Some(url) = &model.base_url {
        check.http("model.base_url", url, Some("model.api_key"));
    }
}

/// Checks the context windows and prices of models that are listed by name, and the default model's
/// price.
fn known(model: &Model, check: &mut Check) {
    if model.price.as_ref().is_some_and(|price| !price.fits()) {
        check.wrong("model.price", Text::Negative);
    }
    for (at, one) in model.known.iter().enumerate() {
        let key = |field: &str| format!("model.known[{at}].{field}");
        if !is_model_name(&one.name) {
            check.wrong(key("name"), Text::BadModelName);
        }
        if model.known.iter().take(at).any(|earlier| earlier.name == one.name) {
            check.wrong(key("name"), Text::ListedTwice);
        }
        if one.context_tokens.is_some_and(|n| !CONTEXT_TOKENS.contains(&n)) {
            check.outside(key("context_tokens"), CONTEXT_TOKENS.start(), CONTEXT_TOKENS.end());
        }
        if one.price.as_ref().is_some_and(|price| !price.fits()) {
            check.wrong(key("price"), Text::Negative);
        }
        if one.context_tokens.is_none() && one.price.is_none() {
            check.wrong(key("price"), Text::MissingBoth);
        }
    }
}

/// Waits that exceed what they are part of.
fn waits(model: &Model, check: &mut Check) {
    let (timeouts, retry) = (&model.timeouts_ms, &model.retry);
    for (key, part, of, whole) in [
        ("model.timeouts_ms.connect", timeouts.connect, "model.timeouts_ms.total", timeouts.total),
        (
            "model.timeouts_ms.first_token",
            timeouts.first_token,
            "model.timeouts_ms.total",
            timeouts.total,
        ),
        ("model.timeouts_ms.idle", timeouts.idle, "model.timeouts_ms.total", timeouts.total),
        (
            "model.retry.initial_interval_ms",
            retry.initial_interval_ms,
            "model.retry.max_interval_ms",
            retry.max_interval_ms,
        ),
    ] {
        if part > whole {
            check.wrong(key, Text::MustNotExceed { key: &of, value: &whole });
        }
    }
}
