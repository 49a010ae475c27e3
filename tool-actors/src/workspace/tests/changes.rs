//! Edits, moves and removals, each once per idempotency key.

use rstest::rstest;

use super::*;

fn edit(old: &str, new: &str, all: bool) -> Change {
    Change::Edit(Edit { old: old.into(), new: new.into(), all })
}

/// Marks the journal's entry of a key as not done, as a killed worker leaves it.
fn cut_off(place: &Place, key: &str) {
    let path =
        place.outer.path().join(".callboard/writes").join(proto::digest::of_bytes(key.as_bytes()));
    let mut entry: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    entry["done"] = false.into();
    fs::write(&path, entry.to_string()).unwrap();
}

#[rstest]
#[case::once("one two", "two", "2", false, Ok(("one 2", 1)))]
#[case::over_lines("a\nb\nc\n", "b\nc", "x", false, Ok(("a\nx\n", 1)))]
#[case::everywhere("a a a", "a", "bb", true, Ok(("bb bb bb", 3)))]
#[case::to_nothing("keep gone", " gone", "", false, Ok(("keep", 1)))]
#[case::not_there("one", "two", "2", false, Err(FileError::NoMatch("f".into())))]
#[case::not_there_at_all("one", "two", "2", true, Err(FileError::NoMatch("f".into())))]
#[case::several("a a", "a", "b", false,
    Err(FileError::Ambiguous { path: "f".into(), times: 2 }))]
fn an_edit_replaces_exactly_what_it_names(
    #[case] before: &str,
    #[case] old: &str,
    #[case] new: &str,
    #[case] all: bool,
    #[case] expected: Result<(&str, usize), FileError>,
) {
    let place = Place::new();
    fs::write(place.root().join("f"), before).unwrap();
    let edited = place.change("f", edit(old, new, all), "key");
    match expected {
        Ok((after, times)) => {
            let edited = edited.unwrap();
            assert_eq!((edited.replaced, edited.bytes), (Some(times), after.len() as u64));
            assert_eq!(place.text("f"), after);
            // A repeat replaces nothing further.
            assert_eq!(place.change("f", edit(old, new, all), "key").unwrap(), edited);
            cut_off(&place, "key");
            assert_eq!(place.change("f", edit(old, new, all), "key").unwrap(), edited);
            assert_eq!(place.text("f"), after);
        }
        Err(error) => {
            assert_eq!(edited.unwrap_err(), error);
            assert_eq!(place.text("f"), before);
        }
    }
}

#[test]
fn an_edit_that_would_make_a_file_too_large_is_refused_before_it_is_made() {
    let place = Place::new();
    fs::write(place.root().join("f"), "a".repeat(1 << 20)).unwrap();
    let refused = place.change("f", edit("a", &"b".repeat(1 << 20), true), "key").unwrap_err();
    let max = Limits::default().file_bytes_max;
    assert_eq!(refused, FileError::TooLarge { path: "f".into(), max });
}

#[test]
fn only_text_is_edited_and_no_edit_makes_a_file() {
    let place = Place::new();
    fs::write(place.root().join("binary"), [0xff, b'a']).unwrap();
    let refused = |path| place.change(path, edit("a", "b", false), path).unwrap_err();
    assert_eq!(refused("binary"), FileError::Binary("binary".into()));
    assert_eq!(refused("missing"), FileError::Missing("missing".into()));
    assert_eq!(refused("a/b/missing"), FileError::Missing("a/b/missing".into()));
    assert!(!place.root().join("missing").exists() && !place.root().join("a").exists());
}

#[test]
fn an_edit_of_a_file_for_all_changes_a_copy() {
    let place = Place::new();
    fs::write(place.outer.path().join("shared.md"), "for all").unwrap();
    place.change("shared.md", edit("all", "me", false), "key").unwrap();
    assert_eq!(place.text("shared.md"), "for me");
    assert_eq!(fs::read_to_string(place.outer.path().join("shared.md")).unwrap(), "for all");
}

#[rstest]
#[case::moved(Some("new/place.txt"))]
#[case::deleted(None)]
fn a_file_leaves_its_path_once(#[case] to: Option<&str>) {
    let place = Place::new();
    let leave = || place.relocate("plain.txt", to, "key");
    assert_eq!(leave().unwrap(), 5);
    assert!(!place.root().join("plain.txt").exists());
    if let Some(to) = to {
        assert_eq!(place.text(to), "plain");
    }
    // A repeat leaves alone what another writer has put there since.
    fs::write(place.root().join("plain.txt"), "later").unwrap();
    assert_eq!(leave().unwrap(), 5);
    assert_eq!(place.text("plain.txt"), "later");
    let other = place.relocate("plain.txt", Some("elsewhere"), "key").unwrap_err();
    assert_eq!(other, FileError::KeyUsed("plain.txt".into()));
}

#[rstest]
#[case::before_it_left(Some("new"), false)]
#[case::after_it_arrived(Some("new"), true)]
#[case::after_it_was_deleted(None, true)]
fn a_repeat_after_a_crash_finishes_what_was_begun(#[case] to: Option<&str>, #[case] left: bool) {
    let place = Place::new();
    let file = place.root().join("plain.txt");
    assert_eq!(place.relocate("plain.txt", to, "key").unwrap(), 5);
    cut_off(&place, "key");
    if !left && let Some(to) = to {
        fs::rename(place.root().join(to), &file).unwrap();
    }
    assert_eq!(place.relocate("plain.txt", to, "key").unwrap(), 5);
    assert!(!file.exists());
    if let Some(to) = to {
        assert_eq!(place.text(to), "plain");
    }
}

#[rstest]
#[case::another_file_where_it_was(Some("new"), "plain.txt")]
#[case::another_file_where_it_was_deleted(None, "plain.txt")]
#[case::another_file_where_it_should_be(Some("new"), "new")]
fn a_repeat_after_a_crash_says_when_it_cannot_know(
    #[case] to: Option<&str>,
    #[case] written: &str,
) {
    let place = Place::new();
    place.relocate("plain.txt", to, "key").unwrap();
    cut_off(&place, "key");
    let path = place.root().join(written);
    // A new file, and not new content of the same one.
    let _ = fs::remove_file(&path);
    fs::write(&path, "another").unwrap();
    let unknown = FileError::Unknown("plain.txt".into());
    assert_eq!(place.relocate("plain.txt", to, "key").unwrap_err(), unknown);
    assert_eq!(place.text(written), "another");
}

#[rstest]
#[case::taken("plain.txt", Some("taken"), FileError::Exists("taken".into()))]
#[case::taken_by_all("plain.txt", Some("shared.md"), FileError::Exists("shared.md".into()))]
#[case::for_all("shared.md", Some("mine.md"), FileError::Shared("shared.md".into()))]
#[case::for_all_deleted("shared.md", None, FileError::Shared("shared.md".into()))]
#[case::missing("missing", None, FileError::Missing("missing".into()))]
#[case::missing_directory("a/b/missing", Some("x"), FileError::Missing("a/b/missing".into()))]
#[case::protected("plain.txt", Some(".git/config"), FileError::Protected(".git/config".into()))]
#[case::protected_deleted("agents/a.yaml", None, FileError::Protected("agents/a.yaml".into()))]
fn what_does_not_fit_changes_nothing(
    #[case] from: &str,
    #[case] to: Option<&str>,
    #[case] expected: FileError,
) {
    let place = Place::new();
    fs::write(place.root().join("taken"), "taken").unwrap();
    fs::write(place.outer.path().join("shared.md"), "for all").unwrap();
    assert_eq!(place.relocate(from, to, "key").unwrap_err(), expected);
    assert_eq!((place.text("plain.txt"), place.text("taken")), ("plain".into(), "taken".into()));
    assert_eq!(fs::read_to_string(place.outer.path().join("shared.md")).unwrap(), "for all");
    // The key is free for a request that fits.
    assert_eq!(place.relocate("plain.txt", Some("free"), "key").unwrap(), 5);
}

#[rstest]
fn nothing_but_plain_files_of_the_workspace_moves(
    #[values("../secret", "outside", "up/secret", "hard", "fifo", "dir", "inside", "magic/x")]
    from: &str,
    #[values(Some("free"), None)] to: Option<&str>,
) {
    let place = Place::new();
    place.relocate(from, to, "key").unwrap_err();
    assert!(fs::symlink_metadata(place.root().join("dir")).unwrap().is_dir());
    assert_eq!(fs::read_to_string(place.jobs().join("secret")).unwrap(), "secret");
    for path in ["outside", "hard", "fifo", "inside"] {
        assert!(fs::symlink_metadata(place.root().join(path)).is_ok(), "{path}");
    }
}

#[rstest]
#[case("../moved")]
#[case("up/moved")]
#[case("also-dir/moved")]
#[case("plain.txt/moved")]
fn nothing_moves_out_of_the_workspace_or_through_a_link(#[case] to: &str) {
    let place = Place::new();
    place.relocate("plain.txt", Some(to), "key").unwrap_err();
    assert_eq!(place.text("plain.txt"), "plain");
    assert!(!place.jobs().join("moved").exists());
}
