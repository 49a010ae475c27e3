//! The outline, a plan that a step's loop keeps for itself: its two functions, their arguments, and
//! the advice to a model that finishes before its outline is done. Pure.

use std::collections::BTreeSet;

use proto::{
    fact::{CallTarget, TurnCall},
    id::StepId,
    lang::Language,
    message::{Message, ToolOffer},
    outline::{Item, ItemStatus, ItemUpdate, OutlineChange},
};
use serde_json::{Map, Value, json};

/// Function by which a model writes its outline.
pub(crate) const SET: &str = "set_plan";
/// Function by which a model reports progress on its outline.
pub(crate) const UPDATE: &str = "update_plan";

messages::texts!(set_plan);

/// `true` for the name of either function.
pub(crate) fn is_ours(name: &str) -> bool {
    name == SET || name == UPDATE
}

/// Returns the two functions to offer.
pub(crate) fn offers(language: Language) -> [ToolOffer; 2] {
    let statuses = ItemStatus::ALL;
    let item = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "title": {"type": "string"},
            "status": {"enum": statuses},
            "note": {"type": "string"}
        },
        "required": ["id", "title"],
        "additionalProperties": false
    });
    let update = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "status": {"enum": statuses},
            "note": {"type": "string"}
        },
        "required": ["id", "status"],
        "additionalProperties": false
    });
    let list = |name: &str, item: Value| {
        json!({
            "type": "object",
            "properties": {name: {"type": "array", "items": item}},
            "required": [name],
            "additionalProperties": false
        })
    };
    [
        ToolOffer {
            name: SET.to_owned(),
            description: Text::Set.text(language),
            schema: list("items", item),
        },
        ToolOffer {
            name: UPDATE.to_owned(),
            description: Text::Update.text(language),
            schema: list("updates", update),
        },
    ]
}

/// Formats the instructions for the outline and its current items, for the system message.
pub(crate) fn words(language: Language, items: &[Item]) -> String {
    let mut words = Text::Keep.text(language);
    if !items.is_empty() {
        words.push_str(&Text::SoFar.text(language));
        for item in items {
            words.push_str(&format!("\n- {} [{}] {}", item.id, item.status.as_str(), item.title));
        }
    }
    words
}

/// Converts a call of either function to its target.
///
/// # Errors
/// The invalid argument, with the reason.
pub(crate) fn target(name: &str, args: &Value, language: Language) -> Result<CallTarget, String> {
    let Some(fields) = args.as_object() else {
        let why = Text::NoObject.text(language);
        return Err(format!("{name}: {why}"));
    };
    let change = if name == SET {
        let listed = list(fields, &["items", "steps", "plan"])
            .ok_or_else(|| format!("{name}: items: {}", Text::NoList.text(language)))?;
        OutlineChange::Set {
            items: items(listed, language).map_err(|why| format!("{name}: {why}"))?,
        }
    } else {
        let one = [args.clone()];
        let listed = list(fields, &["updates", "items"]);
        let listed = listed.unwrap_or(if fields.contains_key("id") { &one } else { &[] });
        OutlineChange::Update {
            updates: updates(listed, language).map_err(|why| format!("{name}: {why}"))?,
        }
    };
    Ok(CallTarget::Outline { change })
}

/// Refuses the changes of a turn that its outline cannot accept, applied in order. The machine
/// would refuse them too; the error is translated here.
pub(crate) fn refuse(calls: &mut [TurnCall], outline: &[Item], language: Language) {
    let mut items = outline.to_vec();
    for call in calls {
        let CallTarget::Outline { change } = &call.target else { continue };
        match proto::outline::apply(&items, change) {
            Ok(changed) => items = changed,
            Err(error) => call.target = CallTarget::Refused { error: error.text(language) },
        }
    }
}

fn list<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> Option<&'a [Value]> {
    names.iter().find_map(|name| fields.get(*name)?.as_array()).map(Vec::as_slice)
}

fn items(listed: &[Value], language: Language) -> Result<Vec<Item>, String> {
    let mut taken: BTreeSet<String> = listed.iter().filter_map(id_of).collect();
    let mut found = Vec::with_capacity(listed.len());
    for (n, item) in listed.iter().enumerate() {
        let at = |field: &str| format!("items[{n}].{field}");
        let (title, status, note) = match item {
            Value::String(title) => (title.trim().to_owned(), ItemStatus::Pending, None),
            Value::Object(fields) => {
                let title = ["title", "name", "description", "step"]
                    .iter()
                    .find_map(|name| fields.get(*name)?.as_str());
                let title = title
                    .ok_or_else(|| format!("{}: {}", at("title"), Text::Missing.text(language)))?;
                let status = fields.get("status").filter(|status| !status.is_null());
                let status = status
                    .map_or(Ok(ItemStatus::Pending), |s| status_of(s, &at("status"), language))?;
                (title.trim().to_owned(), status, note_of(fields))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                let why = Text::NoItem.text(language);
                return Err(format!("items[{n}]: {why}"));
            }
        };
        let id = id_of(item).unwrap_or_else(|| free(n, &mut taken));
        let id = StepId::new(id).map_err(|why| format!("{}: {why}", at("id")))?;
        found.push(Item { id, title, status, note });
    }
    Ok(found)
}

/// Returns the lowest free id from `n` + 1 upwards, and marks it as taken.
fn free(n: usize, taken: &mut BTreeSet<String>) -> String {
    let id = (n + 1..).map(|n| n.to_string()).find(|id| !taken.contains(id)).unwrap_or_default();
    taken.insert(id.clone());
    id
}

fn updates(listed: &[Value], language: Language) -> Result<Vec<ItemUpdate>, String> {
    if listed.is_empty() {
        let why = Text::NoUpdates.text(language);
        return Err(format!("updates: {why}"));
    }
    let of = |(n, update): (usize, &Value)| {
        let at = |field: &str| format!("updates[{n}].{field}");
        let fields = update
            .as_object()
            .ok_or_else(|| format!("updates[{n}]: {}", Text::NoUpdate.text(language)))?;
        let id = id_of(update)
            .ok_or_else(|| format!("{}: {}", at("id"), Text::Missing.text(language)))?;
        let id = StepId::new(id).map_err(|why| format!("{}: {why}", at("id")))?;
        let status = fields.get("status").unwrap_or(&Value::Null);
        Ok(ItemUpdate {
            id,
            status: status_of(status, &at("status"), language)?,
            note: note_of(fields),
        })
    };
    listed.iter().enumerate().map(of).collect()
}

fn id_of(item: &Value) -> Option<String> {
    match item.get("id")? {
        Value::String(id) => Some(id.trim().to_owned()),
        Value::Number(id) => Some(id.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn note_of(fields: &Map<String, Value>) -> Option<String> {
    let note = fields.get("note")?.as_str()?.trim();
    (!note.is_empty()).then(|| note.to_owned())
}

fn status_of(status: &Value, at: &str, language: Language) -> Result<ItemStatus, String> {
    let word = status.as_str().unwrap_or_default().trim().to_lowercase().replace(['-', ' '], "_");
    let word = if word == "completed" { "done" } else { word.as_str() };
    word.parse().map_err(|_| Text::Status { at: &at }.text(language))
}

/// Returns advice to a model that finishes with open items; `None` if the model has had it already.
pub(crate) fn advice(language: Language, outline: &[Item], told: &[Message]) -> Option<String> {
    let open: Vec<_> = outline
        .iter()
        .filter(|item| item.status.is_open())
        .map(|item| format!("{} ({})", item.id, item.title))
        .collect();
    let heads: Vec<_> = Language::ALL.iter().map(|one| Text::AdviceHead.text(*one)).collect();
    let given = |message: &Message| match message {
        Message::Tool { text, .. } => heads.iter().any(|head| text.starts_with(head)),
        Message::System { .. } | Message::User { .. } | Message::Assistant { .. } => false,
    };
    if open.is_empty() || told.iter().any(given) {
        return None;
    }
    let head = Text::AdviceHead.text(language);
    Some(Text::Advice { head: &head, open: &open.join(", ") }.text(language))
}

/// Builds the refused call for a postponed end of a step, with the advice as its error.
pub(crate) fn put_off(response: &str, advice: String) -> TurnCall {
    TurnCall {
        id: "finish_1".to_owned(),
        name: crate::offer::FINISH.to_owned(),
        args: json!({"success": true, "response": response}),
        target: CallTarget::Refused { error: advice },
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn line(name: &str, args: &Value) -> String {
        match target(name, args, Language::En) {
            Ok(CallTarget::Outline { change: OutlineChange::Set { items } }) => {
                let item = |i: &Item| format!("{} {} {}", i.id, i.title, i.status.as_str());
                items.iter().map(item).collect::<Vec<_>>().join("; ")
            }
            Ok(CallTarget::Outline { change: OutlineChange::Update { updates } }) => {
                let update = |u: &ItemUpdate| {
                    let note = u.note.as_deref().unwrap_or_default();
                    format!("{} {} {note}", u.id, u.status.as_str())
                };
                updates.iter().map(update).collect::<Vec<_>>().join("; ")
            }
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("no: {error}"),
        }
    }

    #[rstest]
    #[case(SET, json!({"items": [{"id": "a", "title": "look"}, {"id": 2, "title": "write", "status": "in-progress"}]}),
        "a look pending; 2 write in_progress")]
    #[case(SET, json!({"items": ["look", {"title": "write"}, {"id": "2", "title": "send"}]}),
        "1 look pending; 3 write pending; 2 send pending")]
    #[case(SET, json!({"items": [{"name": "look"}]}), "1 look pending")]
    #[case(SET, json!({"items": "look"}), "no: set_plan: items: must be a list")]
    #[case(SET, json!("look"), "no: set_plan: the arguments must be a JSON object")]
    #[case(SET, json!({"items": [{"id": "a"}]}), "no: set_plan: items[0].title: is missing")]
    #[case(SET, json!({"items": [{"id": "a b", "title": "x"}]}),
        "no: set_plan: items[0].id: step id must be 1 to 64 characters of A-Z a-z 0-9 _ -, got \"a b\"")]
    #[case(UPDATE, json!({"updates": [{"id": "a", "status": "completed"}, {"id": "b", "status": "blocked", "note": "no key"}]}),
        "a done ; b blocked no key")]
    #[case(UPDATE, json!({"id": "a", "status": "done"}), "a done ")]
    #[case(UPDATE, json!({"updates": []}), "no: update_plan: updates: must be a list of at least one")]
    #[case(UPDATE, json!({"updates": [{"id": "a", "status": "gone"}]}),
        "no: update_plan: updates[0].status: must be pending, in_progress, done, blocked or skipped")]
    fn a_change_of_the_plan_is(#[case] name: &str, #[case] args: Value, #[case] expected: &str) {
        assert_eq!(line(name, &args), expected);
    }

    #[test]
    fn the_gate_advises_once_and_lets_pass() {
        let item = |id: &str, status| Item {
            id: StepId::new(id).unwrap(),
            title: format!("do {id}"),
            status,
            note: None,
        };
        let open = [item("a", ItemStatus::Done), item("b", ItemStatus::Pending)];
        for language in [Language::En, Language::Zh] {
            let advice_given = advice(language, &open, &[]).unwrap();
            assert!(advice_given.contains("b (do b)") && !advice_given.contains("a (do a)"));
            let (call, name) = ("c".to_owned(), "finish".to_owned());
            let told = [Message::Tool { call, name, text: advice_given }];
            assert_eq!(advice(language, &open, &told), None);
        }
        let closed = [item("a", ItemStatus::Skipped), item("b", ItemStatus::Blocked)];
        assert_eq!(advice(Language::En, &closed, &[]), None);
    }
}
