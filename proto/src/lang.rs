//! The language of a job, which the texts for agents and users follow.

use serde::{Deserialize, Serialize};

/// A language with texts: one variant for each file of `messages/languages/`.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
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

    /// Returns the language that a text names, such as `zh-CN`, `Chinese` or `中文`, or `None` for
    /// any other text.
    #[must_use]
    pub fn of_name(text: &str) -> Option<Self> {
        let text = text.trim().to_lowercase();
        let named = |language: &Self, word: &str| language.names().contains(&word);
        let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        // A code leads a tag, such as `zh_CN`. Within a sentence it may be a word of any language.
        let tag = text.split(['-', '_', '.', '@']).next().unwrap_or_default();
        let of_tag = Self::ALL.iter().find(|l| tag == l.code() || tag == l.long_code());
        let of_word = || words.find_map(|word| Self::ALL.iter().find(|l| named(l, word)));
        of_tag.or_else(of_word).copied()
    }

    /// Returns the code of ISO 639-3.
    fn long_code(self) -> &'static str {
        match self {
            Self::En => "eng",
            Self::Zh => "zho",
        }
    }

    /// Returns the names of the language in all languages, in lower case.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::En => &["english", "英语", "英文", "英語"],
            Self::Zh => &[
                "chinese",
                "mandarin",
                "中文",
                "汉语",
                "漢語",
                "简体中文",
                "簡體中文",
                "繁体中文",
                "繁體中文",
                "普通话",
                "普通話",
                "国语",
                "國語",
                "华语",
                "華語",
            ],
        }
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

    #[test]
    fn a_language_is_known_by_its_codes_and_by_its_names() {
        for (texts, expected) in [
            (
                &["en", "EN", " en-US ", "en_GB.UTF-8", "eng", "English", "英文", "US English"][..],
                Some(Language::En),
            ),
            (
                &[
                    "zh",
                    "zh-CN",
                    "zh_TW",
                    "ZH-Hans-CN",
                    "zho",
                    "Chinese",
                    "中文",
                    "中文（简体）",
                    "Simplified Chinese",
                    "Chinese (Simplified)",
                    "简体中文",
                    "汉语",
                ],
                Some(Language::Zh),
            ),
            (&["", " ", "fr", "Klingon", "zebra", "entire", "the en dash", "-"], None),
        ] {
            for text in texts {
                assert_eq!(Language::of_name(text), expected, "{text:?}");
            }
        }
    }
}
