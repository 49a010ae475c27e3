//! The agents a process starts with: those that come with the program, those of the configuration,
//! and the files of a directory. Nothing here asks a server.

use std::path::{Path, PathBuf};

use agents::{
    catalogue::Catalogue,
    source::{FILE_BYTES_MAX, Mistakes, Source},
};
use proto::{
    agent::{Agent, Layer},
    id::AgentName,
};

use crate::{input, settings::Config};

/// How the files of agents end.
const ENDINGS: [&str; 2] = ["yaml", "yml"];
/// Files of one directory.
const FILES_MAX: usize = 1_000;

/// The agents cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AgentsError {
    /// A directory or a file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// Files are wrong.
    #[error("agents cannot be used:\n{0}")]
    Wrong(Mistakes),
}

/// All agents that are known without a server.
///
/// # Errors
/// When the directory cannot be read, or an agent of it cannot be used.
pub fn catalogue(config: &Config) -> Result<Catalogue, AgentsError> {
    let catalogue = unchecked(config)?;
    match catalogue.mistakes() {
        mistakes if mistakes.is_empty() => Ok(catalogue),
        mistakes => Err(AgentsError::Wrong(Mistakes(mistakes))),
    }
}

/// The same, whatever is wrong with them.
pub(crate) fn unchecked(config: &Config) -> Result<Catalogue, AgentsError> {
    let mut catalogue = Catalogue::presets().with_given(config.agents.0.values().cloned());
    if let Some(dir) = &config.door.agents_dir {
        let of_the_setting = |error| match error {
            AgentsError::Unreadable(why) => {
                AgentsError::Unreadable(format!("door.agents_dir: {why}"))
            }
            AgentsError::Wrong(mistakes) => AgentsError::Wrong(mistakes),
        };
        catalogue.set(Layer::Directory, sources(dir).map_err(of_the_setting)?);
    }
    Ok(catalogue)
}

/// The models that agents name, beside the configured one.
#[must_use]
pub fn models(config: &Config) -> Vec<String> {
    let Ok(catalogue) = unchecked(config) else { return Vec::new() };
    let agents = catalogue.entries().into_iter().filter_map(|entry| entry.resolved.ok());
    let named = |agent: &Agent| {
        let plan = &agent.plan;
        [&agent.model, &plan.model, &plan.detect_model].map(Clone::clone).into_iter().flatten()
    };
    agents.flat_map(|agent| named(&agent).collect::<Vec<_>>()).collect()
}

fn sources(dir: &Path) -> Result<Vec<Source>, AgentsError> {
    let fail = |why: std::io::Error| AgentsError::Unreadable(format!("{}: {why}", dir.display()));
    let mut files: Vec<PathBuf> = Vec::new();
    for file in std::fs::read_dir(dir).map_err(fail)? {
        let path = file.map_err(fail)?.path();
        // An editor's own files, and what Kubernetes mounts beside the files of a config map.
        let is_hidden =
            path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && has_ending(&path) {
            files.push(path);
        }
    }
    if files.len() > FILES_MAX {
        let why = format!("{} has more than {FILES_MAX} agents", dir.display());
        return Err(AgentsError::Unreadable(why));
    }
    files.sort();
    files.iter().map(|file| source(file, None)).collect()
}

fn has_ending(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

/// One file; it is called what the file is called when no name is given.
pub(crate) fn source(file: &Path, name: Option<AgentName>) -> Result<Source, AgentsError> {
    let place = file.display().to_string();
    let fail = |why: String| AgentsError::Unreadable(format!("{place}: {why}"));
    let name = match name {
        Some(name) => name,
        None => {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            AgentName::new(stem).map_err(|e| fail(e.to_string()))?
        }
    };
    // A byte more than is taken, so that what is too large is told like anything that is wrong.
    let text = input::file("agent", file, FILE_BYTES_MAX + 1)
        .map_err(|e| AgentsError::Unreadable(e.message))?;
    Ok(Source { name, place, text })
}
