//! Requirements on a server and its streams.

use broker::{
    Broker,
    nats::{self, ConnectError, NatsOptions},
    testing::NatsServer,
};
use proto::{id::WorkerId, subject::Subjects};
use rstest::rstest;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
};

use crate::contract::{
    fixtures::{Fixture, OnNats, subjects},
    words::*,
};

async fn connect(options: &NatsOptions, subjects: Subjects) -> Result<Broker, ConnectError> {
    nats::connect(options, subjects, WorkerId::new("test").unwrap()).await
}

async fn refused(options: &NatsOptions, subjects: Subjects) -> String {
    connect(options, subjects).await.unwrap_err().to_string()
}

async fn jetstream(server: &NatsServer) -> async_nats::jetstream::Context {
    async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap())
}

#[tokio::test]
async fn many_processes_may_begin_at_the_same_time() {
    let f = OnNats::start().await;
    let options = f.options();
    let all = (0..6).map(|_| connect(&options, subjects()));
    for connected in futures::future::join_all(all).await {
        connected.unwrap();
    }
}

#[tokio::test]
async fn another_number_of_shards_is_refused() {
    let f = OnNats::start().await;
    f.broker().await;
    let error = refused(&f.options(), Subjects::new("it", 8).unwrap()).await;
    assert!(error.contains("created with 4 shards, and 8"), "{error}");
    connect(&f.options(), Subjects::new("other", 8).unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_stream_that_is_gone_is_not_made_anew() {
    let f = OnNats::start().await;
    submit(&f.broker().await, &job("kept")).await;
    jetstream(&f.server).await.delete_stream("it-shard-2").await.unwrap();
    let error = refused(&f.options(), subjects()).await;
    assert!(error.contains("it-shard-2") && error.contains("missing"), "{error}");
    assert!(jetstream(&f.server).await.get_stream("it-shard-2").await.is_err());
}

#[tokio::test]
async fn who_may_not_create_is_told_what_is_missing() {
    let f = OnNats::start().await;
    let options = NatsOptions { create: false, ..f.options() };
    let error = refused(&options, subjects()).await;
    assert!(error.contains("KV_it-installation"), "{error}");
    f.broker().await;
    connect(&options, subjects()).await.unwrap();
}

#[rstest]
#[case::age("max_age is 3600000000000, expected 0", |c: &mut async_nats::jetstream::stream::Config| c.max_age = std::time::Duration::from_secs(3600))]
#[case::room("max_bytes is 1048576, expected -1", |c: &mut async_nats::jetstream::stream::Config| c.max_bytes = 1024 * 1024)]
#[case::direct("allow_direct is false, expected true", |c: &mut async_nats::jetstream::stream::Config| c.allow_direct = false)]
#[case::subjects("subjects is", |c: &mut async_nats::jetstream::stream::Config| c.subjects.push("it.extra".into()))]
#[tokio::test]
async fn a_stream_that_was_changed_is_refused_and_left_alone(
    #[case] said: &str,
    #[case] change: fn(&mut async_nats::jetstream::stream::Config),
) {
    let f = OnNats::start().await;
    f.broker().await;
    let js = jetstream(&f.server).await;
    let mut config = js.get_stream("it-shard-1").await.unwrap().cached_info().config.clone();
    change(&mut config);
    js.update_stream(&config).await.unwrap();
    let error = refused(&f.options(), subjects()).await;
    assert!(error.contains("it-shard-1") && error.contains(said), "{error}");
    let after = js.get_stream("it-shard-1").await.unwrap().cached_info().config.clone();
    assert_eq!(after, config);
}

#[tokio::test]
async fn a_consumer_with_another_time_limit_is_refused() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let facts = broker.log.subjects().all_shards().next().unwrap();
    drop(broker.log.commands(CALL, &pool("p"), slots(1)).await.unwrap());
    drop(broker.log.facts(facts).await.unwrap());
    let other = NatsOptions { ack_wait_ms: 5000, pin_timeout_ms: 3000, ..f.options() };
    let broker = connect(&other, subjects()).await.unwrap();
    for error in [
        broker.log.commands(CALL, &pool("p"), slots(1)).await.err().unwrap(),
        broker.log.depth(CALL, &pool("p")).await.err().unwrap(),
    ] {
        assert!(
            error.to_string().contains("ack_wait is 1000000000, expected 5000000000"),
            "{error}"
        );
        assert!(!error.is_transient());
    }
    let error = broker.log.facts(facts).await.err().unwrap();
    assert!(error.to_string().contains("priority_timeout is 1000000000"), "{error}");
}

/// Imitates the handshake of a nats-server of that version.
async fn speaks(version: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let info = format!(
        r#"INFO {{"server_id":"x","server_name":"x","version":"{version}","proto":1,"host":"127.0.0.1","port":{port},"headers":true,"max_payload":1048576,"jetstream":true}}"#
    );
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (read, mut write) = stream.into_split();
            write.write_all(format!("{info}\r\n").as_bytes()).await.unwrap();
            let mut lines = BufReader::new(read).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if line.starts_with("PING") {
                    write.write_all(b"PONG\r\n").await.unwrap();
                }
            }
        }
    });
    format!("nats://127.0.0.1:{port}")
}

#[rstest]
#[case("2.9.10")]
#[case("2.11.99")]
#[tokio::test]
async fn a_server_that_is_too_old_is_refused(#[case] version: &str) {
    let options = NatsOptions { servers: vec![speaks(version).await], ..NatsOptions::default() };
    let error = refused(&options, subjects()).await;
    assert!(error.contains(version) && error.contains("2.12.0"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    let server = "nats://me:secret@127.0.0.1:1".to_owned();
    let options = NatsOptions { servers: vec![server], ..NatsOptions::default() };
    let error = refused(&options, subjects()).await;
    assert!(error.contains("nats://127.0.0.1:1") && !error.contains("secret"), "{error}");
}

#[tokio::test]
async fn an_account_without_jetstream_is_refused() {
    let accounts = "accounts: { A: { users: [ { user: a, password: a } ] } }";
    let server = NatsServer::start_with(&[accounts, "no_auth_user: a"], &[]).await;
    let options = NatsOptions { servers: vec![server.url().to_owned()], ..NatsOptions::default() };
    let error = connect(&options, subjects()).await.unwrap_err();
    assert!(matches!(error, ConnectError::NoJetStream(_)), "{error}");
}
