//! Resolution of slash commands: built-in commands, commands declared by tools, and tools by name.
//! No model is involved.

use std::fmt::Display;

use proto::{
    door::DirectCall,
    lang::Language,
    slash,
    tool::{SlashCommand, ToolSpec},
};
use serde_json::{Map, Value};

use super::words::Text;

/// A resolved slash command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Slash {
    Help,
    /// Show the state of the current task.
    Status,
    Tools,
    /// Show the agents, or choose the one of the next tasks.
    Agent(String),
    /// Show what the task used.
    Cost,
    /// Show how the plan changed.
    Diff,
    /// Edit the plan that waits, or write the next text, in an editor.
    Edit,
    /// Show the conversations, or continue one.
    Resume(String),
    /// Leave the conversation; running jobs continue.
    Quit,
    /// Call a tool directly.
    Call(DirectCall),
}

/// Built-in commands with their descriptions. They take precedence over tools.
pub(crate) const OWN: [(&str, Text<'_>); 10] = [
    ("help", Text::Help),
    ("status", Text::Status),
    ("tools", Text::Tools),
    ("agent", Text::Agent),
    ("cost", Text::Cost),
    ("diff", Text::Diff),
    ("edit", Text::Edit),
    ("resume", Text::Resume),
    ("cancel", Text::Cancel),
    ("quit", Text::Quit),
];

/// Resolves a slash command.
///
/// # Errors
/// If no such command exists, or its arguments are invalid; in the user's language.
pub(crate) fn resolve(
    language: Language,
    name: &str,
    rest: &str,
    tools: &[ToolSpec],
) -> Result<Slash, String> {
    match name {
        "help" | "?" => return Ok(Slash::Help),
        "status" => return Ok(Slash::Status),
        "tools" => return Ok(Slash::Tools),
        "agent" => return Ok(Slash::Agent(rest.to_owned())),
        "cost" => return Ok(Slash::Cost),
        "diff" => return Ok(Slash::Diff),
        "edit" => return Ok(Slash::Edit),
        "resume" => return Ok(Slash::Resume(rest.to_owned())),
        "quit" | "exit" | "q" => return Ok(Slash::Quit),
        _ => {}
    }
    if let Some(declared) = slash::resolve(tools, name, rest) {
        return declared.map(Slash::Call).map_err(|unfit| unfit.text(language));
    }
    let tool = tools.iter().find(|tool| tool.name.as_str() == name);
    let tool = tool.ok_or_else(|| Text::NoCommand { name: &name }.text(language))?;
    let args = of_tool(language, tool, name, rest)?;
    Ok(Slash::Call(DirectCall { tool: tool.name.clone(), args }))
}

/// Lists all commands with their descriptions. Abbreviations are not accepted, because a completed
/// prefix could run the wrong command.
pub(crate) fn all(tools: &[ToolSpec], language: Language) -> Vec<(String, String)> {
    let own = OWN.iter().map(|(name, about)| ((*name).to_owned(), about.text(language)));
    let is_own = |command: &&SlashCommand| OWN.iter().all(|(own, _)| *own != command.name.as_str());
    let declared = tools.iter().flat_map(|tool| {
        tool.commands.iter().filter(is_own).map(|c| (written(c), c.about(language).to_owned()))
    });
    own.chain(declared).collect()
}

/// Returns a command as it is typed, with the first of its words.
fn written(command: &SlashCommand) -> String {
    let word = command.words.first().map(|word| format!(" {word}")).unwrap_or_default();
    format!("{}{word}", command.name)
}

fn of_tool(language: Language, tool: &ToolSpec, name: &str, rest: &str) -> Result<Value, String> {
    if rest.starts_with('{') {
        return object(language, &name, rest);
    }
    if rest.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let argument = only_text(&tool.schema).ok_or_else(|| {
        let names = properties(&tool.schema).map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        let names = match names.is_empty() {
            true => Text::NoArguments.text(language),
            false => names.join(&Text::Comma.text(language)),
        };
        Text::ObjectOnly { name: &name, names: &names }.text(language)
    })?;
    Ok(one(argument, rest.to_owned()))
}

fn object(language: Language, name: &dyn Display, rest: &str) -> Result<Value, String> {
    serde_json::from_str(rest).map_err(|e| Text::CommandNotJson { name, why: &e }.text(language))
}

fn one(argument: &str, text: String) -> Value {
    Value::Object(Map::from_iter([(argument.to_owned(), Value::String(text))]))
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// Returns the only argument that a plain text can mean: the single required one or the only one,
/// if it is a text.
fn only_text(schema: &Value) -> Option<&str> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut all = properties(schema);
    let name = match required.as_slice() {
        [name] => *name,
        [] => {
            let (name, _) = all.next()?;
            all.next().is_none().then_some(name.as_str())?
        }
        _ => return None,
    };
    let (name, schema) = properties(schema).find(|(known, _)| known.as_str() == name)?;
    // A schema without a type accepts a text.
    let is_text = schema.get("type").is_none_or(|kind| kind == "string");
    is_text.then_some(name.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools() -> Vec<ToolSpec> {
        let tool = |name: &str, schema: Value, commands: Value| {
            json!({"name": name, "description": "d", "schema": schema, "effect": "pure", "pool": "p",
                   "commands": commands})
        };
        let text = json!({"type": "string"});
        serde_json::from_value(json!([
            tool("create_task", json!({"properties": {"title": text, "more": text}, "required": ["title"]}),
                 json!([{"name": "todo", "about": "Adds a task", "argument": "title"},
                        {"name": "due", "about": "/due WHAT by WHEN", "argument": "title",
                         "split": {"argument": "more", "after": ["by", "截止"]}}])),
            tool("planner", json!({"properties": {"command": text}, "required": ["command"]}),
                 json!([{"name": "schedule", "about": "Plans", "argument": "command", "whole": true}])),
            tool("list_tasks", json!({"properties": {"status": text}}),
                 json!([{"name": "view", "about": "Shows"}, {"name": "help", "about": "A trap"}])),
            tool("two", json!({"properties": {"a": text, "b": text}, "required": ["a", "b"]}), json!([])),
            tool("sleep", json!({"properties": {"ms": {"type": "integer"}}, "required": ["ms"]}), json!([])),
        ]))
        .unwrap()
    }

    #[test]
    fn commands_lead_to_tools_with_their_arguments() {
        let tools = tools();
        for (name, rest, tool, args) in [
            ("todo", "buy milk", "create_task", json!({"title": "buy milk"})),
            (
                "todo",
                r#"{"title":"t","more":"m"}"#,
                "create_task",
                json!({"title": "t", "more": "m"}),
            ),
            (
                "due",
                "stand by Ann  BY Friday noon",
                "create_task",
                json!({"title": "stand by Ann", "more": "Friday noon"}),
            ),
            (
                "due",
                "打电话 截止 12月1日",
                "create_task",
                json!({"title": "打电话", "more": "12月1日"}),
            ),
            (
                "due",
                r#"{"title":"t","more":"m"}"#,
                "create_task",
                json!({"title": "t", "more": "m"}),
            ),
            ("schedule", "at nine", "planner", json!({"command": "/schedule at nine"})),
            ("schedule", "", "planner", json!({"command": "/schedule"})),
            ("view", "", "list_tasks", json!({})),
            ("view", r#"{"status":"pending"}"#, "list_tasks", json!({"status": "pending"})),
            ("create_task", "buy milk", "create_task", json!({"title": "buy milk"})),
            ("list_tasks", "pending", "list_tasks", json!({"status": "pending"})),
            ("sleep", r#"{"ms":5}"#, "sleep", json!({"ms": 5})),
        ] {
            let found = resolve(Language::En, name, rest, &tools);
            let Ok(Slash::Call(call)) = found else { panic!("/{name} {rest}: {found:?}") };
            assert_eq!((call.tool.as_str(), call.args), (tool, args), "/{name} {rest}");
        }
    }

    #[test]
    fn what_fits_nothing_is_said_and_own_commands_are_never_taken_over() {
        let tools = tools();
        for (name, rest, why) in [
            ("dance", "", "there is no command /dance; /help lists them"),
            ("todo", "", "/todo needs words after it: Adds a task"),
            ("due", "call Ann", "/due: say the more after `by`: /due WHAT by WHEN"),
            ("due", "by Friday", "/due: say the more after `by`"),
            ("due", "call Ann by", "/due: say the more after `by`"),
            ("due", "", "/due needs words after it"),
            ("todo", "{oops", "what follows is not JSON"),
            ("view", "all", "/view takes a JSON object or nothing"),
            ("two", "words", "its arguments are: a, b"),
            ("sleep", "5", "its arguments are: ms"),
        ] {
            let refused = resolve(Language::En, name, rest, &tools).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert_eq!(resolve(Language::En, "help", "", &tools), Ok(Slash::Help));
        assert_eq!(all(&tools, Language::En).iter().filter(|(name, _)| name == "help").count(), 1);
        for (name, about) in all(&[], Language::Zh) {
            assert!(!about.is_ascii(), "/{name} is explained in English: {about}");
        }
        assert!(Text::Beside.text(Language::Zh).contains("/工具名 {json}"));
    }
}
