//! Rendering of a tool's data for people: fields as labels and values, lists of objects as tables.

use proto::escape;
use serde_json::{Map, Value};

use crate::{
    render::table::{Piece, fields, grid, plain},
    style::Style,
};

/// Renders data; empty for `null`.
pub(crate) fn value(style: &Style, data: &Value) -> String {
    match data {
        Value::Null => String::new(),
        Value::String(words) => format!("{}\n", escape::text(words.trim_end())),
        Value::Bool(_) | Value::Number(_) => format!("{data}\n"),
        Value::Array(items) => list(style, items),
        Value::Object(data) => object(style, data),
    }
}

/// Renders the fields of an object, then its lists of objects.
fn object(style: &Style, data: &Map<String, Value>) -> String {
    let (tables, plain): (Vec<_>, Vec<_>) = data.iter().partition(|(_, value)| is_table(value));
    let pairs: Vec<(String, Piece)> =
        plain.into_iter().map(|(name, value)| (label(name), cell(value))).collect();
    let tables = tables.into_iter().map(|(_, items)| value(style, items));
    std::iter::once(fields(style, &pairs)).chain(tables).collect()
}

fn is_table(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
}

/// Renders a list: objects as the rows of a table, anything else as one line each.
fn list(style: &Style, items: &[Value]) -> String {
    let objects: Vec<_> = items.iter().filter_map(Value::as_object).collect();
    if objects.is_empty() || objects.len() < items.len() {
        return items.iter().map(|item| format!("{}\n", cell(item).1)).collect();
    }
    let mut heads: Vec<&str> = Vec::new();
    for name in objects.iter().flat_map(|object| object.keys()) {
        if !heads.contains(&name.as_str()) {
            heads.push(name);
        }
    }
    // An id names its row.
    heads.sort_by_key(|name| *name != "id");
    let row = |object: &&Map<String, Value>| -> Vec<Piece> {
        heads.iter().map(|name| object.get(*name).map_or_else(|| plain(""), cell)).collect()
    };
    let rows = objects.iter().map(row).collect();
    let labels: Vec<String> = heads.iter().map(|name| label(name)).collect();
    grid(style, &labels.iter().map(String::as_str).collect::<Vec<_>>(), rows)
}

fn label(name: &str) -> String {
    escape::line(name).into_owned()
}

/// Returns a value in one line.
fn cell(value: &Value) -> Piece {
    plain(match value {
        Value::Null => String::new(),
        Value::String(words) => escape::line(words.trim()).into_owned(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            escape::line(&value.to_string()).into_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_is_shown_as_fields_and_tables() {
        let style = Style::plain(None);
        for (data, shown) in [
            (json!(null), ""),
            (json!("two\nlines\n"), "two\nlines\n"),
            (json!(5), "5\n"),
            (json!(["a", 1, {"b": 2}]), "a\n1\n{\"b\":2}\n"),
            (json!({"id": 1, "title": "buy\u{1b}[2J"}), "id     1\ntitle  buy\\u{1b}[2J\n"),
            (
                json!({"tasks": [{"id": 1, "title": "milk"}, {"deadline": "Friday", "id": 12}],
                       "count": 2}),
                "count  2\nid  title  deadline\n1   milk\n12         Friday\n",
            ),
        ] {
            assert_eq!(value(&style, &data), shown);
        }
    }
}
