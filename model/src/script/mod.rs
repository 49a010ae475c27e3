//! The scripted model: an OpenAI-compatible HTTP server that answers from a YAML script.
//!
//! It stands in for a provider in demos, tests and benches, over HTTP like any provider or inside the
//! process that asks, and is documented in `docs/scripted-model.md` for people who test their agents with it. A script is
//! parsed, its patterns and templates compiled, before the first request; nothing here calls out.

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

/// A checked script, ready to be served any number of times.
#[derive(Debug)]
pub struct Script {
    models: Vec<String>,
    rules: Vec<Rule>,
    otherwise: Option<ReplyPlan>,
    templates: Templates,
}

#[derive(Debug)]
struct Rule {
    /// The rule's name, or its place in the file.
    name: String,
    when: When,
    /// The number of matches that this rule answers; absent for all.
    times: Option<u32>,
    reply: ReplyPlan,
    fault: Option<Fault>,
}

/// A script that cannot be used, and where.
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

    /// The line of the script, from 1; absent when the whole file is meant.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    fn place(&self) -> String {
        self.line.map(|line| format!("line {line}: ")).unwrap_or_default()
    }
}

/// A script may be this large.
const SCRIPT_BYTES_MAX: u64 = 4 * 1024 * 1024;

impl Script {
    /// Reads and checks a script file.
    ///
    /// # Errors
    /// When the file cannot be read, is larger than 4 MiB, or is not a script.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let unreadable =
            |error: std::io::Error| ScriptError::new(None, format!("{}: {error}", path.display()));
        if std::fs::metadata(path).map_err(unreadable)?.len() > SCRIPT_BYTES_MAX {
            return Err(ScriptError::new(None, format!("{}: larger than 4 MiB", path.display())));
        }
        Self::parse(&std::fs::read_to_string(path).map_err(unreadable)?)
    }

    /// Checks a script given as text.
    ///
    /// # Errors
    /// When the text is not a script: the error says what and in which line.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        compile::script(text)
    }

    /// The model names the server lists.
    #[must_use]
    pub fn models(&self) -> &[String] {
        &self.models
    }
}
