//! The words of an agent's policies on planning and asking. A word stands here together with what
//! it does elsewhere: none is accepted and ignored.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::message::Usage;

/// The shape a model is asked to plan in. Every shape becomes the same plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanProtocol {
    /// Steps that are tool calls or tasks, as they come: `{title, steps: [{id, description, …}]}`.
    #[default]
    Steps,
    /// Every step is a task for an agent: `{task, steps: [{id, title, description}], replan}`.
    TaskSteps,
    /// Steps in words: `{title, steps: [text], language}`.
    TitleSteps,
    /// Every step is one tool call: `{summary, steps: [{id, action, params, description}]}`.
    ActionSteps,
    /// One action at a time, decided again after each: `{status, plan, next_action, response}`.
    Decision,
    /// The same in three phases: a list of items once, thoughts on the current one, and the list
    /// again after each.
    Phased,
    /// No planner: the executor's loop keeps a list of its own with two tools.
    InlineTools,
}

impl PlanProtocol {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Steps,
        Self::TaskSteps,
        Self::TitleSteps,
        Self::ActionSteps,
        Self::Decision,
        Self::Phased,
        Self::InlineTools,
    ];

    /// The word in agents and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::TaskSteps => "task_steps",
            Self::TitleSteps => "title_steps",
            Self::ActionSteps => "action_steps",
            Self::Decision => "decision",
            Self::Phased => "phased",
            Self::InlineTools => "inline_tools",
        }
    }

    /// Whether a plan is one action, after which the planner decides again.
    #[must_use]
    pub fn is_turn_by_turn(self) -> bool {
        match self {
            Self::Decision | Self::Phased => true,
            Self::Steps
            | Self::TaskSteps
            | Self::TitleSteps
            | Self::ActionSteps
            | Self::InlineTools => false,
        }
    }
}

/// How a model hands a plan over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanOutput {
    /// As the text of its reply.
    #[default]
    Text,
    /// As the arguments of a tool call, which the provider holds against the shape's schema.
    Tool,
}

/// What finds out whether a goal needs a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detector {
    /// Patterns of words that name several things to do.
    #[default]
    Patterns,
    /// A question to a model; when it gives no usable answer, the goal is taken for complex.
    Model,
}

/// What was found out about a goal, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detected {
    /// Whether it needs a plan.
    pub complex: bool,
    /// What found it out.
    pub by: Detector,
    /// Why, for people: the pattern that was found, or the model's words.
    pub why: String,
    /// Tokens it cost to find out, which are among those of the round.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
}

/// Which agents of a job may ask a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskWhen {
    /// The planner and the executor.
    #[default]
    Both,
    /// Who makes its plan alone.
    Planning,
    /// Who carries out its steps alone.
    Steps,
}

impl AskWhen {
    /// Whether a planner may ask.
    #[must_use]
    pub fn in_planning(self) -> bool {
        match self {
            Self::Both | Self::Planning => true,
            Self::Steps => false,
        }
    }

    /// Whether a loop that carries out a step may ask.
    #[must_use]
    pub fn in_steps(self) -> bool {
        match self {
            Self::Both | Self::Steps => true,
            Self::Planning => false,
        }
    }
}

/// How often agents may ask a person in the life of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskLimit {
    /// At most so often; 0 is never.
    AtMost(u32),
    /// As often as they like.
    Unlimited,
}

/// The word for no limit.
const UNLIMITED: &str = "unlimited";

impl AskLimit {
    /// How many more questions are allowed after `asked`; nothing when there is no limit.
    #[must_use]
    pub fn left_after(self, asked: u32) -> Option<u32> {
        match self {
            Self::AtMost(limit) => Some(limit.saturating_sub(asked)),
            Self::Unlimited => None,
        }
    }
}

impl Serialize for AskLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::AtMost(limit) => serializer.serialize_u32(*limit),
            Self::Unlimited => serializer.serialize_str(UNLIMITED),
        }
    }
}

impl<'de> Deserialize<'de> for AskLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LimitVisitor)
    }
}

struct LimitVisitor;

impl de::Visitor<'_> for LimitVisitor {
    type Value = AskLimit;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number, or \"{UNLIMITED}\"")
    }

    fn visit_u64<E: de::Error>(self, limit: u64) -> Result<AskLimit, E> {
        u32::try_from(limit)
            .map(AskLimit::AtMost)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(limit), &self))
    }

    fn visit_i64<E: de::Error>(self, limit: i64) -> Result<AskLimit, E> {
        u32::try_from(limit)
            .map(AskLimit::AtMost)
            .map_err(|_| E::invalid_value(de::Unexpected::Signed(limit), &self))
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<AskLimit, E> {
        if word == UNLIMITED {
            return Ok(AskLimit::Unlimited);
        }
        Err(E::invalid_value(de::Unexpected::Str(word), &self))
    }

    // Logs of the first version may say it so.
    fn visit_unit<E: de::Error>(self) -> Result<AskLimit, E> {
        Ok(AskLimit::Unlimited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_the_word_for_none() {
        for (json, expected) in [
            ("0", AskLimit::AtMost(0)),
            ("3", AskLimit::AtMost(3)),
            ("\"unlimited\"", AskLimit::Unlimited),
        ] {
            let limit: AskLimit = serde_json::from_str(json).unwrap();
            assert_eq!(limit, expected);
            assert_eq!(serde_json::to_string(&limit).unwrap(), json, "written as it was read");
        }
        assert_eq!(serde_json::from_str::<AskLimit>("null").unwrap(), AskLimit::Unlimited);
        for bad in ["-1", "\"many\"", "4294967296", "[3]", "1.5"] {
            let error = serde_json::from_str::<AskLimit>(bad).unwrap_err().to_string();
            assert!(error.contains("a number, or \"unlimited\""), "{bad}: {error}");
        }
    }

    #[test]
    fn the_words_of_protocols_are_those_of_records() {
        for protocol in PlanProtocol::ALL {
            assert_eq!(serde_json::to_value(protocol).unwrap(), protocol.as_str());
        }
    }
}
