//! Search of the web: what a search is, what its results are, and providers that answer it.
//!
//! A provider is asked over HTTP and knows nothing of tools. [`Search`] asks providers in the order
//! of the operator until one answers.

mod brave;
mod engine;
mod exa;
mod searxng;
pub mod settings;
mod tavily;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use proto::{excerpt, lang::Language};
use serde::{Deserialize, Serialize};

use self::engine::Engine;
use crate::tools::Text;

/// Longest query, in characters.
pub const QUERY_CHARS_MAX: usize = 400;
/// The most results of a search.
pub const RESULTS_MAX: usize = 10;
/// The results of a search that names no number.
pub const RESULTS: usize = 3;
/// Longest title, in bytes.
const TITLE_BYTES_MAX: usize = 300;
/// Longest summary, in characters.
const SUMMARY_CHARS_MAX: usize = 1_000;
/// Longest address, in bytes. A result with a longer one is left out.
const URL_BYTES_MAX: usize = 2_048;

/// A search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The words, at most [`QUERY_CHARS_MAX`] characters.
    pub words: String,
    /// The number of results, from 1 to [`RESULTS_MAX`].
    pub results: usize,
    /// The age of the results.
    pub recency: Option<Recency>,
    /// The host of the results; hosts below it count, too.
    pub site: Option<String>,
}

impl Query {
    /// Returns the words with the operator that all engines with a single text understand.
    fn with_site(&self) -> String {
        match &self.site {
            None => self.words.clone(),
            Some(site) => format!("{} site:{site}", self.words),
        }
    }
}

/// The time in which a result was published or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recency {
    /// The last 24 hours.
    Day,
    /// The last seven days.
    Week,
    /// The last 31 days.
    Month,
    /// The last 365 days.
    Year,
}

impl Recency {
    /// The word for it in most interfaces, and in ours.
    fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    fn days(self) -> i64 {
        match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 31,
            Self::Year => 365,
        }
    }
}

/// A result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The title of the page, in one line.
    pub title: String,
    /// The address of the page, `http` or `https`.
    pub url: String,
    /// Excerpt of the page in the words of the provider; may be empty.
    pub summary: String,
    /// When the page was published, in the words of the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
}

impl Hit {
    /// Creates a result from the texts of a provider; `None` if the address is not one of the web.
    fn new(title: &str, url: &str, summary: &str, published: Option<&str>) -> Option<Self> {
        let parsed = url::Url::parse(url).ok()?;
        let is_web = matches!(parsed.scheme(), "http" | "https") && url.len() <= URL_BYTES_MAX;
        is_web.then(|| Self {
            title: excerpt::line(title, TITLE_BYTES_MAX),
            url: url.to_owned(),
            summary: summary.trim().chars().take(SUMMARY_CHARS_MAX).collect(),
            published: published.map(|at| excerpt::line(at, 40)).filter(|at| !at.is_empty()),
        })
    }
}

/// The results of one provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The results, best first. None is an answer as well.
    pub hits: Vec<Hit>,
    /// The price of the search in US dollars, if the provider takes one.
    pub paid: Option<f64>,
}

/// A provider that gave no results.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The provider cannot be reached, or its answer breaks off.
    #[error("cannot be reached: {0}")]
    Network(String),
    /// The provider refuses the search: the key, the plan or the query is at fault.
    #[error("refused the search: {0}")]
    Refused(String),
    /// Too many searches; a later one may succeed, after this time if the provider names one.
    #[error("takes no more searches now")]
    RateLimited(Option<Duration>),
    /// The answer is not in the form of the provider.
    #[error("gave an answer that cannot be read: {0}")]
    Parse(String),
    /// The provider answers, and says that it cannot search now.
    #[error("cannot search now: {0}")]
    Outage(String),
}

impl SearchError {
    /// The kind of failure, for logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Network(_) => "network",
            Self::Refused(_) => "refused",
            Self::RateLimited(_) => "rate_limited",
            Self::Parse(_) => "parse",
            Self::Outage(_) => "outage",
        }
    }

    /// Returns the reason in words.
    #[must_use]
    pub fn text(&self, provider: &str, language: Language) -> String {
        let provider = &provider;
        match self {
            Self::Network(why) => Text::SearchNetwork { provider, why }.text(language),
            Self::Refused(why) => Text::SearchRefused { provider, why }.text(language),
            Self::RateLimited(None) => Text::SearchRate { provider }.text(language),
            Self::RateLimited(Some(wait)) => {
                Text::SearchRateFor { provider, seconds: &wait.as_secs() }.text(language)
            }
            Self::Parse(why) => Text::SearchParse { provider, why }.text(language),
            Self::Outage(why) => Text::SearchOutage { provider, why }.text(language),
        }
    }

    /// `true` if the same search may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Network(_) | Self::RateLimited(_) | Self::Outage(_) => true,
            Self::Refused(_) | Self::Parse(_) => false,
        }
    }
}

/// A source of results.
#[async_trait]
pub trait SearchProvider: Send + Sync + 'static {
    /// The name of the provider, for people and models.
    fn name(&self) -> &'static str;

    /// Searches.
    ///
    /// # Errors
    /// If the provider gave no results. To find nothing is a result.
    async fn search(&self, query: &Query) -> Result<Page, SearchError>;
}

/// Providers in the order in which they are asked; cheap to clone.
#[derive(Clone)]
pub struct Search(Arc<[Arc<dyn SearchProvider>]>);

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|provider| provider.name())).finish()
    }
}

/// The results, and who gave them.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The name of the provider.
    pub provider: &'static str,
    /// The results.
    pub page: Page,
    /// The providers that were asked before, with the reason why they gave no results.
    pub passed_over: Vec<(&'static str, SearchError)>,
}

/// No provider gave results: each with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound(pub Vec<(&'static str, SearchError)>);

impl NotFound {
    /// Returns the reasons, one after the other.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let reasons = self.0.iter().map(|(provider, error)| error.text(provider, language));
        reasons.collect::<Vec<_>>().join("; ")
    }

    /// `true` if the same search may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.0.iter().any(|(_, error)| error.is_transient())
    }
}

impl Search {
    /// Takes the providers in the order in which they are asked; `None` without any.
    #[must_use]
    pub fn of(providers: Vec<Arc<dyn SearchProvider>>) -> Option<Self> {
        (!providers.is_empty()).then(|| Self(providers.into()))
    }

    /// The number of providers.
    #[must_use]
    pub fn providers(&self) -> usize {
        self.0.len()
    }

    /// Asks the providers in turn until one answers.
    ///
    /// # Errors
    /// If none answers.
    pub async fn search(&self, query: &Query) -> Result<Found, NotFound> {
        let mut passed_over = Vec::new();
        for provider in self.0.iter() {
            match provider.search(query).await {
                Ok(mut page) => {
                    page.hits = distinct(page.hits, query.results);
                    return Ok(Found { provider: provider.name(), page, passed_over });
                }
                Err(error) => {
                    // The reason may hold words of the query, which no log has.
                    tracing::warn!(
                        provider = provider.name(),
                        kind = error.kind(),
                        "a search failed"
                    );
                    passed_over.push((provider.name(), error));
                }
            }
        }
        Err(NotFound(passed_over))
    }
}

/// Keeps the first result of each address, and at most `count`.
fn distinct(hits: Vec<Hit>, count: usize) -> Vec<Hit> {
    let mut seen = std::collections::BTreeSet::new();
    let mut kept: Vec<Hit> = hits.into_iter().filter(|hit| seen.insert(hit.url.clone())).collect();
    kept.truncate(count);
    kept
}

#[cfg(test)]
mod tests;
