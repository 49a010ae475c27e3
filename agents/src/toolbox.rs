//! The tools an agent may use: registered, and allowed. Names are compared exactly: a near miss or a
//! look-alike is another name.

use proto::{id::ToolName, lang::Language, tool::ToolSpec};

messages::texts!(toolbox);

/// The tools an agent may use.
#[derive(Debug, Clone)]
pub struct Toolbox<'a> {
    offered: Vec<&'a ToolSpec>,
    held_back: Vec<&'a ToolSpec>,
}

/// A name that is not that of a tool the agent may use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub enum NoTool {
    /// Nothing is registered under the name.
    Unknown {
        /// The name, with everything that is not ASCII written out.
        name: String,
        /// The tool that may have been meant. It is named and never taken.
        near: Option<ToolName>,
        /// What there is.
        tools: String,
    },
    /// It is registered, but not for this agent.
    NotAllowed {
        /// The name.
        name: String,
        /// What there is.
        tools: String,
    },
}

impl NoTool {
    /// An unknown name.
    #[must_use]
    pub fn unknown<'a>(name: &str, usable: impl Iterator<Item = &'a str>) -> Self {
        Self::Unknown { name: shown(name), near: None, tools: listing(usable) }
    }

    /// An unknown tool.
    #[must_use]
    pub fn not_allowed<'a>(name: &str, usable: impl Iterator<Item = &'a str>) -> Self {
        Self::NotAllowed { name: shown(name), tools: listing(usable) }
    }

    /// What is wrong, in a language.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        match self {
            Self::Unknown { name, near, tools } => {
                let (meant, tools) = (meant(near.as_ref(), language), listed(tools, language));
                Text::Unknown { name, meant: &meant, tools: &tools }.text(language)
            }
            Self::NotAllowed { name, tools } => {
                Text::NotAllowed { name, tools: &listed(tools, language) }.text(language)
            }
        }
    }
}

fn listed(tools: &str, language: Language) -> String {
    if tools.is_empty() { Text::None.text(language) } else { tools.to_owned() }
}

/// How like a name must be for it to be suggested, from 0.0 to 1.0.
const LIKENESS_MIN: f64 = 0.7;

fn meant(near: Option<&ToolName>, language: Language) -> String {
    near.map(|name| Text::Meant { name }.text(language)).unwrap_or_default()
}

/// Most names that an error lists.
const NAMES_MAX: usize = 50;

impl<'a> Toolbox<'a> {
    /// The registered tools that `allowed` names; all of them when it is absent.
    #[must_use]
    pub fn new(
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

    /// The same with agents that tasks may be handed to, which are called like tools. A tool of the
    /// same name is hidden by one: the agent was named for this job.
    #[must_use]
    pub fn with_agents(mut self, agents: &'a [ToolSpec]) -> Self {
        if agents.is_empty() {
            return self;
        }
        self.offered.retain(|tool| agents.iter().all(|agent| agent.name != tool.name));
        self.offered.extend(agents);
        self.offered.sort_by(|a, b| a.name.cmp(&b.name));
        self
    }

    /// What is offered, by name.
    #[must_use]
    pub fn offered(&self) -> &[&'a ToolSpec] {
        &self.offered
    }

    /// The tool of a name. An `@` before it is how prompts refer to tools, and no part of it.
    ///
    /// # Errors
    /// When no tool the agent may use has exactly this name; the error lists those there are.
    pub fn find(&self, name: &str) -> Result<&'a ToolSpec, NoTool> {
        let name = name.strip_prefix('@').unwrap_or(name);
        let of_name = |tool: &&&ToolSpec| tool.name.as_str() == name;
        if let Some(tool) = self.offered.iter().find(of_name) {
            return Ok(tool);
        }
        let usable = self.offered.iter().map(|tool| tool.name.as_str());
        if self.held_back.iter().any(|tool| of_name(&tool)) {
            return Err(NoTool::not_allowed(name, usable));
        }
        Err(NoTool::Unknown { name: shown(name), near: self.near(name), tools: listing(usable) })
    }

    /// What to say of tools that an agent names and no worker has announced. They may be announced later,
    /// so nothing is refused for it; until then models are not offered them.
    #[must_use]
    pub fn unannounced(&self, named: &[ToolName]) -> Vec<String> {
        let is_there = |name: &ToolName| {
            self.offered.iter().chain(&self.held_back).any(|tool| tool.name == *name)
        };
        let absent = named.iter().filter(|name| !is_there(name));
        absent
            .map(|name| {
                let meant = meant(self.near(name.as_str()).as_ref(), Language::En);
                format!(
                    "tools: no worker announces {name}; {meant}it is offered to nobody until one does"
                )
            })
            .collect()
    }

    /// The tool whose name is most like another one, if any is.
    fn near(&self, name: &str) -> Option<ToolName> {
        let name: String = name.chars().take(80).collect();
        let likeness =
            |tool: &ToolSpec| strsim::normalized_damerau_levenshtein(tool.name.as_str(), &name);
        let (likeness, tool) = self
            .offered
            .iter()
            .map(|tool| (likeness(tool), tool))
            .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        (likeness >= LIKENESS_MIN).then(|| tool.name.clone())
    }
}

/// A name with everything that is not ASCII written out.
fn shown(name: &str) -> String {
    name.chars().take(80).flat_map(|c| c.escape_default()).collect()
}

fn listing<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<_> = names.take(NAMES_MAX + 1).collect();
    if let Some(last) = names.get_mut(NAMES_MAX) {
        *last = "…";
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_that_nobody_announces_is_told_with_the_one_that_was_meant() {
        let spec = json!({"name": "read_file", "description": "", "schema": {}, "effect": "pure", "pool": "p"});
        let spec: ToolSpec = serde_json::from_value(spec).unwrap();
        let named = ["read_fil", "read_file", "dance"].map(|n| ToolName::new(n).unwrap());
        let told = Toolbox::new([&spec], None).unannounced(&named);
        assert_eq!(
            told,
            [
                "tools: no worker announces read_fil; did you mean read_file? it is offered to nobody until one does",
                "tools: no worker announces dance; it is offered to nobody until one does",
            ]
        );
    }

    #[test]
    fn a_name_is_exact_or_unknown() {
        let spec = |name: &str| -> ToolSpec {
            let spec = json!({"name": name, "description": "", "schema": {}, "effect": "pure", "pool": "p"});
            serde_json::from_value(spec).unwrap()
        };
        let registered = [spec("send_mail"), spec("create_task"), spec("secret")];
        let allowed = ["create_task", "send_mail"].map(|n| ToolName::new(n).unwrap());
        let tools = Toolbox::new(&registered, Some(&allowed));
        assert_eq!(tools.find("create_task").unwrap().name.as_str(), "create_task");
        assert_eq!(tools.find("@create_task").unwrap().name.as_str(), "create_task");
        for (name, expected) in [
            (
                "create-task",
                "there is no tool \"create-task\"; did you mean create_task? the tools are: create_task, send_mail",
            ),
            (
                "Create_task",
                "there is no tool \"Create_task\"; did you mean create_task? the tools are: create_task, send_mail",
            ),
            (
                "create_tаsk",
                "there is no tool \"create_t\\u{430}sk\"; did you mean create_task? the tools are: create_task, send_mail",
            ),
            (
                "create_task ",
                "there is no tool \"create_task \"; did you mean create_task? the tools are: create_task, send_mail",
            ),
            ("", "there is no tool \"\"; the tools are: create_task, send_mail"),
            (
                "secret",
                "the tool \"secret\" is not allowed here; the tools are: create_task, send_mail",
            ),
        ] {
            assert_eq!(tools.find(name).unwrap_err().to_string(), expected);
        }
        let none = Toolbox::new(&registered, Some(&[]));
        assert!(none.find("secret").unwrap_err().to_string().ends_with("the tools are: none"));
        assert_eq!(Toolbox::new(&registered, None).offered().len(), 3);
    }
}
