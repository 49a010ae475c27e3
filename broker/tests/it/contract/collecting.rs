//! Unreferenced large values: listings, references, and removals of listed versions only.

use std::collections::BTreeSet;

use broker::{
    Broker,
    objects::{Kept, ObjectError},
    testing::wait::until,
};
use bytes::Bytes;
use futures::TryStreamExt;
use proto::{fact::Source, id::Seq};

use super::{
    fixtures::{Fixture, RENEWED_AFTER},
    on_every_broker,
    words::*,
};

on_every_broker![
    every_value_is_listed_once_with_its_size,
    a_value_that_was_removed_is_missing_and_can_be_stored_again,
    a_value_that_is_stored_again_soon_is_the_one_that_was_seen,
    a_value_that_is_stored_again_later_survives_its_removal,
    every_record_is_asked_for_the_names_in_it,
];

fn value(of: u8, bytes: usize) -> Bytes {
    Bytes::from(vec![of; bytes])
}

async fn seen(broker: &Broker, name: &str) -> Kept {
    let all = broker.objects.list().await.unwrap();
    all.into_iter().find(|kept| kept.sha256 == name).unwrap()
}

async fn every_value_is_listed_once_with_its_size(f: &impl Fixture) {
    let broker = f.broker().await;
    assert_eq!(broker.objects.list().await.unwrap(), []);
    // The last one is stored in several pieces.
    let sizes = [0, 1, 70_000, 3_000_000];
    let mut names = Vec::new();
    for (of, bytes) in (0_u8..).zip(sizes) {
        names.push(broker.objects.put(value(of, bytes)).await.unwrap());
        broker.objects.put(value(of, bytes)).await.unwrap();
    }
    let all = f.broker().await.objects.list().await.unwrap();
    let listed: Vec<_> = all.iter().map(|kept| (kept.sha256.clone(), kept.bytes)).collect();
    let stored: Vec<_> = names.into_iter().zip(sizes.map(|bytes| bytes as u64)).collect();
    assert_eq!(listed, stored);
}

async fn a_value_that_was_removed_is_missing_and_can_be_stored_again(f: &impl Fixture) {
    let broker = f.broker().await;
    let name = broker.objects.put(value(1, 1_500_000)).await.unwrap();
    let other = broker.objects.put(value(2, 100)).await.unwrap();
    let kept = seen(&broker, &name).await;
    for _ in 0..2 {
        broker.objects.remove(&kept).await.unwrap();
        let missing = broker.objects.get(&name).await.unwrap_err();
        assert!(matches!(missing, ObjectError::Missing(_)), "{missing}");
    }
    assert_eq!(broker.objects.get(&other).await.unwrap(), value(2, 100));
    assert_eq!(broker.objects.put(value(1, 1_500_000)).await.unwrap(), name);
    assert_eq!(f.broker().await.objects.get(&name).await.unwrap(), value(1, 1_500_000));
}

async fn a_value_that_is_stored_again_soon_is_the_one_that_was_seen(f: &impl Fixture) {
    let broker = f.broker().await;
    let name = broker.objects.put(value(1, 1_500_000)).await.unwrap();
    let kept = seen(&broker, &name).await;
    broker.objects.put(value(1, 1_500_000)).await.unwrap();
    assert_eq!(seen(&broker, &name).await.until, kept.until, "nothing was stored twice");
}

async fn a_value_that_is_stored_again_later_survives_its_removal(f: &impl Fixture) {
    let broker = f.broker().await;
    let name = broker.objects.put(value(1, 1_500_000)).await.unwrap();
    let kept = seen(&broker, &name).await;
    until("an old value", async || seen(&broker, &name).await.age > RENEWED_AFTER).await;
    assert_eq!(seen(&broker, &name).await.until, kept.until);
    f.broker().await.objects.put(value(1, 1_500_000)).await.unwrap();
    let anew = seen(&broker, &name).await;
    assert!(anew.until > kept.until, "{anew:?}");
    assert_eq!(anew.bytes, kept.bytes, "the old one is gone");
    broker.objects.remove(&kept).await.unwrap();
    assert_eq!(broker.objects.get(&name).await.unwrap(), value(1, 1_500_000));
}

async fn every_record_is_asked_for_the_names_in_it(f: &impl Fixture) {
    let broker = f.broker().await;
    let shard = broker.log.subjects().shard_of(&job("one"));
    let (one, two) = (job("one"), job_in(shard, "two"));
    let large = "x".repeat(200_000);
    broker.log.append(&one, &called_with(1, &large), trace(1)).await.unwrap();
    append(&broker, &one, 2..3).await;
    stored(broker.log.decide(&two, &call_with("p", 1, &large), Seq(0), None, trace(1)).await);
    // This release cannot parse the record, but its reference counts.
    let name = "ab".repeat(32);
    let text = format!(r#"{{"v":99,"refs":["{name}"]}}"#);
    f.store_raw(&broker.log.subjects().fact(&two, &Source::Crew), text.as_bytes()).await;
    let mentions = broker.log.object_refs(shard).await.unwrap();
    let all: Vec<_> = mentions.try_collect::<Vec<_>>().await.unwrap().concat();
    let of = |job: &proto::id::JobId| -> BTreeSet<String> {
        let theirs = all.iter().filter(|mention| mention.job.as_ref() == Some(job));
        theirs.flat_map(|mention| mention.names.clone()).collect()
    };
    let objects: Vec<_> = broker.objects.list().await.unwrap();
    let names: BTreeSet<String> = objects.into_iter().map(|kept| kept.sha256).collect();
    assert_eq!(names.len(), 2);
    assert!(of(&one).union(&of(&two)).cloned().collect::<BTreeSet<_>>().is_superset(&names));
    assert_eq!(of(&one).len(), 1);
    assert!(of(&two).contains(&name) && of(&two).len() == 2, "{:?}", of(&two));
    for shard in broker.log.subjects().all_shards().filter(|other| *other != shard) {
        let mut others = broker.log.object_refs(shard).await.unwrap();
        while let Some(page) = others.try_next().await.unwrap() {
            assert_eq!(page, []);
        }
    }
}
