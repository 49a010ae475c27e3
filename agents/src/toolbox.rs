//! The tools that an agent may use: registered and allowed. Names are compared exactly, so a
//! similar name or a look-alike never matches.

use proto::{
    id::{AgentName, ToolName},
    lang::Language,
    refusal,
    tool::ToolSpec,
};

messages::texts!(toolbox);

/// The tools that an agent may use, and the registered tools that it may not.
#[derive(Debug, Clone)]
pub struct Toolbox<'a> {
    offered: Vec<&'a ToolSpec>,
    held_back: Vec<&'a ToolSpec>,
}

/// The error for a name that is not that of a usable tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub enum NoTool {
    /// No tool is registered under the name.
    Unknown {
        /// Requested name, with characters outside ASCII escaped.
        name: String,
        /// Tool with a similar name. The error suggests it; it is never used instead.
        near: Option<ToolName>,
        /// Names of the usable tools.
        tools: String,
    },
    /// The tool is registered, and the agent may not use it.
    NotAllowed {
        /// Requested name, with characters outside ASCII escaped.
        name: String,
        /// Names of the usable tools.
        tools: String,
    },
}

impl NoTool {
    /// Creates the error for a name that no tool has.
    #[must_use]
    pub fn unknown<'a>(name: &str, usable: impl Iterator<Item = &'a str>) -> Self {
        Self::Unknown { name: shown(name), near: None, tools: listing(usable) }
    }

    /// Creates the error for a registered tool that the agent may not use.
    #[must_use]
    pub fn not_allowed<'a>(name: &str, usable: impl Iterator<Item = &'a str>) -> Self {
        Self::NotAllowed { name: shown(name), tools: listing(usable) }
    }

    /// Returns the error as a text in `language`.
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

/// Tools that an agent names and no worker has announced: one that may be misspelt, or all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unannounced {
    /// The names, separated by commas.
    names: String,
    /// Announced tool with a name similar to the only one.
    near: Option<ToolName>,
}

impl Unannounced {
    /// Returns the warning. It names the agent if `agent` is given.
    #[must_use]
    pub fn text<'a>(&'a self, agent: Option<&'a AgentName>) -> refusal::Text<'a> {
        use refusal::Text;
        let name = &self.names;
        match (agent, &self.near) {
            (None, None) => Text::Unannounced { name },
            (None, Some(meant)) => Text::UnannouncedNear { name, meant },
            (Some(agent), None) => Text::UnannouncedOf { agent, name },
            (Some(agent), Some(meant)) => Text::UnannouncedNearOf { agent, name, meant },
        }
    }
}

fn listed(tools: &str, language: Language) -> String {
    if tools.is_empty() { Text::None.text(language) } else { tools.to_owned() }
}

/// Minimum similarity of a suggested name, from 0.0 to 1.0.
const LIKENESS_MIN: f64 = 0.7;

fn meant(near: Option<&ToolName>, language: Language) -> String {
    near.map(|name| Text::Meant { name }.text(language)).unwrap_or_default()
}

/// Maximum number of names that an error lists.
const NAMES_MAX: usize = 50;

impl<'a> Toolbox<'a> {
    /// Creates a toolbox of the registered tools that `allowed` names, or of all when `allowed` is
    /// absent.
    #[must_use]
    pub fn new(
        registered: impl IntoIterator<Item = &'a ToolSpec>,
        allowed: Option<&[ToolName]>,
    ) -> Self {
        let is_allowed = |tool: &&ToolSpec| allowed.is_none_or(|names| names.contains(&tool.name));
        let (mut offered, held_back): (Vec<_>, Vec<_>) =
            registered.into_iter().partition(is_allowed);
        // The order is fixed, so that the same tools give the same prompt.
        offered.sort_by(|a, b| a.name.cmp(&b.name));
        Self { offered, held_back }
    }

    /// Adds the agents that this one may delegate to, which are called like tools. An agent hides a
    /// tool of the same name, because it was named for this job.
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

    /// Returns the tools that models are offered, sorted by name.
    #[must_use]
    pub fn offered(&self) -> &[&'a ToolSpec] {
        &self.offered
    }

    /// Returns the tool of a name. A leading `@`, with which prompts refer to tools, is ignored.
    ///
    /// # Errors
    /// Fails when no usable tool has exactly this name. The error lists the usable tools.
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

    /// Returns the tools that an agent names and no worker has announced. The agent is not refused,
    /// because a worker may announce them later; models are not offered them before.
    #[must_use]
    pub fn unannounced(&self, named: &[ToolName]) -> Vec<Unannounced> {
        let is_there = |name: &ToolName| {
            self.offered.iter().chain(&self.held_back).any(|tool| tool.name == *name)
        };
        let (mut misspelt, mut absent) = (Vec::new(), Vec::new());
        for name in named.iter().filter(|name| !is_there(name)) {
            match self.near(name.as_str()) {
                Some(near) => {
                    misspelt.push(Unannounced { names: name.to_string(), near: Some(near) });
                }
                None => absent.push(name.as_str()),
            }
        }
        if !absent.is_empty() {
            misspelt.push(Unannounced { names: listing(absent.into_iter()), near: None });
        }
        misspelt
    }

    /// Returns the usable tool with the most similar name, when the similarity suffices.
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
    fn tools_that_nobody_announces_are_told_together_and_misspelt_ones_apart() {
        let spec = json!({"name": "read_file", "description": "", "schema": {}, "effect": "pure", "pool": "p"});
        let spec: ToolSpec = serde_json::from_value(spec).unwrap();
        let named = ["read_fil", "read_file", "dance", "sing"].map(|n| ToolName::new(n).unwrap());
        let told = Toolbox::new([&spec], None).unannounced(&named);
        let [near, none] = told.as_slice() else { panic!("{told:?}") };
        let agent = AgentName::new("a").unwrap();
        for (text, english, chinese) in [
            (
                near.text(None),
                "tools: no worker announces read_fil; did you mean read_file? models cannot call it until a worker does",
                "tools：没有 worker 声明过 read_fil；是否指 read_file？在声明之前，模型无法调用它",
            ),
            (
                none.text(None),
                "tools: no worker announces dance, sing; models see only what a worker announces",
                "tools：没有 worker 声明过 dance, sing；模型只能看到 worker 声明过的工具",
            ),
            (
                none.text(Some(&agent)),
                "agent a: tools: no worker announces dance, sing; models see only what a worker announces",
                "智能体 a：tools：没有 worker 声明过 dance, sing；模型只能看到 worker 声明过的工具",
            ),
        ] {
            assert_eq!(
                (text.text(Language::En).as_str(), text.text(Language::Zh).as_str()),
                (english, chinese)
            );
        }
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
