//! The caller's token, from the environment or a file. Never from an argument, which every user of
//! the machine can read.

use std::{os::unix::fs::PermissionsExt, path::Path};

use crate::{args::Global, failure::CliError, input, words::Text};

/// Environment variable that contains a token.
pub(crate) const VARIABLE: &str = "CALLBOARD_TOKEN";
/// Longest token, in bytes.
const BYTES_MAX: usize = 8 * 1024;

/// A token, and a warning about its source.
#[derive(Default, PartialEq, Eq, derive_more::Debug)]
// Hides the token.
#[debug("Token {{ is_set: {} }}", value.is_some())]
pub(crate) struct Token {
    /// The token, if one is configured.
    pub(crate) value: Option<String>,
    /// File of the token, if other users can read it.
    pub(crate) exposed: Option<Exposed>,
}

/// A secret's file that other users of the machine can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exposed {
    /// Path of the file.
    pub(crate) file: String,
    /// Permission bits of the file, in octal digits.
    pub(crate) mode: String,
}

impl Exposed {
    /// Returns the warning about the file.
    pub(crate) fn warning(&self) -> Text<'_> {
        Text::ReadableByOthers { file: &self.file, mode: &self.mode }
    }
}

/// Finds the token.
///
/// # Errors
/// If the token was given as an argument, or its file cannot be used.
pub(crate) fn find(global: &Global) -> Result<Token, CliError> {
    // The message does not repeat the argument.
    if global.token.is_some() {
        return Err(
            CliError::usage(Text::TokenArgument).hint(Text::TokenPlace { variable: &VARIABLE })
        );
    }
    let Some(path) = &global.token_file else { return from_environment() };
    let text = input::file("token-file", path, BYTES_MAX)?;
    Ok(Token { value: Some(checked("token-file", &text)?), exposed: open_to_others(path) })
}

fn from_environment() -> Result<Token, CliError> {
    match std::env::var(VARIABLE) {
        Ok(text) => Ok(Token { value: Some(checked(VARIABLE, &text)?), exposed: None }),
        Err(std::env::VarError::NotPresent) => Ok(Token::default()),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(CliError::input(VARIABLE, Text::TokenNotUtf8 { variable: &VARIABLE }))
        }
    }
}

fn checked(field: &str, text: &str) -> Result<String, CliError> {
    let token = text.trim();
    if token.is_empty() {
        return Err(CliError::input(field, Text::NoToken { field: &field }));
    }
    if token.chars().any(char::is_control) {
        return Err(CliError::input(field, Text::TokenLines { field: &field }));
    }
    Ok(token.to_owned())
}

/// Checks whether other users can read a secret's file.
pub(crate) fn open_to_others(path: &Path) -> Option<Exposed> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    let (file, octal) = (path.display().to_string(), format!("{:03o}", mode & 0o777));
    (mode & 0o044 != 0).then_some(Exposed { file, mode: octal })
}
