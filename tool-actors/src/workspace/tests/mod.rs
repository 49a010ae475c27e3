//! Refusals and guarantees of the workspace, on a real file system.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use rstest::rstest;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;

mod changes;
mod looking;

/// A workspace, a file of another one, and paths that seem to lead there.
struct Place {
    outer: TempDir,
    all: Workspaces,
    workspace: Workspace,
}

impl Place {
    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let jobs = outer.path().join("jobs");
        let root = jobs.join("mine");
        fs::create_dir_all(&root).unwrap();
        fs::write(jobs.join("secret"), "secret").unwrap();
        fs::write(root.join("plain.txt"), "plain").unwrap();
        fs::create_dir(root.join("dir")).unwrap();
        symlink("plain.txt", root.join("inside")).unwrap();
        symlink("../secret", root.join("outside")).unwrap();
        symlink(jobs.join("secret"), root.join("absolute")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("/proc/self/root", root.join("magic")).unwrap();
        symlink("dir", root.join("also-dir")).unwrap();
        fs::hard_link(jobs.join("secret"), root.join("hard")).unwrap();
        mknodat(CWD, root.join("fifo"), FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
        let all = Workspaces::open(outer.path(), limits).unwrap();
        let workspace = all.of(&Owner::Job(JobId::new("mine").unwrap()));
        Self { outer, all, workspace }
    }

    fn root(&self) -> std::path::PathBuf {
        self.jobs().join("mine")
    }

    /// Returns the directory of all jobs' workspaces.
    fn jobs(&self) -> std::path::PathBuf {
        self.outer.path().join("jobs")
    }

    fn write(
        &self,
        path: &str,
        content: &str,
        append: bool,
        key: &str,
    ) -> Result<Written, FileError> {
        let content = content.to_owned();
        let change = if append { Change::Append(content) } else { Change::Replace(content) };
        self.change(path, change, key)
    }

    fn change(&self, path: &str, change: Change, key: &str) -> Result<Written, FileError> {
        let write = Write { path: path.into(), change, key: key.into() };
        self.workspace.write(&write, &CancellationToken::new())
    }

    fn relocate(&self, from: &str, to: Option<&str>, key: &str) -> Result<u64, FileError> {
        let to = to.map(str::to_owned);
        let relocation = Relocation { from: from.into(), to, key: key.into() };
        self.workspace.relocate(&relocation, &CancellationToken::new())
    }

    fn text(&self, path: impl AsRef<Path>) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// Lists the workspace's files and directories.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.root()).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

#[rstest]
#[case("../secret")]
#[case("dir/../../secret")]
#[case("/etc/passwd")]
#[case("outside")]
#[case("absolute")]
#[case("up/secret")]
#[case("magic/etc/passwd")]
#[case("hard")]
#[case("fifo")]
#[case("dir")]
#[case(".")]
#[case("plain.txt/x")]
#[case("missing")]
#[case("")]
#[case("a\0b")]
fn nothing_but_plain_files_beneath_the_workspace_is_read(#[case] path: &str) {
    let error = Place::new().workspace.read(path).unwrap_err();
    assert!(!error.to_string().contains("secret") || path.contains("secret"), "{error}");
}

#[test]
fn a_link_that_stays_beneath_is_read_through() {
    let place = Place::new();
    for path in ["plain.txt", "inside", "./dir/../plain.txt"] {
        assert_eq!(place.workspace.read(path).unwrap().bytes, b"plain", "{path}");
    }
}

#[test]
fn a_long_file_is_cut_and_says_so() {
    let place = Place::with(Limits { read_bytes_max: 3, ..Limits::default() });
    let content = place.workspace.read("plain.txt").unwrap();
    assert_eq!((content.bytes.as_slice(), content.size, content.truncated), (&b"pla"[..], 5, true));
}

#[rstest]
#[case("../secret")]
#[case("/etc/passwd")]
#[case("outside")]
#[case("absolute")]
#[case("inside")]
#[case("up/secret")]
#[case("up/new")]
#[case("also-dir/new")]
#[case("magic/tmp/new")]
#[case("hard")]
#[case("fifo")]
#[case("dir")]
#[case("plain.txt/x")]
#[case("callboard.toml")]
#[case("agents/loop.yaml")]
#[case(".git/hooks/pre-commit")]
#[case(".callboard/writes/x")]
fn nothing_but_plain_unprotected_files_beneath_the_workspace_is_written(#[case] path: &str) {
    let place = Place::new();
    let before = place.names();
    for append in [false, true] {
        place.write(path, "changed", append, "key").unwrap_err();
    }
    let secret = fs::read_to_string(place.jobs().join("secret")).unwrap();
    assert_eq!((secret.as_str(), place.text("plain.txt").as_str()), ("secret", "plain"));
    assert_eq!(place.names(), before);
    assert!(!place.jobs().join("new").exists());
}

#[test]
fn a_file_is_written_whole_with_the_directories_on_the_way() {
    let place = Place::new();
    let written = place.write("a/b/c.txt", "text", false, "1").unwrap();
    assert_eq!(
        written,
        Written { path: "a/b/c.txt".into(), bytes: 4, created: true, replaced: None }
    );
    assert_eq!(place.text("a/b/c.txt"), "text");
    assert!(!place.write("a/b/c.txt", "new", false, "2").unwrap().created);
    assert_eq!(place.text("a/b/c.txt"), "new");
}

#[test]
fn permissions_are_kept() {
    let place = Place::new();
    let path = place.root().join("plain.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4640)).unwrap();
    place.write("plain.txt", "x", false, "1").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
}

#[rstest]
#[case::append(true, "plain+")]
#[case::replace(false, "+")]
fn a_repeat_under_the_same_key_writes_nothing(#[case] append: bool, #[case] expected: &str) {
    let place = Place::new();
    let first = place.write("plain.txt", "+", append, "key").unwrap();
    assert_eq!(place.text("plain.txt"), expected);
    assert_eq!(place.write("plain.txt", "+", append, "key").unwrap(), first);
    assert_eq!(place.text("plain.txt"), expected);
    // Not even if another writer has changed the file since.
    fs::write(place.root().join("plain.txt"), "later").unwrap();
    assert_eq!(place.write("plain.txt", "+", append, "key").unwrap(), first);
    assert_eq!(place.text("plain.txt"), "later");
}

#[rstest]
#[case::other_content("plain.txt", "other", true)]
#[case::other_path("new.txt", "+", true)]
#[case::other_way("plain.txt", "+", false)]
fn another_write_under_a_used_key_is_refused(
    #[case] path: &str,
    #[case] content: &str,
    #[case] append: bool,
) {
    let place = Place::new();
    place.write("plain.txt", "+", true, "key").unwrap();
    for done in [true, false] {
        if !done {
            cut_off(&place, "key", "plain+");
        }
        let refused = place.write(path, content, append, "key").unwrap_err();
        assert_eq!(refused, FileError::KeyUsed(path.into()));
        assert_eq!(place.text("plain.txt"), "plain+");
        assert!(!place.root().join("new.txt").exists());
    }
}

/// Leaves the workspace as a killed writer would, after its journal entry: before or after the file
/// was replaced.
fn cut_off(place: &Place, key: &str, file: &str) {
    let path =
        place.outer.path().join(".callboard/writes").join(proto::digest::of_bytes(key.as_bytes()));
    let mut entry: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    entry["done"] = false.into();
    fs::write(&path, entry.to_string()).unwrap();
    fs::write(place.root().join("plain.txt"), file).unwrap();
}

#[rstest]
#[case::before_the_file_was_put_in_place("plain", Ok("plain+"))]
#[case::after("plain+", Ok("plain+"))]
#[case::and_somebody_wrote_since("other", Err(FileError::Unknown("plain.txt".into())))]
fn a_repeat_after_a_crash_appends_once_or_says_that_it_cannot_know(
    #[case] file: &str,
    #[case] expected: Result<&str, FileError>,
) {
    let place = Place::new();
    let first = place.write("plain.txt", "+", true, "key").unwrap();
    cut_off(&place, "key", file);
    let repeated = place.write("plain.txt", "+", true, "key");
    match expected {
        Ok(text) => {
            assert_eq!(repeated.unwrap(), first);
            assert_eq!(place.text("plain.txt"), text);
        }
        Err(error) => {
            assert_eq!(repeated.unwrap_err(), error);
            assert_eq!(place.text("plain.txt"), file);
        }
    }
}

#[test]
fn what_would_be_too_large_is_refused_and_leaves_nothing() {
    let place = Place::with(Limits { file_bytes_max: 7, ..Limits::default() });
    place.write("plain.txt", "xy", true, "1").unwrap();
    for (path, append) in [("plain.txt", true), ("new", false)] {
        let error = place.write(path, "12345678", append, "2").unwrap_err();
        assert_eq!(error, FileError::TooLarge { path: path.into(), max: 7 });
    }
    assert_eq!(place.text("plain.txt"), "plainxy");
    assert!(!place.root().join("new").exists());
}

#[test]
fn a_canceled_write_writes_nothing_and_can_be_made_later() {
    let place = Place::new();
    let canceled = CancellationToken::new();
    canceled.cancel();
    let change = Change::Append("x".to_owned());
    let write = Write { path: "plain.txt".to_owned(), change, key: "key".into() };
    assert_eq!(place.workspace.write(&write, &canceled).unwrap_err(), FileError::Canceled);
    assert_eq!(place.text("plain.txt"), "plain");
    place.workspace.write(&write, &CancellationToken::new()).unwrap();
    assert_eq!(place.text("plain.txt"), "plainx");
}

#[test]
fn writers_take_turns() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let place = &place;
            scope.spawn(move || place.write("log", "line\n", true, &format!("{n}")).unwrap());
        }
    });
    assert_eq!(place.text("log"), "line\n".repeat(8));
}

#[test]
fn a_path_swapped_for_a_link_again_and_again_never_leads_out() {
    let place = Place::new();
    let (link, next) = (place.root().join("swap"), place.root().join("next"));
    fs::write(place.root().join("dir/f"), "inside").unwrap();
    symlink("dir/f", &link).unwrap();
    // The guard stops the swapping thread even if an assertion fails; the scope waits for it.
    let stop = CancellationToken::new();
    std::thread::scope(|scope| {
        let _guard = stop.clone().drop_guard();
        scope.spawn(|| {
            for target in ["../secret", "dir/f"].into_iter().cycle() {
                if stop.is_cancelled() {
                    break;
                }
                symlink(target, &next).unwrap();
                fs::rename(&next, &link).unwrap();
            }
        });
        for n in 0..500 {
            if let Ok(content) = place.workspace.read("swap") {
                assert_eq!(content.bytes, b"inside");
            }
            place.write("swap", "x", false, &n.to_string()).unwrap_err();
        }
    });
    assert_eq!(fs::read_to_string(place.jobs().join("secret")).unwrap(), "secret");
}

#[test]
fn writes_of_long_ago_are_forgotten() {
    let place = Place::new();
    place.write("plain.txt", "x", false, "old").unwrap();
    place.write("plain.txt", "y", false, "new").unwrap();
    let entries = || fs::read_dir(place.outer.path().join(".callboard/writes")).unwrap().count();
    let old = place.outer.path().join(".callboard/writes").join(proto::digest::of_bytes(b"old"));
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(40 * 24 * 3600);
    fs::File::options().write(true).open(old).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(entries(), 2);
    place.all.forget_old_writes().unwrap();
    assert_eq!(entries(), 1);
}

#[test]
fn a_file_of_all_is_read_and_changed_in_a_copy() {
    let place = Place::new();
    let shared = place.outer.path().join("notes/of-all.md");
    fs::create_dir(place.outer.path().join("notes")).unwrap();
    fs::write(&shared, "all").unwrap();
    let other = place.all.of(&Owner::Conversation(ConversationId::new("talk").unwrap()));
    for workspace in [&place.workspace, &other] {
        assert_eq!(workspace.read("notes/of-all.md").unwrap().bytes, b"all");
    }
    let written = place.write("notes/of-all.md", "+", true, "1").unwrap();
    assert_eq!((written.bytes, written.created), (4, false));
    assert_eq!(place.write("notes/of-all.md", "+", true, "1").unwrap(), written);
    assert_eq!(place.workspace.read("notes/of-all.md").unwrap().bytes, b"all+");
    assert_eq!(other.read("notes/of-all.md").unwrap().bytes, b"all");
    assert_eq!(fs::read_to_string(shared).unwrap(), "all");
}

#[rstest]
fn nothing_of_another_job_is_read(
    #[values(
        "jobs/theirs/note",
        "./jobs//theirs/note",
        "notes/../jobs/theirs/note",
        "../theirs/note",
        "JOBS/theirs/note",
        "to-jobs/theirs/note",
        "conversations/theirs/note",
        ".callboard/lock",
        "theirs/note"
    )]
    path: &str,
    #[values(true, false)] has_own: bool,
) {
    let place = Place::new();
    fs::create_dir(place.outer.path().join("notes")).unwrap();
    symlink("jobs", place.outer.path().join("to-jobs")).unwrap();
    let id = |id: &str| JobId::new(id).unwrap();
    let theirs =
        [Owner::Job(id("theirs")), Owner::Conversation(ConversationId::new("theirs").unwrap())];
    for owner in theirs {
        let key = format!("{owner:?}");
        let change = Change::Replace("private".to_owned());
        let write = Write { path: "note".into(), change, key };
        place.all.of(&owner).write(&write, &CancellationToken::new()).unwrap();
    }
    let mine = place.all.of(&Owner::Job(id(if has_own { "mine" } else { "new" })));
    let error = mine.read(path).unwrap_err();
    assert!(matches!(error, FileError::Missing(_) | FileError::Outside(_)), "{error}");
}
