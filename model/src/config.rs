//! The settings of a provider and their validation. Other crates read the values from files and the
//! environment; a key is never printed.

use std::{net::IpAddr, time::Duration};

use proto::effort::Effort;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::{Host, Url};

use crate::{
    error::{ErrorKind, ModelError},
    port::DEFAULT_MAX_REPLY_BYTES,
};

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// Chat completions as defined by OpenAI, which most gateways and local servers support.
    OpenAi,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
    /// Ollama's native API.
    Ollama,
}

impl ProviderKind {
    /// Returns the name of the wire format, which logs keep.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the provider's public base URL.
    pub(crate) const fn default_base(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1/",
            Self::Anthropic => "https://api.anthropic.com/v1/",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
            Self::Ollama => "http://localhost:11434/",
        }
    }

    /// Returns the version path to append to a base URL without a path.
    const fn version_path(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Anthropic => "/v1/",
            Self::Gemini => "/v1beta/",
            Self::Ollama => "/",
        }
    }
}

/// The settings of one model provider, the input of [`crate::connect`].
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// The wire format.
    pub kind: ProviderKind,
    /// Base URL, up to and including the version path (`http://127.0.0.1:8000/v1`); the default
    /// version path is appended to a URL without a path. Absent: the provider's public address.
    pub base_url: Option<Url>,
    /// Name of the model as the provider knows it; sent unchanged.
    pub model: String,
    /// Further models that requests name. Metrics distinguish these; any other model is labelled
    /// `other`.
    pub models: Vec<String>,
    /// The API key. Required for public addresses, optional for a custom `base_url`.
    pub api_key: Option<SecretString>,
    /// Time limits of a call.
    pub timeouts: Timeouts,
    /// Retries of a call, before its reply has started.
    pub retry: RetryConfig,
    /// Sampling temperature (0.0 to 2.0) of requests without one. Absent: the provider's default.
    pub temperature: Option<f64>,
    /// Nucleus sampling (above 0.0, at most 1.0) of requests without one. Absent: the provider's
    /// default.
    pub top_p: Option<f64>,
    /// Effort of the reasoning of requests without one. Absent: the provider's default.
    pub effort: Option<Effort>,
    /// `true` to ask Anthropic to keep prompts in its cache, for the price of written tokens. The other
    /// providers decide by themselves.
    pub prompt_caching: bool,
    /// `true` to hold the model to the schema of a structured result, where a request has one.
    /// `false` for servers and models that refuse schemas: they are asked for JSON in words.
    pub structured_outputs: bool,
    /// Largest number of tokens in a reply. Absent: the provider's default (8192 for Anthropic,
    /// which requires a limit).
    pub max_tokens: Option<u32>,
    /// Largest reply in bytes of text, reasoning and arguments; a larger one ends the call.
    pub max_reply_bytes: usize,
}

/// Time limits of one call, in milliseconds; exceeding each has an error of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    /// Establishing a connection.
    pub connect: u64,
    /// From the request to the first piece of the reply.
    pub first_token: u64,
    /// Between two pieces of the reply.
    pub idle: u64,
    /// The whole call, including retries.
    pub total: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: 10_000, first_token: 120_000, idle: 60_000, total: 600_000 }
    }
}

impl Timeouts {
    pub(crate) const fn connect(&self) -> Duration {
        Duration::from_millis(self.connect)
    }
    pub(crate) const fn first_token(&self) -> Duration {
        Duration::from_millis(self.first_token)
    }
    pub(crate) const fn idle(&self) -> Duration {
        Duration::from_millis(self.idle)
    }
    pub(crate) const fn total(&self) -> Duration {
        Duration::from_millis(self.total)
    }
}

/// Retries within one call, before the first piece of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryConfig {
    /// Total number of attempts, including the first; 1 disables retries. At most 20.
    pub max_attempts: u32,
    /// Pause before the second attempt, in milliseconds.
    pub initial_interval_ms: u64,
    /// Factor between successive pauses (1.0 to 10.0).
    pub backoff_factor: f32,
    /// Longest pause that this program chooses, in milliseconds.
    pub max_interval_ms: u64,
    /// Randomises pauses, so that many callers do not retry together.
    pub jitter: bool,
    /// Limit on the sum of all pauses, in milliseconds. If a provider requests a longer one by
    /// `Retry-After`, the call fails with an error that contains the requested pause.
    pub max_wait_ms: u64,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            max_attempts: 4,
            initial_interval_ms: 500,
            backoff_factor: 2.0,
            max_interval_ms: 8_000,
            jitter: true,
            max_wait_ms: 30_000,
        }
    }
}

/// A validated configuration.
pub(crate) struct Checked {
    /// Base URL with a trailing slash on its path.
    pub(crate) base: Url,
    /// `true` if the base URL is on this machine, where no proxy may intervene.
    pub(crate) loopback: bool,
}

impl ProviderConfig {
    /// Creates a configuration with defaults for everything but kind and model.
    #[must_use]
    pub fn new(kind: ProviderKind, model: impl Into<String>) -> Self {
        Self {
            kind,
            base_url: None,
            model: model.into(),
            models: Vec::new(),
            api_key: None,
            timeouts: Timeouts::default(),
            retry: RetryConfig::default(),
            temperature: None,
            top_p: None,
            effort: None,
            prompt_caching: false,
            structured_outputs: true,
            max_tokens: None,
            max_reply_bytes: DEFAULT_MAX_REPLY_BYTES,
        }
    }

    pub(crate) fn check(&self) -> Result<Checked, ModelError> {
        check_model_name(&self.model)?;
        let limits = [
            self.timeouts.connect,
            self.timeouts.first_token,
            self.timeouts.idle,
            self.timeouts.total,
        ];
        if limits.contains(&0) {
            return Err(config("timeouts: every limit must be at least 1 ms"));
        }
        if !(1..=20).contains(&self.retry.max_attempts) {
            return Err(config("retry.max_attempts must be between 1 and 20"));
        }
        if !(1.0..=10.0).contains(&self.retry.backoff_factor) {
            return Err(config("retry.backoff_factor must be between 1.0 and 10.0"));
        }
        if self.max_reply_bytes == 0 || self.max_tokens == Some(0) {
            return Err(config("max_reply_bytes and max_tokens must be at least 1"));
        }
        let base = self.base()?;
        let needs_key = self.base_url.is_none() && self.kind != ProviderKind::Ollama;
        match &self.api_key {
            None if needs_key => {
                return Err(config("api_key is missing: this provider's public address needs one"));
            }
            Some(key) if key.expose_secret().trim().is_empty() => {
                return Err(config("api_key is empty"));
            }
            Some(_) | None => {}
        }
        Ok(Checked { loopback: is_loopback(&base), base })
    }

    /// Returns the host and port of the provider; `None` if the configuration is invalid.
    pub(crate) fn server(&self) -> Option<(String, i64)> {
        let base = self.base().ok()?;
        Some((base.host_str()?.to_owned(), i64::from(base.port_or_known_default()?)))
    }

    fn base(&self) -> Result<Url, ModelError> {
        let mut base = match &self.base_url {
            Some(url) => url.clone(),
            None => Url::parse(self.kind.default_base())
                .map_err(|_| config("the built-in base URL is broken"))?,
        };
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
            return Err(config("base_url must be an http or https address with a host"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(config("base_url must not hold a user or password; use api_key"));
        }
        base.set_fragment(None);
        if base.path() == "/" {
            base.set_path(self.kind.version_path());
        } else if !base.path().ends_with('/') {
            let path = format!("{}/", base.path());
            base.set_path(&path);
        }
        Ok(base)
    }
}

/// Rejects an invalid model name.
pub(crate) fn check_model_name(name: &str) -> Result<(), ModelError> {
    if name.trim().is_empty() || name.len() > 256 || name.chars().any(char::is_control) {
        return Err(config(
            "model must be a name of 1 to 256 characters without control characters",
        ));
    }
    Ok(())
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip).is_loopback(),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip).is_loopback(),
        None => false,
    }
}

const fn config(detail: &'static str) -> ModelError {
    ModelError::new(ErrorKind::Config, detail)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn local(kind: ProviderKind, url: &str) -> ProviderConfig {
        ProviderConfig {
            base_url: Some(Url::parse(url).unwrap()),
            ..ProviderConfig::new(kind, "m")
        }
    }

    #[rstest]
    #[case(ProviderKind::OpenAi, "http://127.0.0.1:9", "http://127.0.0.1:9/v1/")]
    #[case(ProviderKind::OpenAi, "http://h/api/v3", "http://h/api/v3/")]
    #[case(ProviderKind::Gemini, "http://h", "http://h/v1beta/")]
    #[case(ProviderKind::Ollama, "http://h", "http://h/")]
    #[case(ProviderKind::Anthropic, "http://h/v1?x=1#f", "http://h/v1/?x=1")]
    fn a_base_url_is_completed(
        #[case] kind: ProviderKind,
        #[case] given: &str,
        #[case] base: &str,
    ) {
        assert_eq!(local(kind, given).check().unwrap().base.as_str(), base);
    }

    #[rstest]
    #[case(ProviderConfig::new(ProviderKind::OpenAi, "m"), "api_key")]
    #[case(ProviderConfig::new(ProviderKind::Ollama, " "), "model")]
    #[case(local(ProviderKind::OpenAi, "ftp://h/"), "http or https")]
    #[case(local(ProviderKind::OpenAi, "http://u:p@h/"), "user or password")]
    #[case(ProviderConfig { api_key: Some("".into()), ..local(ProviderKind::OpenAi, "http://h") }, "api_key is empty")]
    #[case(ProviderConfig { max_reply_bytes: 0, ..local(ProviderKind::OpenAi, "http://h") }, "max_reply_bytes")]
    #[case(ProviderConfig { timeouts: Timeouts { idle: 0, ..Timeouts::default() }, ..local(ProviderKind::OpenAi, "http://h") }, "timeouts")]
    #[case(ProviderConfig { retry: RetryConfig { max_attempts: 0, ..RetryConfig::default() }, ..local(ProviderKind::OpenAi, "http://h") }, "max_attempts")]
    fn a_configuration_that_cannot_work_names_the_field(
        #[case] provider: ProviderConfig,
        #[case] field: &str,
    ) {
        let error = provider.check().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(field), "{error}");
    }

    #[test]
    fn a_key_is_not_printed() {
        let config = ProviderConfig {
            api_key: Some("canary".into()),
            ..ProviderConfig::new(ProviderKind::OpenAi, "m")
        };
        assert!(!format!("{config:?}").contains("canary"));
    }
}
