//! The tools a plan may use: registered, and allowed by the agent. Names are compared exactly:
//! a near miss or a look-alike is another name.

use proto::{id::ToolName, tool::ToolSpec};

/// The tools a plan may use.
#[derive(Debug, Clone)]
pub(crate) struct Toolbox<'a> {
    offered: Vec<&'a ToolSpec>,
    held_back: Vec<&'a ToolSpec>,
}

/// A name that is not that of a tool the plan may use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoTool {
    /// Nothing is registered under the name.
    #[error("there is no tool \"{name}\"; the tools are: {tools}")]
    Unknown {
        /// The name, with everything that is not ASCII written out.
        name: String,
        /// What there is.
        tools: String,
    },
    /// It is registered, but not for this agent.
    #[error("the tool \"{name}\" is not allowed here; the tools are: {tools}")]
    NotAllowed {
        /// The name.
        name: String,
        /// What there is.
        tools: String,
    },
}

/// Most names that an error lists.
const NAMES_MAX: usize = 50;

impl<'a> Toolbox<'a> {
    /// The registered tools that `allowed` names; all of them when it is absent.
    pub(crate) fn new(
        registered: impl IntoIterator<Item = &'a ToolSpec>,
        allowed: Option<&[ToolName]>,
    ) -> Self {
        let is_allowed = |tool: &&ToolSpec| allowed.is_none_or(|names| names.contains(&tool.name));
        let (mut offered, held_back): (Vec<_>, Vec<_>) =
            registered.into_iter().partition(is_allowed);
        // The same tools give the same prompt, whatever order the registry has them in.
        offered.sort_by(|a, b| a.name.cmp(&b.name));
        Self { offered, held_back }
    }

    /// What is offered, by name.
    pub(crate) fn offered(&self) -> &[&'a ToolSpec] {
        &self.offered
    }

    /// The tool of a name. An `@` before it is how prompts refer to tools, and no part of it.
    pub(crate) fn find(&self, name: &str) -> Result<&'a ToolSpec, NoTool> {
        let name = name.strip_prefix('@').unwrap_or(name);
        let of_name = |tool: &&&ToolSpec| tool.name.as_str() == name;
        if let Some(tool) = self.offered.iter().find(of_name) {
            return Ok(tool);
        }
        let shown: String = name.chars().take(80).flat_map(|c| c.escape_default()).collect();
        let tools = self.names();
        if self.held_back.iter().any(|tool| of_name(&tool)) {
            return Err(NoTool::NotAllowed { name: shown, tools });
        }
        Err(NoTool::Unknown { name: shown, tools })
    }

    fn names(&self) -> String {
        if self.offered.is_empty() {
            return "none".to_owned();
        }
        let mut names: Vec<_> =
            self.offered.iter().take(NAMES_MAX).map(|tool| tool.name.as_str()).collect();
        if self.offered.len() > NAMES_MAX {
            names.push("…");
        }
        names.join(", ")
    }
}
