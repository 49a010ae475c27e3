//! The texts of refused requests. A failure has its text in English and, beside it, the name of the
//! text with its arguments, so that a client can show it in the language of its user.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::lang::Language;

messages::reasons!(refusal);

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
    fn a_text_of_a_newer_program_is_unknown() {
        let of = |json| serde_json::from_value::<Reason>(json).unwrap().text(Language::En);
        assert_eq!(of(serde_json::json!({"name": "of_another_release"})), None);
        assert_eq!(of(serde_json::json!({"name": "no_job"})), None);
    }
}
