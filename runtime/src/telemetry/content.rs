//! The content that users, models and tools wrote, prepared for traces. Content is recorded only
//! when `telemetry.content` is on, shortened, and without secrets: neither those of this process
//! nor texts that look like one.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

use regex::Regex;
use secrecy::{ExposeSecret, SecretString};

use super::settings::Telemetry;

/// The replacement of a secret.
const REDACTED: &str = "[redacted]";
/// Shortest known secret that is replaced, in bytes. Shorter ones occur in ordinary words.
const SECRET_MIN: usize = 6;

/// Patterns of secrets: keys of well-known providers, bearer tokens, JSON Web Tokens, private keys,
/// and the values of fields with a telling name.
static LOOKS_SECRET: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        r"|\bsk-[A-Za-z0-9_-]{16,}",
        r"|\bgh[pousr]_[A-Za-z0-9]{20,}",
        r"|\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"|\bxox[abprs]-[A-Za-z0-9-]{10,}",
        r"|\bAKIA[A-Z0-9]{16}\b",
        r"|\bAIza[A-Za-z0-9_-]{30,}",
        r"|\bS[ACNOUX][A-Z2-7]{56}\b",
        r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        r"|(?i:\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}",
        r#"|(?i:"(?:[a-z_-]*(?:password|passwd|secret|token|api[_-]?key|authorization))"\s*:\s*)"(?:[^"\\]|\\.)*""#,
    ))
    .expect("the pattern is checked by a test")
});

/// A redactor, which replaces secrets in texts.
#[derive(Default, derive_more::Debug)]
#[debug("Redact {{ known: {} }}", known.len())]
pub struct Redact {
    known: Vec<SecretString>,
}

impl Redact {
    /// Creates a redactor of these secrets. It replaces the longest first, so that no rest remains
    /// of a secret that contains another one.
    #[must_use]
    pub fn new(known: impl IntoIterator<Item = SecretString>) -> Self {
        let mut known: Vec<_> =
            known.into_iter().filter(|s| s.expose_secret().len() >= SECRET_MIN).collect();
        known.sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
        Self { known }
    }

    /// Returns the text with every secret replaced.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.known {
            if text.contains(secret.expose_secret()) {
                text = text.replace(secret.expose_secret(), REDACTED).into();
            }
        }
        match LOOKS_SECRET.replace_all(&text, REDACTED) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => clean.into(),
        }
    }
}

/// The form in which content is recorded in traces.
#[derive(Debug)]
pub struct Content {
    redact: Redact,
    max_bytes: usize,
}

impl Content {
    /// With the length of the settings, and secrets that are never shown.
    #[must_use]
    pub fn new(settings: &Telemetry, secrets: impl IntoIterator<Item = SecretString>) -> Self {
        Self { redact: Redact::new(secrets), max_bytes: settings.content_max_bytes }
    }

    /// Returns the form of content that the settings allow; `None` when `telemetry.content` is off.
    #[must_use]
    pub fn of(
        settings: &Telemetry,
        secrets: impl IntoIterator<Item = SecretString>,
    ) -> Option<Arc<Self>> {
        settings.content.then(|| Arc::new(Self::new(settings, secrets)))
    }

    /// Returns the text for a trace: redacted, and shortened to its two ends when it is too long.
    #[must_use]
    pub fn show(&self, text: &str) -> String {
        let clean = self.redact.text(text);
        if clean.len() <= self.max_bytes {
            return clean.into_owned();
        }
        // `ends` counts characters, which may take several bytes each.
        let bytes_each = clean.len().div_ceil(clean.chars().count().max(1));
        proto::excerpt::ends(&clean, self.max_bytes / 2 / bytes_each)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::config::Section as _;

    #[rstest]
    #[case("key sk-abcdefghijklmnop1234 end", "key [redacted] end")]
    #[case("Authorization: Bearer abcdefgh12345", "Authorization: [redacted]")]
    #[case(r#"{"api_key": "a\"b", "x": 1}"#, r#"{[redacted], "x": 1}"#)]
    #[case("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----!", "[redacted]!")]
    #[case("-----BEGIN PRIVATE KEY-----\ncut off", "[redacted]")]
    #[case("eyJhbGciOiJI.eyJzdWIiOiIx.sig", "[redacted]")]
    #[case("known-secret-longer and known-secret", "[redacted] and [redacted]")]
    #[case(
        "nothing to hide: token ring, ask, task-12345678",
        "nothing to hide: token ring, ask, task-12345678"
    )]
    fn secrets_are_taken_out(#[case] text: &str, #[case] shown: &str) {
        let known = ["known-secret", "known-secret-longer", "no"];
        let redact = Redact::new(known.map(|s| SecretString::from(s.to_owned())));
        assert_eq!(redact.text(text), shown);
    }

    #[test]
    fn a_secret_is_taken_out_before_the_text_is_cut() {
        let settings = Telemetry { content_max_bytes: 40, ..Telemetry::defaults() };
        let text = format!("{} sk-{} {}", "a".repeat(10), "k".repeat(30), "b".repeat(200));
        let shown = Content::new(&settings, []).show(&text);
        assert!(!shown.contains("kkkk") && shown.len() < 120, "{shown}");
    }
}
