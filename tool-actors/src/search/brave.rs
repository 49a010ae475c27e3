//! Brave Search: `GET /res/v1/web/search` with the header `X-Subscription-Token`, as the API
//! reference "Web Search" has it. Its texts have `<strong>` around the words of the query.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use url::Url;

use super::{
    Hit, Page, Query, Recency, SearchError,
    engine::{self, Interface, Request},
};

/// The header of the key.
const TOKEN: HeaderName = HeaderName::from_static("x-subscription-token");

/// An account.
#[derive(Debug)]
pub(super) struct Brave {
    pub(super) base: Url,
    pub(super) key: HeaderValue,
    /// US dollars a search.
    pub(super) price: f64,
}

#[derive(Deserialize)]
struct Answer {
    /// Absent when nothing was found.
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    results: Option<Vec<Found>>,
}

#[derive(Deserialize)]
struct Found {
    title: Option<String>,
    url: Option<String>,
    description: Option<String>,
    page_age: Option<String>,
}

impl Interface for Brave {
    const NAME: &'static str = "brave";

    fn request(&self, query: &Query) -> Request {
        let mut url = engine::below(&self.base, &["res", "v1", "web", "search"]);
        {
            let mut pairs = url.query_pairs_mut();
            pairs
                .append_pair("q", &query.with_site())
                .append_pair("count", &query.results.to_string());
            if let Some(recency) = query.recency {
                pairs.append_pair("freshness", freshness(recency));
            }
        }
        Request::Get(url, HeaderMap::from_iter([(TOKEN, self.key.clone())]))
    }

    fn read(&self, body: &[u8]) -> Result<Page, SearchError> {
        let Answer { web } = engine::json(body)?;
        let results = web.and_then(|web| web.results).unwrap_or_default();
        let hits = results.iter().filter_map(|found| {
            let title = plain(found.title.as_deref().unwrap_or_default());
            let summary = plain(found.description.as_deref().unwrap_or_default());
            Hit::new(&title, found.url.as_deref()?, &summary, found.page_age.as_deref())
        });
        Ok(Page { hits: hits.collect(), paid: Some(self.price).filter(|price| *price > 0.0) })
    }
}

fn freshness(recency: Recency) -> &'static str {
    match recency {
        Recency::Day => "pd",
        Recency::Week => "pw",
        Recency::Month => "pm",
        Recency::Year => "py",
    }
}

/// Removes the marks of the words, and reads the entities.
fn plain(text: &str) -> String {
    let unmarked = text.replace("<strong>", "").replace("</strong>", "");
    html_escape::decode_html_entities(&unmarked).into_owned()
}
