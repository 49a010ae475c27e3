//! Tests that docs/events.md shows every kind and phase of event in its exact form.

use std::collections::BTreeSet;

use callboard_proto::{
    door::Watched,
    event::{Event, StepPhase},
};
use serde_json::Value;

fn document() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/events.md");
    std::fs::read_to_string(path).unwrap()
}

/// Returns the lines of all blocks of a kind.
fn lines(kind: &str) -> Vec<String> {
    let (document, head) = (document(), format!("```json {kind}\n"));
    let blocks = document.split(&head).skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

#[test]
fn every_event_that_is_shown_is_one_and_is_written_so() {
    for line in lines("event") {
        let event: Event = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
        let shown: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), shown);
        assert_eq!(event.happened.word(), shown["type"], "{line}");
    }
    for line in lines("live") {
        assert!(matches!(serde_json::from_str(&line), Ok(Watched::Live { .. })), "{line}");
    }
}

#[test]
fn every_kind_and_phase_is_shown_or_named() {
    let shown: BTreeSet<String> = lines("event")
        .iter()
        .map(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            let more = ["phase", "stream", "scope"].into_iter().find_map(|f| event[f].as_str());
            more.map_or_else(
                || event["type"].as_str().unwrap().to_owned(),
                |more| format!("{} {more}", event["type"].as_str().unwrap()),
            )
        })
        .collect();
    for wanted in [
        "error attempt",
        "error guard",
        "error parked",
        "error job",
        "interaction answered",
        "interaction asked",
        "interaction closed",
        "interaction settled",
        "interaction signaled",
        "interaction told",
        "job",
        "message result",
        "message thought",
        "plan completed",
        "plan created",
        "plan updated",
        "step completed",
        "step started",
        "tool called",
        "tool calling",
        "turn asked",
        "usage",
    ] {
        assert!(shown.contains(wanted), "{wanted} is not shown");
    }
    use StepPhase::{
        Blocked, Canceled, Completed, Failed, Resumed, Retried, Skipped, Started, Waiting,
    };
    for phase in [Started, Retried, Waiting, Resumed, Completed, Failed, Blocked, Skipped, Canceled]
    {
        assert!(document().contains(&format!("`{}`", phase.as_str())), "{}", phase.as_str());
    }
}
