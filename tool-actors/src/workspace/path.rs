//! Validation of writable paths: plain relative names without protected ones.
//!
//! This policy supplements the kernel's path resolution and never replaces it.

use super::{CONVERSATIONS, FileError, JOBS, error::Text};

/// Longest path, in bytes.
const PATH_BYTES_MAX: usize = 1024;

/// Largest number of names in a path.
const DEPTH_MAX: usize = 32;

/// Splits a writable path into its names, outermost first.
pub(super) fn writable<'a>(path: &'a str, protected: &[String]) -> Result<Vec<&'a str>, FileError> {
    let refuse =
        |why: Text<'_>| FileError::Path { path: path.chars().take(200).collect(), why: why.into() };
    if path.is_empty() || path.len() > PATH_BYTES_MAX {
        return Err(refuse(Text::Length { max: &PATH_BYTES_MAX }));
    }
    if path.starts_with('/') {
        return Err(refuse(Text::Absolute));
    }
    if path.ends_with('/') {
        return Err(refuse(Text::NamesDirectory));
    }
    if path.chars().any(invisible) {
        return Err(refuse(Text::Invisible));
    }
    let names: Vec<_> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    if names.is_empty() || names.contains(&"..") {
        return Err(refuse(Text::Parent));
    }
    if names.len() > DEPTH_MAX {
        return Err(refuse(Text::Deep { max: &DEPTH_MAX }));
    }
    let folded: Vec<_> = names.iter().map(|name| fold(name)).collect();
    let is_protected = |entry: &String| {
        let entry = fold(entry);
        let mut entry = entry.split('/').filter(|name| !name.is_empty()).peekable();
        entry.peek().is_some() && {
            let mut own = folded.iter();
            entry.all(|name| own.next().is_some_and(|n| n == name))
        }
    };
    if folded.iter().any(|name| name.starts_with('.')) || protected.iter().any(is_protected) {
        return Err(FileError::Protected(path.to_owned()));
    }
    Ok(names)
}

/// Splits the path of a directory to read into its names, outermost first; none for the workspace.
pub(super) fn directory(path: &str) -> Result<Vec<&str>, FileError> {
    let refuse =
        |why: Text<'_>| FileError::Path { path: path.chars().take(200).collect(), why: why.into() };
    if path.contains('\0') || path.len() > PATH_BYTES_MAX {
        return Err(refuse(Text::Length { max: &PATH_BYTES_MAX }));
    }
    if path.starts_with('/') {
        return Err(refuse(Text::Absolute));
    }
    let names: Vec<_> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    if names.contains(&"..") {
        return Err(refuse(Text::Parent));
    }
    Ok(names)
}

/// `true` if a path can name a file that all jobs may read. The workspaces and hidden directories
/// beside these files are none.
pub(super) fn is_shared(path: &str) -> bool {
    let mut names = Vec::new();
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        match name {
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.first().is_some_and(|first| {
        let first = fold(first);
        ![JOBS, CONVERSATIONS].contains(&first.as_str()) && !first.starts_with('.')
    })
}

/// Folds names that a case-insensitive file system treats as equal.
fn fold(name: &str) -> String {
    name.to_uppercase().to_lowercase()
}

/// `true` for characters that some file systems ignore and no name needs.
fn invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn protected() -> Vec<String> {
        vec!["callboard.toml".into(), "agents".into(), "deploy/prod.toml".into()]
    }

    #[rstest]
    fn configuration_policies_and_hidden_names_are_never_written(
        #[values(
            "callboard.toml",
            "./callboard.toml",
            "CallBoard.TOML",
            "agents/loop.yaml",
            "AGENTS/x",
            "agent\u{17f}/x",
            ".git/hooks/pre-commit",
            "a/.git/config",
            ".bashrc",
            "a/.envrc",
            "deploy//prod.toml"
        )]
        path: &str,
    ) {
        assert_eq!(
            writable(path, &protected()).unwrap_err(),
            FileError::Protected(path.to_owned())
        );
    }

    #[rstest]
    fn paths_are_plain_and_relative(
        #[values(
            "",
            "/etc/passwd",
            "..",
            "a/../../b",
            "a/",
            ".",
            "a\0b",
            "\u{200c}.git/x",
            "a\nb"
        )]
        path: &str,
    ) {
        assert!(matches!(writable(path, &protected()), Err(FileError::Path { .. })), "{path:?}");
    }

    #[test]
    fn other_paths_are_taken_apart() {
        for (path, names) in [
            ("a.txt", vec!["a.txt"]),
            ("./a//b/c", vec!["a", "b", "c"]),
            ("x/agents/y", vec!["x", "agents", "y"]),
            ("callboard.toml.md", vec!["callboard.toml.md"]),
            ("文件/笔记.md", vec!["文件", "笔记.md"]),
        ] {
            assert_eq!(writable(path, &protected()).unwrap(), names);
        }
    }
}
