//! Full disks, forbidden subjects, messages that are too large.

use broker::{
    log::LogError,
    nats::{self, NatsOptions},
    testing::NatsServer,
};
use proto::id::{Seq, WorkerId};

use crate::contract::{
    fixtures::{OnNats, subjects},
    words::*,
};

fn on(server: &NatsServer) -> NatsOptions {
    NatsOptions { servers: vec![server.url().to_owned()], ..NatsOptions::default() }
}

#[tokio::test]
async fn a_full_server_says_so_and_keeps_what_it_has() {
    let server = NatsServer::start_with(&[], &["max_file_store: 2MB"]).await;
    let writer = WorkerId::new("test").unwrap();
    let broker = nats::connect(&on(&server), subjects(), writer).await.unwrap();
    let job = job("full");
    let filling = "x".repeat(40_000);
    let mut stored = 0;
    let error = loop {
        match broker.log.append(&job, &called_with(stored, &filling), trace(1)).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 200, "it is never full");
    };
    assert!(matches!(error, LogError::Full(_)), "{error}");
    let decision = call_with("p", 1, &filling);
    let error = broker.log.decide(&job, &decision, Seq(0), None, trace(1)).await.unwrap_err();
    assert!(matches!(error, LogError::Full(_)), "{error}");
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(entries.len(), usize::try_from(stored).unwrap());
}

/// A tool worker must not publish on behalf of people.
const USERS: &str = r#"
accounts: { A: { jetstream: enabled, users: [
  { user: all, password: all },
  { user: crew, password: crew, permissions: { publish: { deny: ["it.*.*.in.people", "it.*.*.do.>"] } } }
] } }
"#;

#[tokio::test]
async fn what_is_forbidden_is_told_at_once() {
    let server = NatsServer::start_with(&[USERS], &[]).await;
    let options = |user: &str| NatsOptions {
        user: Some(user.to_owned()),
        password: Some(user.to_owned().into()),
        // A caller that waited for an answer would wait longer than this test.
        request_timeout_ms: 600_000,
        write_patience_ms: 600_000,
        ..on(&server)
    };
    let writer = || WorkerId::new("test").unwrap();
    let owner = nats::connect(&options("all"), subjects(), writer()).await.unwrap();
    let crew = nats::connect(&options("crew"), subjects(), writer()).await.unwrap();
    let job = job("guarded");
    append(&crew, &job, 0..1).await;
    let forged = soon(crew.log.answer(&job, &answered("mallory"), Seq(0), trace(1))).await;
    assert!(matches!(forged, Err(LogError::Forbidden(_))), "{forged:?}");
    let forged = soon(crew.log.decide(&job, &finish(), Seq(0), None, trace(1))).await;
    assert!(matches!(forged, Err(LogError::Forbidden(_))), "{forged:?}");
    assert_eq!(owner.log.read(&job, Seq(0)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_record_above_the_servers_limit_is_refused_before_it_is_sent() {
    let server = NatsServer::start_with(&["max_payload: 32KB"], &[]).await;
    let writer = WorkerId::new("test").unwrap();
    let broker = nats::connect(&on(&server), subjects(), writer).await.unwrap();
    let large = called_with(1, &"x".repeat(50_000));
    let error = broker.log.append(&job("large"), &large, trace(1)).await.unwrap_err();
    assert!(matches!(error, LogError::TooLarge(_)), "{error}");
    append(&broker, &job("large"), 0..1).await;
}

#[tokio::test]
async fn a_server_that_hangs_is_waited_for_and_not_for_ever() {
    let mut f = OnNats::start().await;
    let options = NatsOptions { request_timeout_ms: 300, write_patience_ms: 900, ..f.options() };
    let writer = WorkerId::new("test").unwrap();
    let broker = nats::connect(&options, subjects(), writer).await.unwrap();
    let job = job("hangs");
    f.server.stop();
    let error = soon(broker.log.append(&job, &called(1), trace(1))).await.unwrap_err();
    assert!(matches!(error, LogError::Unknown(_)), "{error}");
    f.server.cont();
    // Writes sent meanwhile may be stored; nothing else is.
    append(&broker, &job, 2..3).await;
    let numbers: Vec<_> = broker.log.read(&job, Seq(0)).await.unwrap().iter().map(number).collect();
    assert_eq!(numbers.last(), Some(&2));
    assert!(numbers.iter().all(|n| [1, 2].contains(n)), "{numbers:?}");
}
