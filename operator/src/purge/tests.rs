//! Tests of purge against the in-memory log, with a virtual clock.

use std::{collections::BTreeSet, time::Duration};

use broker::{
    clock::Clock,
    kv::{self, Bucket},
    memory::{Memory, MemoryOptions, VirtualClock},
    testing::jobs::{self, Jobs, submitted},
};
use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use machine::replay;
use proto::{
    conversation::Conversation,
    decision::Decision,
    fact::{Called, Fact, Signal, Source, Submitted},
    id::{AskId, ConversationId, JobId, Seq},
    tool::ToolResult,
};

use super::*;

struct Stage {
    memory: Memory,
    jobs: Jobs,
    clock: VirtualClock,
}

fn id(name: &str) -> JobId {
    JobId::new(name).unwrap()
}

fn trip() -> ConversationId {
    ConversationId::new("trip").unwrap()
}

fn signaled(signal: &Signal, reason: &str) -> Fact {
    let reason = Some(reason.to_owned());
    serde_json::from_value(serde_json::json!({"signal": signal, "reason": reason}))
        .map(Fact::Signaled)
        .unwrap()
}

impl Stage {
    fn new() -> Self {
        let clock = VirtualClock::new();
        let options = MemoryOptions { clock: std::sync::Arc::new(clock), ..Default::default() };
        let (memory, jobs) = Jobs::in_memory(3, options);
        Self { memory, jobs, clock }
    }

    async fn submit(&self, name: &str, goal: &str, conversation: Option<ConversationId>) -> JobId {
        let conversation =
            conversation.map(|id| Conversation { id, earlier: Vec::new(), omitted: 0 });
        self.jobs.submit(name, Submitted { conversation, ..submitted(goal) }).await
    }

    /// Creates a canceled job. A long reason is stored in the object store.
    async fn ended(&self, name: &str, why: &str, conversation: Option<ConversationId>) -> JobId {
        let job = self.submit(name, "a goal", conversation).await;
        let cancel = signaled(&Signal::Cancel, why);
        self.jobs.append(&job, cancel).await;
        self.drive(&job).await;
        assert!(self.folded(&job).await.has_ended());
        job
    }

    async fn folded(&self, job: &JobId) -> machine::Job {
        replay(job, &self.jobs.read(job).await)
    }

    async fn drive(&self, job: &JobId) {
        while let Some(next) = self.folded(job).await.decide() {
            self.jobs.decide(job, &next.decision).await;
        }
    }

    async fn find(&self, hours: i64) -> PurgeReport {
        let before = self.ago(hours);
        find(&self.jobs.broker, &Terms { jobs: Vec::new(), before }).await.unwrap()
    }

    fn ago(&self, hours: i64) -> Timestamp {
        // A record of this very moment counts as earlier.
        let now = self.clock.now() + SignedDuration::from_millis(1);
        now - SignedDuration::from_hours(hours)
    }

    async fn garbage(&self, hours: u64) -> Garbage {
        let age = Duration::from_secs(hours * 3600);
        garbage(&self.jobs.broker, age, &BTreeSet::new()).await.unwrap()
    }
}

async fn pass(hours: u64) {
    tokio::time::sleep(Duration::from_secs(hours * 3600)).await;
}

fn names(found: &PurgeReport) -> Vec<&str> {
    let mut names: Vec<_> = found.ended.iter().map(|ended| ended.job.as_str()).collect();
    names.sort_unstable();
    names
}

#[tokio::test(start_paused = true)]
async fn only_jobs_that_ended_before_are_found_and_removed() {
    let stage = Stage::new();
    let open = stage.submit("open", "g", None).await;
    stage.ended("old", "x", None).await;
    let parked = stage.ended("parked", "x", None).await;
    let parked = {
        stage.jobs.broker.log.purge(&parked).await.unwrap();
        stage.submit("parked", "g", None).await
    };
    let strange = Bytes::from_static(br#"{"v":1,"kind":"danced","id":"1","by":"w","body":{}}"#);
    let subject = stage.jobs.broker.log.subjects().fact(&parked, &Source::Door);
    stage.memory.store_raw(&subject, strange).unwrap();
    let touched = stage.ended("touched", "x", None).await;
    pass(10).await;
    stage.ended("new", "x", None).await;
    let late = signaled(&Signal::Pause, "too late");
    stage.jobs.append(&touched, late).await;
    pass(1).await;
    let found = stage.find(5).await;
    assert_eq!(names(&found), ["old"]);
    assert_eq!((found.open, found.recent, found.more), (2, 2, false));
    assert_eq!((found.ended[0].records, found.ended[0].bytes > 300), (3, true));
    assert_eq!(remove(&stage.jobs.broker, &found.ended).await.unwrap(), [id("old")]);
    assert_eq!(stage.jobs.read(&id("old")).await.len(), 0);
    for stays in [&open, &parked, &touched, &id("new")] {
        assert!(!stage.jobs.read(stays).await.is_empty(), "{stays}");
    }
    assert_eq!(names(&stage.find(0).await), ["new", "touched"]);
}

#[tokio::test(start_paused = true)]
async fn jobs_that_are_named_and_must_stay_are_named() {
    let stage = Stage::new();
    let (open, ended) = (stage.submit("open", "g", None).await, stage.ended("e", "x", None).await);
    let jobs = vec![open.clone(), ended, id("nobody")];
    let look = async |hours| {
        find(&stage.jobs.broker, &Terms { jobs: jobs.clone(), before: stage.ago(hours) })
            .await
            .unwrap()
    };
    let found = look(0).await;
    assert_eq!(names(&found), ["e"]);
    assert_eq!(found.named, [(open.clone(), Stays::Open), (id("nobody"), Stays::Absent)]);
    assert_eq!(look(1).await.named[1], (id("e"), Stays::Recent));
}

#[tokio::test(start_paused = true)]
async fn what_others_write_meanwhile_is_not_what_was_seen() {
    let stage = Stage::new();
    let (late, anew) = (stage.ended("late", "x", None).await, stage.ended("anew", "x", None).await);
    let found = stage.find(0).await;
    // A late result belongs to the job that is removed.
    stage.jobs.append(&late, signaled(&Signal::Pause, "y")).await;
    // Another operator removed this job, and it was submitted again.
    stage.jobs.broker.log.purge(&anew).await.unwrap();
    stage.submit("anew", "g", None).await;
    let key = kv::inbox_key(&anew, &AskId::new("q1").unwrap());
    stage.jobs.broker.kv.put(Bucket::Inbox, &key, "{}".into()).await.unwrap();
    let removed = remove(&stage.jobs.broker, &found.ended).await.unwrap();
    assert_eq!((removed.len(), &removed[0]), (1, &late));
    assert!(stage.jobs.read(&late).await.is_empty());
    assert_eq!(stage.jobs.read(&anew).await.len(), 1);
    assert!(stage.jobs.broker.kv.get(Bucket::Inbox, &key).await.unwrap().is_some());
    // A repeated removal changes nothing.
    assert!(remove(&stage.jobs.broker, &found.ended).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_taken_back_since_it_was_seen_stays() {
    let stage = Stage::new();
    let job = stage.ended("back", "x", None).await;
    let found = stage.find(0).await;
    let to = stage.folded(&job).await.first();
    let back = Signal::RollBack { to, seen: found.ended[0].until, again: true };
    let back = signaled(&back, "it was a mistake");
    stage.jobs.append(&job, back).await;
    assert!(!stage.folded(&job).await.has_ended(), "it is open again");
    assert!(remove(&stage.jobs.broker, &found.ended).await.unwrap().is_empty());
    assert!(!stage.jobs.read(&job).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn buckets_forget_a_job_that_is_removed_and_keep_the_others() {
    let stage = Stage::new();
    for name in ["one", "two", "one1"] {
        stage.ended(name, "x", Some(trip())).await;
        let key = kv::inbox_key(&id(name), &AskId::new("q1").unwrap());
        stage.jobs.broker.kv.put(Bucket::Inbox, &key, "{}".into()).await.unwrap();
    }
    let members = r#"{"jobs":["one","two","one1"]}"#;
    stage.jobs.broker.kv.put(Bucket::Conversations, "trip", members.into()).await.unwrap();
    let left = async |jobs: &[&str]| {
        let found = stage.find(0).await;
        let these = found.ended.into_iter().filter(|e| jobs.contains(&e.job.as_str()));
        remove(&stage.jobs.broker, &these.collect::<Vec<_>>()).await.unwrap();
        let inbox = stage.jobs.broker.kv.list(Bucket::Inbox, "").await.unwrap();
        let inbox: Vec<_> = inbox.into_iter().map(|entry| entry.key).collect();
        let trip = stage.jobs.broker.kv.get(Bucket::Conversations, "trip").await.unwrap();
        (inbox, trip.map(|entry| String::from_utf8(entry.value.to_vec()).unwrap()))
    };
    let (inbox, trip) = left(&["one"]).await;
    assert_eq!(inbox, ["two.q1", "one1.q1"]);
    assert_eq!(trip.unwrap(), r#"{"jobs":["two","one1"],"forgotten":1}"#);
    assert_eq!(left(&["two", "one1"]).await, (vec![], None));
}

#[tokio::test(start_paused = true)]
async fn a_large_value_goes_with_the_last_job_that_refers_to_it() {
    let stage = Stage::new();
    // The door refuses a reason of this length; the log accepts it.
    let (shared, own) = ("s".repeat(100_000), "o".repeat(70_000));
    let (one, two) =
        (stage.ended("one", &shared, None).await, stage.ended("two", &shared, None).await);
    stage.ended("three", &own, None).await;
    let purge = async |job: &JobId| {
        let terms = Terms { jobs: vec![job.clone()], before: stage.ago(0) };
        let found = find(&stage.jobs.broker, &terms).await.unwrap();
        assert_eq!(remove(&stage.jobs.broker, &found.ended).await.unwrap().len(), 1);
    };
    let count = stage.jobs.broker.objects.list().await.unwrap().len();
    assert!(count >= 2, "{count}");
    assert_eq!(stage.garbage(0).await.values, []);
    purge(&one).await;
    pass(30).await;
    assert_eq!(stage.garbage(24).await.values, [], "another job refers to it");
    // Jobs about to be removed do not count as references.
    let age = Duration::from_secs(24 * 3600);
    let told = garbage(&stage.jobs.broker, age, &BTreeSet::from([&two])).await.unwrap();
    purge(&two).await;
    let garbage = stage.garbage(24).await;
    assert_eq!(told.values, garbage.values);
    assert!(!garbage.values.is_empty() && garbage.bytes() >= 100_000, "{garbage:?}");
    assert_eq!(garbage.kept as usize + garbage.values.len(), count);
    collect(&stage.jobs.broker, &garbage).await.unwrap();
    assert_eq!(stage.garbage(24).await.values, []);
    assert!(stage.folded(&id("three")).await.has_ended());
}

/// The body of a large submission is itself a stored value, and only that value names the files.
#[tokio::test(start_paused = true)]
async fn files_stay_as_long_as_a_job_has_them() {
    let stage = Stage::new();
    for (name, goal) in [("small", "g".to_owned()), ("large", "g".repeat(100_000))] {
        let sha256 = stage.jobs.broker.objects.put(Bytes::from(name.repeat(9))).await.unwrap();
        let file = serde_json::json!({
            "name": "f", "content": {"pieces": [{"sha256": sha256, "bytes": name.len() * 9}]},
        });
        let files = vec![serde_json::from_value(file).unwrap()];
        stage.jobs.submit(name, Submitted { files, ..submitted(&goal) }).await;
    }
    // So is the body of a large result, which names what its call published.
    let published = stage.jobs.broker.objects.put(Bytes::from_static(b"report")).await.unwrap();
    let file = serde_json::json!({
        "name": "report", "content": {"pieces": [{"sha256": published, "bytes": 6}]},
    });
    let result = ToolResult::ok("x".repeat(100_000).into());
    let files = vec![serde_json::from_value(file).unwrap()];
    let called = Fact::Called(Called { result, files, ..jobs::called("g0.s1") });
    stage.jobs.broker.log.append(&id("small"), &called, jobs::trace()).await.unwrap();
    // The body of a large `done` is one as well, and its result names files.
    let found = stage.jobs.broker.objects.put(Bytes::from_static(b"picture")).await.unwrap();
    let done = serde_json::json!({
        "kind": "call",
        "command": {
            "work": "g0.s2", "attempt": 1, "step": "s2", "tool": "look", "version": "1", "pool": "p",
            "effect": "pure", "args": {}, "idempotency_key": "k",
        },
        "result": {
            "work": "g0.s2", "attempt": 1, "duration_ms": 1,
            "result": {"success": true, "data": "y".repeat(100_000)},
            "files": [{"name": "picture", "content": {"pieces": [{"sha256": found, "bytes": 7}]}}],
        },
    });
    let done = Decision::Done(serde_json::from_value(done).unwrap());
    let log = &stage.jobs.broker.log;
    log.decide(&id("small"), &done, Seq(0), None, jobs::trace()).await.unwrap();
    pass(30).await;
    assert_eq!(stage.garbage(24).await.values, []);
    stage.jobs.broker.log.purge(&id("large")).await.unwrap();
    let garbage = stage.garbage(24).await;
    assert_eq!(garbage.values.len(), 2, "its file and the submission: {garbage:?}");
    stage.jobs.broker.log.purge(&id("small")).await.unwrap();
    assert_eq!(stage.garbage(24).await.values.len(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_written_during_the_collection_is_never_lost() {
    let stage = Stage::new();
    let large = "s".repeat(100_000);
    let first = stage.ended("first", &large, None).await;
    stage.jobs.broker.log.purge(&first).await.unwrap();
    // Too young to be removed.
    pass(23).await;
    assert_eq!(stage.garbage(24).await.values, []);
    pass(2).await;
    let garbage = stage.garbage(24).await;
    assert!(!garbage.values.is_empty());
    let second = stage.ended("second", &large, None).await;
    collect(&stage.jobs.broker, &garbage).await.unwrap();
    assert!(stage.folded(&second).await.has_ended(), "its value is there");
    // A listing that is too old may have missed later records.
    pass(1).await;
    assert_eq!(stage.garbage(0).await.values, []);
    stage.jobs.broker.log.purge(&second).await.unwrap();
    let garbage = stage.garbage(0).await;
    pass(13).await;
    let late = collect(&stage.jobs.broker, &garbage).await;
    assert!(matches!(late, Err(PurgeError::TooLong)), "{late:?}");
}
