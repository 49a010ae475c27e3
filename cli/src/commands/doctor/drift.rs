//! Findings about the installation's streams and consumers: one if all is right, or one for each
//! differing field.

use std::{collections::BTreeMap, time::Duration};

use broker::nats::{Asset, Drift};
use proto::lang::{Language, Words};

use super::words::Text;
use crate::render::findings::Finding;

/// Converts differences to findings; the same difference in several shards is one finding. `create`
/// is `nats.create`: roles create missing consumers.
pub(super) fn findings(drift: &[Drift], create: bool) -> Vec<Finding> {
    let mut fields: BTreeMap<(&str, &str, &str), Vec<&Asset>> = BTreeMap::new();
    let (mut missing, mut unmade, mut unseen) = (Vec::new(), Vec::new(), Vec::new());
    let mut lost = Vec::new();
    for one in drift {
        match one {
            Drift::Field { what, field, found, wanted } => {
                fields.entry((field, found, wanted)).or_default().push(what);
            }
            Drift::Missing { what } => missing.push(what),
            Drift::LostBucket { what, bucket } => lost.push((what, *bucket)),
            Drift::Unmade { what } => unmade.push(what),
            Drift::Unseen { what, why: _ } => unseen.push(what),
        }
    }
    let mut found = Vec::new();
    for ((field, is, wanted), what) in fields {
        let (is, wanted) = (shown(field, is), shown(field, wanted));
        let words = Words::new(|language| {
            let places = &some(&what, language);
            Text::Differs { places, field: &field, found: &is, wanted: &wanted }.text(language)
        });
        found.push(Finding::bad("drift", words, advice(field)));
    }
    if !missing.is_empty() {
        let words = Words::new(|language| {
            Text::NotThere { places: &some(&missing, language) }.text(language)
        });
        found.push(Finding::bad("drift", words, Text::Restore));
    }
    for (what, bucket) in lost {
        let words = Words::new(|language| {
            let (place, loss) = (&name(what, language), &bucket.loss(language));
            Text::BucketLost { place, loss }.text(language)
        });
        found.push(Finding::bad("drift", words, Text::RestoreBucket));
    }
    if found.is_empty() {
        found.push(Finding::ok("drift", Text::AsExpected));
    }
    found.extend(not_made(&unmade, create));
    if !unseen.is_empty() {
        let words =
            Words::new(|language| Text::Unseen { places: &some(&unseen, language) }.text(language));
        found.push(Finding::skipped("drift", words));
    }
    found
}

/// Formats a value for users: the server's times are in nanoseconds.
fn shown(field: &str, value: &str) -> String {
    let is_time = matches!(field, "ack_wait" | "priority_timeout" | "duplicate_window" | "max_age");
    match value.parse() {
        Ok(nanos) if is_time => format!("{:?}", Duration::from_nanos(nanos)),
        Ok(_) | Err(_) => value.to_owned(),
    }
}

/// Reports missing consumers, which roles create on demand or an operator creates.
fn not_made(unmade: &[&Asset], create: bool) -> Option<Finding> {
    if unmade.is_empty() {
        return None;
    }
    let words = Words::new(|language| {
        let places = &some(unmade, language);
        let text = if create { Text::NotMadeYet { places } } else { Text::NotMade { places } };
        text.text(language)
    });
    Some(match create {
        true => Finding::ok("consumers", words),
        false => Finding::bad("consumers", words, Text::SetUp),
    })
}

/// Names the first of some streams or consumers, and counts the others.
fn some(assets: &[&Asset], language: Language) -> String {
    let first = assets.first().map(|first| name(first, language)).unwrap_or_default();
    match assets.len() {
        0 | 1 => first,
        all => Text::AndMore { first: &first, count: &(all - 1) }.text(language),
    }
}

fn name(asset: &Asset, language: Language) -> String {
    match asset {
        Asset::Stream(name) => Text::Stream { name }.text(language),
        Asset::Consumer { name, stream } => Text::Consumer { name, stream }.text(language),
    }
}

fn advice(field: &str) -> Words {
    let setting = match field {
        "num_replicas" => "nats.replicas".into(),
        "ack_wait" => Words::from(Text::AckWaitSettings),
        "priority_timeout" => "nats.pin_timeout_ms".into(),
        _ => return Text::RestoreValue.into(),
    };
    Words::new(|language| Text::SetSetting { setting: &setting.text(language) }.text(language))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::findings::Grade;

    fn consumer(n: usize) -> Asset {
        Asset::Consumer { name: "facts".to_owned(), stream: format!("cb-shard-{n}") }
    }

    fn field(n: usize, field: &str, found: &str, wanted: &str) -> Drift {
        Drift::Field {
            what: consumer(n),
            field: field.to_owned(),
            found: found.to_owned(),
            wanted: wanted.to_owned(),
        }
    }

    #[test]
    fn each_field_is_named_with_what_to_do_and_the_same_of_many_shards_is_one() {
        let mut drift: Vec<Drift> =
            (0..8).map(|n| field(n, "ack_wait", "30000000000", "7000000000")).collect();
        drift.push(field(0, "num_replicas", "1", "3"));
        let found = findings(&drift, true);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].found.text(Language::En),
            "the consumer facts of cb-shard-0 and 7 more: ack_wait is 30s, expected 7s"
        );
        assert!(found[1].advice.as_ref().unwrap().text(Language::En).contains("nats.replicas"));
    }

    #[test]
    fn a_consumer_that_is_not_there_is_bad_only_where_nobody_makes_it() {
        let unmade = [Drift::Unmade { what: consumer(0) }];
        let grades = |create| findings(&unmade, create).last().unwrap().grade;
        assert_eq!((grades(true), grades(false)), (Grade::Ok, Grade::Bad));
    }

    #[test]
    fn what_cannot_be_looked_at_is_no_fault_and_is_said() {
        let unseen = Drift::Unseen { what: Asset::Stream("x".to_owned()), why: "no".to_owned() };
        let found = findings(&[unseen], true);
        assert_eq!((found[0].grade, found[1].grade), (Grade::Ok, Grade::Skipped));
    }
}
