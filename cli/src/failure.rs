//! The error of a command, printed as a sentence with a hint, or as JSON. Foreign text is escaped
//! here, so that no error can send control sequences to a terminal.

use proto::{
    error::{Code, Failure},
    escape,
    lang::{Language, Words},
};
use serde_json::{Value, json};

use crate::{exit::Exit, refusal, words::Text};

/// The error of a command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CliError {
    /// Exit status of the program.
    pub(crate) exit: Exit,
    /// Stable identifier of the error, for programs.
    pub(crate) code: &'static str,
    /// Description of the error.
    pub(crate) message: Words,
    /// The flag, field or key that is wrong, if one is.
    pub(crate) field: Option<String>,
    /// Advice about the next step.
    pub(crate) hint: Option<Words>,
    /// Further details, for programs.
    pub(crate) details: Option<Box<Value>>,
}

const CLOSED: &str = "closed";

pub(crate) type Outcome = Result<Exit, CliError>;

impl CliError {
    fn new(exit: Exit, code: &'static str, message: impl Into<Words>) -> Self {
        Self { exit, code, message: message.into(), field: None, hint: None, details: None }
    }

    /// The command line is invalid.
    pub(crate) fn usage(message: impl Into<Words>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    /// A given input is invalid.
    pub(crate) fn input(field: &str, message: impl Into<Words>) -> Self {
        Self { field: Some(field.to_owned()), ..Self::new(Exit::Usage, "input", message) }
    }

    /// A setting is invalid.
    pub(crate) fn setting(message: impl Into<Words>) -> Self {
        Self::new(Exit::Usage, "config", message)
    }

    /// A role or program cannot start.
    pub(crate) fn start(message: impl Into<Words>) -> Self {
        Self::new(Exit::Failed, "start", message)
    }

    /// Callboard is unreachable.
    pub(crate) fn unavailable(message: impl Into<Words>) -> Self {
        Self::new(Exit::Unavailable, Code::Unavailable.as_str(), message).hint(Text::DoctorSays)
    }

    /// The operation is not permitted in the current state.
    pub(crate) fn refused(code: &'static str, message: impl Into<Words>) -> Self {
        Self::new(Exit::Refused, code, message)
    }

    /// The reader of the output has closed it.
    pub(crate) fn closed() -> Self {
        Self::new(Exit::Success, CLOSED, "the reader of the output closed it")
    }

    /// `true` if the reader has closed the output, so that no message is needed.
    pub(crate) fn is_closed(&self) -> bool {
        self.code == CLOSED
    }

    /// The user interrupted the command.
    pub(crate) fn interrupted(message: impl Into<Words>) -> Self {
        Self::new(Exit::Interrupted, "interrupted", message)
    }

    /// The command needs a confirmation, and there is no terminal to ask for it.
    pub(crate) fn unconfirmed(what: Text<'_>) -> Self {
        let message = Words::new(|language| {
            Text::NeedsConfirmation { what: &what.text(language) }.text(language)
        });
        Self::new(Exit::Usage, "unconfirmed", message).hint(Text::AddYes)
    }

    /// The named object does not exist.
    pub(crate) fn not_found(message: impl Into<Words>) -> Self {
        Self::new(Exit::of(Code::NotFound), Code::NotFound.as_str(), message)
    }

    /// An I/O operation failed.
    pub(crate) fn io(what: &str, error: &std::io::Error) -> Self {
        Self::new(Exit::Usage, "io", format!("{what}: {error}"))
    }

    /// The output cannot be written.
    pub(crate) fn output(error: &std::io::Error) -> Self {
        Self::new(Exit::Usage, "io", Text::ToOutput { why: error })
    }

    /// A bug in Callboard.
    pub(crate) fn internal(message: impl Into<Words>) -> Self {
        Self::new(Exit::Internal, Code::Internal.as_str(), message)
    }

    /// Adds advice about the next step.
    pub(crate) fn hint(mut self, hint: impl Into<Words>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Formats the error for users.
    pub(crate) fn text(&self, language: Language) -> String {
        let mut text = format!("callboard: {}", escape::text(self.message.text(language)));
        let hint = self.hint.as_ref().map(|hint| hint.text(language));
        if let Some(hint) = hint.filter(|hint| !hint.is_empty()) {
            text.push_str("\n  → ");
            text.push_str(&escape::text(hint));
        }
        text
    }

    /// Formats the error for programs, in one line.
    pub(crate) fn json(&self, language: Language) -> String {
        let mut error = json!({
            "code": self.code,
            "message": self.message.text(language),
            "exit": self.exit.code(),
        });
        if let Some(field) = &self.field {
            error["field"] = json!(field);
        }
        if let Some(hint) = &self.hint {
            error["hint"] = json!(hint.text(language));
        }
        if let Some(details) = &self.details {
            error["details"] = Value::clone(details);
        }
        json!({"error": error}).to_string()
    }
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        let details = failure.winner.as_ref().map(|winner| {
            Box::new(json!({"winner": {
                "by": winner.by,
                "decision": winner.answer.decision,
                "value": winner.answer.value,
                "text": winner.answer.text,
            }}))
        });
        let (message, hint) = (refusal::message(&failure), refusal::hint(&failure));
        let message = match &failure.winner {
            None => message,
            Some(winner) => Words::new(|language| {
                let message = &message.text(language);
                Text::AnsweredBy { message, by: &winner.by }.text(language)
            }),
        };
        Self {
            exit: Exit::of(failure.code),
            code: failure.code.as_str(),
            message,
            field: failure.field,
            hint,
            details,
        }
    }
}

impl From<runtime::config::ConfigErrors> for CliError {
    fn from(errors: runtime::config::ConfigErrors) -> Self {
        let mistakes: Vec<Value> = errors
            .0
            .iter()
            .map(|m| json!({"key": m.key, "source": m.origin.to_string(), "why": m.why.text(Language::En)}))
            .collect();
        let field = errors.0.first().map(|m| m.key.clone()).filter(|k| !k.is_empty());
        Self {
            field,
            details: Some(Box::new(json!({"mistakes": mistakes}))),
            ..Self::new(Exit::Usage, "config", Words::new(|language| errors.text(language)))
        }
        .hint(Text::ConfigurationReference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_cannot_drive_a_terminal() {
        let error = CliError::usage("bad \u{1b}[2J goal").hint("look\u{202e}");
        let text = error.text(Language::En);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
        let json: Value = serde_json::from_str(&error.json(Language::En)).unwrap();
        assert_eq!(json["error"]["exit"], 2);
        assert_eq!(json["error"]["code"], "usage");
    }

    #[test]
    fn a_refusal_keeps_the_code_field_and_hint_of_the_server() {
        let error = CliError::from(Failure::new(Code::InvalidAnswer, "too short").at("value.name"));
        assert_eq!(error.exit, Exit::Refused);
        let json: Value = serde_json::from_str(&error.json(Language::En)).unwrap();
        assert_eq!(json["error"]["field"], "value.name");
        assert_eq!(json["error"]["code"], "invalid_answer");
    }
}
