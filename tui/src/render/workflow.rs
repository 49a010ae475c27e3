//! Rendering of a job's place in its workflow, in one line: where it is, how many visits its limits
//! leave, and which nodes failed.

use std::collections::BTreeMap;

use proto::{
    step::StepState,
    workflow::{NodeId, NodeView, WorkflowView},
};

use super::{
    line::Line,
    style::{Style, Tone},
    words::Text,
};

/// Nodes that are named in the line; the others are counted.
const NAMED: usize = 3;

/// Returns the line of a workflow's place.
#[must_use]
pub fn line(style: &Style, workflow: &WorkflowView) -> Line {
    let WorkflowView { name, version, digest: _, revision, limits, visits, current, nodes } =
        workflow;
    // A changed graph is no longer that of the version.
    let version = &match revision {
        0 => version.to_string(),
        n => format!("{version}+{n}"),
    };
    let steps = &limits.steps;
    let (tone, text) = if current.is_empty() {
        (Tone::Dim, style.say(Text::WorkflowOver { name, version, visits, steps }))
    } else {
        let waits = nodes.iter().any(|node| node.state == StepState::Waiting);
        let runs = nodes.iter().any(|node| node.state == StepState::Running);
        let tone = if waits && !runs { Tone::Wait } else { Tone::Busy };
        let nodes = &at(workflow);
        (tone, style.say(Text::WorkflowAt { name, version, nodes, visits, steps }))
    };
    let line = Line::new().add(tone, text);
    match failures(nodes) {
        nodes if nodes.is_empty() => line,
        nodes => line.add(Tone::Bad, style.say(Text::WorkflowFailures { nodes: &nodes })),
    }
}

/// Names the current visits; those of a node with several are counted.
fn at(workflow: &WorkflowView) -> String {
    let mut visits: BTreeMap<&NodeId, Vec<String>> = BTreeMap::new();
    for visit in &workflow.current {
        visits.entry(&visit.node).or_default().push(visit.to_string());
    }
    let named = visits.iter().take(NAMED).map(|(node, all)| match all.as_slice() {
        [one] => one.clone(),
        many => format!("{node} ×{}", many.len()),
    });
    let more = visits.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("+{more}"));
    named.chain(more).collect::<Vec<_>>().join(", ")
}

/// Names the nodes that failed, with the number of failures.
fn failures(nodes: &[NodeView]) -> String {
    let failed = nodes.iter().filter(|node| node.failed > 0);
    let named: Vec<String> = failed.map(|node| format!("{} ✗{}", node.id, node.failed)).collect();
    let more = named.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("+{more}"));
    named.into_iter().take(NAMED).chain(more).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use proto::lang::Language;
    use serde_json::json;

    use super::*;

    fn shown(language: Language, current: &[&str], failed: u32) -> String {
        let workflow: WorkflowView = serde_json::from_value(json!({
            "name": "ticket", "version": 2, "digest": "ab", "limits": {"steps": 200, "visits": 10},
            "visits": 7, "current": current,
            "nodes": [
                {"id": "answer", "type": "model", "state": "running", "visits": 3, "failed": failed},
            ],
        }))
        .unwrap();
        let style = Style { language, ..Style::plain(None) };
        line(&style, &workflow).render(&style)
    }

    #[test]
    fn the_line_says_where_a_job_is_and_what_failed() {
        let cases: [(&[&str], u32, &str); 4] = [
            (&["answer--3"], 0, "at answer--3 · 7 of 200 visits"),
            (
                &["judge--1--0", "judge--1--1", "answer--3"],
                2,
                "at answer--3, judge ×2 · 7 of 200 visits · ⚠ answer ✗2",
            ),
            (&["a--1", "b--1", "c--1", "d--1"], 0, "at a--1, b--1, c--1, +1 · 7 of 200 visits"),
            (&[], 1, "7 of 200 visits · ⚠ answer ✗1"),
        ];
        for (current, failed, expected) in cases {
            assert_eq!(shown(Language::En, current, failed), format!("ticket 2 · {expected}"));
        }
    }

    #[test]
    fn the_line_is_in_the_language_of_the_reader() {
        let line = shown(Language::Zh, &["answer--3"], 1);
        assert_eq!(line, "ticket 2 · 位于 answer--3 · 已访问 7/200 · ⚠ answer ✗1");
    }
}
