//! Why a placeholder cannot be resolved: which variable, which part of its path, and what was found
//! there instead, in the words of the job's language.

use proto::{excerpt, id::StepId, lang::Language};
use serde_json::Value;

messages::texts!(placeholder);

/// Names of fields that are shown at most.
const SHOWN_MAX: usize = 8;

/// A placeholder that cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    /// The placeholder as it was written.
    pub placeholder: String,
    /// What was missing.
    pub missing: Missing,
}

/// What was missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The step has no result.
    Result {
        /// Which step.
        step: StepId,
    },
    /// An object has no such field.
    Field {
        /// The way to the object.
        of: String,
        /// The field.
        name: String,
        /// The fields it has.
        fields: Vec<String>,
    },
    /// A list has no such item.
    Item {
        /// The way to the list.
        of: String,
        /// What was asked for: a number that is too large, or no number at all.
        name: String,
        /// How many items it has.
        items: usize,
    },
    /// Nothing can be inside of what is there.
    Inside {
        /// The way to it.
        of: String,
        /// What was asked for.
        name: String,
        /// What is there.
        found: Kind,
    },
}

/// What a value is that nothing can be inside of.
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
    /// What is missing when `name` is not inside `value`, which the path `of` leads to.
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
    /// What is wrong, for people and for models.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let Self { placeholder, missing } = self;
        Text::Unresolved { placeholder, why: &missing.text(language) }.text(language)
    }
}

impl std::fmt::Display for Unresolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text(Language::En))
    }
}

impl std::error::Error for Unresolved {}
