//! The bounds on results and conversations in prompts. Each long result keeps its beginning and its
//! end; the oldest exchanges are left out as a whole, or summarised.

use serde::{Deserialize, Serialize};

use crate::{bounds::Text, id::Seq, lang::Words, limits};

/// Maximum length of each kept end of a result, in characters.
const END_CHARS_MAX: u32 = 100_000;
/// Minimum of the context that a policy may set, in tokens.
pub const WINDOW_TOKENS_MIN: u32 = 256;

/// The policy of results and conversations in prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Observe {
    /// Characters that a long result keeps at its beginning.
    pub head: u32,
    /// Characters that a long result keeps at its end. With the note about the gap, a result has at
    /// most 10,000 characters by default.
    pub tail: u32,
    /// Number of a run's latest results in the prompt. The results of one turn are kept or left out
    /// together; those of the last turn are always kept.
    pub keep: u32,
    /// Maximum size of the conversation in tokens, without the reply; the configured size when
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u32>,
    /// Parts that the model summarises before they are left out.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub summarise: Summarise,
}

/// The parts that a model summarises before they are left out. Each summary is a model call of its
/// own.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Summarise {
    /// No part: content that exceeds the context is left out.
    #[default]
    Nothing,
    /// The oldest exchanges of a loop.
    Exchanges,
    /// The oldest exchanges of a loop, and each result that is too long.
    All,
}

impl Summarise {
    /// Returns whether the oldest exchanges of a loop are summarised.
    #[must_use]
    pub fn exchanges(self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Exchanges | Self::All => true,
        }
    }

    /// Returns whether results that are too long are summarised.
    #[must_use]
    pub fn results(self) -> bool {
        match self {
            Self::Nothing | Self::Exchanges => false,
            Self::All => true,
        }
    }
}

/// A result that was summarised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Shortened {
    /// Id that the model gave the call.
    pub id: String,
    /// Replacement of the result's two ends in the prompt.
    pub text: String,
}

/// Maximum number of results of one turn that are summarised. Further ones are truncated.
pub const SHORTENED_MAX: usize = 8;

/// The replacement of the oldest exchanges of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Summary {
    /// Summary in a model's words, at most [`SUMMARY_CHARS_MAX`] characters.
    pub text: String,
    /// Record of the last exchange that the summary covers, as this job refers to it: the position
    /// of a record that a fork copied is translated.
    pub through: Seq,
}

/// Maximum length of a summary, in characters.
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
    /// Returns whether anything is summarised.
    #[must_use]
    pub fn summarises(&self) -> bool {
        self.summarise != Summarise::Nothing
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// Returns the first field that is out of bounds, and its requirement.
    pub fn check(&self) -> Result<(), (&'static str, Words)> {
        for (field, chars) in [("head", self.head), ("tail", self.tail)] {
            if chars > END_CHARS_MAX {
                return Err((field, Text::AtMost { max: &100_000 }.into()));
            }
        }
        if self.head == 0 && self.tail == 0 {
            return Err(("head", Text::KeepsNothing.into()));
        }
        if !(1..=10_000).contains(&self.keep) {
            return Err(("keep", Text::Between { low: &1, high: &10_000 }.into()));
        }
        if self.context_tokens.is_some_and(|n| !(WINDOW_TOKENS_MIN..=100_000_000).contains(&n)) {
            return Err(("context_tokens", Text::Between { low: &256, high: &100_000_000 }.into()));
        }
        Ok(())
    }

    /// Returns a result as the prompt has it, with the middle removed when it is too long.
    #[must_use]
    pub fn cut(&self, text: &str) -> String {
        let chars = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        crate::excerpt::head_and_tail(text, chars(self.head), chars(self.tail))
    }

    /// Returns the part of the policy that a transcript needs.
    #[must_use]
    pub fn window(&self) -> Window {
        Window { keep: self.keep, tokens: self.context_tokens }
    }
}

/// The bounds on the conversation in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Window {
    /// The value of [`Observe::keep`].
    pub keep: u32,
    /// The value of [`Observe::context_tokens`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
}

impl Default for Window {
    fn default() -> Self {
        Observe::default().window()
    }
}

impl Window {
    /// Returns the smaller of two bounds on tokens.
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
