//! The edits of a running workflow's graph, applied to its file.

use proto::{
    lang::Words,
    workflow::{EDITS_MAX, GraphEdit, NodeId, Workflow},
};
use serde_json::{Map, Value, json};

use super::spell::blocks;

messages::texts!(workflow_edit);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}

/// An edit that cannot be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Unfit {
    /// Number of the edit, from 0.
    pub at: usize,
    /// Field of the edit.
    pub field: &'static str,
    /// Reason.
    pub why: Words,
}

/// Applies edits to a workflow, in order, and returns the text of its new file. The reader checks
/// the file.
///
/// # Errors
/// Returns the first edit that names an unknown node, adds a node twice, or does not have the form of
/// a patch.
pub fn edited(workflow: &Workflow, edits: &[GraphEdit]) -> Result<String, Unfit> {
    if edits.is_empty() || edits.len() > EDITS_MAX {
        return Err(Unfit { at: 0, field: "", why: Text::Count { max: &EDITS_MAX }.into() });
    }
    let mut file = blocks(workflow);
    for (at, edit) in edits.iter().enumerate() {
        let unfit = |(field, why): (&'static str, Words)| Unfit { at, field, why };
        apply(&mut file, edit).map_err(unfit)?;
    }
    Ok(file.to_string())
}

type Refused = (&'static str, Words);

fn apply(file: &mut Value, edit: &GraphEdit) -> Result<(), Refused> {
    match edit {
        GraphEdit::AddNode { id, node } => {
            if file["nodes"].get(id.as_str()).is_some() {
                return Err(("id", Text::Known { id }.into()));
            }
            object(node, "node")?;
            file["nodes"][id.as_str()] = node.clone();
        }
        GraphEdit::UpdateNode { id, node } => {
            object(node, "node")?;
            patch(known(file, id, "id")?, node);
        }
        GraphEdit::RemoveNode { id } => {
            known(file, id, "id")?;
            file["nodes"].as_object_mut().and_then(|nodes| nodes.remove(id.as_str()));
        }
        GraphEdit::UpdateEdge { from, next } => {
            let node = known(file, from, "from")?;
            patch(node, &json!({"next": null}));
            if !next.is_null() {
                node["next"] = next.clone();
            }
        }
        GraphEdit::SetLimits { limits } => {
            let changed = object(limits, "limits")?;
            if changed.contains_key("deadline") {
                return Err(("limits", Text::Deadline.into()));
            }
            patch(&mut file["limits"], limits);
        }
    }
    Ok(())
}

fn known<'f>(
    file: &'f mut Value,
    id: &NodeId,
    field: &'static str,
) -> Result<&'f mut Value, Refused> {
    let node = file["nodes"].get_mut(id.as_str());
    node.ok_or_else(|| (field, Text::Unknown { id }.into()))
}

fn object<'v>(value: &'v Value, field: &'static str) -> Result<&'v Map<String, Value>, Refused> {
    value.as_object().ok_or_else(|| (field, Text::NoObject.into()))
}

/// Changes a value by a JSON merge patch (RFC 7396).
fn patch(target: &mut Value, by: &Value) {
    let Value::Object(fields) = by else {
        *target = by.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (name, value) in fields {
        if !value.is_null() {
            patch(&mut target[name.as_str()], value);
        } else if let Some(target) = target.as_object_mut() {
            target.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use proto::{
        lang::Language,
        workflow::{GraphChanges, Limits},
    };
    use rstest::rstest;

    use super::*;
    use crate::workflow::read::{Known, read};

    const FILE: &str = r#"
workflow: small
state: {word: {schema: {type: string}}}
start: say
nodes:
  say: {type: model, prompt: "Say it", write: {word: "{{ reply }}"}, next: done}
  done: {type: end, output: {word: "{{ state.word }}"}}
"#;

    fn small() -> Workflow {
        read("small", FILE, &Known::default()).unwrap().workflow
    }

    fn after(edits: Value) -> Result<Workflow, String> {
        let edits: Vec<GraphEdit> = serde_json::from_value(edits).unwrap();
        let text = edited(&small(), &edits).map_err(|unfit| {
            format!("{}.{}: {}", unfit.at, unfit.field, unfit.why.text(Language::En))
        })?;
        let read = read("small", &text, &Known::default());
        read.map(|checked| checked.workflow).map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn edits_add_change_and_remove_nodes_and_ways() {
        let changed = after(json!([
            {"op": "add_node", "id": "check", "node": {"type": "human", "ask": "Good?", "next": "done"}},
            {"op": "update_edge", "from": "say", "next": [{"when": "state.word == ''", "to": "check"}, {"to": "done"}]},
            {"op": "update_node", "id": "say", "node": {"prompt": "Say it well", "retry": {"max_attempts": 2}}},
            {"op": "set_limits", "limits": {"visits": 3}},
        ]))
        .unwrap();
        let changes = GraphChanges::between(&small(), &changed);
        assert_eq!(changes.to_string(), "+check ~say ~workflow");
        assert_eq!(changed.limits, Limits { visits: 3, ..Limits::default() });
        let back = GraphChanges::between(&changed, &small());
        assert_eq!(back.to_string(), "~say -check ~workflow");
        assert!(GraphChanges::between(&changed, &changed).is_empty());
    }

    #[test]
    fn the_result_of_edits_passes_the_checks_of_files() {
        let wrong = after(json!([{"op": "remove_node", "id": "done"}])).unwrap_err();
        assert!(wrong.contains("nodes.say.next"), "{wrong}");
        let wrong = after(json!([{"op": "update_node", "id": "say", "node": {"prompt": null}}]));
        assert!(wrong.unwrap_err().contains("nodes.say"));
    }

    #[rstest]
    #[case::twice(json!([{"op": "add_node", "id": "say", "node": {"type": "set"}}]), "0.id: the workflow has a node say")]
    #[case::unknown(json!([{"op": "set_limits", "limits": {}}, {"op": "remove_node", "id": "gone"}]), "1.id: the workflow has no node gone")]
    #[case::no_object(json!([{"op": "update_node", "id": "say", "node": 7}]), "0.node: must be an object")]
    #[case::deadline(json!([{"op": "set_limits", "limits": {"deadline": "1h"}}]), "0.limits: the deadline of a job")]
    #[case::none(json!([]), "0.: must be 1 to 64 edits")]
    fn an_edit_that_does_not_fit_is_named(#[case] edits: Value, #[case] expected: &str) {
        let wrong = after(edits).unwrap_err();
        assert!(wrong.starts_with(expected), "{wrong}");
    }
}
