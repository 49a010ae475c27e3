//! The executor's own messages: what is wrong with a call. Names and what schemas say stay as they
//! are.

use proto::{lang::Language, limits};

messages::texts!(executor);

/// What is wrong with the arguments of `finish`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// They are no object.
    NoObject,
    /// An argument that `finish` does not have, by its name.
    Extra(String),
    /// `success` is missing or no boolean.
    Success,
    /// `response` is missing or no text.
    Response,
    /// `attachments` are no names.
    Attachments,
}

impl Unfinished {
    /// What is wrong, in a language.
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
