//! The names of imported nodes: ids of nodes and keys of the state, each unique.

use std::collections::{BTreeMap, BTreeSet};

use proto::workflow::WorkflowName;

/// Bound of an id, shorter than that of nodes so that a number fits behind it.
const ID_CHARS: usize = 32;

/// The ids of the nodes of a graph, by their id in the other program.
#[derive(Default)]
pub(super) struct Names {
    by_old: BTreeMap<String, String>,
    taken: BTreeSet<String>,
}

impl Names {
    /// Returns a new id for a node, made of its title or, if that has no usable letters, its type.
    pub(super) fn add(&mut self, old: &str, title: &str, kind: &str) -> String {
        let base = [title, kind].into_iter().map(slug).find(|slug| !slug.is_empty());
        let id = self.unique(&base.unwrap_or_else(|| "node".to_owned()));
        self.by_old.insert(old.to_owned(), id.clone());
        id
    }

    /// Returns an id that no node has.
    pub(super) fn unique(&mut self, base: &str) -> String {
        // `end` is the end of a path.
        let base = if base == "end" { "finish" } else { base };
        let numbered = (2..).map(|n: u32| format!("{base}-{n}"));
        let free = std::iter::once(base.to_owned()).chain(numbered);
        let id = free.into_iter().find(|id| !self.taken.contains(id)).unwrap_or_default();
        self.taken.insert(id.clone());
        id
    }

    /// Returns the id of a node.
    pub(super) fn get(&self, old: &str) -> Option<&str> {
        self.by_old.get(old).map(String::as_str)
    }
}

/// Returns the key of the state for the text of a node.
pub(super) fn key(id: &str) -> String {
    let key = id.replace('-', "_");
    if key.starts_with(|c: char| c.is_ascii_digit()) { format!("n{key}") } else { key }
}

/// Returns the usable letters of a text, with single hyphens between its words.
fn slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit());
    let joined = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    joined.chars().take(ID_CHARS).collect::<String>().trim_matches('-').to_owned()
}

/// Returns the name of a workflow, or the other one if the text has no usable letters.
pub(super) fn workflow(text: &str, other: &WorkflowName) -> WorkflowName {
    WorkflowName::new(slug(text)).unwrap_or_else(|_| other.clone())
}
