//! Artifacts: the files that calls publish.

use proto::{
    cost::Cost,
    event::Happened,
    fact::{Called, Fact},
    file::{Content, File, FileName, Piece},
    id::Seq,
    tool::{Fault, ToolResult},
};
use serde_json::json;

use super::{forking::fork, play::*};
use crate::events::Projection;

fn file(name: &str, bytes: u64) -> File {
    let content = Content::Pieces(vec![Piece { sha256: "0".repeat(64), bytes }]);
    File { name: FileName::new(name).unwrap(), media_type: None, content }
}

/// Applies the result of a call that published files.
fn publish(p: &mut Play, id: &str, files: Vec<File>, result: ToolResult, fault: Option<Fault>) {
    let (work, attempt) = (work(id), p.attempt_of(&work(id)));
    p.fact(Fact::Called(Called {
        work,
        attempt,
        result,
        fault,
        outage: false,
        duration_ms: 1,
        cost: Cost::default(),
        files,
    }));
}

fn published(p: &Play) -> Vec<(String, Option<Seq>)> {
    let artifacts = p.view().artifacts;
    artifacts.into_iter().map(|it| (it.file.to_string(), it.seq)).collect()
}

/// Returns a job whose first step published two files and whose second step is with a worker.
fn one_step_done() -> Play {
    let mut p = Play::planned(agent(|_| {}), plan("a b<a"));
    p.expect(&["call g0.r0.a #1"]);
    let files = vec![file("report.md", 3), file("data.csv", 4)];
    publish(&mut p, "g0.r0.a", files, ToolResult::ok(json!(1)), None);
    p.expect(&["call g0.r0.b #1"]);
    p
}

#[test]
fn a_call_publishes_files_under_names_and_the_newest_counts() {
    let mut p = one_step_done();
    let first = p.view().artifacts[0].seq;
    let both =
        [("report.md (3 bytes)".to_owned(), first), ("data.csv (4 bytes)".to_owned(), first)];
    assert_eq!(published(&p), both);
    publish(&mut p, "g0.r0.b", vec![file("report.md", 9)], ToolResult::ok(json!(2)), None);
    let last = Some(p.last());
    assert_eq!(published(&p), [both[1].clone(), ("report.md (9 bytes)".to_owned(), last)]);
    let job = p.folded();
    let bytes: Vec<_> = job.artifact_files().map(|(_, file)| file.bytes()).collect();
    assert_eq!(bytes, [Some(4), Some(9)]);
    assert_eq!(p.view().artifacts[1].step.as_str(), "b");
    p.expect(&["finish completed"]);
    assert_eq!(published(&p).len(), 2, "they stay with the ended job");
}

#[test]
fn a_call_that_failed_and_a_late_result_publish_nothing() {
    let mut p = Play::planned(agent(|_| {}), plan("a b"));
    p.expect(&["call g0.r0.a #1", "call g0.r0.b #1"]);
    publish(&mut p, "g0.r0.a", vec![file("a", 1)], ToolResult::failed("no"), None);
    let fault = Some(Fault::Internal);
    publish(&mut p, "g0.r0.b", vec![file("b", 1)], ToolResult::ok(json!(1)), fault);
    assert_eq!(published(&p), []);

    let mut p = one_step_done();
    publish(&mut p, "g0.r0.a", vec![file("late", 1)], ToolResult::ok(json!(1)), None);
    assert_eq!(p.view().ignored, 1);
    assert_eq!(published(&p).len(), 2);
}

#[test]
fn a_file_that_is_not_sound_and_those_beyond_the_limit_of_a_call_count_for_nothing() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.expect(&["call g0.r0.a #1"]);
    let piece = |bytes| Piece { sha256: "0".repeat(64), bytes };
    let beyond = Content::Pieces(vec![piece(u64::MAX), piece(1)]);
    let script = Content::Url("javascript:alert(1)".to_owned());
    let unsound = [beyond, script].map(|content| File { content, ..file("unsound", 1) });
    let many = (0..40).map(|n| file(&n.to_string(), 1));
    let files = unsound.into_iter().chain(many).collect();
    publish(&mut p, "g0.r0.a", files, ToolResult::ok(json!(1)), None);
    let published = published(&p);
    assert_eq!(published.len(), 30);
    assert_eq!(published[29].0, "29 (1 bytes)");
}

#[test]
fn a_file_of_the_submission_is_not_replaced() {
    let mut submitted = Play::submitted(agent(|_| {}), proto::lang::Language::En);
    submitted.files = vec![file("given.md", 1)];
    submitted.plan = Some(plan("a"));
    let mut p = Play::submit_as(submitted);
    p.drive();
    let files = vec![file("given.md", 5), file("own.md", 5)];
    publish(&mut p, "g0.r0.a", files, ToolResult::ok(json!(1)), None);
    let names: Vec<_> = published(&p).into_iter().map(|(told, _)| told).collect();
    assert_eq!(names, ["own.md (5 bytes)"]);
}

#[test]
fn a_rollback_takes_artifacts_back_and_a_fork_takes_them_along() {
    let mut p = one_step_done();
    let done = p.last();
    publish(&mut p, "g0.r0.b", vec![file("last", 9)], ToolResult::ok(json!(2)), None);
    p.expect(&["finish completed"]);
    assert_eq!(published(&p).len(), 3);
    let forked = fork(&p, done);
    assert_eq!(
        published(&forked),
        [("report.md (3 bytes)".to_owned(), None), ("data.csv (4 bytes)".to_owned(), None)],
        "positions are those of the source's log"
    );
    assert!(p.back(done));
    assert_eq!(published(&p).len(), 2);
}

#[test]
fn each_published_file_is_an_event_after_the_end_of_its_call() {
    let p = one_step_done();
    let (mut projection, mut told) = (Projection::default(), Vec::new());
    for (at, _, record) in &p.log {
        let after = p.at(at.seq);
        told.extend(projection.take(at.seq, at.time, record.as_ref().ok(), &after));
    }
    let words: Vec<String> = told
        .iter()
        .filter_map(|event| match &event.happened {
            Happened::Tool(tool) => Some(format!("tool {}", tool.step)),
            Happened::Artifact(artifact) => Some(artifact.file.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(words, ["tool a", "tool a", "report.md (3 bytes)", "data.csv (4 bytes)", "tool b"]);
}
