//! A provider's own words about a failure: cut, without secrets and without the conversation.
//!
//! Providers may repeat a request in an error, so these words are never part of an error's
//! `Display` or `Debug` text, which reaches logs and traces. Only [`crate::ModelError::reason`]
//! contains them: it is meant for the job's record, which its submitter may read.

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, LazyLock},
};

use proto::message::Message;
use regex::Regex;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::port::ModelRequest;

/// Longest text, in characters.
const WORDS_MAX: usize = 300;
/// Longest text that is searched for secrets, in characters.
const SEARCHED_MAX: usize = 4_000;
/// Fewest characters in a row that count as a quotation of the conversation.
const QUOTED_MIN: usize = 16;
/// The replacement of a secret.
const REDACTED: &str = "[redacted]";

/// Patterns of secrets: keys with usual prefixes, bearer tokens and JSON Web Tokens, also masked in
/// part.
static LOOKS_SECRET: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)\bbearer[\s:]+\S+",
        r"|\b(?:sk|pk|rk|gsk|xai|ghp|gho|pat|key|xox[abprs]|github_pat)[-_][\w*.~+/=-]{4,}",
        r"|\bAIza[\w*-]{8,}",
        r"|\bAKIA[A-Z0-9*]{8,}",
        r"|\beyJ[\w-]{8,}\.[\w.-]+",
    ))
    .expect("the pattern is checked by a test")
});

/// A provider's own words about a failure: at most 300 characters on one line, without secrets,
/// control characters and quotations of the conversation.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderWords(Box<str>);

impl ProviderWords {
    /// Returns the words.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ProviderWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProviderWords(..)")
    }
}

/// The texts that a provider's words must not contain: the key and the conversation.
#[derive(Default)]
pub(crate) struct Redactor {
    key: Option<SecretString>,
    request: Arc<ModelRequest>,
}

impl Redactor {
    pub(crate) fn new(key: Option<SecretString>, request: Arc<ModelRequest>) -> Self {
        Self { key, request }
    }

    /// Redacts and cuts a provider's text; `None` if nothing remains.
    pub(crate) fn words(&self, written: &str) -> Option<ProviderWords> {
        let mut text = on_one_line(searched(written));
        let key = self.key.as_ref().map(|key| key.expose_secret().trim());
        if let Some(key) = key.filter(|key| !key.is_empty()) {
            text = text.replace(key, REDACTED);
        }
        let text = self.without_quotations(&LOOKS_SECRET.replace_all(&text, REDACTED));
        let mut said: String = text.chars().take(WORDS_MAX).collect();
        if said.len() < text.len() {
            said.push('…');
        }
        said.chars().any(char::is_alphanumeric).then(|| ProviderWords(said.into()))
    }

    /// Replaces every passage that also occurs in the conversation.
    fn without_quotations(&self, text: &str) -> String {
        let text: Vec<char> = text.chars().collect();
        let passages: HashSet<&[char]> = text.windows(QUOTED_MIN).collect();
        let mut quoted: HashSet<&[char]> = HashSet::new();
        for said in self.request.messages.iter().flat_map(texts) {
            let said: Vec<char> = on_one_line(&said).chars().collect();
            let found = said.windows(QUOTED_MIN).filter_map(|passage| passages.get(passage));
            quoted.extend(found);
        }
        let mut covered = vec![false; text.len()];
        for (at, passage) in text.windows(QUOTED_MIN).enumerate() {
            if quoted.contains(passage) {
                covered.iter_mut().skip(at).take(QUOTED_MIN).for_each(|is| *is = true);
            }
        }
        let mut kept = String::new();
        let mut was_covered = false;
        for (c, is_covered) in text.into_iter().zip(covered) {
            match (was_covered, is_covered) {
                (_, false) => kept.push(c),
                (false, true) => kept.push('…'),
                (true, true) => {}
            }
            was_covered = is_covered;
        }
        kept
    }
}

/// Returns the beginning of a text, cut between words: half a key would not be recognised.
fn searched(written: &str) -> &str {
    let Some((end, _)) = written.char_indices().nth(SEARCHED_MAX) else { return written };
    let start = written.get(..end).unwrap_or_default();
    start.rsplit_once(char::is_whitespace).map_or("", |(before, _)| before)
}

/// Joins lines and removes control characters, including those that change the writing direction.
fn on_one_line(text: &str) -> String {
    let is_hidden = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let plain: String = text
        .chars()
        .filter(|c| !is_hidden(*c))
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the texts of a message.
fn texts(message: &Message) -> Vec<String> {
    match message {
        Message::System { text } | Message::User { text } | Message::Tool { text, .. } => {
            vec![text.clone()]
        }
        Message::Assistant { text, calls, opaque } => {
            let args = calls.iter().map(|call| call.args.to_string());
            let kept = opaque.iter().flat_map(|opaque| &opaque.parts).map(Value::to_string);
            std::iter::once(text.clone()).chain(args).chain(kept).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn redactor() -> Redactor {
        let text = "Please write to Li about the merger\nwith Blue Ocean.".to_owned();
        let messages = vec![Message::User { text }];
        let request = ModelRequest { messages, ..ModelRequest::default() };
        Redactor::new(Some("my-own-secret".into()), Arc::new(request))
    }

    #[rstest]
    #[case::plain("The model `m` does not exist", "The model `m` does not exist")]
    #[case::own_key("bad key my-own-secret!", "bad key [redacted]!")]
    #[case::own_key_with_hidden_signs("bad key my-own\u{200b}-secret!", "bad key [redacted]!")]
    #[case::usual_key(
        "Incorrect API key provided: sk-proj-abc***xyz.",
        "Incorrect API key provided: [redacted]"
    )]
    #[case::bearer("got Authorization: Bearer abc.def", "got Authorization: [redacted]")]
    #[case::web_token("token eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "token [redacted]")]
    #[case::lines_and_signs("one\n\ttwo\u{1b}[31m \u{202e}three", "one two [31m three")]
    #[case::quotation("refused: 'write to Li about the merger with Blue Ocean'", "refused: '…'")]
    #[case::part_of_a_quotation("`about the merger with Blue Ocean.`, it said", "`…`, it said")]
    #[case::short_word("no Blue Ocean", "no Blue Ocean")]
    fn words_are_redacted(#[case] written: &str, #[case] expected: &str) {
        assert_eq!(redactor().words(written).unwrap().as_str(), expected);
    }

    #[test]
    fn long_words_are_cut_and_empty_ones_dropped() {
        let words = redactor().words(&"字 ".repeat(10_000)).unwrap();
        assert_eq!(words.as_str().chars().count(), WORDS_MAX + 1);
        assert!(words.as_str().ends_with('…'));
        assert_eq!(redactor().words(" \n{}"), None);
        // The cut would halve a key at this place.
        let long = format!("{} my-own-secret", "a".repeat(SEARCHED_MAX - 5));
        assert!(!redactor().words(&long).unwrap().as_str().contains("my-"));
    }

    #[test]
    fn debug_output_holds_no_words() {
        let words = redactor().words("the key of Li").unwrap();
        assert_eq!(format!("{words:?}"), "ProviderWords(..)");
    }
}
