//! Workflows and chatflows of Dify, as their DSL files say.

use std::collections::BTreeMap;

use proto::{lang::Words, workflow::WorkflowName};
use serde_json::{Map, Value, json};

use super::{
    Converted, Draft, ImportError, Text,
    condition::{expression, quoted},
    list,
    names::{Names, key, workflow},
    text_of,
};

/// The names under which the values of nodes are known, and the inputs.
pub(super) struct Reader<'a> {
    names: &'a Names,
    /// Key of the state of each node that has a value.
    keys: BTreeMap<String, String>,
    start: String,
    /// `true` if a node reads the words of the user of a chat.
    reads_query: bool,
}

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
    let mut reader = Reader { names: &names, keys, start: start_id, reads_query: false };
    let mut draft = Draft::default();
    for node in nodes.iter().filter(|node| kind(node) != "start") {
        if let Err(why) = one(&mut reader, &mut draft, node, graph) {
            draft.refuse(title(node), kind(node), why);
        }
    }
    edges(&reader, &mut draft, graph, &nodes);
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
        let answer = json!({"schema": {"type": "array"}, "reduce": "append", "initial": []});
        draft.state.insert("answer".to_owned(), answer);
        head["output"] = json!({"answer": "{{ state.answer | join('\n') }}"});
    }
    draft.finish(head)
}

fn kind(node: &Value) -> &str {
    text_of(&node["data"], "type")
}

fn title(node: &Value) -> &str {
    let title = text_of(&node["data"], "title");
    if title.is_empty() { text_of(node, "id") } else { title }
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
            draft.node(&id, "set", &titled(json!({"write": {"answer": text}})));
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

/// Adds the edges, those of a choice with their conditions.
fn edges(reader: &Reader<'_>, draft: &mut Draft, graph: &Value, nodes: &[&Value]) {
    let mut reader = Reader {
        names: reader.names,
        keys: reader.keys.clone(),
        start: reader.start.clone(),
        reads_query: false,
    };
    for node in nodes.iter().filter(|node| node["parentId"].is_null()) {
        let old = text_of(node, "id");
        let from =
            if kind(node) == "start" { "START" } else { reader.names.get(old).unwrap_or(old) };
        let from = from.to_owned();
        let own: Vec<&Value> =
            list(&graph["edges"]).iter().filter(|edge| text_of(edge, "source") == old).collect();
        let ways = match kind(node) {
            "if-else" => cases(&mut reader, &node["data"]),
            "question-classifier" => Ok(classes(&node["data"])),
            _ => Ok(vec![("source".to_owned(), None)]),
        };
        let Ok(ways) = ways.map_err(|why| draft.refuse(title(node), kind(node), why)) else {
            continue;
        };
        let is_choice = ways.len() > 1;
        for (handle, condition) in ways {
            let of = |edge: &&&Value| !is_choice || text_of(edge, "sourceHandle") == handle;
            let mut targets: Vec<&str> =
                own.iter().filter(of).map(|edge| text_of(edge, "target")).collect();
            targets.dedup();
            if targets.len() > 1 && is_choice {
                draft.refuse(title(node), kind(node), Text::Several);
                continue;
            }
            if targets.is_empty() && is_choice {
                draft.edge(&from, "END", condition.clone());
            }
            for target in targets {
                match reader.names.get(target) {
                    Some(to) => draft.edge(&from, to, condition.clone()),
                    None => {
                        draft.refuse(title(node), kind(node), Text::OwnTarget { target: &target })
                    }
                }
            }
        }
    }
}

type Ways = Vec<(String, Option<String>)>;

/// Returns the ways of an if-else node: the handle of their edges, and the condition.
fn cases(reader: &mut Reader<'_>, data: &Value) -> Result<Ways, Words> {
    // Files of older releases have one case, without a list.
    let own = [data.clone()];
    let cases = match list(&data["cases"]) {
        [] => own.as_slice(),
        cases => cases,
    };
    let mut ways = Ways::new();
    for case in cases {
        let handle = match text_of(case, "case_id") {
            "" => "true",
            id => id,
        };
        ways.push((handle.to_owned(), Some(expression(reader, case)?)));
    }
    ways.push(("false".to_owned(), None));
    Ok(ways)
}

/// Returns the ways of a classifier, whose last class needs no condition.
fn classes(data: &Value) -> Ways {
    let classes = list(&data["classes"]);
    let last = classes.len().saturating_sub(1);
    let way = |(n, class): (usize, &Value)| {
        let condition = format!("reply.class == {}", quoted(text_of(class, "name")));
        (text_of(class, "id").to_owned(), (n < last).then_some(condition))
    };
    classes.iter().enumerate().map(way).collect()
}

impl Reader<'_> {
    /// Returns the expression that a selector names: `[node, variable, …]`.
    pub(super) fn selected(&mut self, selector: &Value) -> Result<String, Words> {
        let parts: Vec<&str> = list(selector).iter().filter_map(Value::as_str).collect();
        self.variable(&parts)
    }

    fn variable(&mut self, parts: &[&str]) -> Result<String, Words> {
        match parts {
            ["sys", "query"] => {
                self.reads_query = true;
                Ok("input.query".to_owned())
            }
            [node, variable] if *node == self.start => Ok(format!("input.{variable}")),
            [node, rest @ ..] if self.keys.contains_key(*node) => {
                let key = self.keys.get(*node).cloned().unwrap_or_default();
                // The text of a model and the class of a classifier are the whole value of the node.
                let fields = match rest {
                    ["text" | "output" | "class_name" | "json" | "result"] | [] => &[],
                    fields => fields,
                };
                let path = fields.iter().map(|field| format!(".{field}")).collect::<String>();
                Ok(format!("state.{key}{path}"))
            }
            other => {
                let variable = &other.join(".");
                Err(Text::NoVariable { variable }.into())
            }
        }
    }

    /// Converts a text with references such as `{{#node.text#}}`, and returns the expression too if
    /// the text is one reference.
    pub(super) fn template(&mut self, text: &str) -> Result<(String, Option<String>), Words> {
        let (mut out, mut rest, mut only) = (String::new(), text, None);
        while let Some((before, after)) = rest.split_once("{{#") {
            let Some((name, after)) = after.split_once("#}}") else { break };
            let parts: Vec<&str> = name.split('.').collect();
            let expression = self.variable(&parts)?;
            out.push_str(&escaped(before));
            out.push_str(&format!("{{{{ {expression} }}}}"));
            let is_all = before.is_empty() && after.is_empty() && only.is_none();
            only = (is_all && rest.len() == text.len()).then_some(expression);
            rest = after;
        }
        out.push_str(&escaped(rest));
        Ok((out, only))
    }

    /// Converts the template of a template node, whose variables have names of their own.
    fn jinja(&mut self, data: &Value) -> Result<String, Words> {
        let text = text_of(data, "template");
        if text.contains("{%") || text.contains("{#") {
            return Err(Text::Code.into());
        }
        let mut names = BTreeMap::new();
        for variable in list(&data["variables"]) {
            let from = self.selected(&variable["value_selector"])?;
            names.insert(text_of(variable, "variable"), from);
        }
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((inner, after)) = after.split_once("}}") else { break };
            let from = names.get(inner.trim()).ok_or_else(|| Words::from(Text::Code))?;
            out.push_str(before);
            out.push_str(&format!("{{{{ {from} }}}}"));
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// Writes braces that begin an expression here, and only text there, as a text.
fn escaped(text: &str) -> String {
    text.replace("{{", "{{ '{{' }}")
}
