//! The policies of an agent in short: those that differ from the defaults.

use serde_json::Value;

use super::Agent;
use crate::excerpt;

/// Bytes of a value that are shown.
const VALUE_BYTES: usize = 40;

/// A policy with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Path of the policy, as in YAML: `step.max_turns`.
    pub key: String,
    /// Value in JSON, shortened; the number of entries of a long list.
    pub value: String,
}

/// Returns the policies that differ from the defaults, in the order of their paths.
#[must_use]
pub fn summary(agent: &Agent) -> Vec<Policy> {
    let json = |agent: &Agent| serde_json::to_value(agent).unwrap_or_default();
    let mut found = Vec::new();
    differ("", &json(agent), &json(&Agent::default()), &mut found);
    found.retain(|policy| policy.key != "name");
    found
}

fn differ(path: &str, own: &Value, usual: &Value, found: &mut Vec<Policy>) {
    if own == usual {
        return;
    }
    let Value::Object(fields) = own else {
        found.push(Policy { key: path.to_owned(), value: short(own) });
        return;
    };
    for (name, own) in fields {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        differ(&path, own, usual.get(name).unwrap_or(&Value::Null), found);
    }
}

fn short(value: &Value) -> String {
    match value {
        Value::String(text) => excerpt::line(text, VALUE_BYTES),
        Value::Array(entries) => {
            let all: Vec<String> = entries.iter().map(short).collect();
            let all = all.join(", ");
            match all.len() <= VALUE_BYTES {
                true => format!("[{all}]"),
                false => format!("[{}]", entries.len()),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            excerpt::line(&value.to_string(), VALUE_BYTES)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(agent: Value) -> Vec<String> {
        let agent: Agent = serde_json::from_value(agent).unwrap();
        let policies = summary(&agent).into_iter();
        policies.map(|Policy { key, value }| format!("{key}={value}")).collect()
    }

    #[test]
    fn only_what_differs_from_the_defaults_is_shown_and_briefly() {
        assert_eq!(shown(json!({})), Vec::<String>::new());
        assert_eq!(shown(json!({"name": "mine"})), Vec::<String>::new());
        let agent = json!({
            "confirm": false, "step": {"max_turns": 7}, "budget": {"money": 1.5},
            "tools": ["read_file", "echo"], "system": "Be\nbrief.",
        });
        let own = shown(agent);
        for policy in ["budget.money=1.5", "step.max_turns=7", "tools=[read_file, echo]"] {
            assert!(own.iter().any(|one| one == policy), "{policy}: {own:?}");
        }
        assert!(own.iter().any(|one| one.starts_with("system=Be")), "{own:?}");
        let long: Vec<String> = (0..30).map(|n| format!("tool_{n}")).collect();
        assert_eq!(shown(json!({"tools": long})), ["tools=[30]"]);
    }
}
