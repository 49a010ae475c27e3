//! Tests of pulses: they name the jobs that change, and none is sent unasked.

use std::pin::pin;

use broker::{memory::MemoryOptions, testing::wait::soon};
use bytes::Bytes;
use client::Client;
use futures::StreamExt;
use proto::id::Shard;

use super::company::Company;

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_change_are_told_only_while_somebody_asks() {
    let company = Company::at_work(MemoryOptions::default(), "a b<a").await;
    let (bus, subjects) = (&company.broker.bus, company.broker.log.subjects());
    let mut heard = bus.subscribe(subjects.all_pulses()).await.unwrap();
    let before = company.submit("before").await;
    company.ended(&before).await;

    // Nothing was sent before this message, although a job ran from its begin to its end.
    bus.publish(subjects.pulse(Shard(0)), Bytes::from_static(b"mark")).await.unwrap();
    let first = soon("the mark", heard.next()).await.unwrap();
    assert_eq!(first.payload, Bytes::from_static(b"mark"));

    let client = Client::new(&company.broker);
    let mut pulses = pin!(client.pulses());
    soon("a pulse", pulses.next()).await.unwrap();
    let after = company.submit("after").await;
    loop {
        let pulse = soon("a pulse of the job", pulses.next()).await.unwrap();
        if pulse.jobs.contains(&after) {
            assert_eq!(pulse.shard, subjects.shard_of(&after));
            break;
        }
    }
}
