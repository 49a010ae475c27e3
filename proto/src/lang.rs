//! The language a job speaks: the texts that agents and people read follow it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A language Callboard has texts for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Chinese (simplified).
    Zh,
}

impl Language {
    /// The language of a text: Chinese when it holds a Han character, English otherwise.
    #[must_use]
    pub fn detect(text: &str) -> Self {
        let han = |c: char| matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}');
        if text.chars().any(han) { Self::Zh } else { Self::En }
    }

    /// The code used in records and prompts' file names.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }
}

/// The same words in every language there are texts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    en: Cow<'static, str>,
    zh: Cow<'static, str>,
}

impl Words {
    /// Words in English and in Chinese.
    #[must_use]
    pub fn new(en: impl Into<Cow<'static, str>>, zh: impl Into<Cow<'static, str>>) -> Self {
        Self { en: en.into(), zh: zh.into() }
    }

    /// The words in one language.
    #[must_use]
    pub fn text(&self, language: Language) -> &str {
        match language {
            Language::En => &self.en,
            Language::Zh => &self.zh,
        }
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
}
