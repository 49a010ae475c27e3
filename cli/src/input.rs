//! Text arguments, given on the command line, in a file (`@file`) or on standard input (`@-`):
//! limited in size, UTF-8, and never from a source that would block for ever.

use std::{
    io::{IsTerminal, Read, Write},
    path::Path,
};

use proto::{
    error::Failure,
    lang::{Language, Words},
    strict,
};
use serde_json::Value;

use crate::{failure::CliError, words::Text};

/// Reads an argument that may name a file. `@@` escapes a text that begins with `@`.
///
/// # Errors
/// If the file is missing, not regular, too large or not UTF-8.
pub(crate) fn text(field: &str, argument: &str, bytes_max: usize) -> Result<String, CliError> {
    let text = match argument.strip_prefix('@') {
        None => argument.to_owned(),
        Some(rest) if rest.starts_with('@') => rest.to_owned(),
        Some("-") => stdin(field, bytes_max)?,
        Some("") => return Err(CliError::input(field, Text::NoFileNamed)),
        Some(path) => file(field, Path::new(path), bytes_max)?,
    };
    if text.len() > bytes_max {
        return Err(too_large(field, Text::ThisInput, bytes_max));
    }
    Ok(text)
}

/// Reads an argument that is a JSON value, or names a file with one.
///
/// # Errors
/// As [`text`], and if the text is not JSON.
pub(crate) fn json(field: &str, argument: &str, bytes_max: usize) -> Result<Value, CliError> {
    let text = text(field, argument, bytes_max)?;
    strict::from_slice(text.as_bytes())
        .map_err(|e| CliError::input(field, Failure::from(e).message))
}

fn stdin(field: &str, bytes_max: usize) -> Result<String, CliError> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let words = Text::ReadingTerminal.text(crate::language());
        let _ = writeln!(std::io::stderr(), "{words}");
    }
    decode(field, Text::StandardInput, bounded(field, Text::StandardInput, stdin, bytes_max)?)
}

/// Reads a text file.
///
/// # Errors
/// If the file is missing, not regular, too large or not UTF-8.
pub(crate) fn file(field: &str, path: &Path, bytes_max: usize) -> Result<String, CliError> {
    decode(field, path.display().to_string(), bytes(field, path, bytes_max)?)
}

/// Reads a file as bytes.
///
/// # Errors
/// If the file is missing, not regular or too large.
pub(crate) fn bytes(field: &str, path: &Path, bytes_max: usize) -> Result<Vec<u8>, CliError> {
    let name = path.display().to_string();
    let fail = |why: String| CliError::input(field, format!("{name}: {why}"));
    // The type is checked before the open, which would block on a pipe without a writer.
    let kind = std::fs::metadata(path).map_err(|e| fail(e.to_string()))?;
    if kind.is_dir() {
        return Err(CliError::input(field, Text::Directory { name: &name }));
    }
    if !kind.is_file() {
        return Err(CliError::input(field, Text::NotRegular { name: &name }).hint(Text::PipeToFile));
    }
    let opened = std::fs::File::open(path).map_err(|e| fail(e.to_string()))?;
    bounded(field, name, opened, bytes_max)
}

fn bounded(
    field: &str,
    name: impl Into<Words>,
    from: impl Read,
    bytes_max: usize,
) -> Result<Vec<u8>, CliError> {
    let (name, mut bytes) = (name.into(), Vec::new());
    let most = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    from.take(most).read_to_end(&mut bytes).map_err(|e| {
        CliError::input(field, Words::new(|language| format!("{}: {e}", name.text(language))))
    })?;
    if bytes.len() > bytes_max {
        return Err(too_large(field, name, bytes_max));
    }
    Ok(bytes)
}

fn decode(field: &str, name: impl Into<Words>, bytes: Vec<u8>) -> Result<String, CliError> {
    let name = name.into();
    if bytes.contains(&0) {
        return Err(about(field, &name, |name, language| {
            Text::Binary { name: &name }.text(language)
        }));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        about(field, &name, |name, language| Text::NotUtf8 { name: &name, at: &at }.text(language))
    })
}

fn too_large(field: &str, name: impl Into<Words>, bytes_max: usize) -> CliError {
    about(field, &name.into(), |name, language| {
        Text::TooLarge { name: &name, max: &bytes_max }.text(language)
    })
}

/// Builds an error about an input that has a name in every language.
fn about(field: &str, name: &Words, text: impl Fn(&str, Language) -> String) -> CliError {
    CliError::input(field, Words::new(|language| text(name.text(language), language)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_file_is_refused_with_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("ok"), "目标").unwrap();
        std::fs::write(path("empty"), "").unwrap();
        std::fs::write(path("latin1"), b"caf\xe9").unwrap();
        std::fs::write(path("binary"), b"a\0b").unwrap();
        std::fs::write(path("huge"), vec![b'x'; 11]).unwrap();
        std::fs::write(path("a\nb"), "odd name").unwrap();
        for (name, expected) in [
            ("ok", Ok("目标")),
            ("empty", Ok("")),
            ("a\nb", Ok("odd name")),
            ("latin1", Err("is not UTF-8 text (byte 3)")),
            ("binary", Err("is binary")),
            ("huge", Err("is larger than 10 bytes")),
            ("missing", Err("No such file")),
            (".", Err("is a directory")),
        ] {
            let argument = format!("@{}", path(name).display());
            match (text("goal", &argument, 10), expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected),
                (Err(error), Err(part)) => {
                    let message = error.message.text(Language::En);
                    assert!(message.contains(part), "{name}: {message}");
                    assert_eq!(error.field.as_deref(), Some("goal"));
                }
                (got, expected) => panic!("{name}: {got:?}, not {expected:?}"),
            }
        }
        assert_eq!(text("goal", "@@home", 10).unwrap(), "@home");
        assert!(text("goal", "@", 10).is_err());
        assert!(text("goal", "more than ten", 10).is_err());
    }
}
