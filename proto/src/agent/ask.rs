//! Questions to people.

use serde::{Deserialize, Serialize};

use super::checked::{Checked, out_of_time, refuse};
use crate::{
    asking::AskKinds,
    policy::{AskLimit, AskWhen},
};

/// Questions to people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Asking {
    /// Questions in the life of the job, confirmations not counted. Where it is reached, the tool
    /// to ask with is not offered any more.
    pub limit: AskLimit,
    /// Questions in the life of the job after which one more ends it; none when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// How often a question may be asked that has been answered before: the agent is told the
    /// answer, and at this number the job ends. Not looked at when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_limit: Option<u32>,
    /// Whether agents' questions begin with fixed words that say that an answer is waited for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub prefix: bool,
    /// What kinds of question may be asked.
    #[serde(skip_serializing_if = "AskKinds::is_all")]
    pub kinds: AskKinds,
    /// The roles that may ask: the planner, the executor, or both.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub when: AskWhen,
    /// How long a question stays open, in milliseconds; for ever when absent.
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
            return refuse("ask.limit", "must be at most 1000, or \"unlimited\"");
        }
        let out_of_range = |n: Option<u32>| n.is_some_and(|n| !(1..=1000).contains(&n));
        if out_of_range(self.rounds) {
            return refuse("ask.rounds", "must be 1 to 1000");
        }
        if out_of_range(self.repeat_limit) {
            return refuse("ask.repeat_limit", "must be 1 to 1000");
        }
        if self.kinds.is_none() {
            return refuse(
                "ask.kinds",
                "must name a kind of question; ask.limit: 0 asks none at all",
            );
        }
        if out_of_time(self.deadline_ms) {
            return refuse("ask.deadline_ms", "must be 1 ms to one year");
        }
        Ok(())
    }
}
