//! The jobs that are measured: what a scripted model plans. It must stay the workload of
//! `bench/peers`: a diamond of four steps, each of which gets the results of the steps before it and
//! answers with 200 bytes.

use std::fmt::Write;

use serde_json::Value;

/// What every job is asked, in the words that the peers' jobs are asked.
pub(crate) const GOAL: &str = "Compare the three offers and write a summary of one page";

/// Records in the log of one job of the diamond: submitted, plan and planned, four calls with their
/// results, finish.
pub(crate) const RECORDS: u32 = 12;

/// Records one after the other on the longest way from a submission to its end: s2 and s3 go side
/// by side.
pub(crate) const CRITICAL: u32 = 10;

/// Seconds that a job takes at least when every activity sleeps for one: plan, s1, s2 beside s3, s4.
pub(crate) const SLEEPING_IDEAL: f64 = 4.0;

/// Text in each result, in bytes.
const RESULT_BYTES: usize = 200;

/// What the activities do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// They answer at once.
    Instant,
    /// Each takes a second: the model's reply, and every tool.
    Second,
}

/// The script of the model that plans such jobs.
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
        // Writing to a string does not fail.
        let _ = writeln!(script, "      - {{ {line}, tool: {tool}, args: {args} }}");
    }
    script
}

/// What a step says: something new, or what the steps before it said.
fn text(id: &str) -> String {
    match id {
        "s1" => "s1:".to_owned() + &".".repeat(RESULT_BYTES - 3),
        "s4" => "{{s2.text}}{{s3.text}}".to_owned(),
        _ => "{{s1.text}}".to_owned(),
    }
}

/// Whether the results of a completed job are what they must be: a system that drops work looks fast.
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
