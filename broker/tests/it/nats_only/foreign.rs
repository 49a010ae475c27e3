//! Values of buckets that the server was made to write: it answers where it is asked to, and an answer
//! that holds nothing looks like an empty value.

use broker::kv::Bucket;
use bytes::Bytes;
use proto::{id::Shard, subject::Subjects};
use rstest::rstest;

use crate::contract::{
    fixtures::{Fixture, OnNats, subjects},
    words::*,
};

/// Reads what is not there, and has the answer sent to a key.
async fn answer_nothing(f: &OnNats, subjects: &Subjects, key: &str) {
    let client = async_nats::connect(f.server.url()).await.unwrap();
    let read = format!("$JS.API.DIRECT.GET.{}", subjects.stream(Shard(0)));
    let nothing = Bytes::from_static(br#"{"last_by_subj":"it.0.nobody.in.crew"}"#);
    client.publish_with_reply(read, key.to_owned(), nothing).await.unwrap();
    let jetstream = async_nats::jetstream::new(client);
    let bucket = key.split('.').nth(1).unwrap();
    let stream = jetstream.get_stream(format!("KV_{bucket}")).await.unwrap();
    let stored = || async { stream.get_last_raw_message_by_subject(key).await };
    while !stored().await.is_ok_and(|message| message.payload.is_empty()) {
        tokio::task::yield_now().await;
    }
}

#[rstest]
#[case::agents(Bucket::Agents, "careful")]
#[case::tools(Bucket::Tools, "echo")]
#[case::inbox(Bucket::Inbox, "job.q1")]
#[case::conversations(Bucket::Conversations, "talk")]
#[case::tasks(Bucket::Tasks, "counter")]
#[tokio::test]
async fn an_empty_answer_of_the_server_is_no_value(#[case] bucket: Bucket, #[case] key: &str) {
    let f = OnNats::start().await;
    let kv = f.broker().await.kv;
    let revision = kv.put(bucket, key, Bytes::from_static(b"the truth")).await.unwrap();
    let subject = format!("$KV.{}.{key}", subjects().bucket(bucket.name()));
    soon(answer_nothing(&f, &subjects(), &subject)).await;
    assert_eq!(kv.get(bucket, key).await.unwrap(), None);
    assert_eq!(kv.list(bucket, "").await.unwrap(), []);
    // Whoever wrote it before sees that it changed, and it can be written again.
    let value = Bytes::from_static(b"the truth again");
    assert!(kv.update(bucket, key, value.clone(), revision).await.is_err());
    kv.update(bucket, key, value.clone(), 0).await.unwrap();
    assert_eq!(kv.get(bucket, key).await.unwrap().unwrap().value, value);
}

/// Only the server begins its answers with a status. An empty value is a value.
#[tokio::test]
async fn an_empty_value_of_a_writer_is_one() {
    let f = OnNats::start().await;
    let kv = f.broker().await.kv;
    kv.put(Bucket::Tasks, "empty", Bytes::new()).await.unwrap();
    assert_eq!(kv.get(Bucket::Tasks, "empty").await.unwrap().unwrap().value, Bytes::new());
    assert_eq!(kv.list(Bucket::Tasks, "").await.unwrap().len(), 1);
}
