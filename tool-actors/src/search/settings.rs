//! The settings of search: which providers are asked, where they are, and their keys.

use std::sync::Arc;

use jiff::Timestamp;
use proto::lang::{Language, Words};
use reqwest::header::HeaderValue;
use runtime::config::{Check, HOUR, Secret};
use secrecy::ExposeSecret;
use serde::Deserialize;
use url::Url;

use super::{
    Engine, SearchProvider, brave::Brave, engine::Interface, exa::Exa, searxng::Searxng,
    tavily::Tavily,
};
use crate::{
    egress::{Egress, EgressError, SystemLookup},
    settings::Http,
    tools::Text,
};

/// Settings of the tool `web_search`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The providers in the order in which they are asked. Without any, the tool does not exist.
    pub providers: Vec<Provider>,
    /// Time limit of a search by one provider, in milliseconds.
    pub timeout_ms: u64,
    /// The instance of SearXNG.
    pub searxng: Instance,
    /// The account at Brave Search; its price is that of a search.
    pub brave: Account,
    /// The account at Tavily; its price is that of a credit.
    pub tavily: Account,
    /// The account at Exa, which states the price of each search.
    pub exa: SelfPriced,
}

/// A kind of provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// SearXNG.
    Searxng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// Exa.
    Exa,
}

/// A provider of the operator's own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// The address of the instance.
    pub base_url: Option<Url>,
}

/// An account at a provider that does not state its prices.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// Another address than that of the provider.
    pub base_url: Option<Url>,
    /// The key of the account. Only processes with the role `tools` need its value.
    pub api_key: Option<Secret>,
    /// The price in US dollars.
    pub price: f64,
}

/// An account at a provider that states its prices.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfPriced {
    /// Another address than that of the provider.
    pub base_url: Option<Url>,
    /// The key of the account. Only processes with the role `tools` need its value.
    pub api_key: Option<Secret>,
}

/// A provider that cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The key cannot be fetched.
    #[error("tools.search.{provider}.api_key: {why}")]
    Key {
        /// The provider.
        provider: &'static str,
        /// Why the key cannot be used.
        why: String,
    },
    /// The address is missing.
    #[error("tools.search.{0}.base_url is missing")]
    Address(&'static str),
    /// The HTTP client cannot be set up.
    #[error("tools.search.{provider}: {error}")]
    Client {
        /// The provider.
        provider: &'static str,
        /// The reason.
        error: EgressError,
    },
}

impl Search {
    pub(crate) fn check(&self, check: &mut Check) {
        check.bounds(&[("tools.search.timeout_ms", self.timeout_ms, 1, HOUR)]);
        let Self { brave, tavily, exa, searxng, .. } = self;
        for (key, price) in
            [("tools.search.brave.price", brave.price), ("tools.search.tavily.price", tavily.price)]
        {
            if !(0.0..=1_000.0).contains(&price) {
                check.wrong(key, Words::new(|language| Text::SearchPrice.text(language)));
            }
        }
        for (key, url) in [
            ("tools.search.searxng.base_url", &searxng.base_url),
            ("tools.search.brave.base_url", &brave.base_url),
            ("tools.search.tavily.base_url", &tavily.base_url),
            ("tools.search.exa.base_url", &exa.base_url),
        ] {
            if url.as_ref().is_some_and(|url| !is_base(url)) {
                check.wrong(key, Words::new(|language| Text::SearchAddress.text(language)));
            }
        }
        for provider in &self.providers {
            let missing = match provider {
                Provider::Searxng => searxng.base_url.is_none().then_some("searxng.base_url"),
                Provider::Brave => brave.api_key.is_none().then_some("brave.api_key"),
                Provider::Tavily => tavily.api_key.is_none().then_some("tavily.api_key"),
                Provider::Exa => exa.api_key.is_none().then_some("exa.api_key"),
            };
            if let Some(missing) = missing {
                let key = format!("tools.search.{missing}");
                check.wrong(key, Words::new(|language| Text::SearchNeeds.text(language)));
            }
        }
    }

    /// Creates the providers; `None` without any.
    ///
    /// # Errors
    /// If a key cannot be fetched, or a client cannot be set up.
    pub fn open(&self) -> Result<Option<super::Search>, ProviderError> {
        let providers = self.providers.iter().map(|provider| self.provider(*provider));
        Ok(super::Search::of(providers.collect::<Result<_, _>>()?))
    }

    fn provider(&self, provider: Provider) -> Result<Arc<dyn SearchProvider>, ProviderError> {
        match provider {
            Provider::Searxng => {
                let base = self.searxng.base_url.clone();
                let base = base.ok_or(ProviderError::Address(Searxng::NAME))?;
                self.engine(&base.clone(), true, Searxng { base })
            }
            Provider::Brave => {
                let Account { base_url, api_key, price } = &self.brave;
                let base = base(base_url.as_ref(), "https://api.search.brave.com");
                let key = key(Brave::NAME, "", api_key.as_ref())?;
                let brave = Brave { base: base.clone(), key, price: *price };
                self.engine(&base, base_url.is_some(), brave)
            }
            Provider::Tavily => {
                let Account { base_url, api_key, price } = &self.tavily;
                let base = base(base_url.as_ref(), "https://api.tavily.com");
                let key = key(Tavily::NAME, "Bearer ", api_key.as_ref())?;
                let tavily = Tavily { base: base.clone(), key, price: *price };
                self.engine(&base, base_url.is_some(), tavily)
            }
            Provider::Exa => {
                let SelfPriced { base_url, api_key } = &self.exa;
                let base = base(base_url.as_ref(), "https://api.exa.ai");
                let key = key(Exa::NAME, "", api_key.as_ref())?;
                let exa = Exa { base: base.clone(), key, now: Timestamp::now };
                self.engine(&base, base_url.is_some(), exa)
            }
        }
    }

    /// Creates a provider whose client reaches its host alone. `allow_private` where the operator
    /// chose the address.
    fn engine<I: Interface>(
        &self,
        base: &Url,
        allow_private: bool,
        interface: I,
    ) -> Result<Arc<dyn SearchProvider>, ProviderError> {
        let host = base.host().ok_or(ProviderError::Address(I::NAME))?.to_string();
        let http = Http {
            allow_private,
            allow_hosts: vec![host],
            timeout_ms: self.timeout_ms,
            ..Http::default()
        };
        let egress = Egress::new(http, Arc::new(SystemLookup));
        let egress = egress.map_err(|error| ProviderError::Client { provider: I::NAME, error })?;
        Ok(Arc::new(Engine::new(interface, egress)))
    }
}

fn is_base(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
        && url.host().is_some()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none()
}

fn base(configured: Option<&Url>, public: &'static str) -> Url {
    configured.cloned().unwrap_or_else(|| Url::parse(public).expect("the address is a constant"))
}

/// Returns the value of the header with the key, which no log shows.
fn key(
    provider: &'static str,
    scheme: &str,
    key: Option<&Secret>,
) -> Result<HeaderValue, ProviderError> {
    let failed = |why: String| ProviderError::Key { provider, why };
    let key = key.ok_or_else(|| failed("it is missing".to_owned()))?;
    let value = key.value().map_err(|why| failed(why.text(Language::En).to_owned()))?;
    let header = HeaderValue::from_str(&format!("{scheme}{}", value.expose_secret()));
    let mut header = header.map_err(|error| failed(error.to_string()))?;
    header.set_sensitive(true);
    Ok(header)
}
