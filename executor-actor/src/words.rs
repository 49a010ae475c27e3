//! The executor's own messages about invalid calls. Names, and the texts of schemas, are not
//! translated.

use proto::{lang::Language, limits};

messages::texts!(executor);

/// An error in the arguments of `finish`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// The arguments are not an object.
    NoObject,
    /// Name of an unknown argument.
    Extra(String),
    /// `success` is missing or not a boolean.
    Success,
    /// `response` is missing or not a text.
    Response,
    /// `attachments` is not a list of names within the limits.
    Attachments,
}

impl Unfinished {
    /// Formats the error in a language.
    pub(crate) fn text(&self, language: Language) -> String {
        let (most, long) = (&limits::ATTACHMENTS_MAX, &limits::ATTACHMENT_BYTES_MAX);
        let text = match self {
            Self::NoObject => Text::NoObject,
            Self::Extra(name) => Text::Extra { name },
            Self::Success => Text::Success,
            Self::Response => Text::Response,
            Self::Attachments => Text::Attachments { most, long },
        };
        text.text(language)
    }
}
