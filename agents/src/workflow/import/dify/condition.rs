//! Conditions of Dify as expressions.

use proto::lang::Words;
use serde_json::Value;

use super::{
    super::draft::{Text, list, text_of},
    reader::Reader,
};

/// Returns the expression of one case of an if-else node.
pub(super) fn expression(reader: &mut Reader<'_>, case: &Value) -> Result<String, Words> {
    let conditions = list(&case["conditions"]);
    let parts = conditions.iter().map(|condition| one(reader, condition));
    let parts = parts.collect::<Result<Vec<_>, Words>>()?;
    let operator = if text_of(case, "logical_operator") == "or" { " or " } else { " and " };
    Ok(match parts.len() {
        0 => "true".to_owned(),
        _ => parts.join(operator),
    })
}

fn one(reader: &mut Reader<'_>, condition: &Value) -> Result<String, Words> {
    let left = reader.selected(&condition["variable_selector"])?;
    let is_number = text_of(condition, "varType") == "number";
    let literal = |value: &Value| literal(value, is_number);
    let right = match condition["value"].as_str() {
        Some(text) if text.contains("{{#") => reader
            .template(text)?
            .1
            .ok_or_else(|| Words::from(Text::Operator { operator: &text }))?,
        _ => literal(&condition["value"]),
    };
    let operator = text_of(condition, "comparison_operator");
    let compared = |sign: &str| Ok(format!("{left} {sign} {right}"));
    match operator {
        "is" | "=" => compared("=="),
        "is not" | "≠" => compared("!="),
        ">" | "<" => compared(operator),
        "≥" => compared(">="),
        "≤" => compared("<="),
        "in" => compared("in"),
        "not in" => compared("not in"),
        "contains" => Ok(format!("{right} in {left}")),
        "not contains" => Ok(format!("{right} not in {left}")),
        "start with" => Ok(format!("{left} is startingwith({right})")),
        "end with" => Ok(format!("{left} is endingwith({right})")),
        "empty" | "null" | "not exists" => Ok(format!("not {left}")),
        // A condition must be true or false.
        "not empty" | "not null" | "exists" => Ok(format!("not (not {left})")),
        other => Err(Text::Operator { operator: &other }.into()),
    }
}

/// Returns a value of a condition as a literal. Dify writes numbers as texts.
fn literal(value: &Value, is_number: bool) -> String {
    match value {
        Value::String(text) if is_number => {
            text.trim().parse::<f64>().map_or_else(|_| quoted(text), |_| text.trim().to_owned())
        }
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

/// Returns a text as a literal of expressions.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
