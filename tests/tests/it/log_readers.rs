//! The readers of a job's log. `proto` defines the contents of records, and `machine` their
//! meaning; other crates ask `machine`. A file elsewhere that names a kind of fact or decision is
//! listed here with its reason.

use std::collections::BTreeSet;

use crate::{
    purity::paths,
    sources::{self, Source},
};

/// The enums whose variants are kinds of records.
const BODIES: &[&str] = &["Fact", "Decision", "Note", "Known"];

/// The crates that read records, and directories without production code.
const READERS: &[&str] = &["proto/", "machine/", "bench/peers/", "examples/", "fuzz/", "tests/"];

/// Files that name kinds of records for a purpose other than the meaning of a log.
const OTHERS: &[(&str, &str)] = &[
    ("bench/src/busy.rs", "finds the worker of a result, for figures"),
    ("bench/src/ends.rs", "counts ends as they are stored, for figures"),
    ("bench/src/graphs/map.rs", "counts results by their worker, for figures"),
    ("bench/src/graphs/waiting.rs", "times the record that follows an event, for figures"),
    ("bench/src/logs.rs", "counts visits and records, for figures"),
    ("bench/src/parked.rs", "writes the answers of a measurement"),
    ("bench/src/stages.rs", "times records by kind, for figures"),
    ("bench/src/watching.rs", "writes the records of a measurement"),
    ("broker/src/memory/log.rs", "lets a timer fire: writes that fact"),
    ("broker/src/nats/log.rs", "writes the timer's fact as its scheduled message"),
    ("cli/src/commands/worker/stage.rs", "plays the supervisor for the check of a worker"),
    ("cli/src/render/family.rs", "shows one record in words, never its meaning for the job"),
    ("cli/src/render/history.rs", "shows one record in words, never its meaning for the job"),
    ("door/src/forking.rs", "writes the submission of a fork"),
    ("door/src/signal.rs", "writes signals"),
    ("door/src/submit.rs", "writes submissions"),
    ("door/src/rollback.rs", "finds the command of a step that a person names"),
    ("executor-actor/src/actor.rs", "parses its own command and writes its result"),
    ("interaction-actor/src/actor.rs", "parses its own commands"),
    ("interaction-actor/src/inbox_service.rs", "writes answers"),
    ("planner-actor/src/actor.rs", "parses its own command and writes its result"),
    ("runtime/src/observed.rs", "labels spans and counters by kind"),
    ("runtime/src/worker/local.rs", "names the kind of work whose time it expects"),
    ("runtime/src/worker/live.rs", "labels live updates by the command"),
    ("runtime/src/worker/observe.rs", "labels spans by the command"),
    ("runtime/src/worker/pool.rs", "finds the decision of a delivered command"),
    ("simulation/src/cases/excuse.rs", "judges the machine, so it must not ask it"),
    ("simulation/src/cases/expect.rs", "judges the machine, so it must not ask it"),
    ("simulation/src/cases/path.rs", "lists the commands of a log, for a comparison with a test"),
    ("simulation/src/verdict.rs", "judges the machine, so it must not ask it"),
    ("simulation/src/verdict/back.rs", "judges the machine, so it must not ask it"),
    ("simulation/src/verdict/families.rs", "judges the machine, so it must not ask it"),
    ("simulation/src/verdict/repeats.rs", "judges the machine, so it must not ask it"),
    ("simulation/src/verdict/workflows.rs", "judges the machine, so it must not ask it"),
    ("simulation/src/wire/log.rs", "injects faults by the kind of a write"),
    ("simulation/src/wire/misread.rs", "garbles results"),
    ("simulation/src/world.rs", "writes the first facts of a world"),
    ("supervisor/src/activation/batch.rs", "folds the decision that it is about to store"),
    ("supervisor/src/activation/fold.rs", "keeps the decisions that it stored itself"),
    ("supervisor/src/activation/pending.rs", "gives the effects of one decision their order"),
    ("supervisor/src/actors/job.rs", "stores what the machine decided, and counts it"),
    ("tool-actors/src/actor.rs", "parses its own command and writes its result"),
    ("tool-actors/src/intent.rs", "writes the intent to run"),
];

/// Returns whether a file belongs to tests or to the proof, which invent records.
fn makes_records_up(path: &str) -> bool {
    ["/tests/", "/tests.rs", "/testing/", "/proof/", "_tests.rs"]
        .iter()
        .any(|part| path.contains(part))
}

/// Returns the first line of a file that names a kind of record.
fn first_kind(source: &Source) -> Option<usize> {
    let names_kind = |segments: &[String]| {
        segments.windows(2).any(|pair| {
            BODIES.contains(&pair[0].as_str()) && pair[1].starts_with(char::is_uppercase)
        })
    };
    paths(&source.text).into_iter().find(|path| names_kind(&path.segments)).map(|path| path.line)
}

fn readers(sources: &[Source]) -> Vec<(String, usize)> {
    let is_elsewhere = |source: &&Source| {
        let path = source.path.as_str();
        !READERS.iter().any(|reader| path.starts_with(reader)) && !makes_records_up(path)
    };
    let found = sources.iter().filter(is_elsewhere);
    found.filter_map(|source| Some((source.path.clone(), first_kind(source)?))).collect()
}

#[test]
fn the_machine_alone_says_what_a_record_means() {
    let listed: BTreeSet<&str> = OTHERS.iter().map(|(path, _)| *path).collect();
    let found = readers(&sources::ending_with(".rs"));
    let new: Vec<String> = found
        .iter()
        .filter(|(path, _)| !listed.contains(path.as_str()))
        .map(|(path, line)| format!("{path}:{line} names a kind of record: ask the machine"))
        .collect();
    assert_eq!(new, Vec::<String>::new());
    let there: BTreeSet<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    let gone: Vec<_> = listed.difference(&there).collect();
    assert!(gone.is_empty(), "these name no kind of record any more: {gone:?}");
}

#[rstest::rstest]
#[case::a_match("fn f(d: Decision) { if let Decision::Finish(_) = d {} }", true)]
#[case::a_full_path("fn f() { g(proto::fact::Fact::Fired(x)) }", true)]
#[case::an_accessor("fn f(e: &Entry) { e.fact().and_then(|f| f.result_of()) }", false)]
#[case::the_type_alone("fn f(d: &Decision) -> DecisionKind { d.kind() }", false)]
#[case::a_test("#[cfg(test)] mod tests { fn f() { Fact::Fired(x) } }", false)]
fn a_reader_is_found(#[case] text: &str, #[case] found: bool) {
    let source = Source::of("door/src/novelty.rs", text);
    assert_eq!(!readers(&[source]).is_empty(), found, "{text}");
}
