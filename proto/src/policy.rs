//! The enumerated policies on planning and questions. Every accepted value has an effect.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::message::Usage;

/// The form in which a model is asked to plan. Every form is normalised to the same
/// [`Plan`](crate::plan::Plan).
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum PlanProtocol {
    /// Steps that are tool calls or tasks, mixed freely: `{title, steps: [{id, description, …}]}`.
    #[default]
    Steps,
    /// Steps that are tasks for an agent: `{task, steps: [{id, title, description}], replan}`.
    TaskSteps,
    /// Steps that are plain texts: `{title, steps: [text], language}`.
    TitleSteps,
    /// Steps that are single tool calls: `{summary, steps: [{id, action, params, description}]}`.
    ActionSteps,
    /// One action at a time, with a decision after each: `{status, plan, next_action, response}`.
    Decision,
    /// One action at a time in three phases: a list of items once, a thought on the current item
    /// before each action, and a revised list after each item.
    Phased,
    /// No planner: the executor's loop maintains a list of its own with two tools.
    InlineTools,
}

impl PlanProtocol {
    /// All protocols.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the word in agents and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns whether a plan has one action, after which the planner decides again.
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

/// The output form in which a model returns a plan.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PlanOutput {
    /// The text of the reply.
    #[default]
    Text,
    /// The arguments of a tool call, which the provider validates against the schema of the form.
    Tool,
}

/// The method that decides whether a goal needs a plan.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Detector {
    /// Patterns of words that name several tasks.
    #[default]
    Patterns,
    /// A question to a model. A goal counts as complex when the model gives no usable answer.
    Model,
}

/// The result of the detection whether a goal needs a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Detected {
    /// `true` if the goal needs a plan.
    pub complex: bool,
    /// Detector that decided.
    pub by: Detector,
    /// Reason, for users: the pattern that matched, or the model's words.
    pub why: String,
    /// Tokens that the detection used. The usage of the round includes them.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
}

/// The agents of a job that may ask a user.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AskWhen {
    /// The planner and the executor.
    #[default]
    Both,
    /// The planner alone.
    Planning,
    /// The executor alone.
    Steps,
}

impl AskWhen {
    /// Returns whether the planner may ask.
    #[must_use]
    pub fn in_planning(self) -> bool {
        match self {
            Self::Both | Self::Planning => true,
            Self::Steps => false,
        }
    }

    /// Returns whether the loop of a step may ask.
    #[must_use]
    pub fn in_steps(self) -> bool {
        match self {
            Self::Both | Self::Steps => true,
            Self::Planning => false,
        }
    }
}

/// The bound on the questions of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskLimit {
    /// At most this many questions; 0 forbids them.
    AtMost(u32),
    /// No bound.
    Unlimited,
}

/// The word for no bound.
const UNLIMITED: &str = "unlimited";

impl AskLimit {
    /// Returns the number of questions that remain after `asked`, or `None` without a bound.
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

impl schemars::JsonSchema for AskLimit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AskLimit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "The bound on the questions of a job.",
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": u32::MAX},
                {"const": UNLIMITED},
            ],
        })
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

    // Logs of the first version may have null for no bound.
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
