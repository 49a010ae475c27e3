//! Providers against a server with a route for each: their requests, their answers, and answers
//! that are none.

use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use reqwest::header::HeaderValue;
use rstest::rstest;
use serde_json::{Value, json};
use url::Url;
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

use super::{brave::Brave, engine::Interface, exa::Exa, searxng::Searxng, tavily::Tavily, *};
use proto::tool::Fault;
use runtime::config::Section;

use crate::{
    egress::{Egress, SystemLookup},
    settings::Http,
    tool::Tool,
    tools::{WebSearch, tests::context},
};

/// The kinds of providers, each with an example of its reference's answers.
const KINDS: [(&str, &str); 4] = [
    ("searxng", include_str!("answers/searxng.json")),
    ("brave", include_str!("answers/brave.json")),
    ("tavily", include_str!("answers/tavily.json")),
    ("exa", include_str!("answers/exa.json")),
];

fn now() -> Timestamp {
    "2026-11-25T12:00:00Z".parse().unwrap()
}

fn provider(kind: &str, base: &str) -> Arc<dyn SearchProvider> {
    let base = Url::parse(base).unwrap();
    let key = HeaderValue::from_static("secret");
    match kind {
        "searxng" => over(Searxng { base }),
        "brave" => over(Brave { base, key, price: 0.005 }),
        "tavily" => {
            over(Tavily { base, key: HeaderValue::from_static("Bearer secret"), price: 0.008 })
        }
        "exa" => over(Exa { base, key, now }),
        other => panic!("{other} is no provider"),
    }
}

fn over<I: Interface>(interface: I) -> Arc<dyn SearchProvider> {
    let http = Http { allow_private: true, timeout_ms: 5_000, ..Http::default() };
    Arc::new(Engine::new(interface, Egress::new(http, Arc::new(SystemLookup)).unwrap()))
}

fn query() -> Query {
    Query { words: "rust release".to_owned(), results: 3, recency: None, site: None }
}

async fn serving(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

fn body(text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(text, "application/json")
}

async fn asked(kind: &str, query: &Query) -> Request {
    let (_, answer) = KINDS.into_iter().find(|(name, _)| *name == kind).unwrap();
    let server = serving(body(answer)).await;
    provider(kind, &format!("{}/base/", server.uri())).search(query).await.unwrap();
    server.received_requests().await.unwrap().remove(0)
}

#[tokio::test]
async fn each_provider_is_asked_in_its_own_form() {
    let all = Query { recency: Some(Recency::Week), site: Some("docs.rs".to_owned()), ..query() };
    let pairs = |request: &Request| -> Vec<(String, String)> {
        request.url.query_pairs().map(|(k, v)| (k.into_owned(), v.into_owned())).collect()
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());

    let searxng = asked("searxng", &all).await;
    assert_eq!((searxng.method.as_str(), searxng.url.path()), ("GET", "/base/search"));
    let expected = vec![
        pair("q", "rust release site:docs.rs"),
        pair("format", "json"),
        pair("time_range", "week"),
    ];
    assert_eq!(pairs(&searxng), expected);

    let brave = asked("brave", &all).await;
    assert_eq!((brave.method.as_str(), brave.url.path()), ("GET", "/base/res/v1/web/search"));
    assert_eq!(brave.headers["x-subscription-token"], "secret");
    let expected =
        vec![pair("q", "rust release site:docs.rs"), pair("count", "3"), pair("freshness", "pw")];
    assert_eq!(pairs(&brave), expected);

    let tavily = asked("tavily", &all).await;
    assert_eq!((tavily.method.as_str(), tavily.url.path()), ("POST", "/base/search"));
    assert_eq!(tavily.headers["authorization"], "Bearer secret");
    let expected = json!({"query": "rust release", "max_results": 3, "search_depth": "basic",
        "include_usage": true, "time_range": "week", "include_domains": ["docs.rs"]});
    assert_eq!(tavily.body_json::<Value>().unwrap(), expected);

    let exa = asked("exa", &all).await;
    assert_eq!((exa.method.as_str(), exa.url.path()), ("POST", "/base/search"));
    assert_eq!(exa.headers["x-api-key"], "secret");
    let expected = json!({"query": "rust release", "numResults": 3,
        "contents": {"highlights": true}, "startPublishedDate": "2026-11-18T12:00:00Z",
        "includeDomains": ["docs.rs"]});
    assert_eq!(exa.body_json::<Value>().unwrap(), expected);
}

#[rstest]
#[case::searxng(0, None, "Announcing Rust 1.95 & more", Some("2026-04-16T00:00:00"))]
#[case::brave(1, Some(0.005), "Announcing Rust 1.95 & more", Some("2026-04-16T00:00:00"))]
#[case::tavily(2, Some(0.016), "Announcing Rust 1.95 & more", None)]
#[case::exa(3, Some(0.005), "Announcing Rust 1.95 & more", Some("2026-04-16T00:00:00.000Z"))]
#[tokio::test]
async fn an_answer_of_each_provider_is_read(
    #[case] kind: usize,
    #[case] paid: Option<f64>,
    #[case] title: &str,
    #[case] published: Option<&str>,
) {
    let (kind, answer) = KINDS[kind];
    let server = serving(body(answer)).await;
    let page = provider(kind, &server.uri()).search(&query()).await.unwrap();
    assert_eq!(page.paid, paid);
    let [first, second] = page.hits.as_slice() else { panic!("{page:?}") };
    assert_eq!((first.title.as_str(), first.published.as_deref()), (title, published));
    assert_eq!(first.url, "https://blog.rust-lang.org/2026/04/16/Rust-1.95.0/");
    assert!(first.summary.starts_with("The Rust team is happy to announce"), "{first:?}");
    assert!(!first.summary.contains(['<', '>']), "{first:?}");
    // The second has a null in each text that may have one; a third has an address of no page.
    assert_eq!((second.url.as_str(), second.summary.as_str()), ("https://example.org/", ""));
}

#[rstest]
#[case::a_wrong_key(401, "{\"error\":\"invalid key\"}", SearchError::Refused("401 {\"error\":\"invalid key\"}".to_owned()))]
#[case::a_form_that_is_not_enabled(403, "<html>\n  Forbidden</html>", SearchError::Refused("403 <html> Forbidden</html>".to_owned()))]
#[case::too_many_searches(429, "", SearchError::RateLimited(Some(Duration::from_secs(7))))]
#[case::a_server_in_need(503, "later", SearchError::Outage("503 later".to_owned()))]
#[tokio::test]
async fn a_status_says_what_the_matter_is(
    #[case] status: u16,
    #[case] text: &str,
    #[case] expected: SearchError,
    #[values("searxng", "brave", "tavily", "exa")] kind: &str,
) {
    let answer = ResponseTemplate::new(status).insert_header("retry-after", "7");
    let server = serving(answer.set_body_raw(text, "text/html")).await;
    let error = provider(kind, &server.uri()).search(&query()).await.unwrap_err();
    assert_eq!(error, expected);
}

#[rstest]
#[case::a_page_of_html("<html>".to_owned())]
#[case::json_that_breaks_off("{\"results\":[{\"url\":\"https://exa".to_owned())]
#[case::another_form("[1, 2]".to_owned())]
#[case::too_much(format!("{{\"results\":[],\"x\":\"{}\"}}", "x".repeat(5_000_000)))]
#[tokio::test]
async fn an_answer_in_another_form_is_an_error(
    #[case] text: String,
    #[values("searxng", "brave", "tavily", "exa")] kind: &str,
) {
    let server = serving(body(&text)).await;
    let error = provider(kind, &server.uri()).search(&query()).await.unwrap_err();
    assert!(matches!(error, SearchError::Parse(_)), "{error:?}");
}

#[tokio::test]
async fn engines_that_do_not_answer_are_an_outage_and_nothing_found_is_an_answer() {
    let silent = r#"{"results": [], "unresponsive_engines": [["bing", "timeout"]]}"#;
    let server = serving(body(silent)).await;
    let error = provider("searxng", &server.uri()).search(&query()).await.unwrap_err();
    assert_eq!(error, SearchError::Outage("bing: timeout".to_owned()));

    for (kind, answer) in [
        ("searxng", r#"{"results": [], "unresponsive_engines": []}"#),
        ("brave", r#"{"type": "search"}"#),
        ("tavily", r#"{"results": [], "response_time": "0.5"}"#),
        ("exa", r#"{"results": []}"#),
    ] {
        let server = serving(body(answer)).await;
        let page = provider(kind, &server.uri()).search(&query()).await.unwrap();
        assert!(page.hits.is_empty(), "{kind}: {page:?}");
    }
}

/// Returns the search over an instance of SearXNG, by the settings.
fn configured(base: &str) -> Search {
    let mut settings = crate::settings::Tools::defaults().search;
    settings.providers = vec![settings::Provider::Searxng];
    settings.searxng.base_url = Some(base.parse().unwrap());
    settings.open().unwrap().unwrap()
}

#[tokio::test]
async fn a_redirect_to_another_host_is_refused() {
    let other = serving(body(KINDS[0].1)).await;
    let moved = ResponseTemplate::new(302)
        .insert_header("location", other.uri().replace("127.0.0.1", "localhost").as_str());
    let server = serving(moved).await;
    let none = configured(&server.uri()).search(&query()).await.unwrap_err();
    assert_eq!(none.0, [("searxng", SearchError::Refused("redirected to localhost".to_owned()))]);
    assert!(other.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn both_tools_search_and_pay_what_it_cost() {
    let server = serving(body(KINDS[1].1)).await;
    let search = Search::of(vec![provider("brave", &server.uri())]).unwrap();
    let web = WebSearch::web(search.clone(), 1_000);
    let context = context("key", Language::En);
    let found = web.call(context.clone(), json!({"query": "rust", "top_k": 1})).await.unwrap();
    let url = "https://blog.rust-lang.org/2026/04/16/Rust-1.95.0/";
    let data = found.data.unwrap();
    assert_eq!(
        (&data["provider"], data["results"].as_array().unwrap().len()),
        (&json!("brave"), 1)
    );
    assert_eq!(data["results"][0]["url"], url);
    assert_eq!(context.meter.read().money, Some(0.005));

    let internet = WebSearch::internet(search, 1_000);
    let found = internet.call(context.clone(), json!({"query": "rust"})).await.unwrap();
    let data = found.data.unwrap();
    assert_eq!((&data[0]["link"], data.as_array().unwrap().len()), (&json!(url), 2));
    assert_eq!(context.meter.read().money, Some(0.01));
}

#[rstest]
#[case::for_now(503, Some(Fault::Unavailable))]
#[case::for_ever(401, None)]
#[tokio::test]
async fn a_provider_in_need_is_a_fault_and_a_refusal_is_an_answer(
    #[case] status: u16,
    #[case] fault: Option<Fault>,
) {
    let server = serving(ResponseTemplate::new(status)).await;
    let web = WebSearch::web(configured(&server.uri()), 1_000);
    let called = web.call(context("key", Language::En), json!({"query": "rust"})).await;
    match fault {
        Some(fault) => assert_eq!(called.unwrap_err().fault, fault),
        None => assert!(!called.unwrap().success),
    }
}

#[tokio::test]
async fn a_text_in_place_of_a_list_is_not_repeated_in_the_error() {
    let server = serving(body(&json!({"results": "x".repeat(1_000_000)}).to_string())).await;
    let none = configured(&server.uri()).search(&query()).await.unwrap_err();
    let text = none.text(Language::En);
    assert!(text.contains("cannot be read") && text.len() < 400, "{} bytes", text.len());
}

/// A provider with a prepared answer, which counts its searches.
struct Prepared(&'static str, Result<Page, SearchError>, AtomicUsize);

#[async_trait]
impl SearchProvider for Prepared {
    fn name(&self) -> &'static str {
        self.0
    }

    async fn search(&self, _query: &Query) -> Result<Page, SearchError> {
        self.2.fetch_add(1, Ordering::Relaxed);
        self.1.clone()
    }
}

fn prepared(name: &'static str, answer: Result<Page, SearchError>) -> Arc<Prepared> {
    Arc::new(Prepared(name, answer, AtomicUsize::new(0)))
}

#[tokio::test]
async fn the_next_provider_is_asked_only_after_a_failure() {
    let hit = |n: usize| Hit::new("t", &format!("https://example.org/{n}"), "", None).unwrap();
    let hits = [1, 1, 2, 3, 4].map(hit).to_vec();
    let first = prepared("first", Err(SearchError::RateLimited(None)));
    let second = prepared("second", Ok(Page { hits, paid: Some(0.5) }));
    let third = prepared("third", Ok(Page { hits: Vec::new(), paid: None }));
    let (a, b, c) = (Arc::clone(&first), Arc::clone(&second), Arc::clone(&third));
    let search = Search::of(vec![a, b, c]).unwrap();
    let found = search.search(&query()).await.unwrap();
    assert_eq!(found.provider, "second");
    assert_eq!(found.page.hits, [1, 2, 3].map(hit));
    assert_eq!(found.passed_over, [("first", SearchError::RateLimited(None))]);
    assert_eq!(third.2.load(Ordering::Relaxed), 0);
}

#[rstest]
#[case::for_ever(SearchError::Parse("x".to_owned()), false)]
#[case::for_now(SearchError::Outage("x".to_owned()), true)]
#[tokio::test]
async fn no_provider_that_answers_is_explained_in_the_language_of_the_job(
    #[case] second: SearchError,
    #[case] is_transient: bool,
) {
    let refused = prepared("first", Err(SearchError::Refused("401".to_owned())));
    let search = Search::of(vec![refused, prepared("second", Err(second))]).unwrap();
    let none = search.search(&query()).await.unwrap_err();
    assert_eq!(none.is_transient(), is_transient);
    let english = none.text(Language::En);
    assert!(english.starts_with("first refused the search: 401; second "), "{english}");
    assert!(none.text(Language::Zh).starts_with("first 拒绝了搜索：401"));
}
