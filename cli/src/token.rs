//! The caller's token, from the environment or a file. Never from an argument, which every user of
//! the machine can read.

use std::{os::unix::fs::PermissionsExt, path::Path};

use proto::lang::Words;

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
    /// Warning about a file that other users can read.
    pub(crate) warning: Option<Words>,
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
    let warning = open_to_others(path);
    Ok(Token { value: Some(checked("token-file", &text)?), warning })
}

fn from_environment() -> Result<Token, CliError> {
    match std::env::var(VARIABLE) {
        Ok(text) => Ok(Token { value: Some(checked(VARIABLE, &text)?), warning: None }),
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

/// Returns a warning if other users can read a secret's file.
pub(crate) fn open_to_others(path: &Path) -> Option<Words> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    let shown = path.display();
    let octal = format!("{:03o}", mode & 0o777);
    (mode & 0o044 != 0).then(|| Text::ReadableByOthers { file: &shown, mode: &octal }.into())
}
