//! Lists of files, and searches in them.

use std::num::NonZeroUsize;

use rstest::rstest;

use super::*;

/// A workspace with sources, behind which are files for all.
fn sources() -> Place {
    let place = Place::new();
    for path in ["src/deep", ".hidden"] {
        fs::create_dir_all(place.root().join(path)).unwrap();
    }
    for (path, text) in [
        ("src/main.rs", "fn main() {}\n// Note\n"),
        ("src/deep/lib.rs", "pub fn note() {}\n"),
        ("src/readme.md", "a note\r\nanother NOTE\r\n"),
        (".hidden/note.rs", "note"),
        ("shared.md", "my note"),
        ("binary", "note\0"),
    ] {
        fs::write(place.root().join(path), text).unwrap();
    }
    fs::create_dir(place.outer.path().join("src")).unwrap();
    fs::write(place.outer.path().join("shared.md"), "the note of all").unwrap();
    fs::write(place.outer.path().join("src/all.rs"), "fn note_of_all() {}").unwrap();
    place
}

fn paths(listing: &Listing) -> Vec<&str> {
    listing.entries.iter().map(|listed| listed.path.as_str()).collect()
}

fn never() -> CancellationToken {
    CancellationToken::new()
}

#[test]
fn a_directory_lists_its_own_names_before_those_for_all() {
    let place = sources();
    let all = place.workspace.list("").unwrap();
    let expected = [
        ".hidden",
        "absolute",
        "also-dir",
        "binary",
        "dir",
        "fifo",
        "hard",
        "inside",
        "magic",
        "outside",
        "plain.txt",
        "shared.md",
        "src",
        "up",
    ];
    assert_eq!((paths(&all), all.truncated), (expected.to_vec(), false));
    let of = |path: &str| all.entries.iter().find(|listed| listed.path == path).unwrap();
    assert_eq!((of("shared.md").bytes, of("shared.md").shared), (Some(7), false));
    assert_eq!((of("dir").kind, of("dir").bytes), (ListedKind::Directory, None));
    assert_eq!(of("outside").kind, ListedKind::Link);
    assert_eq!(of("fifo").kind, ListedKind::Other);
    let src = place.workspace.list("src/").unwrap();
    assert_eq!(paths(&src), ["src/all.rs", "src/deep", "src/main.rs", "src/readme.md"]);
    assert!(src.entries[0].shared && !src.entries[1].shared);
}

#[rstest]
#[case::for_all("")]
#[case::that_a_directory_hides("src")]
fn a_job_without_files_of_its_own_sees_those_for_all(#[case] path: &str) {
    let place = sources();
    let new = place.all.of(&Owner::Job(JobId::new("new").unwrap()));
    let listed = new.list(path).unwrap();
    assert!(listed.entries.iter().all(|listed| listed.shared), "{listed:?}");
    let names = paths(&listed);
    assert_eq!(names, if path.is_empty() { vec!["shared.md", "src"] } else { vec!["src/all.rs"] });
}

#[rstest]
#[case::of_a_name("*.rs", "", &["src/all.rs", "src/deep/lib.rs", "src/main.rs"])]
#[case::of_a_path("src/*.rs", "", &["src/all.rs", "src/main.rs"])]
#[case::of_any_depth("src/**/*.rs", "", &["src/all.rs", "src/deep/lib.rs", "src/main.rs"])]
#[case::below_a_directory("**/*.rs", "src/deep", &["src/deep/lib.rs"])]
#[case::relative_to_it("deep/*", "src", &["src/deep/lib.rs"])]
#[case::however_it_is_written("deep/*", "./src//", &["src/deep/lib.rs"])]
#[case::of_choices("*.{md,txt}", "", &["plain.txt", "shared.md", "src/readme.md"])]
#[case::of_nothing("*.py", "", &[])]
fn files_are_found_by_path(#[case] pattern: &str, #[case] at: &str, #[case] expected: &[&str]) {
    let place = sources();
    let found = place.workspace.find(pattern, at, &never()).unwrap();
    assert_eq!((paths(&found), found.truncated), (expected.to_vec(), false));
}

#[rstest]
#[case::everywhere(r"\bnote\b", None, false,
    &["shared.md:1:my note", "src/deep/lib.rs:1:pub fn note() {}", "src/readme.md:1:a note"])]
#[case::in_any_case("^.*note$", None, true, &["shared.md:1:my note", "src/main.rs:2:// Note",
    "src/readme.md:1:a note", "src/readme.md:2:another NOTE"])]
#[case::in_some_files("note", Some("src/*.rs"), false, &["src/all.rs:1:fn note_of_all() {}"])]
fn lines_are_found_by_their_text(
    #[case] pattern: &str,
    #[case] files: Option<&str>,
    #[case] ignore_case: bool,
    #[case] expected: &[&str],
) {
    let place = sources();
    let files = files.map(str::to_owned);
    let search =
        Search { pattern: pattern.replace('$', r"\r?$"), path: String::new(), files, ignore_case };
    let found = place.workspace.search(&search, &never()).unwrap();
    let lines: Vec<_> =
        found.matches.iter().map(|m| format!("{}:{}:{}", m.path, m.line, m.text)).collect();
    assert_eq!(
        (lines, found.truncated),
        (expected.iter().map(|s| (*s).to_owned()).collect(), false)
    );
}

#[test]
fn a_search_gives_a_bounded_part_and_says_so() {
    let place = sources();
    fs::write(place.root().join("long"), format!("{}\n", "é".repeat(3_000)).repeat(300)).unwrap();
    let search = |pattern: &str| {
        let (pattern, path) = (pattern.to_owned(), String::new());
        let search = Search { pattern, path, files: None, ignore_case: false };
        place.workspace.search(&search, &never()).unwrap()
    };
    let found = search("é");
    assert!(found.truncated && found.matches.len() < 200, "{}", found.matches.len());
    assert!(found.matches.iter().all(|found| found.text.chars().count() == 400));
    fs::write(place.root().join("long"), "x\n".repeat(300)).unwrap();
    let found = search("^x$");
    assert_eq!((found.truncated, found.matches.len()), (true, 200));
    for n in 0..1_001 {
        fs::write(place.root().join(format!("dir/{n}")), "").unwrap();
    }
    let listed = place.workspace.list("dir").unwrap();
    assert_eq!((listed.truncated, listed.entries.len()), (true, 1_000));
}

#[rstest]
#[case::paths("[", None)]
#[case::lines("a", Some("("))]
fn a_pattern_that_cannot_be_read_says_why(#[case] glob: &str, #[case] regex: Option<&str>) {
    let place = sources();
    let error = match regex {
        None => place.workspace.find(glob, "", &never()).unwrap_err(),
        Some(pattern) => {
            let (pattern, path) = (pattern.to_owned(), String::new());
            let search = Search { pattern, path, files: None, ignore_case: false };
            place.workspace.search(&search, &never()).unwrap_err()
        }
    };
    let FileError::Pattern { why, .. } = error else { panic!("{error}") };
    assert!(!why.is_empty() && !why.contains('\n'), "{why}");
}

#[rstest]
fn no_walk_leaves_the_workspace_or_enters_another_one(
    #[values(
        "..",
        "up",
        "outside",
        "magic",
        "/etc",
        "jobs",
        "jobs/mine",
        "./jobs",
        "JOBS",
        ".callboard",
        "plain.txt",
        "missing",
        "a\0b"
    )]
    path: &str,
) {
    let place = sources();
    place.all.journal(&never()).map(drop).unwrap();
    place.workspace.list(path).unwrap_err();
    place.workspace.find("*", path, &never()).unwrap_err();
}

#[test]
fn a_walk_follows_no_link_and_can_be_canceled() {
    let place = sources();
    let found = place.workspace.find("*", "", &never()).unwrap();
    assert!(paths(&found).iter().all(|path| !path.starts_with("up") && !path.contains("secret")));
    let canceled = never();
    canceled.cancel();
    assert_eq!(place.workspace.find("*", "", &canceled).unwrap_err(), FileError::Canceled);
}

#[rstest]
#[case::the_first(1, 1, "one\n", true)]
#[case::the_middle(2, 1, "two\n", true)]
#[case::to_the_end(2, 9, "two\nthree", false)]
#[case::the_last(3, 1, "three", false)]
#[case::behind_the_end(4, 1, "", false)]
fn lines_of_a_file_are_read(
    #[case] from: usize,
    #[case] count: usize,
    #[case] expected: &str,
    #[case] truncated: bool,
) {
    let place = Place::new();
    fs::write(place.root().join("f"), "one\ntwo\nthree").unwrap();
    let lines = Lines { from: NonZeroUsize::new(from).unwrap(), count };
    let content = place.workspace.read_lines("f", lines, &never()).unwrap();
    assert_eq!(String::from_utf8(content.bytes).unwrap(), expected);
    assert_eq!((content.truncated, content.size), (truncated, 13));
}

#[test]
fn lines_are_read_behind_the_largest_read() {
    let place = Place::with(Limits { read_bytes_max: 8, ..Limits::default() });
    fs::write(place.root().join("f"), "0123456789\nabcdefghijk\n").unwrap();
    let lines = Lines { from: NonZeroUsize::new(2).unwrap(), count: 5 };
    let content = place.workspace.read_lines("f", lines, &never()).unwrap();
    assert_eq!((content.bytes.as_slice(), content.truncated), (&b"abcdefgh"[..], true));
}
