//! `web_search`: searches the web; and `internet_search`, the same under the name and in the form
//! of the loop agent's protocol.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, optional, read, required, spec};
use crate::{
    search::{Found, Hit, QUERY_CHARS_MAX, Query, RESULTS, RESULTS_MAX, Recency, Search},
    tool::{CallContext, Tool, ToolFault},
};

/// A tool that searches the web.
#[derive(Debug, Clone)]
pub struct WebSearch {
    search: Search,
    /// Time limit of one provider in milliseconds.
    timeout_ms: u64,
    form: Form,
}

/// The name of the tool, its arguments and its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `web_search`: the results with their provider.
    Web,
    /// `internet_search`: a list of three results with title, summary and link.
    Internet,
}

impl WebSearch {
    /// Creates the tool `web_search`.
    #[must_use]
    pub fn web(search: Search, timeout_ms: u64) -> Self {
        Self { search, timeout_ms, form: Form::Web }
    }

    /// Creates the tool `internet_search`.
    #[must_use]
    pub fn internet(search: Search, timeout_ms: u64) -> Self {
        Self { search, timeout_ms, form: Form::Internet }
    }
}

#[derive(Deserialize)]
struct Args {
    query: String,
    top_k: Option<usize>,
    recency: Option<Recency>,
    site: Option<String>,
}

#[async_trait]
impl Tool for WebSearch {
    fn spec(&self) -> ToolSpec {
        let words = json!({"type": "string", "minLength": 1, "maxLength": QUERY_CHARS_MAX});
        let query = required("query", About::SearchQuery, words);
        let (name, arguments) = match self.form {
            Form::Internet => ("internet_search", vec![query]),
            Form::Web => {
                let top_k = json!({"type": "integer", "minimum": 1, "maximum": RESULTS_MAX});
                let recency = json!({"type": "string", "enum": ["day", "week", "month", "year"]});
                let site = json!({"type": "string", "pattern": "^[A-Za-z0-9.-]{1,253}$"});
                let arguments = vec![
                    query,
                    optional("top_k", About::SearchResults, top_k),
                    optional("recency", About::SearchRecency, recency),
                    optional("site", About::SearchSite, site),
                ];
                ("web_search", arguments)
            }
        };
        // The limits of the providers give better errors, so they expire first.
        let providers = u64::try_from(self.search.providers()).unwrap_or(1);
        let timeout_ms = self.timeout_ms.saturating_mul(providers).saturating_add(5_000);
        let spec = spec(name, About::WebSearch, Effect::Pure, &arguments);
        ToolSpec { timeout_ms, concurrency: 16, untrusted: true, ..spec }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { query, top_k, recency, site } = read(args)?;
        let words = query.trim().to_owned();
        if words.is_empty() {
            return Err(ToolFault::invalid(Text::EmptyQuery.text(context.language)));
        }
        let results = top_k.unwrap_or(RESULTS);
        match self.search.search(&Query { words, results, recency, site }).await {
            Ok(found) => {
                if let Some(dollars) = found.page.paid {
                    context.meter.pay(dollars);
                }
                Ok(ToolResult::ok(match self.form {
                    Form::Web => results_of(&found),
                    Form::Internet => found.page.hits.iter().map(linked).collect(),
                }))
            }
            Err(none) if none.is_transient() => {
                Err(ToolFault::unavailable(none.text(context.language)))
            }
            Err(none) => Ok(ToolResult::failed(none.text(context.language))),
        }
    }
}

fn results_of(found: &Found) -> Value {
    json!({"provider": found.provider, "results": found.page.hits})
}

fn linked(hit: &Hit) -> Value {
    json!({"title": hit.title, "summary": hit.summary, "link": hit.url})
}
