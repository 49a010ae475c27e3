//! The scalars of workflow files: durations, and texts that look like secrets.

use jiff::{Span, SpanRelativeTo, Unit};
use proto::{lang::Words, workflow::DEADLINE_MS_MAX};
use serde_json::Value;

use super::{fields::Reading, words::Text};
use crate::source::tree::{Kind, Node};

/// Reads a duration such as `90s`, `10m` or `1d 12h`, from 1 ms to one year.
pub(super) fn duration(reading: &mut Reading, node: &Node, path: &str) -> Option<u64> {
    let text = match &node.kind {
        Kind::Scalar(Value::String(text)) => text.as_str(),
        Kind::Scalar(_) | Kind::List(_) | Kind::Fields(_) => {
            reading.mistake(node.at, path, Text::NoDuration);
            return None;
        }
    };
    let milliseconds = text.parse::<Span>().ok().and_then(|span| {
        let days = SpanRelativeTo::days_are_24_hours();
        span.total((Unit::Millisecond, days)).ok()
    });
    let Some(milliseconds) = milliseconds else {
        reading.mistake(node.at, path, Text::NoDuration);
        return None;
    };
    #[expect(clippy::cast_precision_loss, reason = "a year in milliseconds is far below 2^52")]
    let fits = (1.0..=DEADLINE_MS_MAX as f64).contains(&milliseconds);
    if !fits {
        reading.mistake(node.at, path, Text::DurationBound);
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "1 ≤ milliseconds ≤ one year"
    )]
    let whole = milliseconds as u64;
    Some(whole)
}

/// Beginnings of secrets of known services.
const BEGINNINGS: &[&str] = &[
    "sk-",
    "sk_live_",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "AKIA",
    "ASIA",
    "xoxb-",
    "xoxp-",
    "AIza",
    "-----BEGIN ",
    "eyJhbGciOi",
];

/// Names of fields whose value is a secret.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "api_key",
    "apikey",
    "access_token",
    "auth_token",
    "private_key",
];

/// Returns the mistake of a text that looks like a secret. `name` is the name of its field.
pub(super) fn secret(name: &str, text: &str) -> Option<Words> {
    let name = name.to_lowercase().replace('-', "_");
    let begins = text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '='));
    let is_known = begins.into_iter().any(|word| {
        word.len() >= 12
            && BEGINNINGS.iter().any(|beginning| word.starts_with(beginning.trim_end()))
    });
    let is_named = NAMES.contains(&name.as_str()) && !text.is_empty() && !text.contains("{{");
    (is_known || is_named).then(|| Text::Secret.into())
}

/// Reports every text of a value that looks like a secret.
pub(super) fn no_secrets(reading: &mut Reading, name: &str, node: &Node, path: &str) {
    match &node.kind {
        Kind::Scalar(Value::String(text)) => {
            if let Some(why) = secret(name, text) {
                reading.mistake(node.at, path, why);
            }
        }
        Kind::Scalar(_) => {}
        Kind::List(items) => {
            for (n, item) in items.iter().enumerate() {
                no_secrets(reading, name, item, &format!("{path}[{n}]"));
            }
        }
        Kind::Fields(fields) => {
            for field in fields {
                let below = super::fields::below(path, &field.name);
                no_secrets(reading, &field.name, &field.value, &below);
            }
        }
    }
}
