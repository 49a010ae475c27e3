//! The errors of an agent's question, in words that a model can act upon.

use super::{ASK_USER, AskKind, AskKinds, text::Text};
use crate::{fact::AskedKind, lang::Language, limits};

/// The refusal of a question: the argument and its error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub struct Unaskable {
    /// Dotted path of the argument.
    pub field: String,
    /// Error of the argument.
    pub flaw: Flaw,
}

/// An error in an argument of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// The arguments are not an object.
    NotAnObject,
    /// The prompt is missing or empty.
    NoPrompt,
    /// The text exceeds this many bytes.
    TooLong(usize),
    /// The mode is unknown.
    Mode,
    /// The agent may not ask questions of this kind.
    Kind {
        /// Kind of the question.
        asked: AskKind,
        /// Kinds that the agent may ask.
        may: AskKinds,
    },
    /// The form has no list of fields.
    NoFields,
    /// The form has no field, or too many.
    FieldCount,
    /// An item of the list is not a field.
    NotAField,
    /// Two items have the same key or value.
    Twice(String),
    /// The field has no valid key.
    NoKey,
    /// The default is nested.
    Default,
    /// The maximum length is not a positive number.
    Length,
    /// A bound is not a number.
    NotANumber,
    /// The minimum exceeds the maximum.
    MinAboveMax,
    /// No whole number is between the bounds.
    NoWholeNumber,
    /// The type of the field is unknown.
    Type,
    /// The choice has no list of options.
    NoOptions,
    /// The choice has no option, or too many.
    OptionCount,
    /// An item of the list is not an option.
    NotAnOption,
    /// The argument is not a text.
    NotText,
    /// The argument is not a boolean.
    NotAFlag,
}

impl AskKinds {
    /// Returns the error for a model that asked a question of a forbidden kind, or `None` when the
    /// kind is allowed.
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
    /// Returns the error with its argument, as a text for the model.
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
