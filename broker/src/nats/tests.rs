//! Tests of private functions against a real server.

use std::sync::Arc;

use proto::{
    fact::{Fact, Fired, Source},
    id::{JobId, Seq, TimerName, WorkerId},
    record::Record,
    subject::Subjects,
    trace::TraceContext,
};

use super::{
    NatsOptions,
    link::{Events, Link},
    publish::{self, Publish},
};
use crate::{
    log::{
        CasOutcome,
        settle::{self, Reply, RetryBounds, Write},
    },
    testing::NatsServer,
};

/// Two connections to an installation, and a job of it.
struct Stage {
    _server: NatsServer,
    subjects: Subjects,
    ours: Arc<Link>,
    theirs: Arc<Link>,
    job: JobId,
}

async fn link(url: &str) -> Arc<Link> {
    let client = async_nats::connect(url).await.unwrap();
    Arc::new(Link::new(client, &Events::default(), std::time::Duration::from_secs(5)))
}

async fn stage() -> Stage {
    let server = NatsServer::start().await;
    let subjects = Subjects::new("cb", 1).unwrap();
    let options = NatsOptions { servers: vec![server.url().to_owned()], ..NatsOptions::default() };
    let writer = WorkerId::new("w").unwrap();
    super::connect(&options, subjects.clone(), writer).await.unwrap();
    let (ours, theirs) = (link(server.url()).await, link(server.url()).await);
    Stage { _server: server, subjects, ours, theirs, job: JobId::new("job").unwrap() }
}

impl Stage {
    /// Builds a guarded write of a record with this id.
    fn write<'a>(&self, link: &'a Link, id: &str, after: Seq) -> Publish<'a> {
        let timer = TimerName::new("t").unwrap();
        let by = WorkerId::new("w").unwrap();
        let record = Record::of_fact(&Fact::Fired(Fired { timer }), id, &by).unwrap();
        let subject = self.subjects.fact(&self.job, &Source::Crew);
        let write = Publish {
            link,
            stream: self.subjects.stream(self.subjects.shard_of(&self.job)),
            subject: subject.clone(),
            headers: publish::headers(&subject, TraceContext::new(1, 1, true)),
            payload: record.to_vec().into(),
            id: id.to_owned(),
            guard: None,
            limit: link.request_timeout,
        };
        write.guarded(subject, after)
    }
}

/// A leader that was just replaced may reply "wrong last sequence" to a write that it stored.
#[tokio::test]
async fn a_conflict_about_our_own_record_is_found_to_be_a_lie() {
    let stage = stage().await;
    let stored = stage.write(&stage.theirs, "mine", Seq(0)).publish().await;
    let Reply::Stored(seq) = stored else { panic!("{stored:?}") };
    // Another writer has already appended after it.
    assert!(matches!(stage.write(&stage.theirs, "next", seq).publish().await, Reply::Stored(_)));
    let again = stage.write(&stage.ours, "mine", Seq(0));
    assert!(matches!(again.publish().await, Reply::Conflict));
    let settled = settle::settle(&again, RetryBounds::default()).await.unwrap();
    assert_eq!(settled, CasOutcome::Stored(seq));
    let other = stage.write(&stage.ours, "other", Seq(0));
    assert_eq!(settle::settle(&other, RetryBounds::default()).await.unwrap(), CasOutcome::Conflict);
}

#[tokio::test]
async fn a_record_that_cannot_be_read_occupies_its_position() {
    let stage = stage().await;
    let mut nonsense = stage.write(&stage.theirs, "x", Seq(0));
    nonsense.payload = "nonsense".into();
    assert!(matches!(nonsense.publish().await, Reply::Stored(_)));
    let ours = stage.write(&stage.ours, "mine", Seq(0));
    assert_eq!(settle::settle(&ours, RetryBounds::default()).await.unwrap(), CasOutcome::Conflict);
}
