//! What a job may spend, and what it has spent: limits by axis, a warning at a share of each, and a
//! stop at the whole. Pure arithmetic: the same log gives the same figures everywhere.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    lang::Language,
    limits,
    price::{self, ModelPrice},
};

pub use crate::price::Price;

messages::texts!(gauge);

/// Most steps, turns or calls a budget may name.
const COUNT_MAX: u32 = 100_000;

/// The limits of a job. An axis without a limit is not looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Steps in the life of the job; what is a step is said by `counts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// What counts as a step. A retry of the same unit of work never counts again.
    pub counts: BTreeSet<Spend>,
    /// Model turns of all steps together; rounds of planning are not among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Tokens that models read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Tokens that models wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// Tokens, read and written together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars, by `price`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<f64>,
    /// What the agent's model costs. The front door puts in what is configured for the model, so
    /// that a job keeps the price it was submitted at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// What other models cost that the agent may ask, to plan or to find out whether a plan is needed.
    /// The front door puts in what is configured for those that are not among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<ModelPrice>,
    /// The share of a limit (above 0.0, up to 1.0) from which the model is warned.
    pub warn_at: f64,
    /// What becomes of work that is out when a limit is reached.
    pub at_limit: AtLimit,
    /// Levels of jobs below this one (0 to 16); with 0 no task is handed to another agent.
    #[serde(skip_serializing_if = "is_usual_depth")]
    pub depth: u32,
    /// Children of this job.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub fan_out: FanOut,
}

/// How many children a job may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FanOut {
    /// Alive at once (1 to 64); others wait until one has ended.
    pub alive: u32,
    /// In all (0 to 1,000), every attempt counted.
    pub total: u32,
}

impl Default for FanOut {
    fn default() -> Self {
        Self { alive: 16, total: 100 }
    }
}

/// Levels of jobs below one where nothing else is said.
const USUAL_DEPTH: u32 = 3;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_usual_depth(depth: &u32) -> bool {
    *depth == USUAL_DEPTH
}

/// What may count as a step of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spend {
    /// A round of planning before the first plan is in force.
    Plan,
    /// A round of planning after that which makes a plan or chooses an action.
    Replan,
    /// A thought on the current item of a planner that plans in phases.
    Thought,
    /// A model turn of a step.
    Turn,
    /// A tool call.
    Tool,
    /// A question that an agent asks a person.
    Ask,
    /// A step of a plan that is begun.
    Step,
}

/// What becomes of work that is out when a limit is reached. Nothing new is started either way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtLimit {
    /// It may end, and what comes of it is in the report.
    #[default]
    LetEnd,
    /// It is abandoned: the job ends at once, and late results change nothing.
    Abandon,
}

/// One thing that can run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// [`Budget::steps`].
    Steps,
    /// [`Budget::turns`].
    Turns,
    /// [`Budget::tokens_in`].
    TokensIn,
    /// [`Budget::tokens_out`].
    TokensOut,
    /// [`Budget::tokens`].
    Tokens,
    /// [`Budget::money`].
    Money,
    /// The job's deadline, in milliseconds since its submission.
    Time,
    /// Levels of jobs, from the root to this one.
    Depth,
    /// Jobs that work for this one.
    Children,
}

/// How far one axis is used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gauge {
    /// Which.
    pub axis: Axis,
    /// How much was spent: a count, tokens, US dollars or milliseconds.
    pub used: f64,
    /// How much may be spent.
    pub limit: f64,
    /// Whether the share is reached from which the model is warned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warned: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            steps: None,
            counts: BTreeSet::from([Spend::Replan, Spend::Thought, Spend::Turn, Spend::Tool]),
            turns: None,
            tokens_in: None,
            tokens_out: None,
            tokens: None,
            money: None,
            price: None,
            prices: Vec::new(),
            warn_at: 0.8,
            at_limit: AtLimit::LetEnd,
            depth: USUAL_DEPTH,
            fan_out: FanOut::default(),
        }
    }
}

impl Budget {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.steps.is_none()
            && self.turns.is_none()
            && self.tokens_in.is_none()
            && self.tokens_out.is_none()
            && self.tokens.is_none()
            && self.money.is_none()
    }

    /// What a model costs that has a price of its own here, and does not cost what the agent's does.
    #[must_use]
    pub fn own_price(&self, model: &str) -> Option<Price> {
        self.prices.iter().find(|price| price.model == model).map(ModelPrice::price)
    }

    /// Says which field is out of bounds.
    ///
    /// # Errors
    /// The field's name and what it must be.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let count = |n: Option<u32>| n.is_none_or(|n| (1..=COUNT_MAX).contains(&n));
        let tokens = |n: Option<u64>| n.is_none_or(|n| n > 0);
        for (field, fits) in [("steps", count(self.steps)), ("turns", count(self.turns))] {
            if !fits {
                return Err((field, "must be 1 to 100000"));
            }
        }
        let limits = [
            ("tokens_in", self.tokens_in),
            ("tokens_out", self.tokens_out),
            ("tokens", self.tokens),
        ];
        for (field, limit) in limits {
            if !tokens(limit) {
                return Err((field, "must be at least 1"));
            }
        }
        if self.money.is_some_and(|m| !m.is_finite() || m <= 0.0) {
            return Err(("money", "must be above 0"));
        }
        if self.price.is_some_and(|price| !price.fits()) {
            return Err(("price", "must not be negative"));
        }
        if let Err(why) = price::check(&self.prices) {
            return Err(("prices", why));
        }
        if self.steps.is_some() && self.counts.is_empty() {
            return Err(("counts", "must name something that counts as a step"));
        }
        if !(self.warn_at > 0.0 && self.warn_at <= 1.0) {
            return Err(("warn_at", "must be above 0.0 and at most 1.0"));
        }
        if self.depth > limits::DEPTH_MAX {
            return Err(("depth", "must be at most 16"));
        }
        if !(1..=limits::CHILDREN_ALIVE_MAX).contains(&self.fan_out.alive) {
            return Err(("fan_out.alive", "must be 1 to 64"));
        }
        if self.fan_out.total > limits::CHILDREN_MAX {
            return Err(("fan_out.total", "must be at most 1000"));
        }
        Ok(())
    }
}

impl Axis {
    /// All axes, in the order they are shown in.
    pub const ALL: [Self; 9] = [
        Self::Steps,
        Self::Turns,
        Self::TokensIn,
        Self::TokensOut,
        Self::Tokens,
        Self::Money,
        Self::Time,
        Self::Depth,
        Self::Children,
    ];

    /// The word in records and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Turns => "turns",
            Self::TokensIn => "tokens_in",
            Self::TokensOut => "tokens_out",
            Self::Tokens => "tokens",
            Self::Money => "money",
            Self::Time => "time",
            Self::Depth => "depth",
            Self::Children => "children",
        }
    }
}

impl Gauge {
    /// Whether nothing is left.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        self.used >= self.limit
    }

    /// The figures in words: `18 of 20 steps`.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let (used, limit) = (&self.used, &self.limit);
        let text = match self.axis {
            Axis::Steps => Text::Steps { used, limit },
            Axis::Turns => Text::Turns { used, limit },
            Axis::TokensIn => Text::TokensIn { used, limit },
            Axis::TokensOut => Text::TokensOut { used, limit },
            Axis::Tokens => Text::Tokens { used, limit },
            Axis::Money => Text::Money { used, limit },
            Axis::Time => {
                return Text::Time { used: &(used / 1e3), limit: &(limit / 1e3) }.text(language);
            }
            Axis::Depth => Text::Depth { used, limit },
            Axis::Children => Text::Children { used, limit },
        };
        text.text(language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Usage;

    #[test]
    fn a_limit_out_of_bounds_is_named() {
        let check = |json: &str| {
            let budget: Budget = serde_json::from_str(json).unwrap();
            budget.check().map_err(|(field, _)| field)
        };
        assert_eq!(check("{}"), Ok(()));
        assert_eq!(check(r#"{"steps":20,"counts":["thought","ask"]}"#), Ok(()));
        for (json, field) in [
            (r#"{"steps":0}"#, "steps"),
            (r#"{"turns":100001}"#, "turns"),
            (r#"{"tokens":0}"#, "tokens"),
            (r#"{"money":0.0}"#, "money"),
            (r#"{"price":{"input_per_million":-1.0,"output_per_million":0.0}}"#, "price"),
            (
                r#"{"prices":[{"model":"","input_per_million":1.0,"output_per_million":0.0}]}"#,
                "prices",
            ),
            (r#"{"steps":5,"counts":[]}"#, "counts"),
            (r#"{"warn_at":0.0}"#, "warn_at"),
            (r#"{"warn_at":1.5}"#, "warn_at"),
            (r#"{"depth":17}"#, "depth"),
            (r#"{"fan_out":{"alive":0}}"#, "fan_out.alive"),
            (r#"{"fan_out":{"total":1001}}"#, "fan_out.total"),
        ] {
            assert_eq!(check(json), Err(field), "{json}");
        }
    }

    #[test]
    fn money_is_a_matter_of_tokens_and_price() {
        let price = Price { input_per_million: 3.0, output_per_million: 15.0 };
        let usage = Usage { input_tokens: 200_000, output_tokens: 10_000 };
        assert!((price.of(usage) - 0.75).abs() < 1e-12);
    }
}
