//! Why a placeholder cannot be resolved: which variable, which part of its path, and what was found
//! there instead, in the words of the job's language.

use serde_json::Value;

use crate::{excerpt, id::StepId, lang::Language};

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
        match (language, self) {
            (Language::En, Self::Result { step }) => format!("step {step} has no result"),
            (Language::Zh, Self::Result { step }) => format!("步骤 {step} 没有结果"),
            (Language::En, Self::Field { of, name, fields }) if fields.is_empty() => {
                format!("the result {of} is an object without fields; it has no {name:?}")
            }
            (Language::Zh, Self::Field { of, name, fields }) if fields.is_empty() => {
                format!("结果 {of} 是空对象，没有 {name:?}")
            }
            (Language::En, Self::Field { of, name, fields }) => {
                format!("the result {of} has no {name:?}; it has {}", listed(fields, ", "))
            }
            (Language::Zh, Self::Field { of, name, fields }) => {
                format!("结果 {of} 中没有 {name:?}，只有 {}", listed(fields, "、"))
            }
            (Language::En, Self::Item { of, name, items }) => {
                format!("the result {of} is a list of {items}; it has no {name:?}")
            }
            (Language::Zh, Self::Item { of, name, items }) => {
                format!("结果 {of} 是 {items} 项的列表，没有 {name:?}")
            }
            (Language::En, Self::Inside { of, name, found }) => {
                format!("the result {of} is {}; it has no {name:?}", found.word(language))
            }
            (Language::Zh, Self::Inside { of, name, found }) => {
                format!("结果 {of} 是{}，没有 {name:?}", found.word(language))
            }
        }
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
    fn word(self, language: Language) -> &'static str {
        match (language, self) {
            (Language::En, Self::Null) => "null",
            (Language::En, Self::Bool) => "true or false",
            (Language::En, Self::Number) => "a number",
            (Language::En, Self::Text) => "a text",
            (Language::Zh, Self::Null) => "空值",
            (Language::Zh, Self::Bool) => "布尔值",
            (Language::Zh, Self::Number) => "数字",
            (Language::Zh, Self::Text) => "文本",
        }
    }
}

impl Unresolved {
    /// What is wrong, for people and for models.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let Self { placeholder, missing } = self;
        match language {
            Language::En => format!("{placeholder}: {}", missing.text(language)),
            Language::Zh => format!("{placeholder}（{}）", missing.text(language)),
        }
    }
}

impl std::fmt::Display for Unresolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text(Language::En))
    }
}

impl std::error::Error for Unresolved {}
