//! `workflow set`, `ls`, `show`, `drop` and `run`: workflows by name.

use std::path::{Path, PathBuf};

use ::agents::workflow::read::{Known, read};
use proto::{
    door::{DropWorkflow, SetWorkflow, Workflows},
    lang::Words,
    workflow::WorkflowName,
};

use crate::{
    args::{
        DropWorkflowArgs, Global, JobArgs, RunArgs, RunWorkflowArgs, SetWorkflowArgs,
        ShowWorkflowArgs,
    },
    commands::{jobs::caller, run},
    connect,
    failure::{CliError, Outcome},
    output::Output,
    render::{workflow as outline, workflows as render},
    words::Text,
};

/// A workflow that a person names on the command line.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::commands) enum Chosen {
    /// A file.
    File(PathBuf),
    /// A workflow that the server knows.
    Named(WorkflowName),
}

/// Returns the choice: a file, if there is one or if the text looks like a path, else a name.
pub(in crate::commands) fn chosen(given: &Path) -> Result<Chosen, CliError> {
    let text = given.to_string_lossy();
    if given.exists() || text.contains(['/', '\\', '.']) {
        return Ok(Chosen::File(given.to_owned()));
    }
    WorkflowName::new(&*text).map(Chosen::Named).map_err(|invalid| {
        let words = Words::new(|language| {
            let why = invalid.words();
            Text::WorkflowFileOrName { given: &text, why: &why.text(language) }.text(language)
        });
        CliError::input("workflow", words)
    })
}

pub(super) async fn set(global: &Global, output: Output, args: SetWorkflowArgs) -> Outcome {
    let text = super::text(&args.file)?;
    let name = super::valid(&args.file)?.name;
    let (expected_revision, check) = (args.expect, args.dry_run);
    let set = SetWorkflow { name, text, expected_revision, check, by: caller() };
    let changed = connect::client(global, output).await?.call(&set).await?;
    output.warnings(&changed.warnings);
    output.one(&changed, changed.name.as_str(), |style| {
        let name = &changed.name;
        let said = match changed.revision {
            Some(_) => Text::WorkflowStored { name },
            None => Text::WorkflowChecked { name },
        };
        format!("{}\n", style.say(said))
    })
}

pub(super) async fn ls(global: &Global, output: Output) -> Outcome {
    let found = connect::client(global, output).await?.call(&Workflows::default()).await?;
    let name = |entry: &proto::door::WorkflowEntry| entry.name.to_string();
    output.list(&found, &found.workflows, name, |style| render::list(style, &found))
}

pub(super) async fn show(global: &Global, output: Output, args: ShowWorkflowArgs) -> Outcome {
    let name = match chosen(&args.file)? {
        Chosen::File(_) if args.version.is_some() => {
            return Err(CliError::usage(Text::VersionOfFile));
        }
        Chosen::File(file) => {
            let workflow = super::valid(&file)?;
            return output.one(&workflow, workflow.name.as_str(), |style| {
                outline::outline(style, &workflow)
            });
        }
        Chosen::Named(name) => name,
    };
    let entry = connect::client(global, output).await?.workflow(&name, args.version).await?;
    output.one(&entry, name.as_str(), |style| render::show(style, &entry))
}

pub(super) async fn drop(global: &Global, output: Output, args: DropWorkflowArgs) -> Outcome {
    let request = DropWorkflow { name: args.name, expected_revision: args.expect };
    let changed = connect::client(global, output).await?.call(&request).await?;
    output.warnings(&changed.warnings);
    output.one(&changed, changed.name.as_str(), |style| {
        format!("{}\n", style.say(Text::WorkflowRemoved { name: &changed.name }))
    })
}

pub(super) async fn start(global: &Global, output: Output, args: RunWorkflowArgs) -> Outcome {
    let RunWorkflowArgs { workflow, input, goal, id, agent, labels, deadline, waiting } = args;
    let goal = match (goal, chosen(&workflow)?) {
        (Some(goal), _) => goal,
        (None, Chosen::Named(name)) => name.to_string(),
        (None, Chosen::File(file)) => super::valid(&file)?.name.to_string(),
    };
    let job = JobArgs {
        id,
        agent,
        workflow: Some(workflow),
        input,
        labels,
        deadline,
        ..JobArgs::default()
    };
    let args = RunArgs { goal: Some(goal), attach: None, job, waiting };
    Box::pin(run::run(global, output, args)).await
}

/// Returns the definition of a workflow that a person names, for a drawing.
pub(super) async fn definition(
    global: &Global,
    output: Output,
    given: &Path,
) -> Result<proto::workflow::Workflow, CliError> {
    let name = match chosen(given)? {
        Chosen::File(file) => return super::valid(&file),
        Chosen::Named(name) => name,
    };
    let entry = connect::client(global, output).await?.workflow(&name, None).await?;
    if let Some(definition) = entry.definition {
        return Ok(*definition);
    }
    let text = entry.text;
    // A value that another program stored has mistakes, which its text shows.
    let read = read(&format!("{name}.yaml"), &text.unwrap_or_default(), &Known::default());
    read.map(|checked| checked.workflow).map_err(|mistakes| {
        let why = Words::new(|language| format!("\n{}", mistakes.text(language)));
        CliError::input("workflow", why)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::name("ticket", true)]
    #[case::file("ticket.yaml", false)]
    #[case::path("./ticket", false)]
    #[case::directory_of_this_crate("src", false)]
    fn a_text_is_a_name_unless_it_is_or_looks_like_a_file(
        #[case] given: &str,
        #[case] is_name: bool,
    ) {
        assert_eq!(matches!(chosen(Path::new(given)), Ok(Chosen::Named(_))), is_name, "{given}");
    }

    #[test]
    fn what_is_neither_a_file_nor_a_name_is_refused() {
        assert!(chosen(Path::new("Ticket")).is_err());
    }
}
