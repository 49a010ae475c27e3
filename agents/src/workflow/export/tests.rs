//! Tests of drawings.

use proto::{step::StepState, workflow::NodeId};

use super::*;
use crate::workflow::read::{Known, read};

const TEXT: &str = r#"
workflow: w
state: {list: {schema: {type: array}, reduce: append, initial: []}}
start: a
nodes:
  a:
    type: parallel
    title: "<b>\"&\\#quot; | {x}"
    branches: {x: b-c, y: m}
    join: any
    on_error: no
    next: good
  b-c: {type: tool, tool: pay}
  m: {type: map, over: state.list, do: i}
  i: {type: model, prompt: x}
  good: {type: branch, next: [{when: "'<\"x\">' in state.list", to: h}, {to: end}]}
  h: {type: human, ask: x, deadline: {after: 2d, then: no}}
  no: {type: end, fail: x}
"#;

fn drawn(format: Format) -> String {
    let workflow =
        read("w.yaml", TEXT, &Known::default()).unwrap_or_else(|e| panic!("{e}")).workflow;
    let mark = Mark { state: StepState::Running, visits: 2, failed: 1, cost: "$0.01".to_owned() };
    let nodes = [(NodeId::new("h").unwrap(), mark)].into_iter().collect();
    let taken = workflow.edges().iter().map(|edge| u32::from(edge.when.is_some()) * 2).collect();
    let marks = Marks { nodes, taken: Some(taken) };
    let drawing = draw(&workflow, &marks, format);
    assert_eq!(drawing, draw(&workflow, &marks, format), "a drawing is the same each time");
    drawing
}

#[test]
fn a_drawing_in_dot_has_every_node_and_line() {
    insta::assert_snapshot!(drawn(Format::Dot));
}

#[test]
fn a_drawing_in_mermaid_escapes_what_mermaid_reads() {
    let drawing = drawn(Format::Mermaid);
    assert!(!drawing.contains("<b>"), "{drawing}");
    insta::assert_snapshot!(drawing);
}

#[test]
fn an_image_has_every_label_and_no_markup_of_an_author() {
    let image = drawn(Format::Svg);
    assert!(image.starts_with("<?xml") && image.ends_with("</svg>\n"), "{image}");
    for label in ["▸ running · ×2 · ✗1 · $0.01", "tool pay", "join any", "each item of state.list"]
    {
        assert!(image.contains(label), "{label}\n{image}");
    }
    assert!(!image.contains("<b>") && !image.contains("NaN"), "{image}");
}

#[test]
fn the_shipped_workflows_can_be_drawn_in_every_format() {
    for (name, text) in crate::workflow::shipped::sources() {
        let workflow = read(name, text, &Known::default()).unwrap().workflow;
        for format in <Format as strum::VariantArray>::VARIANTS {
            assert!(draw(&workflow, &Marks::default(), *format).len() > 100);
        }
    }
}
