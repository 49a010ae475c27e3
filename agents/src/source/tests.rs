//! Tests of the messages and places of mistakes in agent files.

use rstest::rstest;

use super::*;

fn mistakes(text: &str) -> Vec<String> {
    let name = AgentName::new("mine").unwrap();
    let source = Source { name, place: "mine.yaml".into(), text: text.into() };
    match Own::read(&source) {
        Ok(_) => Vec::new(),
        Err(broken) => broken.mistakes.0.iter().map(ToString::to_string).collect(),
    }
}

#[rstest]
#[case::field(
    "step:\n  retires: {}\n",
    "mine.yaml:2:3: step.retires: there is no such field; did you mean retry?"
)]
#[case::field_at_the_top(
    "plann: {}\n",
    "mine.yaml:1:1: plann: there is no such field; did you mean plan?"
)]
#[case::value(
    "about: x\nplan:\n  when: allways\n",
    "mine.yaml:3:9: plan.when: there is no such value; did you mean always?"
)]
#[case::value_with_a_dash(
    "plan: {protocol: task-steps}",
    "mine.yaml:1:18: plan.protocol: there is no such value; did you mean task_steps?"
)]
#[case::value_that_is_like_nothing(
    "dispatch: whenever\n",
    "mine.yaml:1:11: dispatch: there is no such value; there are parallel, sequential, levels"
)]
#[case::type_of_a_value(
    "confirm: no\n",
    "mine.yaml:1:10: confirm: must be true or false, not \"no\""
)]
#[case::number(
    "replan:\n  max: -1\n",
    "mine.yaml:2:8: replan.max: must be a whole number from 0 up, not -1"
)]
#[case::limit(
    "ask: {limit: many}",
    "mine.yaml:1:14: ask.limit: must be a number, or \"unlimited\", not \"many\""
)]
#[case::item(
    "tools:\n  - a\n  - b c\n",
    "mine.yaml:3:5: tools[1]: tool name must be 1 to 64 characters of A-Z a-z 0-9 _ -, got \"b c\""
)]
#[case::a_scalar_where_fields_are(
    "plan: always\n",
    "mine.yaml:1:7: plan: must be a mapping of fields, not \"always\""
)]
#[case::own_name(
    "name: other\n",
    "mine.yaml:1:7: name: the name of an agent is the name of its file: mine"
)]
#[case::extends("extends: [a, b]\n", "mine.yaml:1:10: extends: must be a text")]
#[case::a_list("- a\n", "mine.yaml:1:1: an agent is a mapping of fields")]
fn a_mistake_is_shown_with_its_place_and_what_was_meant(
    #[case] text: &str,
    #[case] expected: &str,
) {
    assert_eq!(mistakes(text), [expected]);
}

#[test]
fn everything_that_is_wrong_is_said_at_once_in_the_order_of_the_file() {
    let text = "confrim: true\nplan:\n  when: newer\n  attempts: three\nstep: {exec: loop}\n";
    let found: Vec<String> = mistakes(text)
        .iter()
        .map(|m| m.split(": ").take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        found,
        [
            "mine.yaml:1:1 confrim",
            "mine.yaml:3:9 plan.when",
            "mine.yaml:4:13 plan.attempts",
            "mine.yaml:5:14 step.exec"
        ]
    );
}

#[test]
fn a_field_that_is_there_twice_is_refused_where_it_is_there_again() {
    let found = mistakes("confirm: true\nplan: {}\nconfirm: false\n");
    assert!(found[0].starts_with("mine.yaml:3:1: ") && found[0].contains("confirm"), "{found:?}");
    assert!(found[0].ends_with(" is defined twice"), "{found:?}");
}

#[test]
fn what_is_no_yaml_is_refused_with_its_place() {
    let found = mistakes("plan:\n  when: [always\nconfirm: true\n");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("mine.yaml:"), "{found:?}");
}

#[test]
fn an_empty_file_says_nothing_and_a_huge_one_is_refused() {
    assert_eq!(mistakes("{}"), Vec::<String>::new());
    assert!(mistakes(&"#".repeat(FILE_BYTES_MAX + 1))[0].contains("at most 65536"));
}

#[test]
fn a_bomb_of_aliases_is_refused() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..9 {
        let before = n - 1;
        text.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{before}"); 10].join(", ")));
    }
    assert!(!mistakes(&text).is_empty());
}

#[test]
fn a_small_file_whose_aliases_repeat_many_values_is_refused() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..5 {
        let before = n - 1;
        text.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{before}"); 10].join(", ")));
    }
    let found = mistakes(&text);
    assert!(text.len() < 600 && found.len() == 1, "{found:?}");
    assert!(found[0].contains("alias"), "{found:?}");
}

#[rstest]
#[case("about: !secret words")]
#[case("plan: !include other.yaml")]
#[case("tools: !!python/object [a]")]
fn a_tag_that_no_schema_has_is_refused(#[case] text: &str) {
    let found = mistakes(text);
    assert!(found.len() == 1 && found[0].contains("tag"), "{found:?}");
}

#[test]
fn a_file_that_is_right_is_read_as_it_is_written() {
    let text = "about: words\nplan: {when: auto}\nask: {limit: unlimited}\ntools: [a]\n";
    assert_eq!(
        json(text).unwrap(),
        serde_json::json!({"about": "words", "plan": {"when": "auto"}, "ask": {"limit": "unlimited"}, "tools": ["a"]})
    );
    assert!(mistakes(text).is_empty());
}
