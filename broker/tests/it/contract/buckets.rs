//! The key-value store and the object store.

use std::collections::BTreeMap;

use broker::{
    kv::{Bucket, Change, KvError, Versioned},
    objects::ObjectError,
};
use bytes::Bytes;

use super::{fixtures::Fixture, on_every_broker, race_on_every_broker, words::*};

on_every_broker![
    a_value_is_read_as_it_was_written,
    buckets_do_not_share_keys,
    a_value_is_replaced_only_by_who_saw_it,
    a_deleted_value_is_gone_and_can_be_made_anew,
    a_value_is_deleted_only_by_who_saw_it,
    values_are_listed_below_whole_tokens_oldest_change_first,
    keys_that_are_none_are_refused,
    a_watch_gives_all_values_and_then_every_change,
    an_object_is_stored_under_its_digest,
    an_object_that_is_not_there_is_missing,
    a_large_object_comes_back_whole,
];
race_on_every_broker![
    of_many_writers_that_saw_the_same_one_writes,
    a_watch_of_a_busy_bucket_has_no_gap,
];

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn keys(values: &[Versioned]) -> Vec<&str> {
    values.iter().map(|v| v.key.as_str()).collect()
}

async fn a_value_is_read_as_it_was_written(f: &impl Fixture) {
    let (writer, reader) = (f.broker().await, f.broker().await);
    assert_eq!(reader.kv.get(Bucket::Tools, "echo").await.unwrap(), None);
    for text in ["one", "", "\u{0}\u{7f}é"] {
        let revision = writer.kv.put(Bucket::Tools, "echo", bytes(text)).await.unwrap();
        let got = reader.kv.get(Bucket::Tools, "echo").await.unwrap().unwrap();
        assert_eq!(got, Versioned { key: "echo".into(), value: bytes(text), revision });
    }
}

async fn buckets_do_not_share_keys(f: &impl Fixture) {
    let kv = f.broker().await.kv;
    for &bucket in Bucket::ALL {
        kv.put(bucket, "k", bytes(bucket.name())).await.unwrap();
    }
    for &bucket in Bucket::ALL {
        assert_eq!(kv.get(bucket, "k").await.unwrap().unwrap().value, bytes(bucket.name()));
        assert_eq!(kv.list(bucket, "k").await.unwrap().len(), 1);
    }
}

async fn a_value_is_replaced_only_by_who_saw_it(f: &impl Fixture) {
    let kv = f.broker().await.kv;
    let update = async |text: &str, seen| kv.update(Bucket::Inbox, "j.q1", bytes(text), seen).await;
    let conflict = |result| matches!(result, Err(KvError::Conflict(key)) if key == "j.q1");
    assert!(conflict(update("none", 7).await), "there was no value to replace");
    let first = update("one", 0).await.unwrap();
    assert!(conflict(update("two", 0).await), "it must not have existed");
    // Revisions count the changes of the whole bucket.
    kv.put(Bucket::Inbox, "j.q2", bytes("other")).await.unwrap();
    let second = update("two", first).await.unwrap();
    assert!(second > first);
    assert!(conflict(update("three", first).await));
    assert_eq!(kv.get(Bucket::Inbox, "j.q1").await.unwrap().unwrap().value, bytes("two"));
}

async fn a_deleted_value_is_gone_and_can_be_made_anew(f: &impl Fixture) {
    let kv = f.broker().await.kv;
    kv.delete(Bucket::Tasks, "t").await.unwrap();
    let first = kv.update(Bucket::Tasks, "t", bytes("one"), 0).await.unwrap();
    kv.delete(Bucket::Tasks, "t").await.unwrap();
    kv.delete(Bucket::Tasks, "t").await.unwrap();
    assert_eq!(kv.get(Bucket::Tasks, "t").await.unwrap(), None);
    assert!(kv.list(Bucket::Tasks, "").await.unwrap().is_empty());
    let stale = kv.update(Bucket::Tasks, "t", bytes("two"), first).await;
    assert!(matches!(stale, Err(KvError::Conflict(_))), "{stale:?}");
    let anew = kv.update(Bucket::Tasks, "t", bytes("two"), 0).await.unwrap();
    assert!(anew > first);
    assert_eq!(kv.get(Bucket::Tasks, "t").await.unwrap().unwrap().value, bytes("two"));
}

async fn a_value_is_deleted_only_by_who_saw_it(f: &impl Fixture) {
    let kv = f.broker().await.kv;
    let first = kv.put(Bucket::Tasks, "t", bytes("one")).await.unwrap();
    let second = kv.put(Bucket::Tasks, "t", bytes("two")).await.unwrap();
    for stale in [first, second + 1] {
        let refused = kv.delete_at(Bucket::Tasks, "t", stale).await.unwrap_err();
        assert!(matches!(refused, KvError::Conflict(_)), "{refused}");
    }
    assert_eq!(kv.get(Bucket::Tasks, "t").await.unwrap().unwrap().value, bytes("two"));
    let deleted = kv.delete_at(Bucket::Tasks, "t", second).await.unwrap();
    assert_eq!(kv.get(Bucket::Tasks, "t").await.unwrap(), None);
    let anew = kv.update(Bucket::Tasks, "t", bytes("anew"), 0).await.unwrap();
    assert!(second < deleted && deleted < anew, "{second} {deleted} {anew}");
}

async fn values_are_listed_below_whole_tokens_oldest_change_first(f: &impl Fixture) {
    let kv = f.broker().await.kv;
    assert!(kv.list(Bucket::Inbox, "").await.unwrap().is_empty());
    for key in ["a.q1", "ab.q1", "a.q2", "b", "a.q3.x", "a"] {
        kv.put(Bucket::Inbox, key, bytes(key)).await.unwrap();
    }
    kv.put(Bucket::Inbox, "a.q1", bytes("changed")).await.unwrap();
    kv.delete(Bucket::Inbox, "b").await.unwrap();
    let all = kv.list(Bucket::Inbox, "").await.unwrap();
    assert_eq!(keys(&all), ["ab.q1", "a.q2", "a.q3.x", "a", "a.q1"]);
    assert_eq!(all[4].value, bytes("changed"));
    let below = |prefix| kv.list(Bucket::Inbox, prefix);
    assert_eq!(keys(&below("a").await.unwrap()), ["a.q2", "a.q3.x", "a", "a.q1"]);
    assert_eq!(keys(&below("a.q3").await.unwrap()), ["a.q3.x"]);
    assert!(below("a.q").await.unwrap().is_empty());
}

async fn keys_that_are_none_are_refused(f: &impl Fixture) {
    let kv = f.broker().await.kv;
    for bad in ["", ".", "a.", ".a", "a..b", "a b", "*", "a.*", ">", "a.>", "é", "a/b", "a\n", "$x"]
    {
        let refused = |e| matches!(e, KvError::InvalidKey(key) if key == bad);
        assert!(refused(kv.get(Bucket::Tools, bad).await.unwrap_err()), "{bad:?}");
        assert!(refused(kv.put(Bucket::Tools, bad, bytes("")).await.unwrap_err()), "{bad:?}");
        assert!(refused(kv.update(Bucket::Tools, bad, bytes(""), 0).await.unwrap_err()), "{bad:?}");
        assert!(refused(kv.delete(Bucket::Tools, bad).await.unwrap_err()), "{bad:?}");
        if !bad.is_empty() {
            assert!(refused(kv.list(Bucket::Tools, bad).await.unwrap_err()), "{bad:?}");
        }
    }
    assert!(kv.list(Bucket::Tools, "").await.unwrap().is_empty());
}

async fn a_watch_gives_all_values_and_then_every_change(f: &impl Fixture) {
    let (kv, other) = (f.broker().await.kv, f.broker().await.kv);
    let mut empty = kv.watch(Bucket::Tools).await.unwrap();
    assert_eq!(next(&mut empty).await.unwrap(), Change::CaughtUp);
    for key in ["a", "b", "c"] {
        kv.put(Bucket::Tools, key, bytes("old")).await.unwrap();
    }
    kv.delete(Bucket::Tools, "b").await.unwrap();
    let mut watch = kv.watch(Bucket::Tools).await.unwrap();
    let mut before = Vec::new();
    loop {
        match next(&mut watch).await.unwrap() {
            Change::Put(value) => before.push(value),
            Change::CaughtUp => break,
            Change::Deleted(key) => assert_eq!(key, "b"),
            Change::Foreign(key) => panic!("{key} was written by nobody"),
        }
    }
    assert_eq!(keys(&before), ["a", "c"]);
    nothing(&mut watch).await;
    let revision = other.put(Bucket::Tools, "c", bytes("new")).await.unwrap();
    let put = Versioned { key: "c".into(), value: bytes("new"), revision };
    assert_eq!(next(&mut watch).await.unwrap(), Change::Put(put));
    other.delete(Bucket::Tools, "a").await.unwrap();
    assert_eq!(next(&mut watch).await.unwrap(), Change::Deleted("a".into()));
    other.put(Bucket::Tasks, "a", bytes("another bucket")).await.unwrap();
    nothing(&mut watch).await;
}

async fn of_many_writers_that_saw_the_same_one_writes(f: &impl Fixture) {
    const EACH: u32 = 20;
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let kv = f.broker().await.kv;
        writers.spawn(async move {
            let mut written = 0;
            while written < EACH {
                let seen = kv.get(Bucket::Tasks, "counter").await.unwrap();
                let revision = seen.as_ref().map_or(0, |v| v.revision);
                let count: u32 = seen
                    .map_or(0, |v| String::from_utf8(v.value.to_vec()).unwrap().parse().unwrap());
                let value = bytes(&(count + 1).to_string());
                match kv.update(Bucket::Tasks, "counter", value, revision).await {
                    Ok(_) => written += 1,
                    Err(KvError::Conflict(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    writers.join_all().await;
    let counter = f.broker().await.kv.get(Bucket::Tasks, "counter").await.unwrap().unwrap();
    assert_eq!(counter.value, bytes(&(6 * EACH).to_string()));
}

async fn a_watch_of_a_busy_bucket_has_no_gap(f: &impl Fixture) {
    const EACH: u32 = 60;
    let mut writers = tokio::task::JoinSet::new();
    for w in 0..3 {
        let kv = f.broker().await.kv;
        writers.spawn(async move {
            for n in 0..EACH {
                kv.put(Bucket::Tasks, &format!("{w}.{n}"), bytes("x")).await.unwrap();
            }
        });
    }
    let mut watchers = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let mut watch = f.broker().await.kv.watch(Bucket::Tasks).await.unwrap();
        watchers.spawn(async move {
            let mut seen = BTreeMap::new();
            while seen.len() < 3 * usize::try_from(EACH).unwrap() {
                match next(&mut watch).await.unwrap() {
                    Change::Put(v) => assert_eq!(seen.insert(v.key, v.revision), None),
                    Change::CaughtUp => {}
                    Change::Deleted(key) | Change::Foreign(key) => panic!("{key} is gone"),
                }
            }
            seen
        });
        tokio::task::yield_now().await;
    }
    writers.join_all().await;
    let all = f.broker().await.kv.list(Bucket::Tasks, "").await.unwrap();
    let all: BTreeMap<_, _> = all.into_iter().map(|v| (v.key, v.revision)).collect();
    for seen in watchers.join_all().await {
        assert_eq!(seen, all);
    }
}

async fn an_object_is_stored_under_its_digest(f: &impl Fixture) {
    let (writer, reader) = (f.broker().await, f.broker().await);
    for text in ["", "text", "\u{0}\u{1}"] {
        let name = writer.objects.put(bytes(text)).await.unwrap();
        assert_eq!(name, proto::digest::of_bytes(text.as_bytes()));
        assert_eq!(writer.objects.put(bytes(text)).await.unwrap(), name, "twice is once");
        assert_eq!(reader.objects.get(&name).await.unwrap(), bytes(text));
    }
}

async fn an_object_that_is_not_there_is_missing(f: &impl Fixture) {
    let objects = f.broker().await.objects;
    let absent = proto::digest::of_bytes(b"absent");
    for name in [absent.as_str(), "", "nonsense", "../x", "a b", "*"] {
        let error = objects.get(name).await.unwrap_err();
        assert!(matches!(error, ObjectError::Missing(_)), "{name:?}: {error}");
    }
}

async fn a_large_object_comes_back_whole(f: &impl Fixture) {
    let (writer, reader) = (f.broker().await, f.broker().await);
    let large: Bytes =
        (0..5_000_000_u32).map(|n| n.to_le_bytes()[usize::from(n % 3 == 0)]).collect();
    let name = writer.objects.put(large.clone()).await.unwrap();
    assert!(reader.objects.get(&name).await.unwrap() == large);
}
