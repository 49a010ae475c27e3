//! The selectors and the grouping labels of a PromQL query. This is no validation: Prometheus
//! itself checks the queries.
//!
//! The library promql-parser is not used, because it depends on bincode, which `deny.toml` forbids.

/// A series selector of a query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Selector {
    /// The name of the metric.
    pub(crate) metric: String,
    /// The conditions on labels.
    pub(crate) matchers: Vec<Matcher>,
}

/// A condition on a label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Matcher {
    pub(crate) label: String,
    /// `=`, `!=`, `=~` or `!~`.
    pub(crate) operator: String,
    pub(crate) value: String,
}

/// The metrics and labels that a query uses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Looks {
    pub(crate) selectors: Vec<Selector>,
    /// The labels after `by`, `on`, `group_left` and similar words.
    pub(crate) grouped: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, Clone)]
enum Token {
    Word(String),
    Text(String),
    /// A number or a duration.
    Number,
    Sign(String),
}

const GROUPING: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
const WORDS: [&str; 7] = ["and", "or", "unless", "bool", "offset", "inf", "nan"];

/// Parses a query.
pub(crate) fn looks(query: &str) -> Looks {
    let tokens = tokens(query);
    let sign =
        |at: usize, wanted: &str| matches!(tokens.get(at), Some(Token::Sign(s)) if s == wanted);
    let (mut found, mut at) = (Looks::default(), 0);
    while at < tokens.len() {
        let Token::Word(word) = &tokens[at] else {
            at += 1;
            continue;
        };
        at += 1;
        if GROUPING.contains(&word.as_str()) {
            while sign(at, "(") || sign(at, ",") || matches!(tokens.get(at), Some(Token::Word(_))) {
                if let Token::Word(label) = &tokens[at] {
                    found.grouped.push(label.clone());
                }
                at += 1;
                if sign(at, ")") {
                    break;
                }
            }
            continue;
        }
        let aggregates =
            matches!(tokens.get(at), Some(Token::Word(next)) if GROUPING.contains(&next.as_str()));
        if aggregates && AGGREGATORS.contains(&word.as_str()) {
            continue;
        }
        if sign(at, "(") || WORDS.contains(&word.as_str()) {
            continue;
        }
        let mut selector = Selector { metric: word.clone(), matchers: Vec::new() };
        if sign(at, "{") {
            while let [Token::Word(label), Token::Sign(operator), Token::Text(value)] =
                &tokens[(at + 1).min(tokens.len())..(at + 4).min(tokens.len())]
            {
                let (label, operator) = (label.clone(), operator.clone());
                selector.matchers.push(Matcher { label, operator, value: value.clone() });
                at += 4;
                if !sign(at, ",") {
                    break;
                }
            }
        }
        found.selectors.push(selector);
    }
    found
}

const AGGREGATORS: [&str; 6] = ["sum", "min", "max", "avg", "count", "group"];

fn tokens(query: &str) -> Vec<Token> {
    let mut rest = query.chars().peekable();
    let mut tokens = Vec::new();
    while let Some(first) = rest.next() {
        if first.is_whitespace() {
            continue;
        }
        let mut taken = String::from(first);
        if first.is_alphabetic() || first == '_' || first == ':' {
            while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || "_:".contains(*c)) {
                taken.push(c);
            }
            tokens.push(Token::Word(taken));
        } else if first.is_ascii_digit() {
            while rest.next_if(|c| c.is_alphanumeric() || *c == '.').is_some() {}
            tokens.push(Token::Number);
        } else if first == '"' || first == '\'' {
            taken.clear();
            while let Some(c) = rest.next() {
                match c {
                    '\\' => taken.extend(rest.next()),
                    _ if c == first => break,
                    _ => taken.push(c),
                }
            }
            tokens.push(Token::Text(taken));
        } else {
            if "=!".contains(first) {
                taken.extend(rest.next_if(|c| "=~".contains(*c)));
            }
            tokens.push(Token::Sign(taken));
        }
    }
    tokens
}

impl Selector {
    /// Returns the selector with conditions that hold in every run. A required value stays, and a
    /// pattern becomes "the label exists", since a healthy run need not have a matching value.
    pub(crate) fn relaxed(&self) -> String {
        let conditions = self.matchers.iter().map(|m| match m.operator.as_str() {
            "=" => format!("{}=\"{}\"", m.label, m.value),
            _ if m.value == ".*" => format!("{}=~\".*\"", m.label),
            _ => format!("{}!=\"\"", m.label),
        });
        format!("{}{{{}}}", self.metric, conditions.collect::<Vec<_>>().join(","))
    }

    /// Returns the values of patterns that are lists of words.
    pub(crate) fn alternatives(&self) -> Vec<(&str, &str)> {
        let patterns = self.matchers.iter().filter(|m| m.operator.ends_with('~'));
        let words = patterns.flat_map(|m| m.value.split('|').map(|word| (m.label.as_str(), word)));
        words.filter(|(_, w)| w.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))).collect()
    }
}

#[test]
fn a_query_is_taken_apart() {
    let query = r#"sum by (le, kind) (rate(a:b_total{x="1|2",y=~"p|q",z!="",}[5m] offset 1h)) / on (job) group_left (v) c
        unless on (job) count(d{s='}'}) > bool 0.8"#;
    let found = looks(query);
    let metrics: Vec<&str> = found.selectors.iter().map(|s| s.metric.as_str()).collect();
    assert_eq!(metrics, ["a:b_total", "c", "d"]);
    assert_eq!(found.grouped, ["le", "kind", "job", "v", "job"]);
    assert_eq!(found.selectors[0].relaxed(), r#"a:b_total{x="1|2",y!="",z!=""}"#);
    assert_eq!(found.selectors[0].alternatives(), [("y", "p"), ("y", "q")]);
    assert_eq!(found.selectors[2].matchers[0].value, "}");
}
