//! Tests of the image, without Docker. hadolint checks the Dockerfile, and the tests check the
//! files that it copies and the commands that it starts.

use std::process::Command;

use super::{dry::Given, path, text};

#[test]
fn hadolint_finds_nothing_in_the_dockerfile() {
    let judged = Command::new(callboard_tests::installed("hadolint"))
        .arg("--no-color")
        .arg(path("Dockerfile"))
        .output()
        .unwrap();
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
    let directory = tempfile::tempdir().unwrap();
    let bad = directory.path().join("Dockerfile");
    std::fs::write(&bad, "FROM debian:latest\nRUN cd /\n").unwrap();
    let judged = Command::new(callboard_tests::installed("hadolint")).arg(bad).output().unwrap();
    assert!(!judged.status.success(), "it finds something where there is something");
}

#[test]
fn the_toolchain_is_the_one_of_the_repository() {
    let file =
        std::fs::read_to_string(callboard_tests::root().join("rust-toolchain.toml")).unwrap();
    let channel = file.parse::<toml::Table>().unwrap()["toolchain"]["channel"]
        .as_str()
        .map(str::to_owned)
        .unwrap();
    let dockerfile = text("Dockerfile");
    assert!(dockerfile.contains(&format!("RUST_IMAGE=rust:{channel}-slim-bookworm")), "{channel}");
    assert!(dockerfile.contains(&format!("RUSTUP_TOOLCHAIN={channel}")), "{channel}");
}

#[test]
fn what_the_program_is_built_from_is_sent_to_docker_and_keys_are_not() {
    let root = callboard_tests::root();
    let lines = text("Dockerfile.dockerignore");
    let mut lines = lines.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(lines.next(), Some("*"), "nothing is sent that is not named");
    let sent: Vec<&str> = lines.filter_map(|line| line.strip_prefix('!')).collect();
    for name in &sent {
        assert!(root.join(name).exists(), "{name} is not there");
        assert!(!name.starts_with("deploy"), "{name}: keys lie there");
    }
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let members = manifest.parse::<toml::Table>().unwrap()["workspace"]["members"].clone();
    for member in members.as_array().unwrap() {
        assert!(
            sent.contains(&member.as_str().unwrap()),
            "{member} is needed to read the workspace"
        );
    }
}

#[test]
fn the_program_knows_what_the_image_starts_and_asks() {
    let dockerfile = text("Dockerfile");
    // Exec forms are JSON.
    let list = |start: &str| -> Vec<String> {
        let line = dockerfile.lines().map(str::trim).find(|line| line.starts_with(start));
        let line = line.unwrap_or_else(|| panic!("no {start} in the Dockerfile"));
        let at = line.find('[').unwrap();
        serde_json::from_str(&line[at..]).unwrap()
    };
    let program = list("ENTRYPOINT");
    assert_eq!(program, ["/usr/local/bin/callboard"]);
    let health = list("CMD [\"/usr");
    assert_eq!(health[..1], program[..]);
    for args in [list("CMD [\"serve"), health[1..].to_vec()] {
        // The roles are given at the start. A role without a model serves as an example.
        let mut args = args;
        if args == ["serve"] {
            args.extend(["--roles".to_owned(), "supervisor".to_owned()]);
        }
        assert_eq!(Given { args, ..Given::default() }.wrong(), None);
    }
    assert!(dockerfile.contains("\nUSER 65532:65532\n"), "by number, and not root");
    assert!(dockerfile.contains("\nSTOPSIGNAL SIGTERM\n"));
}
