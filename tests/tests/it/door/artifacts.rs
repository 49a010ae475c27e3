//! Tests of artifacts at the front door: their download, and forks of jobs that published some.

use broker::testing::jobs;
use bytes::Bytes;
use proto::{
    door::Verb,
    error::Code,
    fact::{Called, Fact},
    file::{Content, File, FileName, Piece},
    id::{JobId, Seq},
    tool::{Effect, ToolResult},
};
use serde_json::{Value, json};

use super::{
    hall::Hall,
    turning::{drive, tell},
};

/// Stores content in the object store. The pieces of the file are those texts.
async fn file(hall: &Hall, name: &str, pieces: &[&str]) -> File {
    let mut stored = Vec::new();
    for piece in pieces {
        let bytes = Bytes::from((*piece).to_owned());
        let sha256 = hall.broker.objects.put(bytes).await.unwrap();
        stored.push(Piece { sha256, bytes: piece.len() as u64 });
    }
    File { name: FileName::new(name).unwrap(), media_type: None, content: Content::Pieces(stored) }
}

/// A file whose content is nowhere.
fn lost(name: &str) -> File {
    let content = Content::Pieces(vec![Piece { sha256: "ab".repeat(32), bytes: 5 }]);
    File { name: FileName::new(name).unwrap(), media_type: None, content }
}

async fn publish(hall: &Hall, job: &JobId, work: &str, result: ToolResult, files: Vec<File>) {
    let called = Called { result, files, ..jobs::called(work) };
    tell(hall, job, Fact::Called(called)).await;
    drive(hall, job).await;
}

/// Creates a job with two steps that follow one another, of which the first is with a worker.
async fn working(hall: &Hall) -> JobId {
    let job = JobId::new("j").unwrap();
    hall.ask("submit", r#"{"id":"j","goal":"report","agent":"unattended"}"#).await.unwrap();
    drive(hall, &job).await;
    let step = |step| jobs::step(step, "write", json!({}), jobs::binding(Effect::Pure));
    let planned = jobs::planned(["one", "two<one", "three<two"].map(step).to_vec());
    tell(hall, &job, Fact::Planned(planned)).await;
    drive(hall, &job).await;
    job
}

async fn piece(hall: &Hall, name: &str, piece: u32) -> Result<Value, Code> {
    let request = json!({"job": "j", "name": name, "piece": piece}).to_string();
    hall.ask(Verb::Download, request).await.map_err(|failure| failure.code)
}

#[tokio::test]
async fn each_piece_says_which_file_of_the_name_it_is_of() {
    let hall = Hall::new().await;
    let job = working(&hall).await;
    assert_eq!(piece(&hall, "report", 0).await, Err(Code::NotFound));
    let first = file(&hall, "report", &["one", "two"]).await;
    publish(&hall, &job, "g0.r0.one", ToolResult::ok(json!(1)), vec![first]).await;
    let begun = piece(&hall, "report", 0).await.unwrap();
    assert_eq!(
        (&begun["bytes"], &begun["pieces"], &begun["data"]),
        (&json!(6), &json!(2), &json!("b25l"))
    );
    assert_eq!(piece(&hall, "report", 1).await.unwrap()["seq"], begun["seq"]);
    // A file of the same size takes its place while somebody reads the first one.
    let second = file(&hall, "report", &["six", "ten"]).await;
    publish(&hall, &job, "g0.r0.two", ToolResult::ok(json!(2)), vec![second]).await;
    let other = piece(&hall, "report", 1).await.unwrap();
    assert!(other["seq"].as_u64() > begun["seq"].as_u64(), "{other}");
    assert_eq!(piece(&hall, "report", 2).await, Err(Code::InvalidRequest));
}

#[tokio::test]
async fn files_that_never_counted_and_lost_pieces_keep_no_job_from_its_fork() {
    let hall = Hall::new().await;
    let job = working(&hall).await;
    let (kept, gone) = (file(&hall, "kept", &["text"]).await, lost("gone"));
    publish(&hall, &job, "g0.r0.one", ToolResult::ok(json!(1)), vec![kept, gone]).await;
    let late = vec![lost("late"), lost("kept")];
    publish(&hall, &job, "g0.r0.one", ToolResult::ok(json!(1)), late).await;
    let at = hall.broker.log.read(&job, Seq(0)).await.unwrap().last().unwrap().seq;
    hall.ask("submit", json!({"id": "f", "fork": {"job": job, "at": at}}).to_string())
        .await
        .unwrap();
    let forked = drive(&hall, &JobId::new("f").unwrap()).await.view().unwrap();
    let names: Vec<_> = forked.artifacts.iter().map(|it| it.file.name.as_str()).collect();
    assert_eq!(names, ["kept", "gone"]);
    let request = r#"{"job":"f","name":"kept","piece":0}"#;
    assert_eq!(hall.ask(Verb::Download, request).await.unwrap()["data"], "dGV4dA==");
    let failure = hall.ask(Verb::Download, r#"{"job":"f","name":"gone","piece":0}"#).await;
    assert_eq!(failure.unwrap_err().code, Code::NotFound);
}
