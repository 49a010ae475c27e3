//! Ways out of the sandbox, each of which must be refused.

use std::{collections::BTreeMap, fs, path::Path};

use callboard_sandbox::{Isolation, Status, Task};
use rstest::rstest;

use crate::place::{Place, Worker};

/// Number of ways that the script tries at least.
const WAYS: usize = 66;

#[rstest]
fn nothing_gets_out(#[values(Isolation::Kernel, Isolation::Namespaces)] isolation: Isolation) {
    for worker in Worker::that_have(isolation) {
        let place = Place::of(worker);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/escapes.py");
        fs::copy(script, place.at("escapes.py")).unwrap();
        let text = |name: &str| place.at(name).display().to_string();
        let arguments =
            [text("escapes.py"), text("secret"), text("sibling"), std::process::id().to_string()];
        let [script, secret, sibling, test] = &arguments;
        let task = place.task(isolation, &["/usr/bin/python3", script, secret, sibling, test]);
        let ended = place.ended(&Task { readable: vec![script.into()], ..task });
        assert_eq!(ended.status, Status::Exited(0), "{worker:?}: {}", ended.stderr.text);
        let tried: BTreeMap<String, String> = serde_json::from_str(&ended.stdout.text).unwrap();
        assert!(tried.len() >= WAYS, "only {} ways were tried", tried.len());
        let got: Vec<_> = tried.iter().filter(|(_, became)| *became != "refused").collect();
        assert!(got.is_empty(), "{worker:?} under {isolation}: {got:#?}");
        assert_eq!(fs::read_to_string(place.at("secret")).unwrap(), "a secret");
        assert_eq!(fs::read_dir(place.at("sibling")).unwrap().count(), 0);
    }
}

#[rstest]
fn a_command_works_in_its_workspace(
    #[values(Isolation::Kernel, Isolation::Namespaces)] isolation: Isolation,
) {
    for worker in Worker::that_have(isolation) {
        let place = Place::of(worker);
        let command = "mkdir d && echo text > d/file && mv d/file moved && ln -s moved link && \
                       cat link && id -u && test -z \"$SECRET\" && python3 -c 'print(6 * 7)'";
        let ended = place.sh(isolation, command);
        assert_eq!(ended.status, Status::Exited(0), "{worker:?}: {}", ended.stderr.text);
        let lines: Vec<_> = ended.stdout.text.lines().collect();
        assert_eq!((lines[0], lines[2]), ("text", "42"), "{worker:?}");
        assert_ne!(lines[1], "0", "{worker:?}: the command is root");
    }
}

#[test]
fn no_command_is_root() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::of(Worker::Root);
    for user in [None, Some(0)] {
        let task = Task { user, ..place.task(Isolation::Kernel, &["true"]) };
        assert_eq!(place.run(&task).missing_layer(), "user");
    }
}

#[test]
fn a_workspace_that_only_root_can_reach_works() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::of(Worker::Root);
    place.close();
    for isolation in [Isolation::Kernel, Isolation::Namespaces] {
        let ended = place.sh(isolation, "echo text > file && cat file && ls && rm file");
        assert_eq!((ended.status, &*ended.stdout.text), (Status::Exited(0), "text\nfile\n"));
    }
}

#[test]
fn a_container_without_namespaces_says_so() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::of(Worker::Container);
    assert_eq!(
        place.run(&place.task(Isolation::Namespaces, &["true"])).missing_layer(),
        "namespaces"
    );
}

/// In namespaces the directory becomes `/tmp`, unless the workspace is there.
#[rstest]
fn temporary_files_have_a_place(
    #[values(Isolation::Kernel, Isolation::Namespaces)] isolation: Isolation,
    #[values("/tmp", "/var/tmp")] at: &str,
) {
    for worker in Worker::that_have(isolation) {
        let place = Place::at_path(worker, at.as_ref());
        let temporary = tempfile::tempdir_in("/tmp").unwrap();
        place.give(temporary.path());
        let text = temporary.path().display().to_string();
        let task =
            place.task(isolation, &["sh", "-c", "echo text > $TMPDIR/f && cat $TMPDIR/f && pwd"]);
        let ended = place.ended(&Task {
            writable: vec![place.at("workspace"), temporary.path().to_owned()],
            variables: [("TMPDIR".to_owned(), text)].into(),
            temporary: Some(temporary.path().to_owned()),
            ..task
        });
        let workspace = place.at("workspace");
        let expected = format!("text\n{}\n", workspace.display());
        assert_eq!((ended.status, ended.stdout.text), (Status::Exited(0), expected), "{worker:?}");
    }
}
