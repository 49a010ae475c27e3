//! `run`: runs a command of a shell in the workspace.

use std::time::Duration;

use async_trait::async_trait;
use proto::{
    lang::Language,
    tool::{Effect, ToolResult, ToolSpec},
};
use sandbox::{Ended, Output, SandboxError, Status, Stopped};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, not_done, optional, read, required, spec};
use crate::{
    shell::{Ran, Shell, ShellError},
    tool::{CallContext, Tool, ToolFault},
    workspace::Workspaces,
};

/// Time that the start and the end of a command may take beside its own, in milliseconds.
const AROUND_MS: u64 = 30_000;
/// Longest command, in characters.
const COMMAND_CHARS_MAX: usize = 32_768;
/// Largest number of changed files that a result names.
const CHANGED_MAX: usize = 100;
/// Longest path in a result, in characters.
const PATH_CHARS_MAX: usize = 250;
/// Number of characters of standard error in the description of a failure.
const ERROR_CHARS: usize = 500;

/// The tool `run` on the job's workspace.
#[derive(Debug, Clone)]
pub struct Run {
    shell: Shell,
    workspaces: Workspaces,
}

impl Run {
    /// Creates the tool.
    #[must_use]
    pub fn new(shell: Shell, workspaces: Workspaces) -> Self {
        Self { shell, workspaces }
    }
}

#[derive(Deserialize)]
struct Args {
    command: String,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

#[async_trait]
impl Tool for Run {
    fn spec(&self) -> ToolSpec {
        let settings = self.shell.settings();
        let command = json!({"type": "string", "minLength": 1, "maxLength": COMMAND_CHARS_MAX});
        let timeout = json!({"type": "integer", "minimum": 1, "maximum": settings.timeout_ms});
        let arguments = [
            required("command", About::RunCommand, command),
            optional("timeout_ms", About::RunTimeout, timeout),
        ];
        ToolSpec {
            timeout_ms: settings.timeout_ms.saturating_add(AROUND_MS),
            concurrency: settings.concurrency,
            approval: settings.approval,
            destructive: true,
            untrusted: true,
            ..spec("run", About::Run, Effect::Once, &arguments)
        }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { command, timeout_ms } = read(args)?;
        if command.contains('\0') {
            return Err(ToolFault::invalid("command: has a character NUL"));
        }
        let most = self.shell.settings().timeout_ms;
        let time = Duration::from_millis(timeout_ms.unwrap_or(most).min(most));
        let workspace = self.workspaces.of(&context.files.owner(&context.job).await?);
        // Dropping this future stops the command, whose task then waits for its end.
        let stop = context.canceled.child_token();
        let _guard = stop.clone().drop_guard();
        let shell = self.shell.clone();
        let run = tokio::spawn(async move { shell.run(workspace, command, time, stop).await });
        let ran = run.await.map_err(|_| ToolFault::internal("the command's task broke"))?;
        match ran {
            Ok(ran) => Ok(result(&ran, time, context.language)),
            Err(ShellError::Full) => {
                let settings = self.shell.settings();
                let text = Text::WorkspaceFull {
                    megabytes: &settings.workspace_mb,
                    files: &settings.workspace_files,
                };
                Ok(ToolResult::failed(text.text(context.language)))
            }
            // Nobody knows how far the command was.
            Err(ShellError::Sandbox(error @ (SandboxError::Warden(_) | SandboxError::Lost(_)))) => {
                Err(ToolFault::internal(error.to_string()))
            }
            Err(ShellError::Sandbox(error @ SandboxError::Refused(_))) => {
                Err(ToolFault::unavailable(error.to_string()))
            }
            Err(ShellError::Files(error)) => not_done(&error, context.language),
            Err(ShellError::Fault(fault)) => Err(fault),
        }
    }
}

/// Builds the result of a command. A code other than 0 is a failure that says what the command said.
fn result(ran: &Ran, time: Duration, language: Language) -> ToolResult {
    let Ran { ended, changed } = ran;
    let (exit, signal) = match ended.status {
        Status::Exited(code) => (Some(code), None),
        Status::Signaled(signal) => (None, Some(signal)),
    };
    let data = json!({
        "exit": exit,
        "signal": signal,
        "stdout": ended.stdout.text,
        "stderr": ended.stderr.text,
        "truncated": ended.stdout.dropped > 0 || ended.stderr.dropped > 0,
        "changed": changed.iter().take(CHANGED_MAX).map(|path| beginning(path)).collect::<Vec<_>>(),
        "took_ms": ended.took_ms,
    });
    let about = about(ended, time, language);
    match ended.status {
        Status::Exited(0) => ToolResult::ok(data).with_message(about),
        Status::Exited(_) | Status::Signaled(_) => {
            let said = last_words(&ended.stderr).or_else(|| last_words(&ended.stdout));
            let error = said.map_or_else(|| about.clone(), |said| format!("{about}: {said}"));
            ToolResult { data: Some(data), ..ToolResult::failed(error) }
        }
    }
}

/// Says how a command ended.
fn about(ended: &Ended, time: Duration, language: Language) -> String {
    match (ended.stopped, ended.status) {
        (Some(Stopped::TimedOut), _) => {
            Text::CommandTimedOut { ms: &time.as_millis() }.text(language)
        }
        (Some(Stopped::Canceled), _) => Text::CommandSignaled { signal: &"KILL" }.text(language),
        (None, Status::Exited(0)) => Text::CommandSucceeded { ms: &ended.took_ms }.text(language),
        (None, Status::Exited(code)) => Text::CommandExited { code: &code }.text(language),
        (None, Status::Signaled(signal)) => {
            Text::CommandSignaled { signal: &signal }.text(language)
        }
    }
}

/// Returns the end of an output, if it has any text.
fn last_words(output: &Output) -> Option<&str> {
    let text = output.text.trim();
    let from = text.char_indices().rev().nth(ERROR_CHARS).map_or(0, |(at, _)| at);
    (!text.is_empty()).then(|| &text[from..])
}

/// Cuts the path of a changed file.
fn beginning(path: &str) -> &str {
    path.char_indices().nth(PATH_CHARS_MAX).map_or(path, |(at, _)| &path[..at])
}
