//! Large bodies, stored in the object store transparently.

use proto::{
    fact::Source,
    id::Seq,
    limits::INLINE_BYTES_MAX,
    record::{Body, Unreadable},
};

use super::{fixtures::Fixture, on_every_broker, words::*};

on_every_broker![
    a_large_fact_comes_back_whole_from_everywhere,
    a_large_command_comes_back_whole,
    bodies_around_the_limit_come_back_whole,
    a_body_that_is_not_in_the_object_store_parks_only_its_record,
    a_body_of_the_wrong_form_parks_only_its_record,
];

fn text(bytes: usize) -> String {
    "häuser 房子 \" ".chars().cycle().take(bytes / 2).collect()
}

async fn a_large_fact_comes_back_whole_from_everywhere(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("large"));
    let wanted = called_with(1, &text(3_000_000));
    let mut watch = broker.log.watch(&job, Seq(0)).await.unwrap();
    let mut feed = broker.log.facts(broker.log.subjects().shard_of(&job)).await.unwrap();
    broker.log.append(&job, &wanted, trace(1)).await.unwrap();
    let entries = f.broker().await.log.read(&job, Seq(0)).await.unwrap();
    assert!(fact(&entries[0]) == wanted);
    assert!(matches!(entries[0].record.as_ref().unwrap().body, Body::Inline(_)));
    assert!(fact(&next(&mut watch).await.unwrap()) == wanted);
    assert!(fact(&next_fact(&mut feed).await.entry) == wanted);
}

async fn a_large_command_comes_back_whole(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("large"));
    let wanted = call_with("p", 1, &text(200_000));
    let mut worker = broker.log.commands(CALL, &pool("p"), slots(1)).await.unwrap();
    stored(broker.log.decide(&job, &wanted, Seq(0), None, trace(1)).await);
    assert!(decision(&next_command(&mut worker).await.entry) == wanted);
}

async fn bodies_around_the_limit_come_back_whole(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("around"));
    let mut wanted = Vec::new();
    for n in 0..300_u64 {
        // The rest of the body is about 150 bytes: some of these are below the limit, some above.
        let bytes = INLINE_BYTES_MAX - 300 + usize::try_from(n).unwrap();
        wanted.push(called_with(1, &"x".repeat(bytes)));
        broker.log.append(&job, &wanted[wanted.len() - 1], trace(n)).await.unwrap();
    }
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    assert!(entries.iter().map(fact).eq(wanted));
}

async fn a_body_that_is_not_in_the_object_store_parks_only_its_record(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("missing"));
    let sha256 = proto::digest::of_bytes(b"never stored");
    let record = format!(
        r#"{{"v":1,"kind":"called","id":"x","by":"w","body_ref":{{"sha256":"{sha256}","bytes":12}}}}"#
    );
    f.store_raw(&broker.log.subjects().fact(&job, &Source::Crew), record.as_bytes()).await;
    append(&broker, &job, 1..2).await;
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(entries[0].record.as_ref().unwrap_err(), &Unreadable::Missing(sha256));
    assert_eq!(number(&entries[1]), 1);
}

async fn a_body_of_the_wrong_form_parks_only_its_record(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("formless"));
    let subject = broker.log.subjects().fact(&job, &Source::Crew);
    for (body, bytes) in [("not JSON", 8), ("{}", 3)] {
        let sha256 = broker.objects.put(body.into()).await.unwrap();
        let record = format!(
            r#"{{"v":1,"kind":"called","id":"x","by":"w","body_ref":{{"sha256":"{sha256}","bytes":{bytes}}}}}"#
        );
        f.store_raw(&subject, record.as_bytes()).await;
    }
    let record =
        r#"{"v":1,"kind":"called","id":"x","by":"w","body_ref":{"sha256":"../x","bytes":1}}"#;
    f.store_raw(&subject, record.as_bytes()).await;
    append(&broker, &job, 1..2).await;
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    for entry in &entries[..2] {
        let unreadable = entry.record.as_ref().unwrap_err();
        assert!(matches!(unreadable, Unreadable::Malformed(_)), "{unreadable}");
    }
    assert_eq!(entries[2].record.as_ref().unwrap_err(), &Unreadable::Missing("../x".into()));
    assert_eq!(number(&entries[3]), 1);
}
