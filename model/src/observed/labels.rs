//! The metric labels of a call: a bounded set, for any names that callers use.

use crate::{ProviderConfig, ProviderKind};

/// Label of models that are not configured: callers may name any.
const OTHER: &str = "other";

/// The provider and its labelled models.
#[derive(Debug, Clone)]
pub(crate) struct Labels {
    provider: &'static str,
    usual: String,
    models: Vec<String>,
}

impl Labels {
    pub(crate) fn new(config: &ProviderConfig) -> Self {
        Self {
            provider: provider(config.kind),
            usual: config.model.clone(),
            models: config.models.clone(),
        }
    }

    /// Creates the labels of a scripted model within this process.
    pub(crate) fn scripted(name: &str) -> Self {
        Self { provider: "callboard.script", usual: name.to_owned(), models: Vec::new() }
    }

    /// Value of `gen_ai.provider.name`.
    pub(crate) fn provider(&self) -> &'static str {
        self.provider
    }

    /// Returns the name of the requested model.
    pub(crate) fn asked<'a>(&'a self, named: Option<&'a str>) -> &'a str {
        named.unwrap_or(&self.usual)
    }

    /// Returns the metric label of the requested model.
    pub(crate) fn model(&self, named: Option<&str>) -> &str {
        let Some(named) = named else { return &self.usual };
        let known = std::iter::once(&self.usual).chain(&self.models);
        known.map(String::as_str).find(|known| *known == named).unwrap_or(OTHER)
    }
}

/// Returns the conventions' name of a provider; they have none for `ollama`.
const fn provider(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::OpenAi => "openai",
        ProviderKind::Anthropic => "anthropic",
        ProviderKind::Gemini => "gcp.gemini",
        ProviderKind::Ollama => "ollama",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_nobody_configured_is_no_label() {
        let mut config = ProviderConfig::new(ProviderKind::Ollama, "usual");
        config.models = vec!["large".to_owned()];
        let labels = Labels::new(&config);
        let seen = [None, Some("usual"), Some("large"), Some("x")].map(|name| labels.model(name));
        assert_eq!(seen, ["usual", "usual", "large", "other"]);
        assert_eq!(labels.asked(Some("x")), "x");
    }
}
