//! Tests of the document by itself. Tests against an installation are in the crate of tests.

use super::*;

fn document() -> Value {
    serde_json::from_str(&DOCUMENT).unwrap()
}

/// Every reference of a value.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str().filter(|_| key == "$ref") {
                    Some(to) => found.push(to.to_owned()),
                    None => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_reference_has_its_schema() {
    let document = document();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 100, "{}", found.len());
    for to in found {
        assert!(document.pointer(to.trim_start_matches('#')).is_some(), "{to}");
    }
}

#[test]
fn every_route_is_an_operation_of_its_own_name() {
    let document = document();
    let mut names = BTreeSet::new();
    for spec in SPECS.iter() {
        let method = spec.method.as_str().to_ascii_lowercase();
        let operation = &document["paths"][spec.path][method];
        assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()));
        assert!(!spec.replies.is_empty(), "{}: a route has a response", spec.path);
    }
    let paths = document["paths"].as_object().unwrap().values();
    assert_eq!(paths.map(|path| path.as_object().unwrap().len()).sum::<usize>(), SPECS.len());
}

#[test]
fn a_body_has_no_field_of_its_path_and_a_request_needs_less_than_a_reply_has() {
    let document = document();
    let signal =
        "/paths/~1v1~1jobs~1{job}~1signals/post/requestBody/content/application~1json/schema";
    let schema = document.pointer(signal).unwrap();
    assert_eq!(
        (schema["required"].clone(), &schema["properties"]["job"]),
        (json!(["signal"]), &Value::Null)
    );
    let schemas = &document["components"]["schemas"];
    let required = |name: &str| schemas[name]["required"].as_array().map_or(0, Vec::len);
    assert!(schemas["AgentRequest"].is_object());
    assert!(required("AgentRequest") < required("Agent"), "{}", schemas["AgentRequest"]);
}

#[test]
fn routes_are_added_in_the_table_alone() {
    let source = include_str!("../../api.rs");
    let (_, router) = source.split_once("pub(crate) fn router").unwrap();
    let added: Vec<_> = router.lines().filter(|line| line.contains(".route(")).collect();
    // The loop over the table, once below `/v1` and once beside it, and the files of the console.
    assert_eq!(added.len(), 3, "{added:?}");
}
