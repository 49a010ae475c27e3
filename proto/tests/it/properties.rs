//! Properties that hold for arbitrary values.

use callboard_proto::{
    decision::DecisionKind,
    fact::Source,
    id::{ID_MAX, JobId, Pool, TimerName},
    record::Record,
    subject::{Family, Subjects},
};
use proptest::prelude::*;
use serde_json::json;

fn id() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_-]{1,64}"
}

proptest! {
    #[test]
    fn a_subject_is_read_as_it_was_built(
        job in id(), pool in id(), timer in id(), shards in 1u16..=256,
        source in prop::sample::select(vec!["door", "plan", "turn", "call", "crew", "people", "clock"]),
        kind in prop::sample::select(DecisionKind::ALL),
    ) {
        let all = Subjects::new("cb", shards).unwrap();
        let (job, pool) = (JobId::new(job).unwrap(), Pool::new(pool).unwrap());
        let timer = TimerName::new(timer).unwrap();
        let source: Source = match source {
            "call" => Source::Call(pool.clone()),
            other => other.parse().unwrap(),
        };
        for (subject, family) in [
            (all.fact(&job, &source), Family::In(source)),
            (all.decision(&job, kind, &pool), Family::Do(kind, pool.clone())),
            (all.timer(&job, &timer), Family::At(timer.clone())),
        ] {
            let place = all.parse(&subject).unwrap();
            prop_assert_eq!(&place.job, &job);
            prop_assert_eq!(place.shard, all.shard_of(&job));
            prop_assert_eq!(place.family, family);
        }
        prop_assert_eq!(all.stopped(&all.stop(&job)), Some(job));
    }

    #[test]
    fn no_id_is_a_pattern_several_tokens_or_too_long(
        before in "[a-z]{0,40}", odd in "[*>. \\t\\n/\\u{e9}\\u{4e00}]", after in "[a-z]{0,40}",
        long in "[A-Za-z0-9_-]{65,200}",
    ) {
        let pattern = [before, odd, after].concat();
        prop_assert!(JobId::new(pattern).is_err());
        prop_assert!(long.len() > ID_MAX && JobId::new(&long).is_err());
    }

    #[test]
    fn a_record_keeps_whatever_else_is_in_it(
        names in prop::collection::btree_set("[a-z]{6,9}", 0..4), number in any::<f64>(), text in ".{0,20}",
    ) {
        let mut record = json!({"v": 1, "kind": "fired", "id": "1", "by": "w", "body": {"timer": "t"}});
        for name in &names {
            record[name] = json!({"n": number, "t": text});
            record["body"][name] = json!([text, number]);
        }
        let bytes = record.to_string().into_bytes();
        let read = Record::from_slice(&bytes).unwrap();
        prop_assert_eq!(read.to_vec(), bytes);
        prop_assert!(read.known().is_ok());
    }
}
