//! Reads and watches of a job's log.

use broker::log::Latest;
use futures::{StreamExt, TryStreamExt};
use proto::{id::Seq, record::Unreadable, subject::Family};

use super::{fixtures::Fixture, on_every_broker, race_on_every_broker, words::*};

on_every_broker![
    a_job_that_is_not_there_has_no_records,
    records_are_read_in_order_after_a_position,
    what_is_acknowledged_is_read_by_everybody,
    a_log_of_many_records_is_read_whole,
    the_first_record_of_a_job_is_read_alone,
    the_last_record_of_a_job_is_known_without_its_log,
    timers_are_no_records,
    a_watch_gives_what_is_there_and_what_follows,
    a_watch_of_a_job_that_comes_later_sees_its_first_record,
    a_watch_sees_one_job_only,
    what_cannot_be_read_says_why_and_hides_nothing_else,
];
race_on_every_broker![a_watch_has_no_gap_while_others_write];

async fn a_job_that_is_not_there_has_no_records(f: &impl Fixture) {
    let broker = f.broker().await;
    assert!(broker.log.read(&job("nobody"), Seq(0)).await.unwrap().is_empty());
    submit(&broker, &job("nobody-else")).await;
    assert!(broker.log.read(&job("nobody"), Seq(0)).await.unwrap().is_empty());
}

async fn records_are_read_in_order_after_a_position(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("ordered");
    let first = submit(&broker, &job).await;
    append(&broker, &job, 0..5).await;
    command(&broker, &job, "p", 5..8).await;
    let all = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(all.len(), 9);
    assert_eq!(all[0].seq, first);
    assert!(all.is_sorted_by(|a, b| a.seq < b.seq && a.time <= b.time));
    assert_eq!(all[1..].iter().map(number).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    for (n, entry) in all.iter().enumerate() {
        let rest = broker.log.read(&job, entry.seq).await.unwrap();
        assert_eq!(seqs(&rest), seqs(&all[n + 1..]));
    }
}

async fn the_first_record_of_a_job_is_read_alone(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("first");
    assert!(broker.log.first(&job).await.unwrap().is_none());
    broker.log.append(&job, &called(0), trace(0)).await.unwrap();
    assert!(broker.log.first(&job).await.unwrap().is_none(), "nobody submitted it");
    let seq = submit(&broker, &job).await;
    append(&broker, &job, 1..5).await;
    let first = f.broker().await.log.first(&job).await.unwrap().unwrap();
    assert_eq!((first.seq, &first.job), (seq, &job));
    assert!(first.submission().is_some());
    broker.log.purge(&job).await.unwrap();
    assert!(broker.log.first(&job).await.unwrap().is_none());
}

async fn the_last_record_of_a_job_is_known_without_its_log(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("last");
    assert_eq!(broker.log.latest(&job).await.unwrap(), None);
    submit(&broker, &job).await;
    append(&broker, &job, 0..3).await;
    submit(&broker, &self::job("other")).await;
    let reader = f.broker().await;
    for n in 3..6 {
        let last = reader.log.read(&job, Seq(0)).await.unwrap().pop().unwrap();
        let latest = reader.log.latest(&job).await.unwrap();
        assert_eq!(latest, Some(Latest { seq: last.seq, time: last.time }));
        broker.log.append(&job, &called(n), trace(n)).await.unwrap();
    }
    broker.log.purge(&job).await.unwrap();
    assert_eq!(reader.log.latest(&job).await.unwrap(), None);
}

async fn what_is_acknowledged_is_read_by_everybody(f: &impl Fixture) {
    let (writer, reader) = (f.broker().await, f.broker().await);
    let job = job("shared");
    for n in 0..50 {
        let seq = writer.log.append(&job, &called(n), trace(n)).await.unwrap();
        let last = reader.log.read(&job, Seq(0)).await.unwrap().last().map(|e| e.seq);
        assert_eq!(last, Some(seq));
    }
}

async fn a_log_of_many_records_is_read_whole(f: &impl Fixture) {
    let broker = f.broker().await;
    let (job, other) = (job("long"), job("long-too"));
    for n in 0..1500 {
        broker.log.append(&job, &called(n), trace(n)).await.unwrap();
        if n % 10 == 0 {
            broker.log.append(&other, &called(n), trace(n)).await.unwrap();
        }
    }
    let all = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(all.iter().map(number).collect::<Vec<_>>(), (0..1500).collect::<Vec<_>>());
    let parts: Vec<_> = broker.log.read_in_parts(&job).try_collect().await.unwrap();
    assert_eq!(seqs(&parts.concat()), seqs(&all));
    let nobody = self::job("nobody");
    let mut parts = broker.log.read_in_parts(&nobody);
    assert!(parts.next().await.is_none_or(|part| part.unwrap().is_empty()));
}

async fn timers_are_no_records(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("timed");
    submit(&broker, &job).await;
    let at = f.now() + jiff::SignedDuration::from_hours(100);
    broker.log.arm(&job, &timer("t"), at, trace(1)).await.unwrap();
    let seq = broker.log.append(&job, &called(1), trace(1)).await.unwrap();
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(entries.len(), 2);
    assert!(entries.iter().all(|e| !matches!(e.family, Family::At(_))));
    let mut watch = broker.log.watch(&job, Seq(0)).await.unwrap();
    assert_eq!(seqs(&[next(&mut watch).await.unwrap(), next(&mut watch).await.unwrap()])[1], seq.0);
}

async fn a_watch_gives_what_is_there_and_what_follows(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("watched");
    let first = submit(&broker, &job).await;
    append(&broker, &job, 0..3).await;
    let mut all = broker.log.watch(&job, Seq(0)).await.unwrap();
    let mut rest = broker.log.watch(&job, first).await.unwrap();
    assert_eq!(next(&mut all).await.unwrap().seq, first);
    for n in 0..3 {
        assert_eq!(number(&next(&mut all).await.unwrap()), n);
        assert_eq!(number(&next(&mut rest).await.unwrap()), n);
    }
    nothing(&mut all).await;
    let other = f.broker().await;
    append(&other, &job, 3..6).await;
    for n in 3..6 {
        let entry = next(&mut all).await.unwrap();
        assert_eq!((number(&entry), entry.trace), (n, Some(trace(n))));
        assert_eq!(number(&next(&mut rest).await.unwrap()), n);
    }
    nothing(&mut rest).await;
}

async fn a_watch_of_a_job_that_comes_later_sees_its_first_record(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("to-come");
    let mut watch = broker.log.watch(&job, Seq(0)).await.unwrap();
    nothing(&mut watch).await;
    let seq = submit(&broker, &job).await;
    assert_eq!(next(&mut watch).await.unwrap().seq, seq);
}

async fn a_watch_sees_one_job_only(f: &impl Fixture) {
    let broker = f.broker().await;
    let shard = broker.log.subjects().shard_of(&job("one"));
    let mut watch = broker.log.watch(&job("one"), Seq(0)).await.unwrap();
    append(&broker, &job_in(shard, "another"), 0..3).await;
    append(&broker, &job("one"), 7..8).await;
    assert_eq!(number(&next(&mut watch).await.unwrap()), 7);
    nothing(&mut watch).await;
}

async fn what_cannot_be_read_says_why_and_hides_nothing_else(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("poisoned");
    let subject = broker.log.subjects().fact(&job, &proto::fact::Source::Crew);
    append(&broker, &job, 0..1).await;
    f.store_raw(&subject, b"\xff\x00 nonsense").await;
    f.store_raw(&subject, br#"{"v":9,"kind":"called","id":"x","by":"w","body":{}}"#).await;
    append(&broker, &job, 1..2).await;
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(entries.len(), 4);
    assert!(matches!(entries[1].record, Err(Unreadable::Malformed(_))), "{:?}", entries[1]);
    assert_eq!(entries[2].record.as_ref().unwrap().known(), Err(Unreadable::Version(9)));
    assert_eq!((number(&entries[0]), number(&entries[3])), (0, 1));
    assert_eq!(entries[1].trace, None);
}

async fn a_watch_has_no_gap_while_others_write(f: &impl Fixture) {
    const WRITERS: u64 = 4;
    const EACH: u64 = 100;
    let job = job("busy");
    let reader = f.broker().await;
    let mut writers = tokio::task::JoinSet::new();
    for w in 0..WRITERS {
        let (broker, job) = (f.broker().await, job.clone());
        writers.spawn(async move { append(&broker, &job, w * 1000..w * 1000 + EACH).await });
    }
    let mut watchers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        // Each watcher starts at a different position.
        let before = reader.log.read(&job, Seq(0)).await.unwrap();
        let after = before.last().map_or(Seq(0), |e| e.seq);
        let mut watch = reader.log.watch(&job, after).await.unwrap();
        watchers.spawn(async move {
            let mut seen = before;
            while seen.len() < usize::try_from(WRITERS * EACH).unwrap() {
                seen.push(next(&mut watch).await.unwrap());
            }
            seqs(&seen)
        });
        tokio::task::yield_now().await;
    }
    writers.join_all().await;
    let all = seqs(&reader.log.read(&job, Seq(0)).await.unwrap());
    for seen in watchers.join_all().await {
        assert_eq!(seen, all);
    }
}
