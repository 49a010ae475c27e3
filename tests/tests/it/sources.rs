//! The files of the checkout for the other modules, without those that git ignores.

use std::{fs, path::Path};

/// A text file.
pub(crate) struct Source {
    /// The path from the root, with `/`.
    pub(crate) path: String,
    /// The content of the file.
    pub(crate) text: String,
}

impl Source {
    /// Creates a source for a test.
    pub(crate) fn of(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }
}

/// Returns every text file whose path ends with `end`, ordered by path. Files that are not UTF-8
/// are left out.
pub(crate) fn ending_with(end: &str) -> Vec<Source> {
    let root = callboard_tests::root();
    let mut found: Vec<Source> = ignore::WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(|entry| read(root, entry.path()))
        .filter(|source| source.path.ends_with(end))
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "no file ends with {end:?}: the walk is broken");
    found
}

/// Returns every text file.
pub(crate) fn all() -> Vec<Source> {
    ending_with("")
}

fn read(root: &Path, path: &Path) -> Option<Source> {
    let below = path.strip_prefix(root).ok()?.to_str()?;
    let text = fs::read_to_string(path).ok()?;
    Some(Source { path: below.replace('\\', "/"), text })
}

#[test]
fn the_walk_sees_this_file_and_nothing_that_git_ignores() {
    let paths: Vec<String> = all().into_iter().map(|source| source.path).collect();
    assert!(paths.iter().any(|path| path == "tests/tests/it/sources.rs"));
    assert!(paths.iter().any(|path| path == ".ci/run"), "hidden directories are looked at");
    assert!(!paths.iter().any(|path| path.starts_with("target/") || path.starts_with(".git/")));
}
