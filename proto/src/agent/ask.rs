//! The policy of questions to users.

use serde::{Deserialize, Serialize};

use super::checked::{Checked, out_of_time, refuse};
use crate::{
    asking::AskKinds,
    bounds::Text,
    policy::{AskLimit, AskWhen},
};

/// The policy of questions to users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Asking {
    /// Bound on the questions of a job, confirmations not counted. At the bound, agents are no
    /// longer offered the tool that asks.
    pub limit: AskLimit,
    /// Number of questions after which one more ends the job; no bound when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Bound on repeating an answered question. A repetition is answered with the earlier answer;
    /// at the bound the job ends. Repetitions are not detected when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_limit: Option<u32>,
    /// `true` if agents' questions start with a fixed text which says that the job waits for an
    /// answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub prefix: bool,
    /// Kinds of question that agents may ask.
    #[serde(skip_serializing_if = "AskKinds::is_all")]
    pub kinds: AskKinds,
    /// Roles that may ask: the planner, the executor, or both.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub when: AskWhen,
    /// Time until a question expires, in milliseconds; questions never expire when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

impl Default for Asking {
    fn default() -> Self {
        Self {
            limit: AskLimit::AtMost(3),
            rounds: None,
            repeat_limit: None,
            prefix: false,
            kinds: AskKinds::default(),
            when: AskWhen::Both,
            deadline_ms: None,
        }
    }
}

impl Asking {
    pub(super) fn check(&self) -> Checked {
        if let AskLimit::AtMost(limit) = self.limit
            && limit > 1000
        {
            return refuse("ask.limit", Text::Unlimited { max: &1000 });
        }
        let out_of_range = |n: Option<u32>| n.is_some_and(|n| !(1..=1000).contains(&n));
        if out_of_range(self.rounds) {
            return refuse("ask.rounds", Text::Between { low: &1, high: &1000 });
        }
        if out_of_range(self.repeat_limit) {
            return refuse("ask.repeat_limit", Text::Between { low: &1, high: &1000 });
        }
        if self.kinds.is_none() {
            return refuse("ask.kinds", Text::AsksNothing);
        }
        if out_of_time(self.deadline_ms) {
            return refuse("ask.deadline_ms", Text::ToOneYear);
        }
        Ok(())
    }
}
