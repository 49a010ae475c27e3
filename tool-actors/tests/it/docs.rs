//! The examples of docs/tools.md, parsed and compared with the code.

use std::collections::BTreeMap;

use proto::{
    decision::Decision,
    fact::Fact,
    id::{JobId, ToolName},
    interaction::approval_digest,
    record::{Body, Known, Record},
};
use runtime::registry::{self, Announcement};
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/tools.md");

/// Extracts the JSON blocks of the page by the word after `json`.
fn examples() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut rest = PAGE;
    while let Some((_, after)) = rest.split_once("```json") {
        let (word, after) = after.split_once('\n').unwrap();
        let (block, after) = after.split_once("```").unwrap();
        found.entry(word.trim()).or_default().push(block);
        rest = after;
    }
    found
}

#[test]
fn every_example_has_a_test() {
    let words: Vec<_> = examples().into_keys().collect();
    assert_eq!(
        words,
        ["announcement", "approval", "consumer", "presence", "record", "record-by-reference"]
    );
}

#[test]
fn the_announcement_would_be_accepted() {
    let example = example("announcement");
    let announcement: Announcement = serde_json::from_str(example).unwrap();
    registry::check(&announcement.spec).unwrap();
    let written = serde_json::to_value(&announcement).unwrap();
    assert_eq!(written, serde_json::from_str::<Value>(example).unwrap());
}

#[test]
fn records_are_read_and_written_as_they_stand_there() {
    let mut kinds = Vec::new();
    for example in &examples()["record"] {
        let record = Record::from_slice(example.as_bytes()).unwrap();
        kinds.push(record.kind.clone());
        let by = "x".parse().unwrap();
        let written = match record.known().unwrap() {
            Known::Fact(fact) => Record::of_fact(&fact, record.id.clone(), &by),
            Known::Decision(decision) => Record::of_decision(&decision, record.id.clone(), &by),
        };
        let mut written: Value = serde_json::from_slice(&written.unwrap().to_vec()).unwrap();
        written["by"] = record.by.clone().into();
        assert_eq!(written, serde_json::from_str::<Value>(example).unwrap());
    }
    assert_eq!(kinds, ["call", "called", "called", "called", "started"]);
}

#[test]
fn a_reference_is_read() {
    let example = example("record-by-reference");
    let record = Record::from_slice(example.as_bytes()).unwrap();
    assert!(matches!(record.body, Body::Stored(body) if body.bytes == 70_000));
}

#[test]
fn the_presence_is_one_of_a_worker() {
    let worker: proto::id::WorkerId = "python-1".parse().unwrap();
    let said = proto::presence::of_worker(worker, example("presence").as_bytes()).unwrap();
    assert_eq!(
        said.pools.iter().map(|pool| pool.pool.as_str()).collect::<Vec<_>>(),
        ["call.python"]
    );
}

#[test]
fn the_answers_belong_to_the_call() {
    let known: Vec<_> = examples()["record"]
        .iter()
        .map(|example| Record::from_slice(example.as_bytes()).unwrap().known().unwrap())
        .collect();
    let mut works = known.iter().map(|known| match known {
        Known::Decision(decision) => match &**decision {
            Decision::Call(call) => (call.work.clone(), call.attempt),
            other => panic!("{other:?}"),
        },
        Known::Fact(fact) => match &**fact {
            Fact::Called(called) => (called.work.clone(), called.attempt),
            Fact::Started(started) => (started.work.clone(), started.attempt),
            other => panic!("{other:?}"),
        },
    });
    let first = works.next().unwrap();
    assert!(works.all(|work| work == first));
}

#[test]
fn the_approval_has_the_digest_that_is_told() {
    let example = example("approval");
    let bound: Value = serde_json::from_str(example).unwrap();
    let text = |name: &str| bound[name].as_str().unwrap().to_owned();
    let digest = approval_digest(
        &JobId::new(text("job")).unwrap(),
        &text("work"),
        &ToolName::new(text("tool")).unwrap(),
        &text("version"),
        &bound["args"],
    );
    assert!(PAGE.contains(&digest), "{digest}");
}

#[test]
fn the_page_names_every_built_in_tool_and_fault() {
    for word in [
        "create_task",
        "update_task",
        "complete_task",
        "delete_task",
        "list_tasks",
        "todo",
        "schedule",
        "list_files",
        "find_files",
        "search_files",
        "read_file",
        "write_file",
        "edit_file",
        "move_file",
        "delete_file",
        "http_get",
        "http_post",
        "model",
        "stop",
        "echo",
        "sleep",
        "invalid_arguments",
        "unknown_tool",
        "version_mismatch",
        "timeout",
        "unavailable",
        "worker_lost",
        "internal",
        "unknown",
    ] {
        assert!(PAGE.contains(&format!("`{word}")), "{word}");
    }
}

/// Returns the only example of a kind.
pub(crate) fn example(kind: &str) -> &'static str {
    let [example] = examples()[kind][..] else { panic!("one example of {kind}") };
    example
}
