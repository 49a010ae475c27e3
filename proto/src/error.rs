//! The stable error codes of every surface. Each code has a page in `docs/errors/` with its meaning
//! and the next action.

use serde::{Deserialize, Serialize};

use crate::{
    lang::{Language, Words},
    refusal::{Reason, Text},
};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $status:literal, $hint:literal;)*) => {
        /// A stable error code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the word of the code in responses.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// Returns the HTTP status, which is also the NATS service error code.
            #[must_use]
            pub fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }

            /// Returns the recommended next action.
            #[must_use]
            pub fn hint(self) -> &'static str {
                match self { $(Self::$name => $hint,)* }
            }
        }
    };
}

impl Code {
    /// `true` if a refused answer came too late: another answer, a rollback or the end of the job
    /// closed the question before it.
    #[must_use]
    pub fn is_settled_elsewhere(self) -> bool {
        [Self::AlreadyAnswered, Self::Closed, Self::JobEnded].contains(&self)
    }

    /// `true` if the same request may succeed later, because the server could not be reached or had
    /// too much to do.
    #[must_use]
    pub fn is_temporary(self) -> bool {
        match self {
            Self::Unavailable | Self::Timeout | Self::Overloaded => true,
            Self::InvalidRequest
            | Self::InvalidEncoding
            | Self::TooDeep
            | Self::TooLarge
            | Self::InvalidId
            | Self::UnsupportedVersion
            | Self::UnknownAgent
            | Self::UnknownPrice
            | Self::IdempotencyConflict
            | Self::NotFound
            | Self::AlreadyAnswered
            | Self::Closed
            | Self::Stale
            | Self::WouldRepeat
            | Self::InvalidAnswer
            | Self::JobEnded
            | Self::Forbidden
            | Self::Poisoned
            | Self::Internal => false,
        }
    }
}

codes! {
    /// The request does not have the documented form.
    InvalidRequest = "invalid_request", 400, "Correct the field that `field` names; docs/front-door.md describes every request.";
    /// The body is not UTF-8 text.
    InvalidEncoding = "invalid_encoding", 400, "Send JSON in UTF-8.";
    /// The JSON exceeds the bound on nesting.
    TooDeep = "too_deep", 400, "Flatten the JSON to at most 64 levels.";
    /// The body exceeds the bound on its size.
    TooLarge = "too_large", 413, "Send at most 256 KiB; put large inputs where a tool can read them.";
    /// An id has a character that is not allowed.
    InvalidId = "invalid_id", 400, "Use 1 to 64 characters of A-Z a-z 0-9 _ and -.";
    /// The server does not support the version of the request.
    UnsupportedVersion = "unsupported_version", 400, "Send version 1, or upgrade the server.";
    /// No agent has this name.
    UnknownAgent = "unknown_agent", 404, "List the agents with `callboard agents ls`, or send the policies inline.";
    /// The budget limits money, and the price of a possible model is unknown.
    UnknownPrice = "unknown_price", 400, "Set the price of the model in `model.known` of the configuration, or in `budget.prices` of the agent.";
    /// The id belongs to a job with another request body.
    IdempotencyConflict = "idempotency_conflict", 409, "Use a new id for a new job, or send the same body again.";
    /// No job or question has this id.
    NotFound = "not_found", 404, "Check the id with `callboard jobs ls` or `callboard inbox ls`.";
    /// The question has been answered by another request.
    AlreadyAnswered = "already_answered", 409, "No action is needed: `winner` is the accepted answer.";
    /// The question is closed: it expired, or its job ended.
    Closed = "closed", 409, "Look at the job with `callboard jobs describe`.";
    /// The approval refers to another call than the one that would run.
    Stale = "stale", 409, "Show the question again and approve its current content.";
    /// The answer does not fit the question.
    InvalidAnswer = "invalid_answer", 422, "Correct the value that `field` names; `callboard inbox show` shows the question.";
    /// The job has ended.
    JobEnded = "job_ended", 409, "Roll it back (`callboard jobs rollback`, `restart`), continue it as a new job (`callboard jobs fork`), or submit a new job.";
    /// The request would repeat an irreversible action.
    WouldRepeat = "would_repeat", 409, "Roll back to a later record, or allow the repetition: `again` in the request, `--again` on the command line.";
    /// The caller lacks the permission.
    Forbidden = "forbidden", 403, "Use the token of a caller with the required role; see docs/front-door.md.";
    /// The server has no capacity at present. It stored nothing.
    Overloaded = "overloaded", 429, "Wait and send the same request again, with the same id.";
    /// The log is unreachable.
    Unavailable = "unavailable", 503, "Check nats-server with `callboard doctor`; send the same request again, with the same id.";
    /// No reply arrived in time, so the outcome is unknown.
    Timeout = "timeout", 504, "Send the same request again, with the same id: nothing is stored twice.";
    /// A record of the job cannot be read, so the job is parked.
    Poisoned = "poisoned", 500, "`callboard jobs describe` names the record; see docs/errors/poisoned.md.";
    /// Callboard failed because of an error of its own.
    Internal = "internal", 500, "Report it with the server's log around this time.";
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error in the form in which it is sent.
#[derive(
    Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error, schemars::JsonSchema,
)]
#[error("{message} [{code}]")]
pub struct Failure {
    /// Stable code.
    pub code: Code,
    /// Description of the error, for users.
    pub message: String,
    /// Dotted path of the field with the error; absent when no field is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Recommended next action.
    #[serde(default)]
    pub hint: String,
    /// The message by its name in the language files, for clients that show it in another language.
    /// Absent where the message has no translation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Box<Reason>>,
    /// The hint by its name in the language files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Box<Reason>>,
    /// Accepted answer; present for `already_answered` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<Box<crate::fact::Answered>>,
}

impl Failure {
    /// Creates a failure with its code's hint.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            field: None,
            hint: code.hint().to_owned(),
            reason: None,
            advice: None,
            winner: None,
        }
    }

    /// Creates a failure with a text that every client can show in its language.
    #[must_use]
    pub fn of(code: Code, text: Text<'_>) -> Self {
        let reason = Some(Box::new(text.into()));
        Self { reason, ..Self::new(code, text.text(Language::En)) }
    }

    /// Creates a failure with a text that is composed of others, in every language.
    #[must_use]
    pub fn composed(code: Code, words: &Words) -> Self {
        let reason = Some(Box::new(words.into()));
        Self { reason, ..Self::new(code, words.text(Language::En)) }
    }

    /// Creates a failure about a field of the request, with the same kind of text.
    #[must_use]
    pub fn about(code: Code, field: &str, text: Text<'_>) -> Self {
        let message = format!("{field}: {}", text.text(Language::En));
        Self { message, ..Self::of(code, text) }.at(field)
    }

    /// Replaces the code's general hint by a text for this case.
    #[must_use]
    pub fn next(mut self, hint: Text<'_>) -> Self {
        self.advice = Some(Box::new(hint.into()));
        self.advise(hint.text(Language::En))
    }

    /// Replaces the code's general hint by one for this case.
    #[must_use]
    pub fn advise(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Returns the description in a language. The sender's own text stays where it has no name, or
    /// this program does not know the name.
    #[must_use]
    pub fn message_in(&self, language: Language) -> String {
        translated(&self.message, self.reason.as_deref(), language)
    }

    /// Returns the recommended next action in a language, in the same way.
    #[must_use]
    pub fn hint_in(&self, language: Language) -> String {
        translated(&self.hint, self.advice.as_deref(), language)
    }

    /// Sets the field that is wrong.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }
}

fn translated(text: &str, reason: Option<&Reason>, language: Language) -> String {
    let found = reason.and_then(|reason| {
        let place = text.strip_suffix(&reason.text(Language::En)?)?;
        Some(format!("{place}{}", reason.text(language)?))
    });
    found.unwrap_or_else(|| text.to_owned())
}

impl From<crate::strict::Refused> for Failure {
    fn from(refused: crate::strict::Refused) -> Self {
        use crate::strict::Refused;
        let message = refused.to_string();
        match refused {
            Refused::Empty | Refused::Malformed(_) => Self::new(Code::InvalidRequest, message),
            Refused::TooLarge(_) => Self::new(Code::TooLarge, message),
            Refused::NotText => Self::new(Code::InvalidEncoding, message),
            Refused::TooDeep => Self::new(Code::TooDeep, message),
            Refused::Field { field, why } => {
                let code = if why.contains("characters of A-Z a-z 0-9 _ -") {
                    Code::InvalidId
                } else {
                    Code::InvalidRequest
                };
                let failure = Self::new(code, message);
                if field == "." { failure } else { failure.at(field) }
            }
        }
    }
}

impl From<crate::id::InvalidId> for Failure {
    fn from(invalid: crate::id::InvalidId) -> Self {
        Self::new(Code::InvalidId, invalid.to_string())
    }
}

impl From<crate::workflow::InvalidName> for Failure {
    fn from(invalid: crate::workflow::InvalidName) -> Self {
        Self::composed(Code::InvalidId, &invalid.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_code_is_the_one_that_is_sent() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert!(!code.hint().is_empty());
        }
    }
}
