//! Tests of the commands in documents: every command is executed or proved elsewhere.
//!
//! Commands are in two kinds of blocks. In an `sh` block every line is a command. In a `console`
//! block the lines that begin with `$ ` are commands, and the others are their output (`...` for
//! any lines, `[..]` for any characters). Each command is settled in one of two ways:
//!
//! * The block is marked `run` (as in "console run"). Then it is executed here, in a directory of
//!   its own with a copy of `examples/`, with `callboard` and `nats-server` on the PATH and no
//!   other environment. The blocks of one document run in order and share the directory. A block
//!   marked `run on` continues in the shell of the block before, with its variables and background
//!   processes.
//! * The command is in [`PROVED`], with the test or script that runs it.

mod listing;
mod proofs;

use std::{collections::BTreeSet, path::Path, process::Command};

use self::{
    listing::{Run, listings, sessions},
    proofs::{PROVED, Proof},
};
use crate::{
    session::{self, Exchange},
    sources::{self, Source},
};

/// Returns the mistakes that need no execution. `holds` returns whether a proof's file contains its
/// marker.
fn unproved(documents: &[Source], proofs: &[Proof], holds: impl Fn(&Proof) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut needed = BTreeSet::new();
    for document in documents {
        let (found, badly_written) = listings(document);
        wrong.extend(badly_written);
        for listing in found.iter().filter(|listing| listing.run == Run::Elsewhere) {
            for Exchange { command, .. } in &listing.exchanges {
                needed.insert(command.clone());
                if !proofs.iter().any(|proof| proof.command == command) {
                    let at = format!("{}:{}", listing.path, listing.line);
                    wrong.push(format!(
                        "{at}: `{command}`: mark the block `run`, or name its proof"
                    ));
                }
            }
        }
    }
    for proof in proofs {
        if !needed.contains(proof.command) {
            wrong.push(format!("`{}` is proved and in no document: drop the proof", proof.command));
        }
        if !holds(proof) {
            let Proof { command, file, marker } = proof;
            wrong.push(format!("`{command}` is no longer proved: `{marker}` is not in {file}"));
        }
    }
    wrong
}

/// Returns the documents for readers. The changelog is not one of them, since it names removed
/// commands.
fn documents() -> Vec<Source> {
    let mut found = sources::ending_with(".md");
    found.retain(|source| source.path != "CHANGELOG.md" && !source.path.contains("/prompts/"));
    found
}

fn holds(proof: &Proof) -> bool {
    std::fs::read_to_string(callboard_tests::root().join(proof.file))
        .is_ok_and(|text| text.contains(proof.marker))
}

#[test]
fn every_command_in_the_documents_is_run_or_proved() {
    assert_eq!(unproved(&documents(), PROVED, holds), Vec::<String>::new());
}

#[test]
fn commands_marked_run_do_what_the_documents_show() {
    let mut wrong = Vec::new();
    for document in documents() {
        let found = sessions(listings(&document).0);
        if found.is_empty() {
            continue;
        }
        let callboard = callboard_tests::callboard();
        let nats_server = callboard_tests::installed("nats-server");
        let paths: Vec<&Path> =
            [callboard, &nats_server].iter().filter_map(|p| p.parent()).collect();
        let directory = tempfile::tempdir().expect("there is room for a directory");
        copy_examples(directory.path());
        for listing in found {
            if let Err(why) = session::run(&listing.exchanges, directory.path(), &paths) {
                wrong.push(format!("{}:{}: {why}", listing.path, listing.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn copy_examples(directory: &Path) {
    let examples = callboard_tests::root().join("examples");
    if examples.is_dir() {
        let copied = Command::new("cp").arg("-r").arg(examples).arg(directory).status();
        assert!(copied.is_ok_and(|status| status.success()), "cannot copy examples/");
    }
}

#[rstest::rstest]
#[case::proved("```sh\n# why\nmake it\n```", None)]
#[case::proved_with_a_prompt("```sh\n$ make it\n```", None)]
#[case::proved_with_output("```console\n$ make it\nmade\n```", None)]
#[case::no_commands("```sh\nmake it\n```\n```json\n{}\n```\n```\n$x\n```", None)]
#[case::run("```sh\nmake it\n```\n```sh run\nmake that\n```", None)]
#[case::not_proved("```sh\nmake it\nmake that\n```", Some("a.md:1: `make that`: mark the block"))]
#[case::half_a_command(
    "```sh\nmake it\nmake \\\n  it\n```",
    Some("`make \\\n  it`: mark the block")
)]
#[case::no_longer_used("```sh run\nmake it\n```", Some("`make it` is proved and in no document"))]
#[case::another_shell("```sh\nmake it\n```\n```bash\nmake that\n```", Some("a.md:4: write `sh`"))]
#[case::no_shell(
    "```sh\nmake it\n```\n```\n$ make that\n```",
    Some("a.md:4: a block with commands")
)]
#[case::a_mistake("```sh\nmake it\n```\n```sh rnu\nmake that\n```", Some("a.md:4: only `run`"))]
#[case::nothing_to_continue(
    "```sh\nmake it\n```\n```sh run on\nmake that\n```",
    Some("a.md:4: no block is run that it could continue")
)]
#[case::no_prompt("```sh\nmake it\n```\n```console\nmake that\n```", Some("a.md:4: no command"))]
fn a_command_that_nobody_ran_is_found(#[case] text: &str, #[case] expected: Option<&str>) {
    let proofs = [Proof { command: "make it", file: "b.rs", marker: "fn it" }];
    let wrong = unproved(&[Source::of("a.md", text)], &proofs, |_| true);
    match expected {
        None => assert_eq!(wrong, Vec::<String>::new()),
        Some(expected) => {
            assert_eq!(wrong.len(), 1, "{wrong:?}");
            assert!(wrong[0].contains(expected), "{wrong:?}");
        }
    }
}

#[test]
fn a_proof_that_is_gone_is_found() {
    let proofs = [Proof { command: "make it", file: "b.rs", marker: "fn it" }];
    let wrong = unproved(&[Source::of("a.md", "```sh\nmake it\n```")], &proofs, |_| false);
    assert_eq!(wrong, ["`make it` is no longer proved: `fn it` is not in b.rs"]);
    assert!(!holds(&proofs[0]));
}
