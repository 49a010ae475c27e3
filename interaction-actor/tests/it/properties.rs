//! Properties of every question that a model may ask and every value that a person may give: each
//! question can be answered, and the schema of a form agrees with its fields.

use proptest::prelude::*;
use proto::{
    asking,
    fact::AskedKind,
    interaction::{Choice, Field, Input, Question, QuestionKind},
};
use runtime::schema::Schema;
use serde_json::{Map, Value, json};

fn options() -> impl Strategy<Value = Vec<Choice>> {
    prop::collection::btree_set("[a-c]{1,2}", 1..4)
        .prop_map(|values| values.into_iter().map(|value| Choice { value, label: None }).collect())
}

fn input() -> impl Strategy<Value = Input> {
    let bound = || prop::option::of(-40i8..40).prop_map(|n| n.map(|n| f64::from(n) / 8.0));
    prop_oneof![
        (prop::option::of(0u32..5), prop::option::of(0u32..3), any::<bool>()).prop_map(
            |(max_length, min_length, multiline)| Input::Text { max_length, min_length, multiline }
        ),
        (bound(), bound(), any::<bool>()).prop_map(|(min, max, integer)| Input::Number {
            min,
            max,
            integer
        }),
        Just(Input::Boolean),
        (options(), any::<bool>())
            .prop_map(|(options, multiple)| Input::Select { options, multiple }),
    ]
}

/// Generates values near the limits of fields, on both sides.
fn value() -> impl Strategy<Value = Value> {
    let scalar = || {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-6i64..6).prop_map(Value::from),
            (-48i8..48).prop_map(|n| json!(f64::from(n) / 8.0)),
            "[a-c\u{e9}\u{4e00}]{0,5}".prop_map(Value::from),
        ]
    };
    prop_oneof![
        4 => scalar(),
        1 => prop::collection::vec(scalar(), 0..4).prop_map(Value::from),
        1 => Just(json!({})),
    ]
}

/// Generates arguments of a form's field as models write them, valid and invalid.
fn asked() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec![
        "text",
        "textarea",
        "number",
        "integer",
        "boolean",
        "select",
        "multipleSelect",
    ]);
    let bound = || prop::option::of(-20i8..20).prop_map(|n| n.map(|n| f64::from(n) / 4.0));
    let list = prop::collection::vec("[a-c]{1,2}", 0..4);
    (kind, any::<bool>(), bound(), bound(), 0u32..4, list, value()).prop_map(
        |(kind, required, min, max, length, options, default)| {
            json!({
                "type": kind, "key": "k", "label": "K", "required": required, "min": min,
                "max": max, "max_length": length, "options": options, "default": default,
            })
        },
    )
}

fn form(field: Field) -> Question {
    Question {
        id: "q".parse().unwrap(),
        prompt: "?".into(),
        kind: QuestionKind::Form { fields: vec![field] },
        step: None,
        deadline: None,
        default: None,
    }
}

/// Returns a value that the field accepts, derived from its limits.
fn answer(input: &Input) -> Value {
    match input {
        Input::Text { min_length, .. } => {
            json!("a".repeat(min_length.unwrap_or(1).max(1) as usize))
        }
        Input::Number { min, max, integer } => {
            let number = min.or(*max).unwrap_or_default();
            match (integer, min) {
                (false, _) => json!(number),
                (true, Some(_)) => json!(number.ceil()),
                (true, None) => json!(number.floor()),
            }
        }
        Input::Boolean => json!(true),
        Input::Select { options, multiple } => {
            let first = options.first().map(|option| json!(option.value)).unwrap_or_default();
            if *multiple { json!([first]) } else { first }
        }
    }
}

fn check(question: &Question, value: &Value) -> bool {
    let schema = question.value_schema().expect("a form has a schema");
    Schema::compile(&schema).expect("the schema of a question can be used").check(value).is_empty()
}

proptest! {
    #[test]
    fn the_schema_of_a_form_takes_what_its_field_takes(input in input(), value in value()) {
        let takes = input.takes(&value);
        let field = Field {
            key: "k".into(),
            label: "K".into(),
            input,
            required: false,
            description: None,
            default: None,
        };
        let question = form(field);
        let filled: Value = Map::from_iter([("k".to_owned(), value)]).into();
        prop_assert_eq!(check(&question, &filled), takes, "{:?} {}", question, filled);
        let empty = json!({});
        prop_assert!(check(&question, &empty));
    }

    #[test]
    fn a_question_that_is_asked_can_be_answered_and_proposes_what_it_would_take(args in asked()) {
        let args = json!({"mode": "form", "prompt": "?", "fields": [args]});
        let Ok(asked) = asking::parse(&args, &asking::AskKinds::default()) else { return Ok(()) };
        let AskedKind::Form { fields } = asked.kind else { panic!("a form was asked") };
        let field = fields.into_iter().next().unwrap();
        let answer = answer(&field.input);
        prop_assert!(field.default.iter().all(|value| field.input.takes(value)), "{field:?}");
        let filled: Value = Map::from_iter([("k".to_owned(), answer)]).into();
        let question = form(field);
        prop_assert!(check(&question, &filled), "{:?} {}", question, filled);
    }
}
