//! Requirements on a server and its streams.

use broker::{
    Broker,
    kv::{Bucket, Change},
    log::LogError,
    nats::{self, ConnectError, LostBuckets, NatsOptions, OldRecords},
    testing::{NatsServer, RawWriter},
};
use futures::StreamExt;
use proto::{
    error::{Code, Failure},
    fact::Source,
    id::{Seq, Shard, WorkerId},
    lang::Language,
    subject::Subjects,
};
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
async fn a_lost_shard_stops_only_itself() {
    let f = OnNats::start().await;
    let before = f.broker().await;
    let (lost, kept) = (job_in(Shard(2), "lost"), job_in(Shard(1), "kept"));
    let js = jetstream(&f.server).await;
    let config = js.get_stream("it-shard-2").await.unwrap().cached_info().config.clone();
    let mut commands = before.log.commands(CALL, &pool("p"), slots(8)).await.unwrap();
    js.delete_stream("it-shard-2").await.unwrap();

    let after = f.broker().await;
    let error =
        nats::set_up(&f.options(), &subjects(), &[], LostBuckets::Recreate, OldRecords::Refuse)
            .await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("it-shard-2") && error.contains("missing"), "{error}");
    assert!(js.get_stream("it-shard-2").await.is_err(), "no empty stream hides the loss");
    for broker in [&before, &after] {
        let submitted = broker.log.submit(&lost, &submitted("x"), trace(1)).await;
        let read = broker.log.read(&lost, Seq(0)).await;
        let probed = broker.log.probe(Shard(2)).await;
        let listed = broker.log.submissions(Shard(2), None, 1).await;
        let fed = broker.log.facts(Shard(2)).await;
        for error in [submitted.err(), read.err(), probed.err(), listed.err(), fed.err()] {
            assert!(matches!(error, Some(LogError::Lost(_))), "{error:?}");
        }
        assert!(broker.log.check().await.is_err_and(|e| e.to_string().contains("it-shard-2")));
    }
    submit(&after, &kept).await;
    after.log.decide(&kept, &call("p", 1), Seq(0), None, trace(2)).await.unwrap();
    let taken = next(&mut commands).await.unwrap();
    assert_eq!(taken.entry.job, kept);
    assert_eq!(after.log.depth(CALL, &pool("p")).await.unwrap().in_flight, 1);
    taken.ack.done().await;

    // Once the stream is back, the same subscription delivers its commands.
    js.create_stream(config).await.unwrap();
    submit(&after, &lost).await;
    after.log.decide(&lost, &call("p", 2), Seq(0), None, trace(3)).await.unwrap();
    assert_eq!(next(&mut commands).await.unwrap().entry.job, lost);
}

#[tokio::test]
async fn a_stream_that_stores_nothing_is_reported_as_overloaded() {
    let f = OnNats::start().await;
    let options = NatsOptions { overloaded_after_ms: 400, ..f.options() };
    let broker = connect(&options, subjects()).await.unwrap();
    let (full, fine) = (job_in(Shard(0), "full"), Shard(1));
    let raw = RawWriter::connect(f.server.url()).await;
    let subject = subjects().fact(&full, &Source::Crew);
    raw.store(subject, vec![b'x'; 100_000], None).await.unwrap();
    f.server.limit_files(Some(50_000));
    for _ in 0..2 {
        let error = broker.log.submit(&full, &submitted("x"), trace(1)).await.unwrap_err();
        assert!(matches!(error, LogError::Unwritable(_)), "{error:?}");
        assert_eq!(Failure::from(&error).code, Code::Overloaded);
        let error = broker.log.probe(Shard(0)).await.unwrap_err();
        assert!(matches!(error, LogError::Unwritable(_)), "{error:?}");
        broker.log.probe(fine).await.unwrap();
        // nats-server keeps the error although there is room again.
        f.server.limit_files(None);
    }
}

#[tokio::test]
async fn a_lost_bucket_locks_no_installation() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    submit(&broker, &job("kept")).await;
    let js = jetstream(&f.server).await;
    let options = f.options();
    for bucket in Bucket::ALL.iter().filter(|bucket| **bucket != Bucket::Installation) {
        let name = format!("KV_it-{}", bucket.name());
        js.delete_stream(&name).await.unwrap();
        // A process that may not create, and `setup`, say what is lost and what is not.
        let bound = NatsOptions { create: false, ..options.clone() };
        let refused =
            nats::set_up(&options, &subjects(), &[], LostBuckets::Refuse, OldRecords::Refuse).await;
        for error in [refused.unwrap_err(), connect(&bound, subjects()).await.unwrap_err()] {
            let error = error.to_string();
            for said in
                [name.as_str(), &bucket.loss(Language::En), "No job is lost", "setup --recreate"]
            {
                assert!(error.contains(said), "{said}: {error}");
            }
        }
        // A client needs no bucket.
        nats::connect_client(&options, subjects()).await.unwrap();
        let done =
            nats::set_up(&options, &subjects(), &[], LostBuckets::Recreate, OldRecords::Refuse)
                .await
                .unwrap();
        assert_eq!((done.is_new, done.recreated), (false, vec![*bucket]));
        js.delete_stream(&name).await.unwrap();
        connect(&options, subjects()).await.unwrap();
        js.get_stream(&name).await.unwrap();
    }
    assert_eq!(broker.log.read(&job("kept"), Seq(0)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn large_values_that_are_gone_are_not_made_anew() {
    let f = OnNats::start().await;
    f.broker().await;
    jetstream(&f.server).await.delete_stream("it-objects").await.unwrap();
    let error = refused(&f.options(), subjects()).await;
    assert!(error.contains("it-objects") && error.contains("large values"), "{error}");
}

#[tokio::test]
async fn a_watch_of_a_bucket_that_was_replaced_fails() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    for value in ["1", "2"] {
        broker.kv.put(Bucket::Tools, "a", value.into()).await.unwrap();
    }
    let mut changes = broker.kv.watch(Bucket::Tools).await.unwrap();
    while !matches!(changes.next().await.unwrap().unwrap(), Change::CaughtUp) {}
    jetstream(&f.server).await.delete_stream("KV_it-tools").await.unwrap();
    let second = f.broker().await;
    second.kv.put(Bucket::Tools, "b", "3".into()).await.unwrap();
    let error = changes.next().await.unwrap().unwrap_err();
    assert!(error.is_unavailable() && error.to_string().contains("lost records"), "{error}");
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

/// Imitates the handshake of a nats-server of that version, which closes its first connections.
async fn speaks(version: &str, mut closed: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let info = format!(
        r#"INFO {{"server_id":"x","server_name":"x","version":"{version}","proto":1,"host":"127.0.0.1","port":{port},"headers":true,"max_payload":1048576,"jetstream":true}}"#
    );
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if closed > 0 {
                closed -= 1;
                continue;
            }
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
#[case("2.9.10", 0)]
#[case("2.11.99", 0)]
#[case::after_its_start("2.9.10", 3)]
#[tokio::test]
async fn a_server_that_is_too_old_is_refused(#[case] version: &str, #[case] closed: usize) {
    let servers = vec![speaks(version, closed).await];
    let options = NatsOptions { servers, ..NatsOptions::default() };
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

/// Replaces the marker by one of a release that marked no message.
async fn make_old(f: &OnNats) {
    let js = jetstream(&f.server).await;
    let old = r#"{"v":1,"shards":4,"replicas":1,"created":"2026-10-01T00:00:00Z"}"#;
    js.publish("$KV.it-installation.created", old.into()).await.unwrap().await.unwrap();
}

#[tokio::test]
async fn records_of_a_release_without_marks_are_refused_by_name_until_they_are_accepted() {
    let f = OnNats::start().await;
    let (old, new) = (job_in(Shard(1), "old"), job_in(Shard(1), "new"));
    drop(f.broker().await);
    let js = jetstream(&f.server).await;
    let subject = subjects().fact(&old, &Source::Crew);
    let record = r#"{"v":1,"kind":"fired","id":"1","by":"w","body":{"timer":"t"}}"#;
    let store = async |subject: String| {
        js.publish(subject, record.into()).await.unwrap().await.unwrap();
    };
    store(subject.clone()).await;
    make_old(&f).await;
    for _ in 0..2 {
        let error = connect(&f.options(), subjects()).await.unwrap_err().to_string();
        assert!(error.contains("setup --upgrade"), "{error}");
    }
    let accept = async || {
        nats::set_up(&f.options(), &subjects(), &[], LostBuckets::Refuse, OldRecords::Accept).await
    };
    assert!(accept().await.unwrap().has_accepted);
    assert!(!accept().await.unwrap().has_accepted, "a second upgrade accepts nothing more");

    let broker = f.broker().await;
    store(subject).await;
    store(subjects().fact(&new, &Source::Crew)).await;
    assert_eq!(seqs(&broker.log.read(&old, Seq(0)).await.unwrap()), [1]);
    assert!(broker.log.read(&new, Seq(0)).await.unwrap().is_empty());
    append(&broker, &new, 1..2).await;
    assert_eq!(seqs(&broker.log.read(&new, Seq(0)).await.unwrap()), [4]);
}

/// Replaces the marker by one of a release that names no buckets.
async fn forget_buckets(f: &OnNats) {
    let js = jetstream(&f.server).await;
    let stream = js.get_stream("KV_it-installation").await.unwrap();
    let subject = "$KV.it-installation.created";
    let marker = stream.get_last_raw_message_by_subject(subject).await.unwrap();
    let mut value: serde_json::Value = serde_json::from_slice(&marker.payload).unwrap();
    assert!(value.as_object_mut().unwrap().remove("buckets").is_some(), "{value}");
    let mut headers = async_nats::HeaderMap::new();
    let mark = "Callboard-Subject";
    headers.insert(mark, marker.headers.get(mark).unwrap().clone());
    let stored = js.publish_with_headers(subject, headers, value.to_string().into());
    stored.await.unwrap().await.unwrap();
}

#[tokio::test]
async fn a_bucket_that_a_newer_release_adds_is_not_a_lost_one() {
    let f = OnNats::start().await;
    submit(&f.broker().await, &job_in(Shard(1), "kept")).await;
    forget_buckets(&f).await;
    let js = jetstream(&f.server).await;
    js.delete_stream("KV_it-receivers").await.unwrap();
    let set_up = async || {
        nats::set_up(&f.options(), &subjects(), &[], LostBuckets::Refuse, OldRecords::Refuse).await
    };
    assert_eq!(set_up().await.unwrap().recreated, [], "nothing was lost");
    js.get_stream("KV_it-receivers").await.unwrap();
    // From now on the installation has it.
    js.delete_stream("KV_it-receivers").await.unwrap();
    let error = set_up().await.unwrap_err().to_string();
    assert!(error.contains("it-receivers") && error.contains("setup --recreate"), "{error}");
}

#[tokio::test]
async fn a_lost_marker_makes_no_empty_shard() {
    let f = OnNats::start().await;
    let kept = job_in(Shard(1), "kept");
    submit(&f.broker().await, &kept).await;
    let js = jetstream(&f.server).await;
    for stream in ["KV_it-installation", "it-shard-2"] {
        js.delete_stream(stream).await.unwrap();
    }
    let refused =
        nats::set_up(&f.options(), &subjects(), &[], LostBuckets::Refuse, OldRecords::Refuse).await;
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("it-installation") && error.contains("setup --recreate"), "{error}");

    let broker = f.broker().await;
    assert!(js.get_stream("it-shard-2").await.is_err(), "no empty stream hides the loss");
    assert_eq!(broker.log.read(&kept, Seq(0)).await.unwrap().len(), 1);
    // The marker is back.
    let bound = NatsOptions { create: false, ..f.options() };
    connect(&bound, subjects()).await.unwrap();
}
