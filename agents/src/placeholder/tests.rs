//! Tests of resolved placeholders, of literal texts, and of errors.

#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better unborrowed")]

use proptest::prelude::*;
use proto::lang::Language;
use rstest::rstest;
use serde_json::{Map, json};

use super::*;

fn results(step: &StepId) -> Option<Value> {
    match step.as_str() {
        "step1" => Some(json!({
            "id": 7, "none": null, "yes": true, "tags": ["a", "b"], "who": {"name": "Li"}, "evil": "{{step1.id}}",
            "rows": [{"cells": [1, [2, 3]]}], "odd[0]": "literal", "empty": {},
        })),
        "step2" => Some(json!("done")),
        "list" => Some(json!([{"id": 9}, null])),
        _ => None,
    }
}

#[rstest]
#[case::number(json!({"id": "{{step1.id}}"}), json!({"id": 7}))]
#[case::list(json!("{{ step1.tags }}"), json!(["a", "b"]))]
#[case::object(json!("{{step1.who}}"), json!({"name": "Li"}))]
#[case::null(json!("{{step1.none}}"), json!(null))]
#[case::boolean(json!("{{step1.yes}}"), json!(true))]
#[case::whole_result(json!("{{step2}}"), json!("done"))]
#[case::item_by_dot(json!("{{step1.tags.1}}"), json!("b"))]
#[case::item_by_bracket(json!("{{step1.tags[1]}}"), json!("b"))]
#[case::deep(json!("{{step1.rows.0.cells.1.0}}"), json!(2))]
#[case::deep_by_brackets(json!("{{step1.rows[0].cells[1][1]}}"), json!(3))]
#[case::the_result_is_a_list(json!("{{list[0].id}}"), json!(9))]
#[case::the_result_is_a_list_by_dot(json!("{{list.0.id}}"), json!(9))]
#[case::a_field_of_that_very_name(json!("{{step1.odd[0]}}"), json!("literal"))]
#[case::in_a_text(json!("task {{step1.id}} of {{step1.who.name}}!"), json!("task 7 of Li!"))]
#[case::null_in_a_text(json!("<{{step1.none}}>"), json!("<null>"))]
#[case::two_make_a_text(json!("{{step1.id}}{{step1.id}}"), json!("77"))]
#[case::arrays_stay_arrays(
    json!([1, {"deep": ["x{{step1.tags}}", "{{step1.id}}"]}]),
    json!([1, {"deep": ["x[\"a\",\"b\"]", 7]}]))]
#[case::never_looked_through_again(json!("{{step1.evil}}"), json!("{{step1.id}}"))]
fn a_placeholder_becomes(#[case] args: Value, #[case] expected: Value) {
    assert_eq!(resolve(&args, &results), Ok(expected));
}

#[rstest]
fn what_is_not_a_placeholder_stays_as_it_is(
    #[values(
        "{{ }}",
        "${HOME} $(id)",
        "{{a b}}",
        "{{",
        "}}",
        "{{x..y}}",
        "{ {step1.id} }",
        "{{step1[}}",
        "{{step1[x]}}",
        "{{step1.}}",
        "{{.id}}",
        "{{step1[0]x}}"
    )]
    literal: &str,
) {
    assert_eq!(resolve(&json!(literal), &results), Ok(json!(literal)));
    assert_eq!(unknown(literal), Unknown::Nothing);
}

#[rstest]
#[case("{{step9.id}}", "step step9 has no result", "步骤 step9 没有结果")]
#[case(
    "{{step1.who.age}}",
    r#"the result step1.who has no "age"; it has name"#,
    r#"结果 step1.who 中没有 "age"，只有 name"#
)]
#[case(
    "{{step1.empty.x}}",
    r#"the result step1.empty is an object without fields; it has no "x""#,
    r#"结果 step1.empty 是空对象，没有 "x""#
)]
#[case(
    "{{step1.tags.2}}",
    r#"the result step1.tags is a list of 2; it has no "2""#,
    r#"结果 step1.tags 是 2 项的列表，没有 "2""#
)]
#[case(
    "{{step1.tags[7]}}",
    r#"the result step1.tags is a list of 2; it has no "7""#,
    r#"结果 step1.tags 是 2 项的列表，没有 "7""#
)]
#[case(
    "{{step1.tags.first}}",
    r#"the result step1.tags is a list of 2; it has no "first""#,
    r#"结果 step1.tags 是 2 项的列表，没有 "first""#
)]
#[case(
    "{{step1.none.x.y}}",
    r#"the result step1.none is null; it has no "x""#,
    r#"结果 step1.none 是空值，没有 "x""#
)]
#[case(
    "{{step1.id.x}}",
    r#"the result step1.id is a number; it has no "x""#,
    r#"结果 step1.id 是数字，没有 "x""#
)]
#[case(
    "{{step1.yes.x}}",
    r#"the result step1.yes is true or false; it has no "x""#,
    r#"结果 step1.yes 是布尔值，没有 "x""#
)]
#[case(
    "{{step2.id}}",
    r#"the result step2 is a text; it has no "id""#,
    r#"结果 step2 是文本，没有 "id""#
)]
#[case(
    "{{list.1.id}}",
    r#"the result list.1 is null; it has no "id""#,
    r#"结果 list.1 是空值，没有 "id""#
)]
fn what_is_missing_is_named_with_what_is_there(
    #[case] placeholder: &str,
    #[case] en: &str,
    #[case] zh: &str,
) {
    for args in [json!(placeholder), json!({"a": ["x", {"b": format!("so {placeholder}!")}]})] {
        let unresolved = resolve(&args, &results).unwrap_err();
        assert_eq!(unresolved.text(Language::En), format!("{placeholder}: {en}"));
        assert_eq!(unresolved.text(Language::Zh), format!("{placeholder}（{zh}）"));
    }
}

#[test]
fn a_result_with_many_fields_is_not_written_out() {
    let many: Map<_, _> = (0..50).map(|n| (format!("f{n}"), json!(n))).collect();
    let unresolved =
        resolve(&json!("{{a.x}}"), &|_| Some(Value::Object(many.clone()))).unwrap_err();
    assert!(unresolved.to_string().ends_with("it has f0, f1, f2, f3, f4, f5, f6, f7, …"));
}

#[test]
fn a_text_says_how_much_of_it_is_not_known_yet() {
    assert_eq!(unknown("{{ step1.id }}"), Unknown::Everything);
    assert_eq!(unknown("task {{step1.id}}"), Unknown::Words);
    assert_eq!(unknown("{{step1.id}}{{step1.id}}"), Unknown::Words);
}

#[test]
fn references_are_found_wherever_they_stand() {
    let args = json!({"a": "{{s1.x}} and {{s2}}", "b": ["{{s1.y}}", {"c": "{{s3.z.0}}", "d": "{{s4[0]}}"}]});
    let found: Vec<_> = references(&args).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["s1", "s2", "s3", "s4"]);
}

/// Generates JSON values with placeholders among their texts.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z{}. \\[\\]0-9一]{0,12}".prop_map(Value::from),
        Just(json!("{{step1.id}}")),
        Just(json!("a {{step1.who.name}} b")),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,4}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Collects every value inside `value`, with its path for a placeholder.
fn places(value: &Value, at: String, found: &mut Vec<(String, Value)>) {
    found.push((at.clone(), value.clone()));
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, inner)| places(inner, format!("{at}.{name}"), found));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(n, inner)| places(inner, format!("{at}.{n}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the value with every scalar replaced by null.
fn form(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, inner)| (name.clone(), form(inner))).collect())
        }
        Value::Array(items) => items.iter().map(form).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Value::Null,
    }
}

proptest! {
    #[test]
    fn every_place_of_a_result_can_be_read_with_its_type(result in json_value()) {
        let mut all = Vec::new();
        places(&result, "a".to_owned(), &mut all);
        for (path, expected) in all {
            let lookup = |_: &StepId| Some(result.clone());
            prop_assert_eq!(resolve(&json!(format!("{{{{{path}}}}}")), &lookup), Ok(expected));
        }
    }

    #[test]
    fn whatever_the_arguments_their_form_is_kept_or_something_is_missing(args in json_value()) {
        let scalar = |step: &StepId| {
            (step.as_str() == "step1").then(|| json!({"id": 7, "who": {"name": "Li"}}))
        };
        match resolve(&args, &scalar) {
            Ok(resolved) => prop_assert_eq!(form(&resolved), form(&args)),
            Err(unresolved) => prop_assert!(!unresolved.text(Language::Zh).is_empty()),
        }
    }

    #[test]
    fn without_placeholders_nothing_changes(args in json_value()) {
        prop_assume!(references(&args).is_empty());
        prop_assert_eq!(resolve(&args, &|_| None), Ok(args));
    }

    #[test]
    fn no_text_and_no_result_is_too_strange(text in ".{0,40}", step in "[a-z]{1,3}", path in ".{0,10}") {
        let lookup = |_: &StepId| Some(json!({"a": [null, {"b": 1}]}));
        let _ = resolve(&json!(text), &lookup);
        let _ = resolve(&json!(format!("{{{{{step}.{path}}}}}")), &lookup).map_err(|e| e.to_string());
    }
}

#[rstest]
#[case(r#"{{"{{"}}step1.id}}"#, "{{step1.id}}")]
#[case("{{ '{{' }} .Values.{{step1.id}} }}", "{{ .Values.7 }}")]
#[case(r#"{{"{{"}}"{{"}}"#, r#"{{"{{"}}"#)]
fn two_braces_can_be_written(#[case] written: &str, #[case] expected: &str) {
    assert_eq!(resolve(&json!(written), &results), Ok(json!(expected)));
}

#[rstest]
#[case("{{step1[x]}}", &["step1 {{step1[x]}}"])]
#[case("a {{step1.}} b {{ step1..id }}", &["step1 {{step1.}}", "step1 {{ step1..id }}"])]
#[case("{{step1. id}}{{step1.first name}}", &["step1 {{step1. id}}", "step1 {{step1.first name}}"])]
#[case("{{step1.id}} {{ }} {{a b}} {{.id}} {{ {step1.id} }} {{step1", &[])]
fn what_only_looks_like_a_placeholder_is_known(#[case] text: &str, #[case] expected: &[&str]) {
    let found = malformed(&json!([text]));
    let found: Vec<String> = found.iter().map(|(step, all)| format!("{step} {all}")).collect();
    assert_eq!(found, expected);
}
