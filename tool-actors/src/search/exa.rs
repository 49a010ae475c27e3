//! Exa: `POST /search` with the header `x-api-key`, as the API reference "Search" has it. It states
//! the price of each search in its answer.

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::{
    Hit, Page, Query, SearchError,
    engine::{self, Interface, Request},
};

/// The header of the key.
const KEY: HeaderName = HeaderName::from_static("x-api-key");

/// An account.
#[derive(Debug)]
pub(super) struct Exa {
    pub(super) base: Url,
    pub(super) key: HeaderValue,
    /// The clock, because the interface takes dates instead of ages.
    pub(super) now: fn() -> Timestamp,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Found>,
    #[serde(rename = "costDollars")]
    cost: Option<Cost>,
}

#[derive(Deserialize)]
struct Cost {
    total: Option<f64>,
}

#[derive(Deserialize)]
struct Found {
    title: Option<String>,
    url: Option<String>,
    text: Option<String>,
    highlights: Option<Vec<String>>,
    #[serde(rename = "publishedDate")]
    published: Option<String>,
}

impl Interface for Exa {
    const NAME: &'static str = "exa";

    fn request(&self, query: &Query) -> Request {
        let mut body = json!({
            "query": query.words,
            "numResults": query.results,
            "contents": {"highlights": true},
        });
        if let Some(recency) = query.recency {
            let since = (self.now)() - SignedDuration::from_hours(24 * recency.days());
            body["startPublishedDate"] = json!(since.to_string());
        }
        if let Some(site) = &query.site {
            body["includeDomains"] = json!([site]);
        }
        Request::Post(
            engine::below(&self.base, &["search"]),
            HeaderMap::from_iter([(KEY, self.key.clone())]),
            body,
        )
    }

    fn read(&self, body: &[u8]) -> Result<Page, SearchError> {
        let Answer { results, cost } = engine::json(body)?;
        let hits = results.iter().filter_map(|found| {
            let title = found.title.as_deref().unwrap_or_default();
            let summary = match found.highlights.as_deref().unwrap_or_default() {
                [] => found.text.clone().unwrap_or_default(),
                highlights => highlights.join(" … "),
            };
            Hit::new(title, found.url.as_deref()?, &summary, found.published.as_deref())
        });
        let paid = cost.and_then(|cost| cost.total).filter(|dollars| *dollars > 0.0);
        Ok(Page { hits: hits.collect(), paid })
    }
}
