//! SearXNG, the self-hosted meta search engine: `GET /search?format=json`, as its documentation
//! ("Search API") and its `webutils.get_json_response` have it. An instance answers 403 unless its
//! settings enable the format `json`.

use reqwest::header::HeaderMap;
use serde::Deserialize;
use url::Url;

use super::{
    Hit, Page, Query, SearchError,
    engine::{self, Interface, Request},
};

/// An instance.
#[derive(Debug)]
pub(super) struct Searxng {
    pub(super) base: Url,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Found>,
    /// The engines that did not answer, each with the reason.
    unresponsive_engines: Option<Vec<(String, String)>>,
}

#[derive(Deserialize)]
struct Found {
    url: Option<String>,
    title: Option<String>,
    content: Option<String>,
    #[serde(rename = "publishedDate")]
    published: Option<String>,
}

impl Interface for Searxng {
    const NAME: &'static str = "searxng";

    fn request(&self, query: &Query) -> Request {
        let mut url = engine::below(&self.base, &["search"]);
        {
            let mut pairs = url.query_pairs_mut();
            pairs.append_pair("q", &query.with_site()).append_pair("format", "json");
            if let Some(recency) = query.recency {
                pairs.append_pair("time_range", recency.word());
            }
        }
        Request::Get(url, HeaderMap::new())
    }

    fn read(&self, body: &[u8]) -> Result<Page, SearchError> {
        let Answer { results, unresponsive_engines } = engine::json(body)?;
        let unresponsive_engines = unresponsive_engines.unwrap_or_default();
        // An empty list beside engines that failed says nothing about the web.
        if results.is_empty() && !unresponsive_engines.is_empty() {
            let why =
                unresponsive_engines.iter().take(5).map(|(name, why)| format!("{name}: {why}"));
            return Err(SearchError::Outage(engine::short(&why.collect::<Vec<_>>().join(", "))));
        }
        let hits = results.iter().filter_map(|found| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let (title, summary) = (text(&found.title), text(&found.content));
            Hit::new(&title, found.url.as_deref()?, &summary, found.published.as_deref())
        });
        Ok(Page { hits: hits.collect(), paid: None })
    }
}
