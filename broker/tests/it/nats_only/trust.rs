//! Deceptive messages: no header of a writer changes a message's position.

use async_nats::{HeaderMap, jetstream};
use broker::{
    kv::{Bucket, Change, KvError},
    log::LogError,
    testing::wait::until,
};
use bytes::Bytes;
use proto::{
    decision::{DecisionKind, pools},
    entry::Entry,
    fact::Source,
    id::Seq,
    lang::Language,
    subject::Family,
};

use crate::contract::{
    fixtures::{Fixture, OnNats},
    words::*,
};

const RECORD: &[u8] = br#"{"v":1,"kind":"fired","id":"1","by":"w","body":{"timer":"t"}}"#;

/// Stores a message with its mark, unless the headers replace it.
async fn store(f: &OnNats, subject: &str, headers: &[(&str, &str)], payload: &'static [u8]) {
    let client = async_nats::connect(f.server.url()).await.unwrap();
    let mut map = HeaderMap::new();
    map.insert("Callboard-Subject", subject);
    for (name, value) in headers {
        map.insert(*name, *value);
    }
    let js = jetstream::new(client);
    let sent = js.publish_with_headers(subject.to_owned(), map, Bytes::from_static(payload)).await;
    sent.unwrap().await.unwrap();
}

#[tokio::test]
async fn headers_of_the_server_are_not_believed_from_a_writer() {
    let f = OnNats::start().await;
    let (broker, job) = (f.broker().await, job("victim"));
    let subject = broker.log.subjects().fact(&job, &Source::Crew);
    let people = broker.log.subjects().fact(&job, &Source::People);
    let forged = [
        ("Nats-Subject", people.as_str()),
        ("Nats-Time-Stamp", "1999-01-01T00:00:00Z"),
        ("Nats-Num-Pending", "7"),
        ("Nats-Pin-Id", "mine"),
        ("traceparent", "00-not-a-trace"),
        ("Status", "204"),
    ];
    store(&f, &subject, &forged, RECORD).await;
    append(&broker, &job, 1..2).await;
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!((entries[0].seq, &entries[0].family), (Seq(1), &Family::In(Source::Crew)));
    assert!(entries[0].time.as_second() > 1_700_000_000);
    assert_eq!(entries[0].trace, None);
    let mut feed = broker.log.facts(broker.log.subjects().shard_of(&job)).await.unwrap();
    let got = next_fact(&mut feed).await.entry;
    assert_eq!((got.seq, &got.family), (Seq(1), &Family::In(Source::Crew)));
    assert_eq!(number(&next_fact(&mut feed).await.entry), 1);
}

/// The server can be made to answer a read on a subject of the log, or to publish a scheduled
/// message there. It marks both.
#[tokio::test]
async fn what_the_server_was_made_to_write_is_no_record() {
    let f = OnNats::start().await;
    let (broker, job) = (f.broker().await, job("victim"));
    let subjects = broker.log.subjects().clone();
    let (crew, clock) = (subjects.fact(&job, &Source::Crew), subjects.fact(&job, &Source::Clock));
    store(&f, &crew, &[("Nats-Sequence", "999999")], RECORD).await;
    store(&f, &clock, &[], RECORD).await;
    let (timer, next) = (subjects.timer(&job, &timer("gone")), ("Nats-Schedule-Next", "purge"));
    store(&f, &clock, &[("Nats-Scheduler", "it.0.other.at.t"), next], RECORD).await;
    store(&f, &crew, &[("Nats-Scheduler", "it.0.x.in.crew"), next], RECORD).await;
    store(&f, &clock, &[("Nats-Scheduler", &timer), next], RECORD).await;
    append(&broker, &job, 1..2).await;
    let seen = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(seen.iter().map(|entry| entry.seq.0).collect::<Vec<_>>(), [5, 6]);
    let mut feed = broker.log.facts(subjects.shard_of(&job)).await.unwrap();
    assert_eq!(next_fact(&mut feed).await.entry.seq, Seq(5));
    assert_eq!(number(&next_fact(&mut feed).await.entry), 1);
}

/// A status in the first header line would end a read early if it were trusted.
#[tokio::test]
async fn a_status_of_the_server_is_not_believed_from_a_writer() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let f = OnNats::start().await;
    let (broker, job) = (f.broker().await, job("cut-off"));
    let subject = broker.log.subjects().fact(&job, &Source::Crew);
    let address = f.server.url().trim_start_matches("nats://").to_owned();
    let mut raw = BufReader::new(tokio::net::TcpStream::connect(address).await.unwrap());
    let mut info = String::new();
    raw.read_line(&mut info).await.unwrap();
    for status in
        ["204 EOB", "404 Message Not Found", "503", "100 Idle Heartbeat", "409 Consumer Deleted"]
    {
        let header = format!("NATS/1.0 {status}\r\nCallboard-Subject: {subject}\r\n\r\n");
        let body = std::str::from_utf8(RECORD).unwrap();
        let hpub = format!(
            "CONNECT {{\"headers\":true,\"verbose\":false}}\r\nHPUB {subject} {} {}\r\n{header}{body}\r\n",
            header.len(),
            header.len() + body.len()
        );
        raw.get_mut().write_all(hpub.as_bytes()).await.unwrap();
    }
    raw.get_mut().write_all(b"PING\r\n").await.unwrap();
    let mut pong = String::new();
    raw.read_line(&mut pong).await.unwrap();
    append(&broker, &job, 1..2).await;
    assert_eq!(broker.log.read(&job, Seq(0)).await.unwrap().len(), 6);
    let mut feed = broker.log.facts(broker.log.subjects().shard_of(&job)).await.unwrap();
    for _ in 0..5 {
        assert_eq!(fact(&next_fact(&mut feed).await.entry), fired("t"));
    }
    assert_eq!(number(&next_fact(&mut feed).await.entry), 1);
}

#[tokio::test]
async fn what_is_no_subject_of_ours_is_handed_to_nobody() {
    let f = OnNats::start().await;
    let (broker, job) = (f.broker().await, job("plain"));
    let shard = broker.log.subjects().shard_of(&job);
    let other = (shard.0 + 1) % 4;
    for subject in [
        format!("it.{other}.{job}.in.crew"),
        format!("it.{shard}.{job}.in.crew.more"),
        format!("it.{shard}.*.in.crew"),
        format!("it.{shard}.{job}.do.call"),
    ] {
        f.store_raw(&subject, RECORD).await;
    }
    append(&broker, &job, 1..2).await;
    let mut entries = broker.log.read(&job, Seq(0)).await.unwrap();
    // Among the decisions it occupies a position and has no other effect.
    let position = entries.remove(0);
    assert!(position.is_forged() && position.trace.is_none(), "{position:?}");
    assert_eq!((position.seq, entries.len(), entries[0].is_forged()), (Seq(3), 1, false));
    let mut feed = broker.log.facts(shard).await.unwrap();
    assert_eq!(number(&next_fact(&mut feed).await.entry), 1);
    nothing(&mut feed).await;
}

/// The server's marks of a scheduled message and of the reply to a read; no mark of a writer, and
/// that of another subject.
const MARKS: [&[(&str, &str)]; 4] = [
    &[("Callboard-Subject", "")],
    &[("Callboard-Subject", "it.0.x.in.crew")],
    &[("Nats-Scheduler", "it.0.x.in.crew"), ("Nats-Schedule-Next", "purge")],
    &[("Nats-Sequence", "999999")],
];

#[tokio::test]
async fn a_decision_and_an_answer_are_stored_after_what_the_server_was_made_to_write() {
    let f = OnNats::start().await;
    let (broker, job) = (f.broker().await, job("goes-on"));
    let subjects = broker.log.subjects().clone();
    let people = subjects.fact(&job, &Source::People);
    let end = subjects.decision(&job, DecisionKind::Finish, &pools::nobody());
    for mark in MARKS {
        for subject in [&people, &end, &format!("{end}.more")] {
            store(&f, subject, mark, RECORD).await;
        }
    }
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(seqs(&entries), (1..=12).collect::<Vec<u64>>());
    assert!(entries.iter().all(Entry::is_forged), "{entries:?}");
    let of = |families: fn(&Family) -> bool| {
        entries.iter().filter(|e| families(&e.family)).map(|e| e.seq).max().unwrap()
    };
    let decisions = of(|family| matches!(family, Family::UnknownDo(_)));
    let answers = of(|family| *family == Family::In(Source::People));
    assert_eq!((answers, decisions), (Seq(10), Seq(12)));
    let decided = broker.log.decide(&job, &finish(), decisions, None, trace(1)).await;
    assert_eq!(stored(decided), Seq(13));
    let said = broker.log.answer(&job, &answered("ann"), answers, trace(2)).await;
    assert_eq!(stored(said), Seq(14));
}

#[tokio::test]
async fn an_id_that_was_taken_by_nobody_who_may_is_refused_at_once() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    for (n, mark) in MARKS.into_iter().enumerate() {
        let job = job(&format!("taken-{n}"));
        let door = broker.log.subjects().fact(&job, &Source::Door);
        store(&f, &door, mark, RECORD).await;
        let error =
            soon(broker.log.submit(&job, &submitted("a goal"), trace(1))).await.unwrap_err();
        assert!(
            matches!(&error, LogError::Taken(why) if why.text(Language::En).contains("taken-")),
            "{error:?}"
        );
        assert!(!error.is_transient());
    }
}

#[tokio::test]
async fn only_an_end_that_a_supervisor_wrote_is_one() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let subjects = broker.log.subjects().clone();
    for (n, mark) in MARKS.into_iter().enumerate() {
        let job = job(&format!("not-ended-{n}"));
        let end = subjects.decision(&job, DecisionKind::Finish, &pools::nobody());
        let ended =
            async || broker.log.finished_among(std::slice::from_ref(&job)).await.unwrap().len();
        store(&f, &end, mark, RECORD).await;
        assert_eq!(ended().await, 0);
        let after = broker.log.read(&job, Seq(0)).await.unwrap()[0].seq;
        stored(broker.log.decide(&job, &finish(), after, None, trace(1)).await);
        assert_eq!(ended().await, 1);
        // A later forged message does not hide it.
        store(&f, &end, mark, RECORD).await;
        assert_eq!(ended().await, 1);
    }
}

#[tokio::test]
async fn a_value_that_the_server_was_made_to_write_is_none() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let (tools, kv) = (Bucket::Tools, &broker.kv);
    let revision = kv.put(tools, "echo", Bytes::from_static(b"true")).await.unwrap();
    kv.put(tools, "other", Bytes::from_static(b"other")).await.unwrap();
    let mut watch = kv.watch(tools).await.unwrap();
    store(&f, "$KV.it-tools.echo", &[("Nats-Sequence", "7")], b"a lie").await;
    assert_eq!(kv.get(tools, "echo").await.unwrap(), None);
    let listed = kv.list(tools, "").await.unwrap();
    assert_eq!(listed.iter().map(|v| v.key.as_str()).collect::<Vec<_>>(), ["other"]);
    let gone = Change::Foreign("echo".to_owned());
    while next(&mut watch).await.unwrap() != gone {}
    // Its last writer sees the change and can write again.
    let value = Bytes::from_static(b"true");
    let changed = kv.update(tools, "echo", value.clone(), revision).await;
    assert!(matches!(changed, Err(KvError::Conflict(_))), "{changed:?}");
    kv.update(tools, "echo", value.clone(), 0).await.unwrap();
    assert_eq!(kv.get(tools, "echo").await.unwrap().unwrap().value, value);
}

#[tokio::test]
async fn a_second_submission_that_was_forged_is_not_listed() {
    let f = OnNats::start().await;
    let (broker, job) = (f.broker().await, job("once"));
    let first = submit(&broker, &job).await;
    let door = broker.log.subjects().fact(&job, &Source::Door);
    f.store_raw(&door, br#"{"v":1,"kind":"submitted","id":"2","by":"w","body":{}}"#).await;
    f.store_raw(&door, b"nonsense").await;
    let shard = broker.log.subjects().shard_of(&job);
    assert_eq!(seqs(&broker.log.submissions(shard, None, 10).await.unwrap()), [first.0]);
}

#[tokio::test]
async fn an_object_that_was_forged_is_missing_and_can_be_stored_again() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let name = proto::digest::of_bytes(b"the truth");
    f.store_raw(&broker.log.subjects().object_piece(&name, 0), b"a lie").await;
    assert!(broker.objects.get(&name).await.is_err());
    assert_eq!(broker.objects.put(Bytes::from_static(b"the truth")).await.unwrap(), name);
    assert_eq!(&broker.objects.get(&name).await.unwrap()[..], b"the truth");
}

/// A worker that may take commands may name any reply subject. The server delivers there under the
/// command's own subject, where its guard does not hold any more.
#[tokio::test]
async fn a_command_that_is_delivered_into_the_log_is_stored_once() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let (theirs, victim) = (job("theirs"), job("victim"));
    let subjects = broker.log.subjects().clone();
    let pool = pool("p");
    // The queue exists, and nobody else takes from it.
    drop(broker.log.commands(DecisionKind::Call, &pool, slots(1)).await.unwrap());
    submit(&broker, &theirs).await;
    stored(broker.log.decide(&theirs, &call("p", 1), Seq(0), None, trace(1)).await);

    let client = async_nats::connect(f.server.url()).await.unwrap();
    let target = subjects.decision(&victim, DecisionKind::Call, &pool);
    let stream = subjects.stream(subjects.shard_of(&theirs));
    let consumer = subjects.commands_consumer(DecisionKind::Call, &pool);
    let pull = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}");
    client.publish_with_reply(pull, target, Bytes::from_static(b"1")).await.unwrap();
    until("the command is delivered", async || {
        broker.log.depth(DecisionKind::Call, &pool).await.unwrap().in_flight == 1
    })
    .await;
    assert_eq!(broker.log.read(&theirs, Seq(0)).await.unwrap().len(), 2);
    assert!(broker.log.read(&victim, Seq(0)).await.unwrap().is_empty());
}
