//! Rendering of a plan as a Graphviz graph: steps with states and dependencies. Pure. A title can
//! only become a label, never syntax.

use proto::{
    escape,
    lang::Language,
    step::StepState,
    view::{JobView, StepView},
};

use crate::words::Text;

/// Characters of a label that are displayed.
const LABEL_CHARS: usize = 80;

/// Renders the graph; without steps if there is no plan.
pub(crate) fn graph(view: &JobView, language: Language) -> String {
    let steps = view.plan.as_ref().map_or(&[] as &[StepView], |plan| &plan.steps);
    let title = view.plan.as_ref().map_or(view.goal.as_str(), |plan| &plan.title);
    let mut out = format!("digraph {} {{\n", quoted(view.job.as_str()));
    out.push_str(&format!("  label={};\n", quoted(&short(title))));
    out.push_str("  node [shape=box, style=\"rounded,filled\"];\n");
    for (n, step) in steps.iter().enumerate() {
        let words = if step.title.is_empty() { &step.description } else { &step.title };
        let tool = step.tool.as_ref().map(|tool| format!(" [{tool}]")).unwrap_or_default();
        let lines = [format!("{}{tool}", step.id), short(words), stands(step, language)];
        // `\n` is Graphviz's line break; the lines themselves are escaped.
        let label = lines.map(|line| escaped(&line)).join("\\n");
        out.push_str(&format!("  n{n} [label=\"{label}\", fillcolor={}];\n", colour(step)));
    }
    for (n, step) in steps.iter().enumerate() {
        for on in &step.depends_on {
            // A failed step may be planned again under its name: the newest earlier one counts.
            let above = steps.iter().enumerate().rev();
            let mut above = above.filter(|(at, above)| *at != n && above.id == *on);
            if let Some((at, _)) = above.next() {
                out.push_str(&format!("  n{at} -> n{n};\n"));
            }
        }
    }
    out.push_str("}\n");
    out
}

fn stands(step: &StepView, language: Language) -> String {
    if step.state == StepState::Completed && step.success == Some(false) {
        return Text::CompletedWithoutSuccess.text(language).trim().to_owned();
    }
    step.state.to_string()
}

/// Returns the Graphviz colour of a step.
fn colour(step: &StepView) -> &'static str {
    match step.state {
        StepState::Completed if step.success == Some(false) => "orange",
        StepState::Completed => "palegreen",
        StepState::Failed => "salmon",
        StepState::Running => "lightskyblue",
        StepState::Waiting => "khaki",
        StepState::Pending | StepState::Ready => "white",
        StepState::Blocked | StepState::Skipped | StepState::Canceled => "lightgrey",
    }
}

fn short(text: &str) -> String {
    let line = escape::line(text).into_owned();
    match line.char_indices().nth(LABEL_CHARS) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line,
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::samples;

    #[test]
    fn a_plan_is_a_graph_with_where_its_steps_stand() {
        let expected = r#"digraph "demo-zh" {
  label="完成任务并创建后续任务";
  node [shape=box, style="rounded,filled"];
  n0 [label="step1 [complete_task]\n标记任务 62 完成\ncompleted", fillcolor=palegreen];
  n1 [label="step2 [create_task]\n创建发邮件任务\nfailed", fillcolor=salmon];
  n2 [label="step3\nThink about what a rather long title does to a narrow terminal\nrunning", fillcolor=lightskyblue];
  n3 [label="step4\n等待反馈\npending", fillcolor=white];
  n4 [label="step5\nafter a failure\nblocked", fillcolor=lightgrey];
  n1 -> n3;
  n2 -> n3;
  n1 -> n4;
}
"#;
        assert_eq!(graph(&samples::view(), Language::En), expected);
    }

    #[test]
    fn what_somebody_wrote_stays_a_label() {
        let mut view = samples::view();
        let plan = view.plan.as_mut().unwrap();
        plan.title = "a\"]; evil [label=\"\\".to_owned();
        plan.steps.truncate(1);
        plan.steps[0].title = "b\" -> \"c\n\u{1b}[2J\\".to_owned();
        let graph = graph(&view, Language::En);
        assert!(graph.contains(r#"label="a\"]; evil [label=\"\\";"#), "{graph}");
        assert!(graph.contains(r#"b\" -> \"c"#) && !graph.contains('\u{1b}'), "{graph}");
        // Every unescaped quote is a delimiter: two per text.
        let bare = graph.replace("\\\\", "").replace("\\\"", "");
        assert_eq!(bare.matches('"').count() % 2, 0, "{graph}");
    }

    #[test]
    fn a_job_without_a_plan_is_an_empty_graph() {
        let mut view = samples::view();
        view.plan = None;
        assert!(!graph(&view, Language::En).contains("n0"));
    }
}
