//! The milestones of a shard, which are not read again while the shard is as it was.

use broker::log::{Milestones, Passed};
use proto::id::{JobId, Seq, Shard};

use crate::contract::{
    fixtures::{Fixture, OnNats},
    words::*,
};

fn jobs(page: &Milestones) -> Vec<JobId> {
    page.found.iter().map(|milestone| milestone.job.clone()).collect()
}

#[tokio::test]
async fn a_shard_is_read_again_once_a_record_is_stored_or_purged() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let first = job("first");
    let shard: Shard = broker.log.subjects().shard_of(&first);
    let second = job_in(shard, "second");
    let read = async |passed| broker.log.milestones(shard, passed).await.unwrap().unwrap();

    submit(&broker, &first).await;
    let page = read(Passed::default()).await;
    assert_eq!(jobs(&page), std::slice::from_ref(&first));
    assert!(page.passed.state.is_some());
    let again = read(page.passed).await;
    assert_eq!((jobs(&again), again.passed), (vec![], page.passed));
    // The state alone decides whether the shard is read.
    let same = Passed { state: page.passed.state, ..Passed::default() };
    assert_eq!(jobs(&read(same).await), []);

    submit(&broker, &second).await;
    let grown = read(page.passed).await;
    assert_eq!(jobs(&grown), std::slice::from_ref(&second));
    assert_ne!(grown.passed.state, page.passed.state);

    let restored = Passed { end: Seq(grown.passed.door.0 + 1), ..grown.passed };
    assert!(read(restored).await.is_rewound, "the shard ends before the position");

    broker.log.purge(&first).await.unwrap();
    let purged = read(grown.passed).await;
    assert_eq!(jobs(&purged), []);
    assert_ne!(purged.passed.state, grown.passed.state, "no record tells of a purge");
    let unread = Passed { state: grown.passed.state, ..Passed::default() };
    assert_eq!(jobs(&read(unread).await), [second]);
}
