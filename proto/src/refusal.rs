//! The texts of refused requests. A failure has its text in English and, beside it, the name of the
//! text with its arguments, so that a client can show it in the language of its user. A text that is
//! composed of others travels in every language.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::lang::{Language, Words};

messages::reasons!(refusal);

/// Name of a text that is composed of others, such as the mistakes of a file. Its arguments are the
/// text by the codes of the languages.
const COMPOSED: &str = "composed";

/// A text by its name in the language files, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Name of the text.
    pub name: String,
    /// Arguments of the text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
}

impl Reason {
    /// Returns the text in a language, or `None` if this program does not know the text.
    #[must_use]
    pub fn text(&self, language: Language) -> Option<String> {
        if self.name == COMPOSED {
            return self.args.get(language.code()).cloned();
        }
        Text::of_parts(&self.name, |name| self.args.get(name).map(String::as_str), language)
    }
}

impl From<Text<'_>> for Reason {
    fn from(text: Text<'_>) -> Self {
        let (name, args) = text.parts();
        let args = args.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { name: name.to_owned(), args }
    }
}

impl From<&Words> for Reason {
    fn from(words: &Words) -> Self {
        let of =
            |language: &Language| (language.code().to_owned(), words.text(*language).to_owned());
        Self { name: COMPOSED.to_owned(), args: Language::ALL.iter().map(of).collect() }
    }
}

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}

/// Warnings beside a reply: the request was accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warnings {
    /// Texts in English.
    #[serde(default, rename = "warnings", skip_serializing_if = "Vec::is_empty")]
    texts: Vec<String>,
    /// The same texts by their names in the language files.
    #[serde(default, rename = "warning_reasons", skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<Reason>,
}

impl Warnings {
    /// Adds a warning that is composed of other texts.
    pub fn add(&mut self, warning: &Words) {
        self.texts.push(warning.text(Language::En).to_owned());
        self.reasons.push(warning.into());
    }

    /// Returns the warnings in every language. A text that this program does not know stays as the
    /// server wrote it.
    #[must_use]
    pub fn words(&self) -> Vec<Words> {
        let known = |n: usize, language| self.reasons.get(n)?.text(language);
        let all = self.texts.iter().enumerate();
        all.map(|(n, text)| {
            Words::new(|language| known(n, language).unwrap_or_else(|| text.clone()))
        })
        .collect()
    }
}

impl<'a> FromIterator<Text<'a>> for Warnings {
    fn from_iter<I: IntoIterator<Item = Text<'a>>>(warnings: I) -> Self {
        let both = warnings.into_iter().map(|text| (text.text(Language::En), text.into()));
        let (texts, reasons) = both.unzip();
        Self { texts, reasons }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_travels_by_its_name_and_its_arguments() {
        let sent = Reason::from(Text::NoJob { job: &"j" });
        let json = serde_json::to_value(&sent).unwrap();
        assert_eq!(json, serde_json::json!({"name": "no_job", "args": {"job": "j"}}));
        let received: Reason = serde_json::from_value(json).unwrap();
        for language in Language::ALL {
            let text = Text::NoJob { job: &"j" }.text(*language);
            assert_eq!(received.text(*language), Some(text));
        }
    }

    #[test]
    fn a_composed_text_travels_in_every_language() {
        let words = Words::new(|language| format!("in {}", language.code()));
        let json = serde_json::to_value(Reason::from(&words)).unwrap();
        let args = serde_json::json!({"en": "in en", "zh": "in zh"});
        assert_eq!(json, serde_json::json!({"name": "composed", "args": args}));
        let mut received: Reason = serde_json::from_value(json).unwrap();
        for language in Language::ALL {
            assert_eq!(received.text(*language).as_deref(), Some(words.text(*language)));
            assert_eq!(Text::of_parts(COMPOSED, |_| Some("a"), *language), None);
        }
        received.args.remove("zh");
        assert_eq!(received.text(Language::Zh), None);
    }

    #[test]
    fn warnings_are_told_in_the_language_of_the_user_or_as_the_server_wrote_them() {
        let warnings: Warnings = [Text::Unannounced { name: &"t" }].into_iter().collect();
        let mut json = serde_json::to_value(&warnings).unwrap();
        assert_eq!(json["warning_reasons"][0]["name"], "unannounced");
        let told = |json: &serde_json::Value, language| {
            let warnings: Warnings = serde_json::from_value(json.clone()).unwrap();
            warnings.words()[0].text(language).to_owned()
        };
        let english = json["warnings"][0].as_str().unwrap().to_owned();
        assert_eq!(told(&json, Language::En), english);
        assert_eq!(told(&json, Language::Zh), Text::Unannounced { name: &"t" }.text(Language::Zh));
        json["warning_reasons"][0]["name"] = "of_another_release".into();
        assert_eq!(told(&json, Language::Zh), english);
        json.as_object_mut().unwrap().remove("warning_reasons");
        assert_eq!(told(&json, Language::Zh), english);
    }

    #[test]
    fn a_text_of_a_newer_program_is_unknown() {
        let of = |json| serde_json::from_value::<Reason>(json).unwrap().text(Language::En);
        assert_eq!(of(serde_json::json!({"name": "of_another_release"})), None);
        assert_eq!(of(serde_json::json!({"name": "no_job"})), None);
    }
}
