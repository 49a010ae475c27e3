//! The language of a job, which the texts for agents and users follow.

use serde::{Deserialize, Serialize};

/// A language with texts: one variant for each file of `messages/languages/`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Chinese (simplified).
    Zh,
}

messages::languages!(Language);

impl Language {
    /// Detects the language of a text: Chinese when the text has a Han character, else English.
    #[must_use]
    pub fn detect(text: &str) -> Self {
        let han = |c: char| matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}');
        if text.chars().any(han) { Self::Zh } else { Self::En }
    }

    /// Returns the language of a code, or `None` for an unknown code.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|language| language.code() == code)
    }
}

/// A text in every language. A text from elsewhere, such as a path, is the same in each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(Vec<(Language, String)>);

impl Words {
    /// Collects the results of `text` for every language.
    #[must_use]
    pub fn new(text: impl Fn(Language) -> String) -> Self {
        Self(Language::ALL.iter().map(|language| (*language, text(*language))).collect())
    }

    /// Returns the text in one language.
    #[must_use]
    pub fn text(&self, language: Language) -> &str {
        let found = self.0.iter().find(|(of, _)| *of == language);
        found.map_or("", |(_, text)| text)
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        Self::new(|_| text.to_owned())
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_han_character_makes_a_text_chinese() {
        assert_eq!(Language::detect("完成 task 62"), Language::Zh);
        assert_eq!(Language::detect("finish task 62, naïvely"), Language::En);
        assert_eq!(Language::detect(""), Language::En);
    }

    #[test]
    fn every_language_is_written_in_records_as_its_code() {
        assert_eq!(Language::ALL, [Language::En, Language::Zh]);
        for language in Language::ALL {
            assert_eq!(serde_json::to_value(language).unwrap(), language.code());
            assert_eq!(Language::of_code(language.code()), Some(*language));
        }
        assert_eq!(Language::of_code("EN"), None);
    }
}
