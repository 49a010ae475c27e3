//! `completions`: prints a shell's completion script, which asks the program for each completion.

use clap_complete::{Shell, env::Shells};

use crate::{
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
};

/// The program, as the script calls it.
const PROGRAM: &str = "callboard";
/// The variable by which the script asks; `CompleteEnv` reads it.
const VARIABLE: &str = "COMPLETE";

/// Prints the script for a shell.
pub(super) fn print(output: Output, shell: Shell) -> Outcome {
    let failed = |why: String| CliError::internal(format!("completions of {shell}: {why}"));
    let shells = Shells::builtins();
    let completer =
        shells.completer(&shell.to_string()).ok_or_else(|| failed("no script".to_owned()))?;
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .map_err(|e| failed(e.to_string()))?;
    output.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
