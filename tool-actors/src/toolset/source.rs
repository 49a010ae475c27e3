//! The tools of one origin that change while the process runs, such as those of an MCP server.

use std::sync::{Arc, PoisonError};

use super::{Entry, InvalidToolset, Toolset};
use crate::tool::Tool;

/// The tools that one origin offers to a set. A change takes effect at once: the next call of a
/// withdrawn tool is the fault `unavailable`, because the origin may offer it again. A call that runs
/// already runs on.
#[derive(Debug)]
pub struct ToolSource {
    set: Arc<Toolset>,
    id: usize,
}

impl Toolset {
    /// Creates a source, which offers no tools yet. The names of its tools begin with `prefix`.
    #[must_use]
    pub fn source(self: &Arc<Self>, prefix: &str) -> ToolSource {
        let mut sources = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        sources.push(prefix.to_owned());
        ToolSource { set: Arc::clone(self), id: sources.len() - 1 }
    }
}

impl ToolSource {
    /// Replaces the tools of this source, and returns the reasons why tools were left out. Tools of
    /// other origins stay as they are. A tool whose specification has not changed keeps its slots.
    pub fn offer(&self, tools: Vec<Arc<dyn Tool>>) -> Vec<InvalidToolset> {
        let mut refused = Vec::new();
        let mut all = self.set.tools.write().unwrap_or_else(PoisonError::into_inner);
        let is_own = |entry: &Entry| entry.source == Some(self.id);
        let mut old: Vec<_> = all.extract_if(.., |_, entry| is_own(entry)).collect();
        let before: Vec<_> = old.iter().map(|(_, entry)| entry.spec.clone()).collect();
        for tool in tools {
            let mut entry = match Entry::new(&self.set.pool, tool, Some(self.id)) {
                Ok(entry) => entry,
                Err(why) => {
                    refused.push(why);
                    continue;
                }
            };
            let name = entry.spec.name.clone();
            if all.contains_key(&name) {
                refused.push(InvalidToolset::Twice(name));
                continue;
            }
            if let Some((_, same)) = old.iter_mut().find(|(_, old)| old.spec == entry.spec) {
                entry.places = Arc::clone(&same.places);
            }
            all.insert(name, entry);
        }
        let is_changed = before.iter().ne(all.values().filter(|e| is_own(e)).map(|e| &e.spec));
        drop(all);
        if is_changed {
            self.set.changed.send_modify(|changes| *changes += 1);
        }
        refused
    }
}
