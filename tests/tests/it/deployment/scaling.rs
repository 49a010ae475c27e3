//! Tests of the signal on which KEDA scales: the sum of the waiting and running commands of a pool,
//! over all shards.

use std::{collections::BTreeSet, process::Command};

use proto::{
    decision::{DecisionKind, pools},
    id::{Pool, Shard},
    subject::Subjects,
};

use super::chart::of_kind;

const SHARDS: u16 = 8;

/// Returns the command kinds and the pool of a role.
fn queues(role: &str) -> (Vec<DecisionKind>, Pool) {
    match role {
        "planner" => (vec![DecisionKind::Plan], pools::models()),
        "executor" => (vec![DecisionKind::Turn], pools::models()),
        "tools" => (vec![DecisionKind::Call], pools::builtin()),
        "interaction" => (vec![DecisionKind::Ask, DecisionKind::Note], pools::people()),
        other => panic!("{other} is not scaled on a queue"),
    }
}

fn role(scaled: &serde_json::Value) -> &str {
    scaled["metadata"]["labels"]["app.kubernetes.io/component"].as_str().unwrap()
}

#[test]
fn the_formula_is_the_sum_of_every_consumer_of_the_pool() {
    let subjects = Subjects::new("cb", SHARDS).unwrap();
    let found = of_kind("keda-nats", "ScaledObject");
    assert_eq!(found.len(), 4);
    for scaled in found {
        let (kinds, pool) = queues(role(scaled));
        let wanted: BTreeSet<(String, String)> = kinds
            .iter()
            .flat_map(|kind| (0..SHARDS).map(move |shard| (kind, Shard(shard))))
            .map(|(kind, shard)| (subjects.stream(shard), subjects.commands_consumer(*kind, &pool)))
            .collect();
        let triggers = scaled["spec"]["triggers"].as_array().unwrap();
        let read: BTreeSet<(String, String)> = triggers
            .iter()
            .map(|trigger| &trigger["metadata"])
            .map(|m| {
                (
                    m["stream"].as_str().unwrap().to_owned(),
                    m["consumer"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        assert_eq!(read, wanted, "{}", role(scaled));
        let names: Vec<&str> = triggers.iter().map(|t| t["name"].as_str().unwrap()).collect();
        let modifiers = &scaled["spec"]["advanced"]["scalingModifiers"];
        assert_eq!(modifiers["formula"], names.join(" + "), "each once");
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert_eq!(modifiers["metricType"], "AverageValue");
    }
}

/// Formats a test of promtool for the query of a role.
fn case(query: &str, series: &[(&str, u32)], answer: Option<u32>) -> String {
    let mut text = "  - interval: 15s\n    input_series:\n".to_owned();
    for (labels, value) in series {
        text += &format!(
            "      - series: 'callboard_queue_messages{{{labels}}}'\n        values: '{value}'\n"
        );
    }
    let expected = match answer {
        Some(value) => format!("[{{labels: '{{}}', value: {value}}}]"),
        None => "[]".to_owned(),
    };
    let query = query.replace('\'', "''");
    text + &format!(
        "    promql_expr_test:\n      - {{expr: '{query}', eval_time: 0s, exp_samples: {expected}}}\n"
    )
}

#[test]
fn the_query_sums_over_shards_and_counts_none_twice_and_gives_nothing_when_one_is_missing() {
    let scaled = of_kind("keda-prometheus", "ScaledObject");
    let tools = scaled.iter().find(|scaled| role(scaled) == "tools").unwrap();
    let trigger = &tools["spec"]["triggers"][0];
    assert_eq!(trigger["metadata"]["ignoreNullValues"], "false");
    let query = trigger["metadata"]["query"].as_str().unwrap();
    let labels = |shard: u16, state: &str, instance: &str, pool: &str| {
        format!(
            "job=\"callboard\",instance=\"{instance}\",callboard_command_kind=\"call\",\
             callboard_pool=\"{pool}\",callboard_queue_state=\"{state}\",callboard_shard=\"{shard}\""
        )
    };
    let mut series: Vec<(String, u32)> = Vec::new();
    for shard in 0..SHARDS {
        series.push((labels(shard, "pending", "a", "builtin"), 10));
        series.push((labels(shard, "in_flight", "a", "builtin"), 3));
        // Another pool's messages do not count.
        series.push((labels(shard, "pending", "a", "python"), 1_000));
    }
    // While shard 0 changes its owner, the former owner still exports it.
    series.push((labels(0, "pending", "b", "builtin"), 12));
    let series: Vec<(&str, u32)> = series.iter().map(|(l, v)| (l.as_str(), *v)).collect();
    // No process exports shard 1.
    let partial: Vec<(&str, u32)> =
        series.iter().filter(|(l, _)| !l.contains("callboard_shard=\"1\"")).copied().collect();
    let text = format!(
        "tests:\n{}{}",
        case(query, &series, Some(8 * 13 + 2)),
        case(query, &partial, None)
    );
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("scaling.yml");
    std::fs::write(&file, text).unwrap();
    let promtool = callboard_tests::installed("prometheus").with_file_name("promtool");
    let judged = Command::new(promtool).args(["test", "rules"]).arg(file).output().unwrap();
    let told = String::from_utf8_lossy(&judged.stdout).into_owned();
    assert!(judged.status.success(), "{told}{}", String::from_utf8_lossy(&judged.stderr));
}

#[test]
fn what_has_no_replica_left_is_woken_by_the_first_command() {
    for case in ["keda-nats", "keda-prometheus"] {
        for scaled in of_kind(case, "ScaledObject") {
            let spec = &scaled["spec"];
            let activation = if case == "keda-nats" {
                &spec["advanced"]["scalingModifiers"]["activationTarget"]
            } else {
                &spec["triggers"][0]["metadata"]["activationThreshold"]
            };
            assert_eq!(activation, "0", "{case}: {}", role(scaled));
            let least = spec["minReplicaCount"].as_u64().unwrap();
            // People answer through this role, so one replica must always run.
            assert!(role(scaled) != "interaction" || least >= 1);
            assert!(spec["fallback"]["replicas"].as_u64().unwrap() >= 1);
        }
    }
}
