//! The files of the checkout, as the other modules look at them: what git ignores is left out.

use std::{fs, path::Path};

/// A text file.
pub(crate) struct Source {
    /// Its path from the root, with `/`.
    pub(crate) path: String,
    /// What is in it.
    pub(crate) text: String,
}

impl Source {
    /// A source made up by a test.
    pub(crate) fn of(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }
}

/// Every text file whose path ends like this, in the order of the paths. Files that are not UTF-8
/// are no text and are left out.
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

/// Every text file.
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
