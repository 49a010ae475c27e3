//! `ui`, `top`: the terminal user interface.

use tui::{Options, ShellError, model::Screen};

use crate::{
    args::{Global, UiArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::{self, Format, Output},
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, args: UiArgs, screen: Screen) -> Outcome {
    if output.format != Format::Table || !output::is_interactive() || !output::is_drawable() {
        return Err(CliError::usage(Text::UiNeedsTerminal).hint(Text::UiForPrograms));
    }
    // Notes would be written over the screen.
    let client = connect::client(global, output.quiet()).await?;
    let job = match &args.job {
        Some(named) => Some(connect::job(&client, named).await?.job),
        None => None,
    };
    let (language, read_only) = (output.language, args.read_only);
    let color = output.style().color;
    let options = Options { client, language, screen, job, read_only, color };
    match tui::run(options).await {
        Ok(None) => Ok(Exit::Success),
        Ok(Some(_)) => Ok(Exit::Interrupted),
        Err(ShellError(error)) => Err(CliError::io("terminal", &error)),
    }
}
