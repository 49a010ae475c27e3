//! Sub-agents: the agents that another agent may delegate tasks to. A delegated task is a child
//! job.

use std::fmt;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, value::MapAccessDeserializer},
};

use crate::{id::AgentName, lang::Language};

/// An agent that another one may delegate to. In a file, a plain name is short for a mapping with
/// only a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubAgent {
    /// Name of the agent.
    pub name: AgentName,
    /// `true` if the sub-agent's own policies decide on confirming plans and asking questions.
    /// Otherwise its plans need no confirmation and it asks no question; approvals of its tool
    /// calls stay in force.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interactive: bool,
    /// Language of the delegated task; when absent, the sub-agent's own language, and without one
    /// the language of the parent job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

impl<'de> Deserialize<'de> for SubAgent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SubAgentVisitor)
    }
}

struct SubAgentVisitor;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// Name of the agent.
    name: AgentName,
    /// `true` if its own policies decide on confirming plans and asking questions.
    #[serde(default)]
    interactive: bool,
    /// Language of the delegated task.
    #[serde(default)]
    language: Option<Language>,
}

impl JsonSchema for SubAgent {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SubAgent".into()
    }

    fn json_schema(types: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [types.subschema_for::<AgentName>(), Fields::json_schema(types)],
        })
    }
}

impl<'de> de::Visitor<'de> for SubAgentVisitor {
    type Value = SubAgent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an agent, or a mapping with name, interactive and language")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<SubAgent, E> {
        let name = AgentName::new(name).map_err(E::custom)?;
        Ok(SubAgent { name, interactive: false, language: None })
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<SubAgent, A::Error> {
        let Fields { name, interactive, language } =
            Fields::deserialize(MapAccessDeserializer::new(map))?;
        Ok(SubAgent { name, interactive, language })
    }
}
