//! The measured jobs: the plan of a scripted model. It must stay equal to the workload of
//! `bench/peers`: a diamond of four steps, each of which receives the results of the steps before
//! it and answers with at least 200 bytes.

use std::fmt::Write;

use serde_json::Value;

/// The goal of every job, equal to that of the peers' jobs.
pub(crate) const GOAL: &str = "Compare the three offers and write a summary of one page";

/// The number of records in the log of one diamond: submitted, plan, planned, four calls with their
/// results, and finish.
pub(crate) const RECORDS: u32 = 12;

/// The number of records on the critical path of a diamond. The steps s2 and s3 run concurrently.
pub(crate) const CRITICAL: u32 = 10;

/// The minimum duration of a job whose every activity sleeps for one second: plan, s1, s2 beside
/// s3, s4. In seconds.
pub(crate) const SLEEPING_IDEAL: f64 = 4.0;

/// The length of the text in each result, in bytes.
const RESULT_BYTES: usize = 200;

/// The duration of the activities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Every activity answers at once.
    Instant,
    /// The model's reply and every tool call take a second.
    Second,
}

/// Returns the model's script that plans such jobs.
pub(crate) fn script(pace: Pace) -> String {
    let mut script = String::from("else:\n  raw: true\n");
    if pace == Pace::Second {
        script.push_str("  stream: { first_delay_ms: 1000 }\n");
    }
    script.push_str("  json:\n    title: \"diamond\"\n    steps:\n");
    for (id, needs) in [("s1", ""), ("s2", "s1"), ("s3", "s1"), ("s4", "s2, s3")] {
        let (tool, args) = match pace {
            Pace::Instant => ("echo", format!("{{ value: {{ text: \"{}\" }} }}", text(id))),
            Pace::Second => ("sleep", "{ ms: 1000 }".to_owned()),
        };
        let line = format!("id: {id}, description: \"{id}\", depends_on: [{needs}]");
        // Writing to a string cannot fail.
        let _ = writeln!(script, "      - {{ {line}, tool: {tool}, args: {args} }}");
    }
    script
}

/// Returns the text of a step: a new one, or the texts of the steps before it.
fn text(id: &str) -> String {
    match id {
        "s1" => "s1:".to_owned() + &".".repeat(RESULT_BYTES - 3),
        "s4" => "{{s2.text}}{{s3.text}}".to_owned(),
        _ => "{{s1.text}}".to_owned(),
    }
}

/// Returns whether the results of a completed job are complete. A system that drops work looks
/// fast.
pub(crate) fn is_right(pace: Pace, results: &Value) -> bool {
    match pace {
        Pace::Instant => {
            results["s4"]["text"].as_str().is_some_and(|said| said.len() == 2 * RESULT_BYTES)
        }
        Pace::Second => results["s4"]["ms"] == 1000,
    }
}

#[cfg(test)]
mod tests {
    use model::script::Script;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_scripts_can_be_played() {
        for pace in [Pace::Instant, Pace::Second] {
            assert!(Script::parse(&script(pace)).is_ok(), "{}", script(pace));
        }
    }

    #[test]
    fn a_result_that_is_not_there_is_noticed() {
        let whole = "x".repeat(2 * RESULT_BYTES);
        assert!(is_right(Pace::Instant, &json!({"s4": {"text": whole}})));
        assert!(!is_right(Pace::Instant, &json!({"s4": {"text": "x"}})));
        assert!(!is_right(Pace::Instant, &json!({"s3": {"text": whole}})));
        assert!(is_right(Pace::Second, &json!({"s4": {"ms": 1000}})));
        assert!(!is_right(Pace::Second, &Value::Null));
    }
}
