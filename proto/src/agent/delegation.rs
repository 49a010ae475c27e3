//! Delegation to a sub-agent: its policies, and names that models could confuse.

use std::collections::BTreeSet;

use super::{
    OnUnparseable, SubAgent,
    checked::{Checked, refuse},
    policies::Agent,
};
use crate::{bounds::Text, id::ToolName, limits, policy::AskLimit};

/// Names of tools that models call for other purposes.
const RESERVED: [&str; 4] = ["ask_user", "finish", "set_plan", "update_plan"];

impl SubAgent {
    /// Returns the policies of the sub-agent's job: `agent` with this delegation's language, and
    /// without questions unless the delegation is interactive.
    #[must_use]
    pub fn policies(&self, agent: &Agent) -> Agent {
        let mut agent = agent.clone();
        agent.language = self.language.or(agent.language);
        if !self.interactive {
            agent.confirm = false;
            agent.ask.limit = AskLimit::AtMost(0);
            agent.plan.on_unparseable = OnUnparseable::Fail;
        }
        agent
    }
}

impl Agent {
    /// Returns the first sub-agent with the name of a registered tool that this agent may use, and
    /// its index. Models could not tell the two apart.
    #[must_use]
    pub fn like_a_tool(&self, registered: &BTreeSet<ToolName>) -> Option<(usize, &SubAgent)> {
        // An explicit list of tools was compared with the sub-agents when the agent was read.
        let all = self.tools.is_none();
        let is_tool = |sub: &SubAgent| registered.iter().any(|t| t.as_str() == sub.name.as_str());
        self.agents.iter().enumerate().find(|(_, sub)| all && is_tool(sub))
    }

    pub(super) fn check_agents(&self) -> Checked {
        if self.agents.len() > limits::SUB_AGENTS_MAX {
            return refuse("agents", Text::AtMost { max: &32 });
        }
        for (n, sub) in self.agents.iter().enumerate() {
            let name = sub.name.as_str();
            if RESERVED.contains(&name) {
                return refuse("agents", Text::Reserved);
            }
            if self.agents.iter().skip(n + 1).any(|other| other.name == sub.name) {
                return refuse("agents", Text::AgentTwice);
            }
            let tools = self.tools.as_deref().unwrap_or_default();
            if tools.iter().any(|tool| tool.as_str() == name) {
                return refuse("agents", Text::LikeATool);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::Language;

    #[test]
    fn a_sub_agent_that_is_called_like_a_tool_is_found_unless_the_tools_are_named() {
        let registered = ["echo", "search"].map(|name| ToolName::new(name).unwrap()).into();
        for (text, place) in [
            (r#"{"agents": ["a", "search"]}"#, Some(1)),
            (r#"{"agents": ["a", "searches"]}"#, None),
            (r#"{"agents": ["search"], "tools": ["echo"]}"#, None),
            (r#"{"agents": []}"#, None),
        ] {
            let read = agent(text).unwrap();
            assert_eq!(read.like_a_tool(&registered).map(|(n, _)| n), place, "{text}");
        }
    }

    fn agent(json: &str) -> Result<Agent, String> {
        serde_json::from_str(json).map_err(|e| e.to_string())
    }

    #[test]
    fn a_name_alone_is_a_sub_agent_that_asks_nobody() {
        let read = agent(r#"{"agents":["a",{"name":"b","interactive":true}]}"#).unwrap();
        let written = serde_json::to_value(&read).unwrap();
        assert_eq!(
            written["agents"],
            serde_json::json!([{"name": "a"}, {"name": "b", "interactive": true}])
        );
        assert_eq!(serde_json::from_value::<Agent>(written).unwrap(), read);
        let asks = |sub: &str| {
            let policies = read.sub_agent(sub).unwrap().policies(&Agent::default());
            (policies.confirm, policies.ask.limit)
        };
        assert_eq!(asks("a"), (false, AskLimit::AtMost(0)));
        assert_eq!(asks("b"), (true, AskLimit::AtMost(3)));
        assert!(read.sub_agent("c").is_none());
    }

    #[test]
    fn a_sub_agent_works_in_its_own_language_unless_it_is_told_another_one() {
        let mut own = Agent::default();
        for (sub, language, expected) in [
            (r#"{"agents":["a"]}"#, None, None),
            (r#"{"agents":["a"]}"#, Some(Language::Zh), Some(Language::Zh)),
            (
                r#"{"agents":[{"name":"a","language":"en"}]}"#,
                Some(Language::Zh),
                Some(Language::En),
            ),
            (r#"{"agents":[{"name":"a","language":"zh"}]}"#, None, Some(Language::Zh)),
        ] {
            own.language = language;
            let read = agent(sub).unwrap();
            assert_eq!(read.sub_agent("a").unwrap().policies(&own).language, expected, "{sub}");
        }
    }

    #[test]
    fn names_that_would_be_confused_are_refused() {
        let check = |json: &str| agent(json).unwrap().check_bounds().map_err(|e| e.to_string());
        assert_eq!(check(r#"{"agents":["a"],"tools":["b"]}"#), Ok(()));
        for (json, why) in [
            (r#"{"agents":["a","a"]}"#, "twice"),
            (r#"{"agents":["a"],"tools":["a"]}"#, "called like a tool"),
            (r#"{"agents":["ask_user"]}"#, "called like ask_user"),
        ] {
            let error = check(json).unwrap_err();
            assert!(error.starts_with("agent.agents must not") && error.contains(why), "{error}");
        }
        for json in
            [r#"{"agents":[7]}"#, r#"{"agents":["a b"]}"#, r#"{"agents":[{"name":"a","x":1}]}"#]
        {
            assert!(agent(json).is_err(), "{json}");
        }
    }
}
