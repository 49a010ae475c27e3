//! The budget of a job: a limit for each axis, a warning at a share of the limit, and a stop at the
//! limit. The arithmetic is pure, so a log gives the same figures everywhere.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    bounds::Text as Bound,
    lang::{Language, Words},
    limits,
    price::{self, ModelPrice},
};

pub use crate::price::Price;

messages::texts!(gauge);

/// Maximum of a limit on steps, turns or calls.
const COUNT_MAX: u32 = 100_000;

/// The limits of a job. An axis without a limit is not checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Bound on the steps of the job. `counts` defines the steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Kinds of work that count as a step. A retry of the same unit of work does not count again.
    pub counts: BTreeSet<Spend>,
    /// Bound on the model turns of all steps together, without rounds of planning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Bound on the tokens of prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Bound on the tokens of replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// Bound on the tokens of prompts and replies together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Bound on the cost in US dollars, by `price`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<f64>,
    /// Price of the agent's model. The front door fills in the configured price, so a job keeps the
    /// price of its submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Prices of other models that the agent may use, for planning or detection. The front door
    /// adds configured prices for models that are missing here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<ModelPrice>,
    /// Share of a limit (above 0.0, up to 1.0) at which the model receives a warning.
    pub warn_at: f64,
    /// Treatment of running work when a limit is reached.
    pub at_limit: AtLimit,
    /// Bound on the levels of jobs below this one (0 to 16); 0 forbids delegation.
    #[serde(skip_serializing_if = "is_usual_depth")]
    pub depth: u32,
    /// Bounds on the children of this job.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub fan_out: FanOut,
}

/// The bounds on a job's children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FanOut {
    /// Bound on concurrent children (1 to 64). Further children wait until one has ended.
    pub alive: u32,
    /// Bound on all children (0 to 1,000), with every attempt counted.
    pub total: u32,
}

impl Default for FanOut {
    fn default() -> Self {
        Self { alive: 16, total: 100 }
    }
}

/// The default bound on the levels of jobs below one.
const USUAL_DEPTH: u32 = 3;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_usual_depth(depth: &u32) -> bool {
    *depth == USUAL_DEPTH
}

/// The kinds of work that may count as a step of the budget.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Spend {
    /// A round of planning before the first plan is in force.
    Plan,
    /// A later round of planning that makes a plan or chooses an action.
    Replan,
    /// A thought on the current item, with a planner that plans in phases.
    Thought,
    /// A model turn of a step.
    Turn,
    /// A tool call.
    Tool,
    /// A question of an agent to a user.
    Ask,
    /// The start of a plan's step.
    Step,
}

/// The treatment of running work when a limit is reached. In either case no new work starts.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AtLimit {
    /// Running work may end, and the report includes its results.
    #[default]
    LetEnd,
    /// Running work is abandoned: the job ends at once, and late results change nothing.
    Abandon,
}

/// A resource with a limit.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
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
    /// Children of this job.
    Children,
}

/// The use of one axis.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Gauge {
    /// Axis of the gauge.
    pub axis: Axis,
    /// Amount that was used: a count, tokens, US dollars or milliseconds.
    pub used: f64,
    /// Limit, in the same unit.
    pub limit: f64,
    /// `true` once the share is reached at which the model receives a warning.
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
    /// Returns whether the budget limits neither steps, turns, tokens nor money.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.steps.is_none()
            && self.turns.is_none()
            && self.tokens_in.is_none()
            && self.tokens_out.is_none()
            && self.tokens.is_none()
            && self.money.is_none()
    }

    /// Returns the price of a model whose price differs from the agent's, or `None` when `prices`
    /// does not have the model.
    #[must_use]
    pub fn own_price(&self, model: &str) -> Option<Price> {
        self.prices.iter().find(|price| price.model == model).map(ModelPrice::price)
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// Returns the first field that is out of bounds, and its requirement.
    pub fn check(&self) -> Result<(), (&'static str, Words)> {
        let count = |n: Option<u32>| n.is_none_or(|n| (1..=COUNT_MAX).contains(&n));
        let tokens = |n: Option<u64>| n.is_none_or(|n| n > 0);
        for (field, fits) in [("steps", count(self.steps)), ("turns", count(self.turns))] {
            if !fits {
                return Err((field, Bound::Between { low: &1, high: &100_000 }.into()));
            }
        }
        let limits = [
            ("tokens_in", self.tokens_in),
            ("tokens_out", self.tokens_out),
            ("tokens", self.tokens),
        ];
        for (field, limit) in limits {
            if !tokens(limit) {
                return Err((field, Bound::AtLeast { min: &1 }.into()));
            }
        }
        if self.money.is_some_and(|m| !m.is_finite() || m <= 0.0) {
            return Err(("money", Bound::Above { low: &0 }.into()));
        }
        if self.price.is_some_and(|price| !price.fits()) {
            return Err(("price", Bound::Negative.into()));
        }
        if let Err(why) = price::check(&self.prices) {
            return Err(("prices", why));
        }
        if self.steps.is_some() && self.counts.is_empty() {
            return Err(("counts", Bound::CountsNothing.into()));
        }
        if !(self.warn_at > 0.0 && self.warn_at <= 1.0) {
            return Err(("warn_at", Bound::AboveUpTo { low: &"0.0", high: &"1.0" }.into()));
        }
        if self.depth > limits::DEPTH_MAX {
            return Err(("depth", Bound::AtMost { max: &16 }.into()));
        }
        if !(1..=limits::CHILDREN_ALIVE_MAX).contains(&self.fan_out.alive) {
            return Err(("fan_out.alive", Bound::Between { low: &1, high: &64 }.into()));
        }
        if self.fan_out.total > limits::CHILDREN_MAX {
            return Err(("fan_out.total", Bound::AtMost { max: &1000 }.into()));
        }
        Ok(())
    }
}

impl Axis {
    /// All axes, in display order.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the word in records and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Gauge {
    /// Returns whether the limit is reached.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        self.used >= self.limit
    }

    /// Returns the figures as a text: `18 of 20 steps`.
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
        let price = Price::new(3.0, 15.0);
        let usage = Usage::reported(200_000, 10_000);
        assert!((price.of(usage) - 0.75).abs() < 1e-12);
    }
}
