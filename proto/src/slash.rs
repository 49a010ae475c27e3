//! The grammar of slash commands: a line, the tool's command that it names, and the arguments of the
//! call. People type such lines in a conversation, and models send them to tools that take them.

use serde_json::{Map, Value};

use crate::{
    door::DirectCall,
    lang::{Language, Words},
    tool::{SlashCommand, Split, ToolSpec},
};

messages::texts!(slash);

/// Splits a line into the name of a command and the text after it. `None` for a line that is no
/// command: a path or a code comment is text.
#[must_use]
pub fn read(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim().strip_prefix('/')?;
    if rest.is_empty() || rest.starts_with(['/', ' ']) {
        return None;
    }
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Some((name, rest.trim()))
}

/// The reason for which the text after a command cannot become arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    name: String,
    about: Words,
    why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Why {
    /// Words must follow.
    Words,
    /// A word must divide the text into two arguments.
    TwoParts { argument: String, word: String },
    /// A JSON object or nothing may follow.
    ObjectOrNothing,
    /// The JSON cannot be parsed.
    NotJson(String),
}

impl Unfit {
    /// Returns the reason as a text in `language`.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let (name, about) = (&self.name, &self.about.text(language));
        let text = match &self.why {
            Why::Words => Text::NeedsWords { name, about },
            Why::TwoParts { argument, word } => Text::InTwoParts { name, argument, word, about },
            Why::ObjectOrNothing => Text::ObjectOrNothing { name, about },
            Why::NotJson(why) => Text::NotJson { name, why },
        };
        text.text(language)
    }
}

/// Resolves a command that one of the tools declares. A command with words of its own, such as
/// `/todo list`, takes precedence over one that takes any text. `None` if no tool declares it.
///
/// # Errors
/// Returns the reason if the text after the command does not fit.
pub fn resolve<'a>(
    tools: impl IntoIterator<Item = &'a ToolSpec>,
    name: &str,
    rest: &str,
) -> Option<Result<DirectCall, Unfit>> {
    let is_meant = |command: &&SlashCommand| command.name.as_str() == name;
    let declared = tools
        .into_iter()
        .flat_map(|tool| tool.commands.iter().filter(is_meant).map(move |command| (tool, command)));
    let declared: Vec<_> = declared.collect();
    let worded = declared.iter().find_map(|(tool, command)| {
        let rest = after_word(command, rest)?;
        Some(call(tool, command, rest)).filter(Result::is_ok)
    });
    worded.or_else(|| {
        let (tool, command) = declared.iter().find(|(_, command)| command.words.is_empty())?;
        Some(call(tool, command, rest))
    })
}

/// Returns the text after one of the command's own words; `None` if it begins with none of them.
fn after_word<'a>(command: &SlashCommand, rest: &'a str) -> Option<&'a str> {
    let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    command.words.contains(&word.to_lowercase()).then(|| after.trim())
}

fn call(tool: &ToolSpec, command: &SlashCommand, rest: &str) -> Result<DirectCall, Unfit> {
    let args = arguments(command, rest).map_err(|why| Unfit {
        name: command.name.to_string(),
        about: Words::new(|language| command.about(language).to_owned()),
        why,
    })?;
    Ok(DirectCall { tool: tool.name.clone(), args })
}

fn arguments(command: &SlashCommand, rest: &str) -> Result<Value, Why> {
    if rest.starts_with('{') && !command.whole {
        return serde_json::from_str(rest).map_err(|e| Why::NotJson(e.to_string()));
    }
    match &command.argument {
        Some(argument) if command.whole => {
            Ok(texts([(argument, format!("/{} {rest}", command.name).trim_end())]))
        }
        Some(argument) if !rest.is_empty() => match &command.split {
            None => Ok(texts([(argument, rest)])),
            Some(split) => in_parts(argument, split, rest),
        },
        Some(_) => Err(Why::Words),
        None if rest.is_empty() => Ok(Value::Object(Map::new())),
        None => Err(Why::ObjectOrNothing),
    }
}

/// Splits a text into two arguments.
fn in_parts(argument: &str, split: &Split, text: &str) -> Result<Value, Why> {
    let word = || split.after.first().cloned().unwrap_or_default();
    let (before, after) = split
        .parts(text)
        .ok_or_else(|| Why::TwoParts { argument: split.argument.clone(), word: word() })?;
    Ok(texts([(argument, before), (&split.argument, after)]))
}

fn texts<const N: usize>(texts: [(&str, &str); N]) -> Value {
    let texts = texts.map(|(name, text)| (name.to_owned(), Value::String(text.to_owned())));
    Value::Object(Map::from_iter(texts))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools() -> Vec<ToolSpec> {
        let tool = |name: &str, commands: Value| {
            json!({"name": name, "description": "d", "schema": {}, "effect": "pure", "pool": "p",
                   "commands": commands})
        };
        serde_json::from_value(json!([
            tool("create_task", json!([
                {"name": "todo", "about": "Adds", "argument": "title"},
                {"name": "todo", "words": ["add", "添加"], "about": "Adds", "argument": "title"},
            ])),
            tool("list_tasks", json!([{"name": "todo", "words": ["list"], "about": "Shows"}])),
        ]))
        .unwrap()
    }

    #[test]
    fn a_command_with_words_of_its_own_takes_precedence_where_the_rest_fits() {
        for (rest, tool, args) in [
            ("list", "list_tasks", json!({})),
            ("LIST", "list_tasks", json!({})),
            ("list of gifts", "create_task", json!({"title": "list of gifts"})),
            ("add milk", "create_task", json!({"title": "milk"})),
            ("添加 牛奶", "create_task", json!({"title": "牛奶"})),
            ("add", "create_task", json!({"title": "add"})),
            ("milk", "create_task", json!({"title": "milk"})),
        ] {
            let found = resolve(&tools(), "todo", rest).unwrap().unwrap();
            assert_eq!((found.tool.as_str(), found.args), (tool, args), "/todo {rest}");
        }
        assert!(resolve(&tools(), "todo", "").unwrap().is_err());
        assert_eq!(resolve(&tools(), "dance", ""), None);
    }

    #[test]
    fn a_line_is_a_command_or_text() {
        assert_eq!(read(" /todo\tbuy  milk "), Some(("todo", "buy  milk")));
        assert_eq!(read("/view"), Some(("view", "")));
        for text in ["", "/", "// a comment", "/ 2", "say /todo"] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
