//! The failures of an evaluation.

use std::fmt;

use minijinja::ErrorKind;
use proto::lang::{Language, Words};

messages::texts!(workflow_evaluation);

/// Detail of the engine's error for a value that is too large.
pub(super) const TOO_LARGE: &str = "the value is too large";

/// A failed evaluation, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalError {
    /// Dotted path inside the template value; empty for an expression and for a single text.
    pub path: String,
    /// Source of the expression or template, truncated to 200 characters.
    pub source: String,
    /// Byte of the expression at which the failing part begins, when the engine knows it.
    pub at: Option<usize>,
    /// Cause of the failure.
    pub fault: EvalFault,
}

/// The causes of failed evaluations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvalFault {
    /// A value is not there: a key that has not been written, or a field that a result lacks.
    Undefined,
    /// A condition is neither true nor false.
    NoBoolean {
        /// Type of the value.
        got: &'static str,
    },
    /// The items of a map are no list.
    NoList {
        /// Type of the value.
        got: &'static str,
    },
    /// A map has more items than it may have.
    TooManyItems {
        /// Number of items.
        got: usize,
        /// Maximum number of items.
        max: u32,
    },
    /// The expression needs more than [`super::bounds::FUEL`].
    OutOfFuel,
    /// The value is too large.
    TooLarge {
        /// Maximum size, in bytes.
        max: usize,
    },
    /// The value has no form in JSON, such as an infinite number.
    NoJson,
    /// The text is not of the language of expressions. The checker refuses such texts.
    Unreadable,
    /// An operation that its values do not allow, such as a division by zero.
    Operation {
        /// Message of the engine, in English.
        detail: String,
    },
}

impl EvalError {
    pub(super) fn of(source: &str, fault: EvalFault) -> Self {
        let source = source.chars().take(200).collect();
        Self { path: String::new(), source, at: None, fault }
    }

    pub(super) fn below(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    pub(super) fn of_engine(source: &str, error: &minijinja::Error) -> Self {
        let kind = error.kind();
        let fault = if kind == ErrorKind::UndefinedError {
            EvalFault::Undefined
        } else if kind == ErrorKind::OutOfFuel {
            EvalFault::OutOfFuel
        } else if error.detail() == Some(TOO_LARGE) {
            EvalFault::TooLarge { max: super::bounds::OUTPUT_BYTES_MAX }
        } else {
            EvalFault::Operation { detail: told(error) }
        };
        Self { at: error.range().map(|range| range.start), ..Self::of(source, fault) }
    }

    /// Returns the failure with its place, for users.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let why = match &self.fault {
            EvalFault::Undefined => Text::Undefined.text(language),
            EvalFault::NoBoolean { got } => Text::NoBoolean { got }.text(language),
            EvalFault::NoList { got } => Text::NoList { got }.text(language),
            EvalFault::TooManyItems { got, max } => Text::TooManyItems { got, max }.text(language),
            EvalFault::OutOfFuel => Text::OutOfFuel.text(language),
            EvalFault::TooLarge { max } => Text::TooLarge { max }.text(language),
            EvalFault::NoJson => Text::NoJson.text(language),
            EvalFault::Unreadable => Text::Unreadable.text(language),
            EvalFault::Operation { detail } => detail.clone(),
        };
        let (path, source) = (&self.path, &self.source);
        match (path.is_empty(), self.at) {
            (true, Some(at)) => Text::PlaceAt { source, at: &(at + 1), why: &why }.text(language),
            (true, None) => Text::Place { source, why: &why }.text(language),
            (false, _) => Text::PlaceBelow { path, source, why: &why }.text(language),
        }
    }

    /// Returns the failure in every language.
    #[must_use]
    pub fn words(&self) -> Words {
        Words::new(|language| self.text(language))
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Language::En))
    }
}

impl std::error::Error for EvalError {}

/// Returns the engine's message without its drawing of the source.
pub(super) fn told(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}
