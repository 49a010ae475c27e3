//! Tests of `submit`: a refusal stores nothing, and one id is one job, whatever happens.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use broker::{
    bus::BusError,
    log::LogError,
    memory::{Call, Fault, Faults, MemoryOptions},
};
use bytes::Bytes;
use futures::future::join_all;
use proto::{error::Code, fact::Source, id::JobId, limits};
use rstest::rstest;
use serde_json::{Value, json};

use super::hall::{Hall, Setup, ask, open, send};
use crate::supervisor::company::Company;

const WHOLE: &str = r#"{"id":"j","goal":"先标记任务 ID:62 完成","agent":{"confirm":false}}"#;

#[rstest]
#[case::empty("", Code::InvalidRequest, "")]
#[case::too_deep(&"[".repeat(100_000), Code::TooDeep, "")]
#[case::too_large(&" ".repeat(limits::REQUEST_BYTES_MAX + 1), Code::TooLarge, "")]
#[case::a_wildcard(r#"{"goal":"g","id":"*"}"#, Code::InvalidId, "id")]
#[case::everything(r#"{"goal":"g","id":">"}"#, Code::InvalidId, "id")]
#[case::twice(r#"{"goal":"a","goal":"b"}"#, Code::InvalidRequest, "")]
#[case::not_whole(r#"{"goal":"g","deadline_ms":1.0}"#, Code::InvalidRequest, "deadline_ms")]
#[case::surrogate(r#"{"goal":"\ud800"}"#, Code::InvalidRequest, "")]
#[case::version(r#"{"goal":"g","v":2}"#, Code::UnsupportedVersion, "v")]
#[case::field(r#"{"goal":"g","tenant":"x"}"#, Code::InvalidRequest, "tenant")]
#[case::past(r#"{"goal":"g","deadline_ms":-1}"#, Code::InvalidRequest, "deadline_ms")]
#[case::attempts(
    r#"{"goal":"g","agent":{"plan":{"attempts":1000000000}}}"#,
    Code::InvalidRequest,
    "agent.plan.attempts"
)]
#[case::a_file_that_is_a_path(
    r#"{"goal":"g","files":[{"name":"../x","content":{"text":"a"}}]}"#,
    Code::InvalidRequest,
    "files[0].name"
)]
#[case::a_file_of_two_kinds(
    r#"{"goal":"g","files":[{"name":"x","content":{"text":"a","url":"https://a.example/"}}]}"#,
    Code::InvalidRequest,
    "files[0].content"
)]
#[case::a_file_nobody_uploaded(
    r#"{"goal":"g","files":[{"name":"x","content":{"pieces":[{"sha256":"0000000000000000000000000000000000000000000000000000000000000000","bytes":1}]}}]}"#,
    Code::InvalidRequest,
    "files[0].content.pieces[0]"
)]
#[case::a_fork_with_files(
    r#"{"fork":{"job":"j"},"files":[{"name":"x","content":{"text":"a"}}]}"#,
    Code::InvalidRequest,
    "files"
)]
#[case::no_agent(r#"{"goal":"g","agent":"x"}"#, Code::UnknownAgent, "agent")]
#[tokio::test]
async fn a_bad_submission_is_refused_by_code_and_leaves_nothing(
    #[case] body: &str,
    #[case] code: Code,
    #[case] field: &str,
) {
    let hall = Hall::new().await;
    assert_eq!(hall.refused("submit", body).await, (code, field.to_owned()));
    assert_eq!(hall.jobs().await, Vec::<String>::new());
}

#[tokio::test]
async fn bytes_that_are_no_text_are_refused() {
    let hall = Hall::new().await;
    let (code, _) = hall.refused("submit", b"\xff\xfe\x80{}").await;
    assert_eq!(code, Code::InvalidEncoding);
    assert_eq!(hall.jobs().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_submission_cut_at_any_byte_is_no_job() {
    let hall = Hall::new().await;
    for n in 0..WHOLE.len() {
        let (code, _) = hall.refused("submit", &WHOLE.as_bytes()[..n]).await;
        assert!(matches!(code, Code::InvalidRequest | Code::InvalidEncoding), "{n}: {code}");
    }
    assert_eq!(hall.jobs().await, Vec::<String>::new());
    hall.ask("submit", WHOLE).await.unwrap();
    assert_eq!(hall.jobs().await, ["j"]);
}

#[tokio::test]
async fn a_body_the_broker_does_not_take_fails_at_the_client_and_harms_no_connection() {
    let hall = Hall::new().await;
    let huge = vec![b'x'; 2 * 1024 * 1024];
    let error = send(&hall.broker, "submit", huge, None).await.unwrap_err();
    assert!(matches!(error, BusError::TooLarge(_)), "{error}");
    hall.ask("submit", WHOLE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_equal_submissions_at_once_are_one_job() {
    let hall = Hall::new().await;
    let answers = join_all((0..1000).map(|_| hall.ask("submit", WHOLE))).await;
    let answers: Vec<Value> = answers.into_iter().map(Result::unwrap).collect();
    let created = answers.iter().filter(|answer| answer["created"] == true).count();
    assert_eq!(created, 1);
    for answer in &answers {
        assert_eq!((&answer["job"], &answer["seq"]), (&json!("j"), &answers[0]["seq"]));
    }
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    assert_eq!(view["records"], 1);
}

#[tokio::test]
async fn the_same_id_with_another_body_is_a_conflict_and_the_first_stays() {
    let hall = Hall::new().await;
    hall.ask("submit", WHOLE).await.unwrap();
    let other = WHOLE.replace("62", "63");
    let refused = hall.refused("submit", other).await;
    assert_eq!(refused, (Code::IdempotencyConflict, "id".to_owned()));
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    assert_eq!((&view["goal"], &view["records"]), (&json!("先标记任务 ID:62 完成"), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_submission_attaches_after_a_restart_and_after_the_end() {
    let company = Company::at_work(MemoryOptions::default(), "s1").await;
    let door = open(&company.memory, Setup::default()).await;
    let first = ask(&company.broker, "submit", WHOLE, None).await.unwrap();
    company.ended(&JobId::new("j").unwrap()).await;
    door.shutdown.cancel();
    door.actor.wait(None).await.unwrap();
    let _door = open(&company.memory, Setup::default()).await;
    let spaced = WHOLE.replace(',', " ,\n ");
    let again = ask(&company.broker, "submit", spaced, None).await.unwrap();
    assert_eq!((&first["created"], &again["created"]), (&json!(true), &json!(false)));
    assert_eq!((&first["seq"], &first["shard"]), (&again["seq"], &again["shard"]));
}

#[tokio::test]
async fn records_of_foreign_writers_change_nothing() {
    let hall = Hall::new().await;
    hall.ask("submit", WHOLE).await.unwrap();
    let job = JobId::new("j").unwrap();
    let subjects = hall.broker.log.subjects();
    let forged = |kind: &str, body: Value| {
        let record = json!({"v": 1, "kind": kind, "id": "x", "by": "eve", "body": body});
        Bytes::from(record.to_string())
    };
    let canceled = forged("signaled", json!({"signal": "cancel"}));
    hall.memory.store_raw(&subjects.fact(&job, &Source::Crew), canceled).unwrap();
    let ended = json!({"outcome": {"state": "completed", "summary": "done"}});
    let finished = forged("finish", ended);
    hall.memory.store_raw(&subjects.fact(&job, &Source::People), finished).unwrap();
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    assert_eq!((&view["state"], &view["ignored"]), (&json!("submitted"), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_the_quota_is_refused_and_what_was_taken_ends() {
    let company = Company::at_work(MemoryOptions::default(), "s1").await;
    let setup = Setup { submits_per_minute: Some(20), ..Setup::default() };
    let _door = open(&company.memory, setup).await;
    let bodies = (0..200).map(|n| format!(r#"{{"id":"j{n}","goal":"g","confirm":false}}"#));
    let asked = bodies.map(|body| {
        let broker = company.broker.clone();
        async move { ask(&broker, "submit", body, None).await }
    });
    let (mut taken, mut refused) = (Vec::new(), 0);
    for answer in join_all(asked).await {
        match answer {
            Ok(answer) => taken.push(JobId::new(answer["job"].as_str().unwrap()).unwrap()),
            Err(failure) => {
                assert_eq!(failure.code, Code::Overloaded);
                refused += 1;
            }
        }
    }
    assert_eq!((taken.len(), refused), (20, 180));
    for job in taken {
        company.ended(&job).await;
    }
}

#[tokio::test]
async fn more_requests_at_a_time_than_configured_are_refused_at_once() {
    let faults = Arc::new(Faults::default());
    let options = MemoryOptions { faults: Arc::clone(&faults), ..MemoryOptions::default() };
    let hall = Hall::with(options, Setup { in_flight: 4, ..Setup::default() }).await;
    // The log delays the first four requests, so that the others exceed the bound.
    faults.inject(Call::Submit, &Fault::Unavailable, 4);
    let answers =
        join_all((0..20).map(|n| async move { (n, format!(r#"{{"id":"j{n}","goal":"g"}}"#)) }));
    let answers = answers.await.into_iter().map(|(_, body)| hall.ask("submit", body));
    let answers = join_all(answers).await;
    let taken = answers.iter().filter(|answer| answer.is_ok()).count();
    let overloaded = |f: &proto::error::Failure| f.code == Code::Overloaded;
    assert!(answers.iter().filter_map(|a| a.as_ref().err()).all(overloaded));
    assert_eq!((taken, hall.jobs().await.len()), (4, 4));
    hall.ask("submit", WHOLE).await.unwrap();
}

#[rstest]
#[case::full(LogError::Full("maximum bytes exceeded".into()), Code::Overloaded)]
#[case::away(LogError::Unavailable("no leader".into()), Code::Unavailable)]
#[case::unknown(LogError::Unknown("no reply".into()), Code::Timeout)]
#[tokio::test]
async fn a_log_that_does_not_take_it_is_said_and_nothing_is_half_made(
    #[case] error: LogError,
    #[case] code: Code,
) {
    let faults = Arc::new(Faults::default());
    let options = MemoryOptions { faults: Arc::clone(&faults), ..MemoryOptions::default() };
    let hall = Hall::with(options, Setup::default()).await;
    faults.inject(Call::Submit, &Fault::Fails(error), 1);
    assert_eq!(hall.refused("submit", WHOLE).await.0, code);
    assert_eq!(hall.refused("get", r#"{"job":"j"}"#).await.0, Code::NotFound);
    assert_eq!(hall.ask("submit", WHOLE).await.unwrap()["created"], true);
}

#[tokio::test]
async fn a_full_log_is_an_overload() {
    let options = MemoryOptions { records_max: Some(2), ..MemoryOptions::default() };
    let hall = Hall::with(options, Setup::default()).await;
    for n in 0..2 {
        hall.ask("submit", format!(r#"{{"id":"j{n}","goal":"g"}}"#)).await.unwrap();
    }
    assert_eq!(hall.refused("submit", WHOLE).await.0, Code::Overloaded);
    assert_eq!(hall.jobs().await.len(), 2);
}

#[rstest]
#[case::the_reply_was_lost(Fault::LostReply)]
#[case::the_request_was_lost(Fault::LostRequest)]
#[case::the_conflict_was_a_lie(Fault::LyingConflict)]
#[case::the_broker_was_away(Fault::Unavailable)]
#[tokio::test(start_paused = true)]
async fn whatever_happens_to_a_write_the_answer_is_the_truth(#[case] fault: Fault) {
    let faults = Arc::new(Faults::default());
    let options = MemoryOptions { faults: Arc::clone(&faults), ..MemoryOptions::default() };
    let hall = Hall::with(options, Setup::default()).await;
    faults.inject(Call::Submit, &fault, 1);
    let answer = hall.ask("submit", WHOLE).await.unwrap();
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    assert_eq!((&view["seq"], &view["records"]), (&answer["seq"], &json!(1)));
    let again = hall.ask("submit", WHOLE).await.unwrap();
    assert_eq!((&again["created"], &again["seq"]), (&json!(false), &answer["seq"]));
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn what_looks_like_a_secret_is_stored_as_given_warned_of_and_never_logged() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let hall = Hall::new().await;
    let goal = "log in with sk-proj-abcdefghijklmnop1234";
    let body = json!({"id": "j", "goal": goal}).to_string();
    hall.ask("submit", &body).await.unwrap();
    hall.refused("submit", body.replace("log in", "go in")).await;
    hall.refused("submit", body.replace("\"goal\"", "\"gaol\"")).await;
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    assert_eq!(view["goal"], goal);
    let logged = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("seems to contain a secret"), "{logged}");
    assert!(!logged.contains("sk-proj"), "{logged}");
}

#[tokio::test]
async fn files_come_with_a_job_as_text_in_pieces_or_by_address() {
    let hall = Hall::new().await;
    let (first, second) = (Bytes::from(vec![b'a'; limits::PIECE_BYTES_MAX]), Bytes::from("b"));
    let mut pieces = Vec::new();
    for bytes in [&first, &second, &second] {
        pieces.push(hall.ask("upload", bytes).await.unwrap()["piece"].clone());
    }
    assert_eq!(pieces[1], pieces[2], "the same is stored once");
    for (bytes, code) in [
        (Bytes::new(), Code::InvalidRequest),
        (Bytes::from(vec![0; limits::PIECE_BYTES_MAX + 1]), Code::TooLarge),
    ] {
        assert_eq!(hall.refused("upload", &bytes).await.0, code);
    }
    let body = |last: &Value| {
        json!({"id": "filed", "goal": "compare", "files": [
            {"name": "long.txt", "media_type": "text/plain", "content": {"pieces": [pieces[0], last]}},
            {"name": "note", "content": {"text": "words"}},
            {"name": "page", "content": {"url": "https://a.example/p"}},
        ]})
        .to_string()
    };
    let wrong = json!({"sha256": pieces[1]["sha256"], "bytes": 2});
    let (code, field) = hall.refused("submit", body(&wrong)).await;
    assert_eq!((code, &*field), (Code::InvalidRequest, "files[0].content.pieces[1]"));
    let submitted = hall.ask("submit", body(&pieces[1])).await.unwrap();
    assert_eq!(submitted["created"], true);
    assert_eq!(hall.ask("submit", body(&pieces[1])).await.unwrap()["created"], false);
    let view = hall.ask("get", json!({"job": "filed"}).to_string()).await.unwrap();
    assert_eq!(
        view["files"],
        json!([
            {"name": "long.txt", "media_type": "text/plain", "bytes": limits::PIECE_BYTES_MAX + 1},
            {"name": "note", "bytes": 5},
            {"name": "page", "url": "https://a.example/p"},
        ])
    );
}
