//! The agents known without a server: those shipped with the program, those of the configuration,
//! and the files of a directory.

use std::path::{Path, PathBuf};

use agents::{
    catalogue::Catalogue,
    source::{FILE_BYTES_MAX, Mistakes, Source},
};
use proto::{
    agent::{Agent, Layer},
    id::AgentName,
    lang::{Language, Words},
};

use crate::{input, settings::Config, words::Text};

/// File extensions of agents.
const ENDINGS: [&str; 2] = ["yaml", "yml"];
/// Largest number of agent files in a directory.
const FILES_MAX: usize = 1_000;

/// The reason why the agents cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.words().text(Language::En))]
pub enum AgentsError {
    /// A directory or a file cannot be read.
    Unreadable(Words),
    /// Some agents are invalid; holds every mistake.
    Wrong(Mistakes),
}

impl AgentsError {
    /// Returns the reason for users.
    #[must_use]
    pub fn words(&self) -> Words {
        match self {
            Self::Unreadable(why) => why.clone(),
            Self::Wrong(mistakes) => Words::new(|language| {
                Text::AgentsUnusable { mistakes: &mistakes.text(language) }.text(language)
            }),
        }
    }
}

/// Loads every agent known without a server.
///
/// # Errors
/// If the directory cannot be read, or one of its agents is invalid.
pub fn catalogue(config: &Config) -> Result<Catalogue, AgentsError> {
    let catalogue = unchecked(config)?;
    match catalogue.mistakes() {
        mistakes if mistakes.is_empty() => Ok(catalogue),
        mistakes => Err(AgentsError::Wrong(Mistakes(mistakes))),
    }
}

/// Loads the same agents, including invalid ones.
pub(crate) fn unchecked(config: &Config) -> Result<Catalogue, AgentsError> {
    let mut catalogue = Catalogue::presets().with_given(config.agents.0.values().cloned());
    if let Some(dir) = &config.door.agents_dir {
        let of_the_setting = |error| match error {
            AgentsError::Unreadable(why) => AgentsError::Unreadable(of("door.agents_dir", &why)),
            AgentsError::Wrong(mistakes) => AgentsError::Wrong(mistakes),
        };
        catalogue.set(Layer::Directory, sources(dir).map_err(of_the_setting)?);
    }
    Ok(catalogue)
}

/// Returns the models that valid agents name, besides the configured one.
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
    let place = dir.display().to_string();
    let fail = |why: std::io::Error| AgentsError::Unreadable(of(&place, &why.to_string().into()));
    let mut files: Vec<PathBuf> = Vec::new();
    for file in std::fs::read_dir(dir).map_err(fail)? {
        let path = file.map_err(fail)?.path();
        // Files of editors, and the directories that Kubernetes mounts beside the files of a config
        // map.
        let is_hidden =
            path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && has_ending(&path) {
            files.push(path);
        }
    }
    if files.len() > FILES_MAX {
        let why = Text::TooManyAgents { place: &place, max: &FILES_MAX };
        return Err(AgentsError::Unreadable(why.into()));
    }
    files.sort();
    files.iter().map(|file| source(file, None)).collect()
}

fn has_ending(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

/// Reads one agent file; the agent is named after the file unless `name` is given.
pub(crate) fn source(file: &Path, name: Option<AgentName>) -> Result<Source, AgentsError> {
    let place = file.display().to_string();
    let name = match name {
        Some(name) => name,
        None => {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            AgentName::new(stem).map_err(|e| AgentsError::Unreadable(of(&place, &e.words())))?
        }
    };
    // One byte above the limit is read, so that the check of agents reports an oversized file.
    let text = input::file("agent", file, FILE_BYTES_MAX + 1)
        .map_err(|e| AgentsError::Unreadable(e.message))?;
    Ok(Source { name, place, text })
}

/// Returns a reason with the setting or the file that has it.
fn of(key: &str, why: &Words) -> Words {
    Words::new(|language| Text::OfSetting { key: &key, why: &why.text(language) }.text(language))
}
