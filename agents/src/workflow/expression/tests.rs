//! Tests of the parser of expressions.

use rstest::rstest;

use super::*;

#[rstest]
#[case("a ** b", 2, Problem::Operator("**"))]
#[case("'x' * 3", 4, Problem::Operator("*"))]
#[case("a = 1", 2, Problem::Operator("="))]
#[case("a | lenght", 4, Problem::Filter("lenght".into()))]
#[case("a is not defind", 9, Problem::Test("defind".into()))]
#[case("range(9)", 5, Problem::Call)]
#[case("a.b('x')", 3, Problem::Call)]
#[case("'open", 0, Problem::OpenText)]
#[case("1x", 0, Problem::Number("1x".into()))]
#[case("99999999999999999999", 0, Problem::Number("99999999999999999999".into()))]
#[case("a ; b", 2, Problem::Character(';'))]
#[case("", 0, Problem::Ends)]
#[case("a and", 5, Problem::Ends)]
#[case("a b", 2, Problem::Extra("b".into()))]
#[case("(a", 2, Problem::Missing(")"))]
#[case("a if b", 6, Problem::Missing("else"))]
#[case("not in", 4, Problem::NoValue("in".into()))]
fn a_problem_is_found_at_its_byte(
    #[case] source: &str,
    #[case] at: usize,
    #[case] problem: Problem,
) {
    assert_eq!(parse(source, false), Err(Misread { at, problem }));
}

#[test]
fn an_expression_inside_a_template_ends_at_its_closing_braces() {
    let (part, end) = parse(" {'a': {'b': \"}}\"}} }} rest }}", true).unwrap();
    assert!(matches!(part.expr, Expr::Object(_)), "{part:?}");
    assert_eq!(end, 20);
    let open = parse(" state.x ", true).unwrap_err();
    assert_eq!(open.problem, Problem::Missing("}}"));
}

#[test]
fn a_field_in_brackets_is_the_same_step_as_one_behind_a_dot() {
    let of = |source: &str| {
        let expression = parse(source, false).unwrap().0.expr;
        let Expr::Path { root, steps } = expression else { panic!("{expression:?}") };
        let names = steps.iter().map(|step| match step {
            Step::Field { name, .. } => name.clone(),
            Step::Item(_) => "item".to_owned(),
            Step::Slice(_) => "slice".to_owned(),
        });
        format!("{root}/{}", names.collect::<Vec<_>>().join("/"))
    };
    assert_eq!(of("visits['docs-only'].x[0][1:]"), "visits/docs-only/x/item/slice");
}
