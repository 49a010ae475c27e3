//! `script-model`: serves a scripted model until it is stopped.

use std::path::Path;

use model::script::{Script, serve};

use crate::{
    args::ScriptArgs,
    exit::Exit,
    failure::{CliError, Outcome},
    input,
    interrupt::Interrupts,
    output::Output,
    words::Text,
};

/// Largest script, in bytes.
const SCRIPT_BYTES_MAX: usize = 4 * 1024 * 1024;

pub(super) async fn run(output: Output, args: ScriptArgs) -> Outcome {
    let name = args.script.display().to_string();
    let text = read(&args.script)?;
    let script =
        Script::parse(&text).map_err(|e| CliError::input("FILE", format!("{name}: {e}")))?;
    let listening = serve(script, args.listen).await;
    let server = listening.map_err(|e| CliError::start(format!("{}: {e}", args.listen)))?;
    output.line(&server.base_url())?;
    output.note(Text::ScriptServes);
    Interrupts::take()?.next().await;
    output.note(Text::ScriptServed {
        requests: &server.requests(),
        unanswered: &server.unanswered(),
    });
    server.shutdown().await;
    Ok(Exit::Success)
}

/// Reads a script from a file.
///
/// # Errors
/// If the file cannot be read, is too large or is not text.
pub(super) fn read(path: &Path) -> Result<String, CliError> {
    input::file("FILE", path, SCRIPT_BYTES_MAX)
}
