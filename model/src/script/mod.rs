//! The scripted model: an OpenAI-compatible HTTP server that answers from a YAML script.
//!
//! It replaces a provider in demos, tests and benchmarks, over HTTP or within the calling process.
//! Users who test their agents with it find it in `docs/scripted-model.md`. A script is parsed, and
//! its patterns and templates are compiled, before the first request. The scripted model makes no
//! outgoing connections.

mod compile;
mod connection;
mod conversation;
mod format;
mod inside;
mod matcher;
mod player;
mod reply;
mod server;
mod template;
mod wire;

use std::path::Path;

pub use inside::ScriptModel;
pub use server::{ScriptServer, serve};

use matcher::When;
use reply::{Fault, ReplyPlan};
use template::Templates;

/// A compiled script, which can be served any number of times.
#[derive(Debug)]
pub struct Script {
    models: Vec<String>,
    rules: Vec<Rule>,
    otherwise: Option<ReplyPlan>,
    templates: Templates,
}

#[derive(Debug)]
struct Rule {
    /// Name of the rule, or its position in the file.
    name: String,
    when: When,
    /// Number of matches that this rule answers; absent for no limit.
    times: Option<u32>,
    reply: ReplyPlan,
    fault: Option<Fault>,
}

/// A mistake in a script, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", self.place())]
pub struct ScriptError {
    line: Option<u64>,
    message: String,
}

impl ScriptError {
    fn new(line: Option<u64>, message: impl Into<String>) -> Self {
        Self { line: line.filter(|line| *line > 0), message: message.into() }
    }

    /// Line of the mistake, from 1; absent if the whole file is concerned.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    fn place(&self) -> String {
        self.line.map(|line| format!("line {line}: ")).unwrap_or_default()
    }
}

/// Largest script file, in bytes.
const SCRIPT_BYTES_MAX: u64 = 4 * 1024 * 1024;

impl Script {
    /// Reads and compiles a script file.
    ///
    /// # Errors
    /// If the file is unreadable, larger than 4 MiB, or not a valid script.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let unreadable =
            |error: std::io::Error| ScriptError::new(None, format!("{}: {error}", path.display()));
        if std::fs::metadata(path).map_err(unreadable)?.len() > SCRIPT_BYTES_MAX {
            return Err(ScriptError::new(None, format!("{}: larger than 4 MiB", path.display())));
        }
        Self::parse(&std::fs::read_to_string(path).map_err(unreadable)?)
    }

    /// Compiles a script given as text.
    ///
    /// # Errors
    /// If the text is not a valid script; the error contains the reason and the line.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        compile::script(text)
    }

    /// The model names that the server lists.
    #[must_use]
    pub fn models(&self) -> &[String] {
        &self.models
    }
}
