//! The texts by which models and users choose the built-in tools, and the specifications made of them.

use std::collections::BTreeMap;

use proto::{
    decision::pools,
    id::ToolName,
    lang::Language,
    tool::{Approval, Effect, SlashCommand, ToolSpec, Translation},
};
use serde_json::{Map, Value, json};

messages::texts!(tool_specs);

pub(super) use Text as About;

/// An argument of a tool, with the description in every language.
pub(super) struct Argument {
    name: &'static str,
    schema: Value,
    about: About,
    required: bool,
}

/// Creates an argument that a call may leave out.
pub(super) fn optional(name: &'static str, about: About, schema: Value) -> Argument {
    Argument { name, schema, about, required: false }
}

/// Creates an argument that every call has.
pub(super) fn required(name: &'static str, about: About, schema: Value) -> Argument {
    Argument { required: true, ..optional(name, about, schema) }
}

/// Builds a specification with the defaults of the built-in tools.
pub(super) fn spec(name: &str, about: About, effect: Effect, arguments: &[Argument]) -> ToolSpec {
    let translation = |language: Language| {
        let described = arguments.iter().map(|a| (a.name.to_owned(), a.about.text(language)));
        Translation { description: about.text(language), arguments: described.collect() }
    };
    ToolSpec {
        name: ToolName::new(name).expect("the names of built-in tools are ids"),
        description: about.text(Language::En),
        schema: schema(arguments),
        effect,
        pool: pools::builtin(),
        timeout_ms: 30_000,
        concurrency: 64,
        approval: Approval::Never,
        destructive: false,
        untrusted: false,
        version: "1".to_owned(),
        commands: Vec::new(),
        translations: in_other_languages(translation),
    }
}

/// Builds the schema of an object with these arguments and no others, described in English.
fn schema(arguments: &[Argument]) -> Value {
    let described = arguments.iter().map(|argument| {
        let mut schema = argument.schema.clone();
        schema["description"] = json!(argument.about.text(Language::En));
        (argument.name.to_owned(), schema)
    });
    let required = arguments.iter().filter(|argument| argument.required);
    json!({
        "type": "object",
        "properties": described.collect::<Map<_, _>>(),
        "required": required.map(|argument| argument.name).collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}

/// Builds a slash command whose text is the argument `argument`, or which takes no text.
pub(super) fn command(name: &str, about: About, argument: Option<&str>) -> SlashCommand {
    SlashCommand {
        name: ToolName::new(name).expect("the commands of built-in tools are ids"),
        words: Vec::new(),
        about: about.text(Language::En),
        about_in: in_other_languages(|language| about.text(language)),
        argument: argument.map(str::to_owned),
        whole: false,
        split: None,
    }
}

/// Builds a slash command that one of these words must follow.
pub(super) fn worded(words: &[&str], command: SlashCommand) -> SlashCommand {
    SlashCommand { words: words.iter().map(|word| (*word).to_owned()).collect(), ..command }
}

fn in_other_languages<T>(text: impl Fn(Language) -> T) -> BTreeMap<String, T> {
    let others = Language::ALL.iter().copied().filter(|language| *language != Language::En);
    others.map(|language| (language.code().to_owned(), text(language))).collect()
}
