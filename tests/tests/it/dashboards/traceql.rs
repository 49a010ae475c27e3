//! The queries to the trace store, checked against the spans of real processes. No trace store
//! runs: the check is whether one span has all attributes that a query combines.

use std::collections::BTreeSet;

use super::grafana::{Dashboard, Query};
use crate::tracing::receiver::Sent;

/// The conditions of a query on one span.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    attributes: BTreeSet<String>,
    failed: bool,
}

impl Asked {
    fn of(text: &str) -> Self {
        let attributes = text.match_indices("span.").map(|(at, scope)| {
            let rest = text[at + scope.len()..].chars();
            rest.take_while(|c| c.is_alphanumeric() || "._".contains(*c)).collect()
        });
        Self { attributes: attributes.collect(), failed: text.contains("status = error") }
    }

    fn fits(&self, sent: &Sent) -> bool {
        let failed = sent.span.status.as_ref().is_some_and(|status| status.code == 2);
        let has = |attribute: &String| !sent.attribute(attribute).is_empty();
        (failed || !self.failed) && self.attributes.iter().all(has)
    }
}

/// Returns the conditions of a query (each brace is one span), and the attributes that the query
/// shows of the last span.
fn parts(query: &str) -> (Vec<Asked>, Asked) {
    let (search, shown) = query.split_once("| select(").unwrap_or((query, ""));
    let braces =
        search.split('{').skip(1).map(|rest| Asked::of(rest.split('}').next().unwrap_or("")));
    (braces.collect(), Asked::of(shown))
}

/// Returns the queries that can never find or show anything.
pub(crate) fn wrong(dashboards: &[Dashboard], spans: &[Sent]) -> Vec<String> {
    let mut wrong = Vec::new();
    // `$trace` selects a whole trace by its id.
    let queries = dashboards.iter().flat_map(Dashboard::traceql).filter(|q| q.text != "$trace");
    for Query { place, text } in queries {
        let (braces, shown) = parts(&text);
        for asked in &braces {
            if !spans.iter().any(|sent| asked.fits(sent)) {
                wrong.push(format!("{place}: no span has {asked:?}"));
            }
        }
        for attribute in &shown.attributes {
            let last = braces.last().expect("a query has a brace");
            let shows = |sent: &Sent| last.fits(sent) && !sent.attribute(attribute).is_empty();
            if !spans.iter().any(shows) {
                wrong.push(format!("{place}: no span that is found has {attribute}"));
            }
        }
    }
    wrong
}

#[test]
fn a_query_for_what_is_never_together_is_found() {
    use opentelemetry_proto::tonic::{common::v1::KeyValue, trace::v1::Span};
    let attribute = |key: &str| {
        let value = opentelemetry_proto::tonic::common::v1::any_value::Value::IntValue(1);
        let value = opentelemetry_proto::tonic::common::v1::AnyValue { value: Some(value) };
        KeyValue { key: key.to_owned(), value: Some(value), ..KeyValue::default() }
    };
    let span = |keys: &[&str]| Sent {
        roles: String::new(),
        span: Span { attributes: keys.iter().map(|k| attribute(k)).collect(), ..Span::default() },
    };
    let spans = [span(&["a.b", "c"]), span(&["d"])];
    let found = |query: &str| {
        let target = serde_json::json!({"datasource": {"type": "tempo"}, "query": query});
        let json = serde_json::json!({"panels": [{"type": "table", "targets": [target]}]});
        wrong(&[Dashboard { name: "d".to_owned(), json }], &spans).len()
    };
    assert_eq!(found("{ span.a.b = 1 && span.c != nil } | select(span.c, name)"), 0);
    assert_eq!(found("{ span.a.b = 1 } >> { span.d = 1 } | select(span.d)"), 0);
    assert_eq!(found("{ span.a.b = 1 && span.d = 1 }"), 1);
    assert_eq!(found("{ span.a.b = 1 } >> { span.d = 1 } | select(span.c)"), 1);
    assert_eq!(found("{ span.d = 1 && status = error }"), 1);
}
