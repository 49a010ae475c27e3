//! Tavily: `POST /search` with a bearer key, as the API reference "Search" has it.

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::{
    Hit, Page, Query, SearchError,
    engine::{self, Interface, Request},
};

/// An account.
#[derive(Debug)]
pub(super) struct Tavily {
    pub(super) base: Url,
    /// `Bearer` and the key.
    pub(super) key: HeaderValue,
    /// US dollars a credit.
    pub(super) price: f64,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Found>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    credits: Option<f64>,
}

#[derive(Deserialize)]
struct Found {
    title: Option<String>,
    url: Option<String>,
    content: Option<String>,
    published_date: Option<String>,
}

impl Interface for Tavily {
    const NAME: &'static str = "tavily";

    fn request(&self, query: &Query) -> Request {
        let mut body = json!({
            "query": query.words,
            "max_results": query.results,
            "search_depth": "basic",
            "include_usage": true,
        });
        if let Some(recency) = query.recency {
            body["time_range"] = json!(recency.word());
        }
        if let Some(site) = &query.site {
            body["include_domains"] = json!([site]);
        }
        let url = engine::below(&self.base, &["search"]);
        Request::Post(url, HeaderMap::from_iter([(AUTHORIZATION, self.key.clone())]), body)
    }

    fn read(&self, body: &[u8]) -> Result<Page, SearchError> {
        let Answer { results, usage } = engine::json(body)?;
        let hits = results.iter().filter_map(|found| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let (title, summary) = (text(&found.title), text(&found.content));
            Hit::new(&title, found.url.as_deref()?, &summary, found.published_date.as_deref())
        });
        // A basic search takes one credit.
        let credits = usage.and_then(|usage| usage.credits).unwrap_or(1.0);
        let paid = Some(credits * self.price).filter(|dollars| *dollars > 0.0);
        Ok(Page { hits: hits.collect(), paid })
    }
}
