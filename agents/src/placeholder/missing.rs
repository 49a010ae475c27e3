//! The errors of placeholders that cannot be resolved: the placeholder, the missing part of its
//! path, and the value that exists there, as texts in the job's language.

use proto::{excerpt, id::StepId, lang::Language};
use serde_json::Value;

messages::texts!(placeholder);

/// Maximum number of field names that an error lists.
const SHOWN_MAX: usize = 8;

/// A placeholder that cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub struct Unresolved {
    /// Text of the placeholder.
    pub placeholder: String,
    /// Missing part.
    pub missing: Missing,
}

/// The missing part of a placeholder's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The step has no result.
    Result {
        /// Step that the placeholder names.
        step: StepId,
    },
    /// An object lacks a field.
    Field {
        /// Path to the object.
        of: String,
        /// Name of the missing field.
        name: String,
        /// Fields of the object.
        fields: Vec<String>,
    },
    /// A list lacks an item.
    Item {
        /// Path to the list.
        of: String,
        /// Requested item: a number beyond the list, or not a number.
        name: String,
        /// Length of the list.
        items: usize,
    },
    /// The path continues into a value that is neither an object nor a list.
    Inside {
        /// Path to the value.
        of: String,
        /// Name that follows in the path.
        name: String,
        /// Kind of the value.
        found: Kind,
    },
}

/// The kinds of value that a path cannot enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// A text.
    Text,
}

impl Missing {
    /// Builds the error for `name`, which is not in `value` at the path `of`.
    pub(super) fn inside(of: &str, name: &str, value: &Value) -> Self {
        let (of, name) = (of.to_owned(), excerpt::ends(name, 80));
        let inside = |of, name, found| Self::Inside { of, name, found };
        match value {
            Value::Object(fields) => {
                let fields = fields.keys().map(|field| excerpt::ends(field, 40)).collect();
                Self::Field { of, name, fields }
            }
            Value::Array(items) => Self::Item { of, name, items: items.len() },
            Value::Null => inside(of, name, Kind::Null),
            Value::Bool(_) => inside(of, name, Kind::Bool),
            Value::Number(_) => inside(of, name, Kind::Number),
            Value::String(_) => inside(of, name, Kind::Text),
        }
    }

    fn text(&self, language: Language) -> String {
        let text = match self {
            Self::Result { step } => Text::Result { step },
            Self::Field { of, name, fields } if fields.is_empty() => Text::NoFields { of, name },
            Self::Field { of, name, fields } => {
                let fields = listed(fields, &Text::Comma.text(language));
                return Text::Field { of, name, fields: &fields }.text(language);
            }
            Self::Item { of, name, items } => Text::Item { of, name, items },
            Self::Inside { of, name, found } => {
                let found = found.word().text(language);
                return Text::Inside { of, name, found: &found }.text(language);
            }
        };
        text.text(language)
    }
}

fn listed(fields: &[String], comma: &str) -> String {
    let mut shown: Vec<&str> = fields.iter().map(String::as_str).take(SHOWN_MAX).collect();
    if fields.len() > SHOWN_MAX {
        shown.push("…");
    }
    shown.join(comma)
}

impl Kind {
    fn word(self) -> Text<'static> {
        match self {
            Self::Null => Text::Null,
            Self::Bool => Text::Bool,
            Self::Number => Text::Number,
            Self::Text => Text::String,
        }
    }
}

impl Unresolved {
    /// Returns the error as a text, for users and for models.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let Self { placeholder, missing } = self;
        Text::Unresolved { placeholder, why: &missing.text(language) }.text(language)
    }
}
