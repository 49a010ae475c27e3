//! Tests of the import: samples in the form of each program, what they become, and what is refused.

use proto::{
    lang::Language,
    workflow::{NodeId, Target, Work, WorkflowName},
};
use rstest::rstest;

use super::*;

const REACT: &str = include_str!("samples/react.json");
const SUPPORT: &str = include_str!("samples/support.json");
const REVIEW: &str = include_str!("samples/review.yml");
const QUESTION: &str = include_str!("samples/question.yml");
const CHAT: &str = include_str!("samples/chat.yml");

fn imported(text: &str) -> Result<Imported, ImportError> {
    let name = WorkflowName::new("sample").unwrap();
    import(text, Origin::of(text).expect("its program is known"), &name)
}

#[rstest]
#[case("react", REACT)]
#[case("support", SUPPORT)]
#[case("review", REVIEW)]
#[case("question", QUESTION)]
fn a_sample_becomes_a_valid_workflow(#[case] name: &str, #[case] text: &str) {
    let Imported { text, notes } = imported(text).unwrap_or_else(|error| panic!("{error:#?}"));
    read(name, &text, &Known::default()).unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
    let notes: String =
        notes.iter().map(|note| format!("# {}\n", note.text(Language::En))).collect();
    insta::assert_snapshot!(name, format!("{notes}{text}"));
}

fn foreign(text: &str) -> Vec<String> {
    let Err(ImportError::Foreign(nodes)) = imported(text) else { panic!("it was imported") };
    let line = |one: &Foreign| {
        assert!(!one.why.text(Language::Zh).is_empty());
        format!("{} ({}): {}", one.node, one.kind, one.why.text(Language::En))
    };
    nodes.iter().map(line).collect()
}

#[test]
fn every_node_without_a_counterpart_is_named_with_its_reason() {
    let expected = [
        "知识检索 (knowledge-retrieval): it searches a knowledge base; register a tool that \
         searches, and call it by a node of type `tool`",
        "LLM (llm): it inserts the results of a knowledge retrieval into its prompt",
        "代码 (code): it runs code; register a tool with that code, and call it by a node of type \
         `tool`",
    ];
    assert_eq!(foreign(CHAT), expected);
}

#[rstest]
#[case::subgraph("\"agent\"", "\"team:agent\"", "it belongs to the subgraph team")]
#[case::tools_without_an_agent(
    r#"{"source": "tools", "target": "agent"}"#,
    r#"{"source": "tools", "target": "__end__"}"#,
    "tools (ToolNode): it runs code"
)]
#[case::absent_node(
    r#"{"source": "agent", "target": "__end__", "conditional": true}"#,
    r#"{"source": "agent", "target": "nowhere", "conditional": true}"#,
    "its edge leads to nowhere"
)]
fn a_graph_of_langgraph_that_cannot_be_imported_says_why(
    #[case] from: &str,
    #[case] to: &str,
    #[case] expected: &str,
) {
    assert!(REACT.contains(from));
    let found = foreign(&REACT.replace(from, to));
    assert!(found.iter().any(|line| line.contains(expected)), "{found:#?}");
}

#[rstest]
#[case::type_of_node("type: tool\n", "type: iteration\n", "no node of the type iteration")]
#[case::operator("contains, id", "resembles, id", "the comparison resembles has no counterpart")]
#[case::variable("['1711000000005', output]}\n", "[env, KEY]}\n", "it reads env.KEY")]
fn a_file_of_dify_that_cannot_be_imported_says_why(
    #[case] from: &str,
    #[case] to: &str,
    #[case] expected: &str,
) {
    assert!(REVIEW.contains(from));
    let found = foreign(&REVIEW.replacen(from, to, 1));
    assert!(found.iter().any(|line| line.contains(expected)), "{found:#?}");
}

/// Gives a node of the sample a strategy for its failures, and an edge for them.
fn with_failure(strategy: &str, target: &str) -> String {
    let title = "title: Thanks\n";
    assert!(REVIEW.contains(title));
    let edge = format!(
        "    edges:\n    - {{id: f1, source: '1711000000003', sourceHandle: fail-branch, target: '{target}'}}\n"
    );
    REVIEW.replacen(title, &format!("{title}        error_strategy: {strategy}\n"), 1).replacen(
        "    edges:\n",
        &edge,
        1,
    )
}

#[test]
fn the_edge_of_a_failure_becomes_the_target_of_errors() {
    let text = imported(&with_failure("fail-branch", "1711000000006")).unwrap().text;
    let workflow = read("review", &text, &Known::default()).unwrap().workflow;
    let on_error = |id: &str| &workflow.nodes[&NodeId::new(id).unwrap()].on_error;
    assert_eq!(on_error("thanks"), &Some(Target::Node(NodeId::new("long").unwrap())));
    assert_eq!(on_error("apology"), &None);
}

#[test]
fn a_value_in_place_of_a_failure_is_refused() {
    let found = foreign(&with_failure("default-value", "1711000000006"));
    assert!(found[0].starts_with("Thanks (llm): it goes on after a failure by default-value"));
}

#[test]
fn a_node_with_the_title_answer_has_a_value_of_its_own() {
    let text =
        REVIEW.replace("title: Thanks", "title: Answer").replace("type: end", "type: answer");
    let text = imported(&text).unwrap().text;
    let workflow = read("review", &text, &Known::default()).unwrap().workflow;
    let keys: Vec<_> = workflow.state.keys().map(ToString::to_string).collect();
    assert!(
        keys.contains(&"answer".to_owned()) && keys.contains(&"answer_".to_owned()),
        "{keys:?}"
    );
}

#[test]
fn an_aggregator_of_groups_is_refused() {
    let grouped = "type: variable-aggregator\n        advanced_settings: {group_enabled: true}";
    let found = foreign(&REVIEW.replace("type: variable-aggregator", grouped));
    assert!(found[0].contains("one aggregator for each group"), "{found:?}");
}

#[rstest]
#[case("")]
#[case("just text")]
#[case("nodes: {a: {type: set}}")]
#[case("{\"nodes\": 7}")]
fn other_files_are_of_no_program(#[case] text: &str) {
    assert_eq!(Origin::of(text), None);
}

#[test]
fn the_tools_of_an_agent_are_part_of_its_node() {
    let text = imported(REACT).unwrap().text;
    let workflow = read("react", &text, &Known::default()).unwrap().workflow;
    assert_eq!(workflow.nodes.len(), 1);
    assert!(workflow.nodes.values().all(|node| matches!(node.work, Work::Agent(_))));
}
