//! Why a question cannot be asked, in words that a model can act upon.

use super::{ASK_USER, AskKind, AskKinds, text::Text};
use crate::{fact::AskedKind, lang::Language, limits};

/// A question that cannot be asked: the argument, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub struct Unaskable {
    /// The argument, dotted.
    pub field: String,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// What is wrong with an argument of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// The arguments are no object.
    NotAnObject,
    /// There are no words.
    NoPrompt,
    /// There are more words than this many bytes.
    TooLong(usize),
    /// An unknown mode.
    Mode,
    /// The agent may not ask questions of this kind.
    Kind {
        /// The kind.
        asked: AskKind,
        /// Those it may ask.
        may: AskKinds,
    },
    /// A form without a list of fields.
    NoFields,
    /// No fields, or too many.
    FieldCount,
    /// Something in the list is no field.
    NotAField,
    /// The same is there twice.
    Twice(String),
    /// No name.
    NoKey,
    /// Nothing that can be filled in.
    Default,
    /// No length.
    Length,
    /// No number.
    NotANumber,
    /// The least is above the most.
    MinAboveMax,
    /// No whole number is between the bounds.
    NoWholeNumber,
    /// No kind of field.
    Type,
    /// A choice without a list of options.
    NoOptions,
    /// No options, or too many.
    OptionCount,
    /// Something in the list is no option.
    NotAnOption,
    /// No text.
    NotText,
    /// Neither yes nor no.
    NotAFlag,
}

impl AskKinds {
    /// What a model is told that asks a question of another kind: nothing when it may be asked.
    #[must_use]
    pub fn refusal(&self, asked: &AskedKind, language: Language) -> Option<String> {
        let kind = AskKind::of(asked);
        (!self.has(kind)).then(|| {
            let flaw = Flaw::Kind { asked: kind, may: self.clone() };
            Unaskable { field: "mode".to_owned(), flaw }.text(language)
        })
    }
}

impl Unaskable {
    /// What is wrong, with the argument.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let why = self.flaw.text(language);
        Text::Refused { tool: &ASK_USER, field: &self.field, why: &why }.text(language)
    }
}

impl Flaw {
    fn text(&self, language: Language) -> String {
        let text = match self {
            Self::NotAnObject => Text::NotAnObject,
            Self::NoPrompt => Text::NoPrompt,
            Self::TooLong(max) => Text::TooLong { max },
            Self::Mode => Text::Mode,
            Self::Kind { asked, may } => {
                let may: Vec<_> = may.iter().map(|kind| format!("{:?}", kind.as_str())).collect();
                let may = may.join(&Text::Or.text(language));
                return Text::Kind { asked: &asked.as_str(), may: &may }.text(language);
            }
            Self::NoFields => Text::NoFields,
            Self::FieldCount => Text::FieldCount { max: &limits::FIELDS_MAX },
            Self::NotAField => Text::NotAField,
            Self::Twice(name) => Text::Twice { name },
            Self::NoKey => Text::NoKey,
            Self::Default => Text::Default,
            Self::Length => Text::Length,
            Self::NotANumber => Text::NotANumber,
            Self::MinAboveMax => Text::MinAboveMax,
            Self::NoWholeNumber => Text::NoWholeNumber,
            Self::Type => Text::Type,
            Self::NoOptions => Text::NoOptions,
            Self::OptionCount => Text::OptionCount { max: &limits::OPTIONS_MAX },
            Self::NotAnOption => Text::NotAnOption,
            Self::NotText => Text::NotAString,
            Self::NotAFlag => Text::NotAFlag,
        };
        text.text(language)
    }
}
