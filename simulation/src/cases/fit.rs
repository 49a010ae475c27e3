//! The comparison of JSON values: whether one includes another.

use serde_json::Value;

/// Returns whether `whole` includes `part`: objects field by field, lists item by item, and all other
/// values as a whole. Numbers are compared by their value.
pub(super) fn includes(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(name, value)| whole.get(name).is_some_and(|found| includes(found, value))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(w, p)| includes(w, p))
        }
        (Value::Number(whole), Value::Number(part)) => {
            whole == part || whole.as_f64() == part.as_f64()
        }
        (whole, part) => whole == part,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({"a": 1, "b": 2}), json!({"a": 1}), true)]
    #[case(json!({"a": 1}), json!({"a": 1.0}), true)]
    #[case(json!({"a": {"b": [1, {"c": 2, "d": 3}]}}), json!({"a": {"b": [1, {"c": 2}]}}), true)]
    #[case(json!({"a": 1}), json!({"a": 2}), false)]
    #[case(json!({"a": 1}), json!({"b": 1}), false)]
    #[case(json!([1, 2]), json!([1]), false)]
    #[case(json!("a"), json!("a"), true)]
    #[case(json!({}), json!(null), false)]
    fn a_value_includes_its_parts_alone(
        #[case] whole: Value,
        #[case] part: Value,
        #[case] expected: bool,
    ) {
        assert_eq!(includes(&whole, &part), expected);
    }
}
