//! `ctx`: lists, stores, selects and removes contexts.

use serde::Serialize;

use crate::{
    args::{ContextCommand, Global},
    contexts::{Context, ContextName, Contexts},
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    render::table::{Piece, plain, table},
    style::Tone,
    words::Text,
};

/// A context in a list.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    name: &'a ContextName,
    /// `true` if commands that name no context use it.
    used: bool,
    #[serde(flatten)]
    context: &'a Context,
}

pub(super) fn run(global: &Global, output: Output, command: ContextCommand) -> Outcome {
    let mut contexts = Contexts::load()?;
    match command {
        ContextCommand::Ls => return list(output, &contexts),
        ContextCommand::Add { name } => {
            let context =
                Context::of(global).ok_or_else(|| CliError::usage(Text::ContextNeedsOptions))?;
            let about = context.about();
            contexts.put(name.clone(), context);
            contexts.store()?;
            output.say(Text::ContextAdded { name: &name, about: &about })?;
        }
        ContextCommand::Use { name } => {
            if let Some(name) = &name {
                contexts.get(name)?;
            }
            contexts.used.clone_from(&name);
            contexts.store()?;
            output.say(match &name {
                Some(name) => Text::ContextUsed { name },
                None => Text::NoContextUsed,
            })?;
        }
        ContextCommand::Rm { name } => {
            contexts.get(&name)?;
            contexts.remove(&name);
            contexts.store()?;
            output.say(Text::ContextRemoved { name: &name })?;
        }
    }
    Ok(Exit::Success)
}

fn list(output: Output, contexts: &Contexts) -> Outcome {
    let listed: Vec<Listed<'_>> = contexts
        .iter()
        .map(|(name, context)| Listed { name, used: contexts.used.as_ref() == Some(name), context })
        .collect();
    let row = |one: &Listed<'_>| -> Vec<Piece> {
        let mark = if one.used { "✓" } else { "" };
        vec![plain(one.name.as_str()), (Tone::Good, mark.to_owned()), plain(one.context.about())]
    };
    output.list(
        &listed,
        &listed,
        |one| one.name.to_string(),
        |style| {
            table(style, Text::ContextsHeads, listed.iter().map(row).collect(), Text::NoContexts)
        },
    )
}
