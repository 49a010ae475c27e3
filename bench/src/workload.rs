//! The measured jobs: the plan of a scripted model. It must stay equal to the workload of
//! `bench/peers`: a diamond of four steps, each of which receives the results of the steps before
//! it and answers with at least 200 bytes.

mod graph;

use std::fmt::Write;

use serde_json::Value;

pub(crate) use self::graph::{Graph, MAP_PARALLEL, WORKFLOW, source};

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

/// The plan of every job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// Four steps that answer at once.
    Diamond,
    /// The same four steps; the model's reply and every tool call take a second.
    Sleeping,
    /// A plan with many steps that answer at once.
    Large(Shape, usize),
    /// A workflow in place of a plan.
    Workflow(Graph),
}

/// The dependencies between the steps of a large plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Shape {
    /// Each step needs the one before it.
    Chain,
    /// No step needs another one.
    Independent,
    /// Layers of ten steps; each step needs all of the layer before it.
    Layers,
}

impl Shape {
    /// All shapes, in the order of tables.
    pub(crate) const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the shape's name for tables.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the steps that step `n` needs; the first step is 1.
    fn needs(self, n: usize) -> std::ops::Range<usize> {
        match self {
            Self::Chain => n.saturating_sub(1).max(1)..n,
            Self::Independent => n..n,
            Self::Layers => {
                let layer = (n - 1) / LAYER;
                (layer.saturating_sub(1) * LAYER + 1)..(layer * LAYER + 1)
            }
        }
    }
}

/// The number of steps of a layer.
const LAYER: usize = 10;

/// Returns the model's script that plans such jobs.
pub(crate) fn script(workload: Workload) -> String {
    if let Workload::Workflow(_) = workload {
        return "else:\n  text: no node of the workflow asks a model\n".to_owned();
    }
    let mut script = String::from("else:\n  raw: true\n");
    if workload == Workload::Sleeping {
        script.push_str("  stream: { first_delay_ms: 1000 }\n");
    }
    script.push_str("  json:\n    title: \"measured\"\n    steps:\n");
    let mut step = |id: &str, needs: &str, tool: &str, args: &str| {
        let line = format!("id: {id}, description: \"{id}\", depends_on: [{needs}]");
        // Writing to a string cannot fail.
        let _ = writeln!(script, "      - {{ {line}, tool: {tool}, args: {args} }}");
    };
    match workload {
        Workload::Diamond => {
            for (id, needs) in DIAMOND {
                step(id, needs, "echo", &format!("{{ value: {{ text: \"{}\" }} }}", text(id)));
            }
        }
        Workload::Sleeping => {
            for (id, needs) in DIAMOND {
                step(id, needs, "sleep", "{ ms: 1000 }");
            }
        }
        Workload::Large(shape, steps) => {
            for n in 1..=steps {
                let needs: Vec<_> = shape.needs(n).map(|needed| format!("s{needed}")).collect();
                step(&format!("s{n}"), &needs.join(", "), "echo", &format!("{{ value: {n} }}"));
            }
        }
        Workload::Workflow(_) => {}
    }
    script
}

/// The steps of a diamond, each with those that it needs.
const DIAMOND: [(&str, &str); 4] = [("s1", ""), ("s2", "s1"), ("s3", "s1"), ("s4", "s2, s3")];

/// Returns the text of a step: a new one, or the texts of the steps before it.
fn text(id: &str) -> String {
    match id {
        "s1" => "s1:".to_owned() + &".".repeat(RESULT_BYTES - 3),
        "s4" => "{{s2.text}}{{s3.text}}".to_owned(),
        _ => "{{s1.text}}".to_owned(),
    }
}

/// Returns whether the results of a completed job, or the output of its workflow, are complete. A
/// system that drops work looks fast.
pub(crate) fn is_right(workload: Workload, results: &Value, output: &Value) -> bool {
    match workload {
        Workload::Diamond => {
            results["s4"]["text"].as_str().is_some_and(|said| said.len() == 2 * RESULT_BYTES)
        }
        Workload::Sleeping => results["s4"]["ms"] == 1000,
        Workload::Large(_, steps) => (1..=steps).all(|n| results[format!("s{n}")] == n),
        Workload::Workflow(graph) => graph::is_right(graph, output),
    }
}

#[cfg(test)]
mod tests {
    use model::script::Script;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_scripts_can_be_played() {
        let large = Shape::ALL.iter().map(|shape| Workload::Large(*shape, 25));
        let workflow = Workload::Workflow(Graph::Whole);
        for workload in [Workload::Diamond, Workload::Sleeping, workflow].into_iter().chain(large) {
            assert!(Script::parse(&script(workload)).is_ok(), "{}", script(workload));
        }
    }

    #[test]
    fn the_steps_of_a_shape_need_those_before_them() {
        let needs = |shape: Shape, n| shape.needs(n).collect::<Vec<_>>();
        assert_eq!([needs(Shape::Chain, 1), needs(Shape::Chain, 3)], [vec![], vec![2]]);
        assert_eq!(needs(Shape::Independent, 3), Vec::<usize>::new());
        assert_eq!(
            [needs(Shape::Layers, 10), needs(Shape::Layers, 11)],
            [vec![], (1..=10).collect::<Vec<_>>()]
        );
    }

    #[test]
    fn a_result_that_is_not_there_is_noticed() {
        let is_right = |workload, results: &Value| is_right(workload, results, &Value::Null);
        let whole = "x".repeat(2 * RESULT_BYTES);
        assert!(is_right(Workload::Diamond, &json!({"s4": {"text": whole}})));
        assert!(!is_right(Workload::Diamond, &json!({"s4": {"text": "x"}})));
        assert!(!is_right(Workload::Diamond, &json!({"s3": {"text": whole}})));
        assert!(is_right(Workload::Sleeping, &json!({"s4": {"ms": 1000}})));
        assert!(!is_right(Workload::Sleeping, &Value::Null));
        let large = Workload::Large(Shape::Chain, 2);
        assert!(is_right(large, &json!({"s1": 1, "s2": 2})));
        assert!(!is_right(large, &json!({"s1": 1})));
    }
}
