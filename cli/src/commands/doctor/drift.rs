//! Findings about the installation's streams and consumers: one if all is right, or one for each
//! differing field.

use std::{collections::BTreeMap, time::Duration};

use broker::nats::Drift;

use crate::render::findings::Finding;

/// Converts differences to findings; the same difference in several shards is one finding. `create`
/// is `nats.create`: roles create missing consumers.
pub(super) fn findings(drift: &[Drift], create: bool) -> Vec<Finding> {
    let mut fields: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    let (mut missing, mut unmade, mut unseen) = (Vec::new(), Vec::new(), Vec::new());
    let mut lost = Vec::new();
    for one in drift {
        match one {
            Drift::Field { what, field, found, wanted } => {
                fields.entry((field, found, wanted)).or_default().push(what);
            }
            Drift::Missing { what } => missing.push(what.as_str()),
            Drift::LostBucket { what, bucket } => lost.push((what, bucket.loss())),
            Drift::Unmade { what } => unmade.push(what.as_str()),
            Drift::Unseen { what, why: _ } => unseen.push(what.as_str()),
        }
    }
    let mut found = Vec::new();
    for ((field, is, wanted), what) in fields {
        let (is, wanted) = (shown(field, is), shown(field, wanted));
        let words = format!("{}: {field} is {is}, expected {wanted}", some(&what));
        found.push(Finding::bad("drift", words, advice(field)));
    }
    if !missing.is_empty() {
        let advice =
            "restore it from a backup; an empty one in its place would hide that jobs are lost";
        found.push(Finding::bad("drift", format!("{} not there", some(&missing)), advice));
    }
    for (what, loss) in lost {
        let advice =
            "restore it from a backup, or create it again, empty: `callboard setup --recreate`";
        found.push(Finding::bad(
            "drift",
            format!("{what} is lost: {loss}. No job is lost"),
            advice,
        ));
    }
    if found.is_empty() {
        let seen = "every existing stream and consumer has the expected configuration";
        found.push(Finding::ok("drift", seen));
    }
    found.extend(not_made(&unmade, create));
    if !unseen.is_empty() {
        let words = format!("this user may not read {}", some(&unseen));
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
fn not_made(unmade: &[&str], create: bool) -> Option<Finding> {
    match (unmade.is_empty(), create) {
        (true, _) => None,
        (false, true) => {
            let words =
                format!("{} not made yet: the first process that needs one makes it", some(unmade));
            Some(Finding::ok("consumers", words))
        }
        (false, false) => Some(Finding::bad(
            "consumers",
            format!("{} not there, and nats.create is off", some(unmade)),
            "an operator runs `callboard setup`, with --tool-pool for each pool of tools",
        )),
    }
}

fn some(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

fn advice(field: &str) -> String {
    let setting = match field {
        "num_replicas" => Some("nats.replicas"),
        "ack_wait" => Some("nats.ack_wait_ms (nats.facts_ack_wait_ms for facts)"),
        "priority_timeout" => Some("nats.pin_timeout_ms"),
        _ => None,
    };
    match setting {
        Some(setting) => format!(
            "set {setting} to the existing value in every process; or change the stream or consumer with the `nats` tool while no process runs"
        ),
        None => "restore the expected value with the `nats` tool (`nats stream edit`, `nats consumer edit`); Callboard does not change it by itself".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::findings::Grade;

    fn field(n: usize, field: &str, found: &str, wanted: &str) -> Drift {
        Drift::Field {
            what: format!("the consumer facts of cb-shard-{n}"),
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
            found[0].found,
            "the consumer facts of cb-shard-0 and 7 more: ack_wait is 30s, expected 7s"
        );
        assert!(found[1].advice.as_ref().unwrap().contains("nats.replicas"));
    }

    #[test]
    fn a_consumer_that_is_not_there_is_bad_only_where_nobody_makes_it() {
        let unmade = [Drift::Unmade { what: "the consumer facts of cb-shard-0".to_owned() }];
        let grades = |create| findings(&unmade, create).last().unwrap().grade;
        assert_eq!((grades(true), grades(false)), (Grade::Ok, Grade::Bad));
    }

    #[test]
    fn what_cannot_be_looked_at_is_no_fault_and_is_said() {
        let unseen = Drift::Unseen { what: "the stream x".to_owned(), why: "no".to_owned() };
        let found = findings(&[unseen], true);
        assert_eq!((found[0].grade, found[1].grade), (Grade::Ok, Grade::Skipped));
    }
}
