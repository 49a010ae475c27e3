//! Sub-agents: which other agents an agent may hand a task to. A task that is handed over is a job of
//! its own, the child of the one that handed it over.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, value::MapAccessDeserializer},
};

use crate::{id::AgentName, lang::Language};

/// An agent that another one may hand a task to. In a file, the name alone says the same as a mapping
/// with nothing but the name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubAgent {
    /// Which agent.
    pub name: AgentName,
    /// Whether its plans are confirmed and its questions asked as its own policies say. Otherwise it
    /// plans without being checked and asks nobody; only its tools are approved as ever.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interactive: bool,
    /// The language it works in for this agent; its own when absent, and without one that of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

impl<'de> Deserialize<'de> for SubAgent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SubAgentVisitor)
    }
}

struct SubAgentVisitor;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    name: AgentName,
    #[serde(default)]
    interactive: bool,
    #[serde(default)]
    language: Option<Language>,
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
