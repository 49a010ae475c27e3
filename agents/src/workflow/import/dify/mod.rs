//! Workflows and chatflows of Dify, as their DSL files say.

mod condition;
mod edges;
mod parts;
mod reader;

use std::collections::BTreeMap;

use proto::{lang::Words, workflow::WorkflowName};
use serde_json::{Map, Value, json};

use super::{
    draft::{Converted, Draft, ImportError, Text, list, text_of},
    names::{Names, key, workflow},
};
use parts::{kind, title};
use reader::Reader;

pub(super) fn converted(whole: &Value, name: &WorkflowName) -> Result<Converted, ImportError> {
    let graph = &whole["workflow"]["graph"];
    let is_note = |node: &&Value| text_of(node, "type") == "custom-note";
    let nodes: Vec<&Value> = list(&graph["nodes"]).iter().filter(|node| !is_note(node)).collect();
    let start = nodes.iter().find(|node| kind(node) == "start");
    let start = start.ok_or_else(|| ImportError::Unread(Text::NoStart.into()))?;
    let mut names = Names::default();
    let mut keys = BTreeMap::new();
    for node in nodes.iter().filter(|node| kind(node) != "start") {
        let id = names.add(text_of(node, "id"), text_of(&node["data"], "title"), kind(node));
        if has_value(kind(node)) {
            keys.insert(text_of(node, "id").to_owned(), key(&id));
        }
    }
    let start_id = text_of(start, "id").to_owned();
    let answer = free_key("answer", &keys);
    let mut reader = Reader { names: &names, keys, answer, start: start_id, reads_query: false };
    let mut draft = Draft::default();
    for node in nodes.iter().filter(|node| kind(node) != "start") {
        if let Err(why) = one(&mut reader, &mut draft, node, graph) {
            draft.refuse(title(node), kind(node), why);
        }
    }
    edges::add(&mut reader, &mut draft, graph, &nodes);
    for key in reader.keys.values() {
        draft.state.insert(key.clone(), json!({"schema": {}, "initial": ""}));
    }
    let has_answer = nodes.iter().any(|node| kind(node) == "answer");
    let mut head = json!({
        "name": workflow(text_of(&whole["app"], "name"), name),
        "version": 1,
        "description": "Imported from Dify.",
        "input": input(&start["data"], reader.reads_query),
    });
    if has_answer {
        let (key, slot) = (&reader.answer, json!({"type": "array"}));
        let slot = json!({"schema": slot, "reduce": "append", "initial": []});
        draft.state.insert(key.clone(), slot);
        head["output"] = json!({"answer": format!("{{{{ state.{key} | join('\n') }}}}")});
    }
    draft.finish(head)
}

/// Returns a key of the state that the value of no node has.
fn free_key(wanted: &str, taken: &BTreeMap<String, String>) -> String {
    let mut key = wanted.to_owned();
    while taken.values().any(|taken| *taken == key) {
        key.push('_');
    }
    key
}

/// Returns whether later nodes can read a value of a node of this type.
fn has_value(kind: &str) -> bool {
    ["llm", "tool", "question-classifier", "variable-aggregator", "template-transform"]
        .contains(&kind)
}

/// Returns the schema of the input.
fn input(start: &Value, reads_query: bool) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for variable in list(&start["variables"]) {
        let schema = match text_of(variable, "type") {
            "number" => json!({"type": "number"}),
            "select" => json!({"enum": variable["options"]}),
            "checkbox" => json!({"type": "boolean"}),
            "text-input" | "paragraph" => json!({"type": "string"}),
            _ => json!({}),
        };
        let name = text_of(variable, "variable");
        if variable["required"].as_bool().unwrap_or_default() {
            required.push(json!(name));
        }
        properties.insert(name.to_owned(), schema);
    }
    if reads_query {
        properties.insert("query".to_owned(), json!({"type": "string"}));
        required.push(json!("query"));
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = Value::Array(required);
    }
    schema
}

/// Converts one node.
fn one(
    reader: &mut Reader<'_>,
    draft: &mut Draft,
    node: &Value,
    graph: &Value,
) -> Result<(), Words> {
    let (data, old) = (&node["data"], text_of(node, "id"));
    if let Some(parent) = node["parentId"].as_str() {
        let of = |other: &&Value| text_of(other, "id") == parent;
        let parent = list(&graph["nodes"]).iter().find(of).map_or(parent, title);
        return Err(Text::Nested { parent: &parent }.into());
    }
    let id = reader.names.get(old).unwrap_or(old).to_owned();
    let titled = |mut config: Value| {
        config["title"] = json!(title(node));
        config
    };
    let write = |reader: &Reader<'_>, value: &str| {
        let mut write = Map::new();
        if let Some(key) = reader.keys.get(old) {
            write.insert(key.clone(), json!(value));
        }
        Value::Object(write)
    };
    match kind(node) {
        "llm" => {
            let mut config = prompts(reader, data)?;
            config["write"] = write(reader, "{{ reply }}");
            draft.node(&id, "model", &titled(config));
        }
        "if-else" => draft.node(&id, "branch", &titled(json!({}))),
        "question-classifier" => {
            let mut config = choice(reader, data)?;
            config["write"] = write(reader, "{{ reply.class }}");
            draft.node(&id, "model", &titled(config));
        }
        "variable-aggregator" => {
            if data["advanced_settings"]["group_enabled"] == json!(true) {
                return Err(Text::AggregatorGroups.into());
            }
            let read = list(&data["variables"]).iter().map(|from| reader.selected(from));
            // Only one of the branches has run, and the others have an empty text.
            let read = read.collect::<Result<Vec<_>, _>>()?.join(" or ");
            let write = write(reader, &format!("{{{{ {read} }}}}"));
            draft.node(&id, "set", &titled(json!({"write": write})));
        }
        "template-transform" => {
            let text = reader.jinja(data)?;
            let write = write(reader, &text);
            draft.node(&id, "set", &titled(json!({"write": write})));
        }
        "tool" => {
            let (tool, args) = (text_of(data, "tool_name"), arguments(reader, data)?);
            let write = write(reader, "{{ result }}");
            let config = json!({"tool": tool, "args": args, "write": write});
            draft.node(&id, "tool", &titled(config));
        }
        "answer" => {
            let (text, _) = reader.template(text_of(data, "answer"))?;
            let write = json!({ reader.answer.clone(): text });
            draft.node(&id, "set", &titled(json!({ "write": write })));
        }
        "end" => {
            let output = outputs(reader, data)?;
            draft.node(&id, "end", &titled(json!({"output": output})));
        }
        "knowledge-retrieval" => return Err(Text::Retrieval.into()),
        "code" => return Err(Text::Code.into()),
        other => return Err(Text::NoCounterpart { kind: &other }.into()),
    }
    Ok(())
}

/// Returns the prompt and the reply schema of a model that chooses a class.
fn choice(reader: &mut Reader<'_>, data: &Value) -> Result<Value, Words> {
    let names: Vec<&str> =
        list(&data["classes"]).iter().map(|class| text_of(class, "name")).collect();
    let asked = reader.selected(&data["query_variable_selector"])?;
    let (instruction, _) = reader.template(text_of(data, "instruction"))?;
    let names_in_line = names.join(", ");
    let prompt = format!("Which class fits? {names_in_line}\n\n{{{{ {asked} }}}}\n\n{instruction}");
    let reply = json!({
        "type": "object", "required": ["class"], "properties": {"class": {"enum": names}},
    });
    Ok(json!({"prompt": prompt.trim_end(), "reply": reply}))
}

/// Returns the arguments of a tool node.
fn arguments(reader: &mut Reader<'_>, data: &Value) -> Result<Map<String, Value>, Words> {
    let mut args = Map::new();
    for (name, given) in data["tool_parameters"].as_object().into_iter().flatten() {
        let value = match text_of(given, "type") {
            "variable" => json!(format!("{{{{ {} }}}}", reader.selected(&given["value"])?)),
            "mixed" => json!(reader.template(text_of(given, "value"))?.0),
            _ => given["value"].clone(),
        };
        args.insert(name.clone(), value);
    }
    Ok(args)
}

/// Returns the output of an end node.
fn outputs(reader: &mut Reader<'_>, data: &Value) -> Result<Map<String, Value>, Words> {
    let mut output = Map::new();
    for named in list(&data["outputs"]) {
        let value = reader.selected(&named["value_selector"])?;
        let name = text_of(named, "variable").to_owned();
        output.insert(name, json!(format!("{{{{ {value} }}}}")));
    }
    Ok(output)
}

/// Returns the prompts of a model node.
fn prompts(reader: &mut Reader<'_>, data: &Value) -> Result<Value, Words> {
    if data["context"]["enabled"].as_bool().unwrap_or_default() {
        return Err(Text::WithContext.into());
    }
    let (mut system, mut prompt) = (Vec::new(), Vec::new());
    // A completion model has one message, which is no list.
    let one = [data["prompt_template"].clone()];
    let messages = match list(&data["prompt_template"]) {
        [] => one.as_slice(),
        messages => messages,
    };
    for message in messages {
        let (text, _) = reader.template(text_of(message, "text"))?;
        match text_of(message, "role") {
            _ if text.trim().is_empty() => {}
            "system" => system.push(text),
            "assistant" => prompt.push(format!("You answered: {text}")),
            _ => prompt.push(text),
        }
    }
    // A model that is asked without words of a user reads the instructions as its task.
    let mut config = match (prompt.is_empty(), system.is_empty()) {
        (true, true) => return Err(Text::NoPrompt.into()),
        (true, false) => json!({"prompt": system.join("\n\n")}),
        (false, true) => json!({"prompt": prompt.join("\n\n")}),
        (false, false) => {
            json!({"prompt": prompt.join("\n\n"), "system": system.join("\n\n")})
        }
    };
    config["title"] = json!(title(data));
    Ok(config)
}
