//! What a model is shown of results, and how much of a conversation: each result is cut at both
//! ends, and of the oldest exchanges whole ones are left out, or summarised.

use serde::{Deserialize, Serialize};

use crate::{id::Seq, limits};

/// Longest end of a result that a policy may keep, in characters.
const END_CHARS_MAX: u32 = 100_000;
/// Smallest window a policy may name, in tokens.
pub const WINDOW_TOKENS_MIN: u32 = 256;

/// How much of results and conversations a model is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Observe {
    /// Characters kept of the beginning of a longer result.
    pub head: u32,
    /// Characters kept of its end. With the note of what is missing, head and tail of the default
    /// come to 10,000 characters at most.
    pub tail: u32,
    /// Results of one run that are kept, the newest; of a turn's results all are kept or none, and
    /// those of the last turn always.
    pub keep: u32,
    /// Tokens of the model's context that a conversation may fill, the reply not included; what the
    /// configuration says when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u32>,
    /// What the model itself puts in short before it is left out.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub summarise: Summarise,
}

/// What a model puts in short before it is left out, with a model call of its own each time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Summarise {
    /// Nothing: what there is no room for is left out.
    #[default]
    Nothing,
    /// The oldest exchanges of a loop.
    Exchanges,
    /// These, and each result that is too long to be shown whole.
    All,
}

impl Summarise {
    /// Whether the oldest exchanges of a loop are.
    #[must_use]
    pub fn exchanges(self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Exchanges | Self::All => true,
        }
    }

    /// Whether results are that are too long to be shown whole.
    #[must_use]
    pub fn results(self) -> bool {
        match self {
            Self::Nothing | Self::Exchanges => false,
            Self::All => true,
        }
    }
}

/// A result that was summarised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortened {
    /// The model's id of the call.
    pub id: String,
    /// What the model is told in place of the result's two ends.
    pub text: String,
}

/// Most results of one turn that are summarised; further ones are truncated.
pub const SHORTENED_MAX: usize = 8;

/// What stands in place of the oldest exchanges of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// What they came to, in a model's words: at most [`SUMMARY_CHARS_MAX`] characters.
    pub text: String,
    /// The record of the last of them. The positions are those of the job that is told so: one of
    /// another job that was taken along has its name here.
    pub through: Seq,
}

/// Longest summary, in characters.
pub const SUMMARY_CHARS_MAX: usize = 8_000;

impl Default for Observe {
    fn default() -> Self {
        Self {
            head: 4960,
            tail: 4960,
            keep: 100,
            context_tokens: None,
            summarise: Summarise::Nothing,
        }
    }
}

impl Observe {
    /// Whether anything is summarised.
    #[must_use]
    pub fn summarises(&self) -> bool {
        self.summarise != Summarise::Nothing
    }

    /// Says which field is out of bounds.
    ///
    /// # Errors
    /// The field's name and what it must be.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        for (field, chars) in [("head", self.head), ("tail", self.tail)] {
            if chars > END_CHARS_MAX {
                return Err((field, "must be at most 100000"));
            }
        }
        if self.head == 0 && self.tail == 0 {
            return Err(("head", "must be at least 1 when nothing is kept of the end"));
        }
        if !(1..=10_000).contains(&self.keep) {
            return Err(("keep", "must be 1 to 10000"));
        }
        if self.context_tokens.is_some_and(|n| !(WINDOW_TOKENS_MIN..=100_000_000).contains(&n)) {
            return Err(("context_tokens", "must be 256 to 100000000"));
        }
        Ok(())
    }

    /// A result as a model is shown it.
    #[must_use]
    pub fn cut(&self, text: &str) -> String {
        let chars = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        crate::excerpt::head_and_tail(text, chars(self.head), chars(self.tail))
    }

    /// The part of it that a transcript needs.
    #[must_use]
    pub fn window(&self) -> Window {
        Window { keep: self.keep, tokens: self.context_tokens }
    }
}

/// How much of a conversation a model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// [`Observe::keep`].
    pub keep: u32,
    /// [`Observe::context_tokens`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
}

impl Default for Window {
    fn default() -> Self {
        Observe::default().window()
    }
}

impl Window {
    /// The tokens of the narrower of two windows.
    #[must_use]
    pub fn tokens_with(&self, configured: Option<u32>) -> Option<u32> {
        match (self.tokens, configured) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}

const _: () = assert!(limits::TURNS_MAX as usize * limits::CALLS_PER_TURN_MAX < 10_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_never_longer_than_ten_thousand_characters() {
        let observe = Observe::default();
        for chars in [0, 1, 9_900, 9_940, 9_941, 9_999, 10_000, 10_001, 250_000] {
            for one in ["x", "汉", "🎭"] {
                let shown = observe.cut(&one.repeat(chars));
                assert!(shown.chars().count() <= 10_000, "{chars}: {}", shown.chars().count());
            }
        }
        assert_eq!(observe.cut(&"汉".repeat(9_900)).chars().count(), 9_900);
    }

    #[test]
    fn a_thousand_characters_of_each_end_can_be_the_policy() {
        let observe = Observe { head: 1000, tail: 1000, ..Observe::default() };
        let text = format!("{}{}{}", "头".repeat(1000), "x".repeat(500), "尾".repeat(1000));
        let shown = observe.cut(&text);
        assert!(shown.starts_with(&"头".repeat(1000)) && shown.ends_with(&"尾".repeat(1000)));
        assert!(shown.contains("[500 characters cut]"), "{shown}");
    }

    #[test]
    fn bounds_are_named() {
        let check = |json: &str| {
            let observe: Observe = serde_json::from_str(json).unwrap();
            observe.check().map_err(|(field, _)| field)
        };
        assert_eq!(check("{}"), Ok(()));
        assert_eq!(check(r#"{"head":0,"tail":0}"#), Err("head"));
        assert_eq!(check(r#"{"tail":100001}"#), Err("tail"));
        assert_eq!(check(r#"{"keep":0}"#), Err("keep"));
        assert_eq!(check(r#"{"context_tokens":10}"#), Err("context_tokens"));
    }

    #[test]
    fn the_narrower_window_counts() {
        let window = |tokens| Window { keep: 1, tokens };
        assert_eq!(window(None).tokens_with(None), None);
        assert_eq!(window(Some(500)).tokens_with(Some(400)), Some(400));
        assert_eq!(window(None).tokens_with(Some(400)), Some(400));
    }
}
