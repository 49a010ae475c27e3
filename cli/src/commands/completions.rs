//! `completions`: prints a shell's completion script.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{args::Cli, exit::Exit, failure::Outcome, output::Output};

/// Prints the script for a shell.
pub(super) fn print(output: Output, shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "callboard", &mut script);
    output.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
