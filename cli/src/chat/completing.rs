//! Completion of slash commands, tools and agents in a conversation. Pure.

use std::sync::{Arc, Mutex};

/// A word that can be completed, with its description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    /// The text that takes the place of what was typed from `from` on.
    pub(crate) text: String,
    /// What it means.
    pub(crate) about: String,
    /// Position of the first byte that is replaced.
    pub(crate) from: usize,
}

/// The known words. Copies share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// Slash commands and tools without the slash.
    commands: Vec<(String, String)>,
    agents: Vec<String>,
}

impl Words {
    /// Replaces the commands and tools.
    pub(crate) fn set_commands(&self, commands: Vec<(String, String)>) {
        if let Ok(mut known) = self.0.lock() {
            known.commands = commands;
        }
    }

    /// Replaces the agents.
    pub(crate) fn set_agents(&self, agents: Vec<String>) {
        if let Ok(mut known) = self.0.lock() {
            known.agents = agents;
        }
    }

    /// Returns what the text before the cursor can become. Words that are no command are not
    /// completed.
    pub(crate) fn complete(&self, line: &str, at: usize) -> Vec<Offer> {
        let Some(typed) = line.get(..at) else { return Vec::new() };
        let Ok(known) = self.0.lock() else { return Vec::new() };
        let Some(command) = typed.strip_prefix('/') else { return Vec::new() };
        if let Some(agent) = command.strip_prefix("agent ") {
            let from = at - agent.len();
            let fits = known.agents.iter().filter(|name| name.starts_with(agent));
            let offer = |name: &String| Offer { text: name.clone(), about: String::new(), from };
            return fits.map(offer).collect();
        }
        let fits = known.commands.iter().filter(|(name, _)| name.starts_with(command));
        let offer = |(name, about): &(String, String)| Offer {
            text: format!("/{name}"),
            about: about.clone(),
            from: 0,
        };
        fits.map(offer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_tools_and_agents_are_completed_and_words_are_not() {
        let words = Words::default();
        let named = ["todo", "todo list", "tools", "write_file"];
        words.set_commands(named.iter().map(|name| ((*name).to_owned(), "d".to_owned())).collect());
        words.set_agents(vec!["default".to_owned(), "fastgpt".to_owned()]);
        let offered = |line: &str| {
            let offers = words.complete(line, line.len());
            offers.into_iter().map(|offer| (offer.text, offer.from)).collect::<Vec<_>>()
        };
        assert_eq!(
            offered("/to"),
            [("/todo".into(), 0), ("/todo list".into(), 0), ("/tools".into(), 0)]
        );
        assert_eq!(offered("/w"), [("/write_file".into(), 0)]);
        assert_eq!(offered("/agent f"), [("fastgpt".into(), 7)]);
        assert_eq!(offered("/agent "), [("default".into(), 7), ("fastgpt".into(), 7)]);
        for line in ["to", "", "/todo 文", "文", "/nothing"] {
            assert!(offered(line).is_empty(), "{line}");
        }
        assert!(words.complete("文", 1).is_empty(), "a position within a character");
    }
}
