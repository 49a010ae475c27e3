//! Records from other writers and for other readers.

use std::collections::BTreeSet;

use proto::{fact::Source, id::Seq};

use super::{fixtures::Fixture, on_every_broker, words::*};

on_every_broker![unknown_fields_survive, a_kind_of_the_future_is_kept, every_write_has_its_own_id];

async fn unknown_fields_survive(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("newer"));
    let text = r#"{"v":1,"kind":"fired","id":"1","by":"w","body":{"timer":"t","new":[1,{"deep":1.50}]},"later":{"x":null}}"#;
    f.store_raw(&broker.log.subjects().fact(&job, &Source::Crew), text.as_bytes()).await;
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(fact(&entries[0]), fired("t"));
    let record = entries[0].record.as_ref().unwrap();
    assert_eq!(String::from_utf8(record.to_vec()).unwrap(), text);
}

async fn a_kind_of_the_future_is_kept(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("future"));
    let text = r#"{"v":1,"kind":"danced","id":"1","by":"w","body":[]}"#;
    f.store_raw(&broker.log.subjects().fact(&job, &Source::Crew), text.as_bytes()).await;
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    let record = entries[0].record.as_ref().unwrap();
    assert_eq!(String::from_utf8(record.to_vec()).unwrap(), text);
    assert!(record.known().is_err());
}

async fn every_write_has_its_own_id(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("ids"));
    submit(&broker, &job).await;
    for _ in 0..20 {
        append(&broker, &job, 1..2).await;
    }
    command(&broker, &job, "p", 0..5).await;
    for _ in 0..2 {
        let seen = broker.log.read(&job, Seq(0)).await.unwrap().last().unwrap().seq;
        broker.log.arm(&job, &timer("t"), f.now(), trace(1)).await.unwrap();
        next(&mut broker.log.watch(&job, seen).await.unwrap()).await.unwrap();
    }
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    let ids: BTreeSet<_> = entries.iter().map(|e| e.record.as_ref().unwrap().id.clone()).collect();
    assert_eq!(ids.len(), entries.len());
}
