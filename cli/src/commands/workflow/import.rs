//! `workflow import`: converts a graph of another program to a workflow file.

use ::agents::workflow::import::{Foreign, ImportError, Imported, Origin, import};
use proto::{escape, lang::Words, workflow::WorkflowName};

use super::text;
use crate::{
    args::{ImportArgs, ImportFrom},
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    words::Text,
};

pub(super) fn run(output: Output, args: &ImportArgs) -> Outcome {
    let source = text(&args.file)?;
    let origin = match args.from {
        Some(ImportFrom::Langgraph) => Origin::LangGraph,
        Some(ImportFrom::Dify) => Origin::Dify,
        None => Origin::of(&source)
            .ok_or_else(|| CliError::input("file", Words::from(Text::ImportWhich)))?,
    };
    let Imported { text, notes } = import(&source, origin, &name(args)).map_err(failed)?;
    if !notes.is_empty() {
        output.note(Text::ImportedNotes);
        notes.into_iter().for_each(|note| output.note(note));
    }
    output.print(&text)?;
    Ok(Exit::Success)
}

/// Returns the name of a workflow without a name of its own: that of the file.
fn name(args: &ImportArgs) -> WorkflowName {
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let usual = || WorkflowName::new("imported").expect("a plain word is a name");
    WorkflowName::new(stem).unwrap_or_else(|_| usual())
}

fn failed(error: ImportError) -> CliError {
    let words = match error {
        ImportError::Unread(why) => why,
        ImportError::Foreign(nodes) => Words::new(|language| {
            let line = |Foreign { node, kind, why }: &Foreign| {
                let why = why.text(language);
                format!("\n  {} ({}): {}", escape::line(node), escape::line(kind), why)
            };
            let lines: String = nodes.iter().map(line).collect();
            format!("{}{lines}", Text::ImportedRefused.text(language))
        }),
        ImportError::Invalid(mistakes) => {
            Words::new(|language| format!("\n{}", mistakes.text(language)))
        }
    };
    CliError::input("file", words)
}
