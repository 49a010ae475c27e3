//! Tests of values, conditions, bounds and attacks.

use std::collections::BTreeMap;

use proto::workflow::{Key, NodeId};
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::workflow::expression::{FILTERS, TESTS};

fn with<T>(run: impl Fn(&Evaluator, &Scope<'_>) -> T) -> T {
    let input = json!({"ticket": "a <b> 'c'", "n": 3, "list": [3, 1, 2], "none": null});
    let key = |name: &str| Key::new(name).unwrap();
    let state = BTreeMap::from([
        (key("n"), json!(8)),
        (key("half"), json!(0.5)),
        (key("word"), json!("x".repeat(30_000))),
        (key("evil"), json!("{{ input.n }}")),
        (key("items"), json!(["a", "b"])),
        (key("obj"), json!({"b": 1, "a": {"c": true}})),
    ]);
    let visits = BTreeMap::from([(NodeId::new("docs-only").unwrap(), 2)]);
    let (name, value) = (key("i"), json!({"x": 1}));
    let reply = json!({"ok": true});
    let item = Some(Item { name: &name, value: &value, index: 4 });
    let outcome = Some((proto::workflow::Yield::Reply, &reply));
    let scope = Scope { input: &input, state: &state, visits: &visits, item, outcome };
    run(&Evaluator::new(), &scope)
}

fn value(template: &Value) -> Result<Value, EvalError> {
    with(|evaluator, scope| evaluator.value(&TemplateValue::checked(template.clone()), scope))
}

fn condition(source: &str) -> Result<bool, EvalError> {
    with(|evaluator, scope| evaluator.condition(&Expression::checked(source), scope))
}

#[rstest]
#[case(json!("{{ state.n }}"), json!(8))]
#[case(json!(" {{ state.n }} "), json!(8))]
#[case(json!("n={{ state.n }}"), json!("n=8"))]
#[case(json!("{{ input.ticket }}"), json!("a <b> 'c'"))]
#[case(json!("{{ state.obj }}"), json!({"b": 1, "a": {"c": true}}))]
#[case(json!("<{{ state.obj.a }}> {{ input.none }}"), json!("<{\"c\":true}> null"))]
#[case(json!({"k": ["{{ i.x }}", 1, null], "{{ k }}": "{{ index }}"}), json!({"k": [1, 1, null], "{{ k }}": 4}))]
#[case(json!("{{ state.evil }}!"), json!("{{ input.n }}!"))]
#[case(json!("{{ '{{' }} }}"), json!("{{ }}"))]
#[case(json!("{{ {'a': {'b': 1}} }}"), json!({"a": {"b": 1}}))]
#[case(json!("{{ visits['docs-only'] + visits.other }}"), json!(2))]
#[case(json!("{{ state.half + 1 }}"), json!(1.5))]
#[case(json!("{{ state.missing | default('none yet') }}"), json!("none yet"))]
#[case(json!("{{ input.list | sort | join(', ') }}"), json!("1, 2, 3"))]
#[case(json!("{{ state.n | times(2) }}"), json!(16))]
#[case(json!("{{ state.obj | keys }}"), json!(["a", "b"]))]
#[case(json!("{{ state.obj | tojson }}"), json!("{\"a\":{\"c\":true},\"b\":1}"))]
#[case(json!("{{ 'a-b' | replace('-', '+') | upper }}"), json!("A+B"))]
#[case(json!("{{ input.list[1:] }}"), json!([1, 2]))]
#[case(json!("{{ 'yes' if reply.ok else 'no' }}"), json!("yes"))]
fn a_template_keeps_types_and_inserts_data_as_data(
    #[case] template: Value,
    #[case] expected: Value,
) {
    assert_eq!(value(&template), Ok(expected));
}

#[rstest]
#[case("state.n >= 8 and not false", true)]
#[case("visits.other < 3", true)]
#[case("input.ticket is startingwith('a')", true)]
#[case("'c' in input.ticket", true)]
#[case("4 not in input.list", true)]
#[case("state.draft is defined", false)]
#[case("(state.items | length) == 2", true)]
fn a_condition_is_true_or_false(#[case] source: &str, #[case] expected: bool) {
    assert_eq!(condition(source), Ok(expected));
}

#[rstest]
#[case("state.n", EvalFault::NoBoolean { got: "number" })]
#[case("'yes'", EvalFault::NoBoolean { got: "string" })]
#[case("input.none", EvalFault::NoBoolean { got: "null" })]
#[case("state.draft", EvalFault::Undefined)]
#[case("state.draft == 1", EvalFault::Undefined)]
#[case("state.draft.x > 1", EvalFault::Undefined)]
#[case("not state.draft", EvalFault::Undefined)]
#[case("env.PATH == 'x'", EvalFault::Undefined)]
fn a_condition_of_another_value_fails_typed(#[case] source: &str, #[case] fault: EvalFault) {
    assert_eq!(condition(source).unwrap_err().fault, fault);
}

#[rstest]
#[case("1 / 0 > 1")]
#[case("1 // 0 > 1")]
#[case("1 % 0 > 1")]
#[case("state.n + 'x' == 1")]
fn an_operation_that_its_values_do_not_allow_fails_typed(#[case] source: &str) {
    let error = condition(source).unwrap_err();
    assert!(matches!(error.fault, EvalFault::Operation { .. }), "{error}");
}

#[test]
fn an_undefined_part_of_a_value_fails_with_its_path() {
    let error = value(&json!({"a": [{"b": "{{ [state.draft] }}"}]})).unwrap_err();
    assert_eq!((error.path.as_str(), error.fault), ("a[0].b", EvalFault::Undefined));
}

#[test]
fn the_items_of_a_map_are_a_list_within_its_bound() {
    let items = |source: &str, max| {
        with(|evaluator, scope| {
            let over = Expression::checked(source);
            evaluator.items(&over, max, scope).map_err(|error| error.fault)
        })
    };
    assert_eq!(items("state.items", 2), Ok(vec![json!("a"), json!("b")]));
    assert_eq!(items("state.items", 1), Err(EvalFault::TooManyItems { got: 2, max: 1 }));
    assert_eq!(items("input.ticket", 9), Err(EvalFault::NoList { got: "string" }));
}

#[rstest]
#[case("{{ 'a' * 100000000 }}".to_owned())]
#[case("{{ 10 ** 100000 }}".to_owned())]
#[case("{{ range(1000000000) }}".to_owned())]
#[case(format!("{{{{ {} }}}}", vec!["state.word"; 300].join(" ~ ")))]
#[case(format!("{{{{ 'a'{} }}}}", "|replace('a', 'aaaaaaaaaa')".repeat(60)))]
#[case(format!("{{{{ '\"'{} }}}}", "|tojson".repeat(200)))]
#[case("{{ state.word | list | join(state.word) }}".to_owned())]
#[case("{{ state.word | replace('', state.word) }}".to_owned())]
#[case(format!("{{{{ [{}] }}}}", vec!["state.word"; 300].join(",")))]
#[case(format!("{{{{ {}1{} }}}}", "(".repeat(500), ")".repeat(500)))]
#[case(format!("{{{{ {}1{} }}}}", "[".repeat(500), "]".repeat(500)))]
#[case(format!("{{{{ {}true }}}}", "not ".repeat(900)))]
#[case(format!("{{{{ {}1 }}}}", "-".repeat(3000)))]
#[case("{{ state.word }}".repeat(3))]
#[case("{{ 9223372036854775807 | times(9) }}".to_owned())]
#[case("{{ 'nan' | float }}".to_owned())]
#[case("{% for x in [1] %}{% endfor %}".to_owned())]
#[case("{{ self }}".to_owned())]
#[case("{{ input.__class__ }}".to_owned())]
#[case("{{ include('/etc/passwd') }}".to_owned())]
fn an_attack_is_refused(#[case] template: String) {
    assert!(value(&json!(template)).is_err());
}

#[test]
fn an_expression_with_too_many_instructions_runs_out_of_fuel() {
    let source = format!("[{}] == []", vec!["i.x"; 1_015].join(","));
    assert_eq!(condition(&source).unwrap_err().fault, EvalFault::OutOfFuel);
}

#[test]
fn the_engine_has_exactly_the_filters_and_tests_that_the_checker_knows() {
    let evaluator = Evaluator::new();
    for filter in FILTERS {
        let compiled = evaluator.environment.compile_expression(filter).is_ok();
        let source = format!("1 | {filter}");
        let error = evaluator.environment.compile_expression(&source).unwrap().eval(()).err();
        let is_unknown =
            error.is_some_and(|error| error.kind() == minijinja::ErrorKind::UnknownFilter);
        assert!(compiled && !is_unknown, "{filter}");
    }
    for test in TESTS {
        let source = format!("1 is {test}");
        let error = evaluator.environment.compile_expression(&source).unwrap().eval(()).err();
        let is_unknown =
            error.is_some_and(|error| error.kind() == minijinja::ErrorKind::UnknownTest);
        assert!(!is_unknown, "{test}");
    }
}
