//! Tests that the configurations and agents in documents are valid as written.

use std::path::PathBuf;

use agents::{catalogue::Catalogue, source::Source};
use cli::settings::Config;
use proto::{agent::Layer, id::AgentName};
use runtime::config::Sources;

use crate::{markdown, sources};

/// The documents whose YAML blocks are agents.
const AGENTS: [&str; 4] = ["README.md", "docs/agents.md", "docs/prices.md", "docs/sub-agents.md"];

/// Agents that examples refer to and that are no presets.
const OTHERS: [&str; 2] = ["researcher", "writer"];

/// A variable for every secret that an example names.
const SECRETS: [&str; 4] =
    ["MODEL_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"];

/// Returns the blocks of a language, each with its place.
fn blocks(language: &str) -> Vec<(String, String)> {
    let documents = sources::ending_with(".md").into_iter();
    let of = |document: sources::Source| {
        let blocks = markdown::parse(&document.text).blocks.into_iter();
        let ours = blocks.filter(|block| block.info == [language]).collect::<Vec<_>>();
        ours.into_iter().map(move |block| (format!("{}:{}", document.path, block.line), block.text))
    };
    documents.flat_map(of).collect()
}

#[test]
fn every_configuration_in_the_documents_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let env = SECRETS.map(|name| (name.to_owned(), Some("a key".to_owned()))).to_vec();
    let mut tried = 0;
    for (place, text) in blocks("toml") {
        // These examples need files that an operator or a user creates.
        if text.contains("file") && text.contains("private/") {
            continue;
        }
        tried += 1;
        let path = directory.path().join("callboard.toml");
        std::fs::write(&path, &text).unwrap();
        let sources = Sources {
            file: Some(path),
            env: env.clone(),
            flags: Vec::new(),
            cwd: PathBuf::from(directory.path()),
        };
        if let Err(wrong) = Config::load(&sources) {
            panic!("{place}: {wrong}\n{text}");
        }
    }
    assert!(tried > 8, "only {tried} configurations were found");
}

#[test]
fn every_agent_in_the_documents_can_be_used() {
    let source = |name: &str, place: &str, text: &str| Source {
        name: AgentName::new(name).unwrap(),
        place: place.to_owned(),
        text: text.to_owned(),
    };
    let agents = blocks("yaml");
    let ours = agents
        .iter()
        .filter(|(place, _)| AGENTS.iter().any(|page| place.starts_with(&format!("{page}:"))));
    let mut tried = 0;
    for (place, text) in ours {
        tried += 1;
        let mut catalogue = Catalogue::presets();
        let others = OTHERS.iter().map(|name| source(name, name, "about: helps\n"));
        catalogue.set(Layer::Directory, others.chain([source("mine", place, text)]));
        assert_eq!(catalogue.mistakes(), [], "{place}");
    }
    assert!(tried >= 4, "only {tried} agents were found");
}
