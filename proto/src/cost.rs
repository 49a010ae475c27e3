//! The cost of tools: tokens of the models that a tool called, and money that the tool reports. A
//! result carries its cost, which counts when the result counts. Costs are summed by tool.

use serde::{Deserialize, Serialize};

use crate::{id::ToolName, message::Usage};

/// Maximum payment that one result may report, in US dollars. A larger amount is not plausible and
/// is ignored.
const MONEY_MAX: f64 = 1_000_000.0;

/// The cost of one tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cost {
    /// Tokens of the models that the tool called.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// US dollars that were paid for the call, including its tokens. When absent, the tokens cost
    /// as much as those of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<f64>,
}

impl Cost {
    /// Returns whether the call has no known cost.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the payment, or `None` when none is reported or the amount is negative or
    /// implausibly large.
    #[must_use]
    pub fn paid(&self) -> Option<f64> {
        self.money.filter(|money| (0.0..=MONEY_MAX).contains(money))
    }
}

/// The payments of a job's tools, and the tokens that they cover.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Paid {
    /// Sum of the payments, in US dollars.
    pub money: f64,
    /// Tokens that the payments cover, which the price of the job's model must not charge again.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
}

impl Paid {
    /// Returns whether no payment was made.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the cost of a call that ended. A call without a payment adds nothing.
    pub fn add(&mut self, cost: &Cost) {
        if let Some(money) = cost.paid() {
            self.money += money;
            self.usage += cost.usage;
        }
    }

    /// Adds the payments of a child that ended.
    pub fn below(&mut self, other: &Self) {
        self.money += other.money.max(0.0);
        self.usage += other.usage;
    }
}

/// The cost of a tool's calls in a job so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolCost {
    /// Name of the tool.
    pub tool: ToolName,
    /// Number of results with a cost.
    pub calls: u32,
    /// Tokens of those results.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// Sum of the reported payments in US dollars; absent when no result reported one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<f64>,
}

impl ToolCost {
    /// Creates the sum of a tool without calls.
    #[must_use]
    pub fn new(tool: ToolName) -> Self {
        Self { tool, calls: 0, usage: Usage::default(), money: None }
    }

    /// Adds the cost of a call that ended.
    pub fn add(&mut self, cost: &Cost) {
        self.calls = self.calls.saturating_add(1);
        self.usage += cost.usage;
        if let Some(money) = cost.paid() {
            self.money = Some(self.money.unwrap_or_default() + money);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_amount_is_not_paid() {
        let usage = Usage::reported(5, 7);
        let cost = |money| Cost { usage, money };
        for money in [None, Some(-1.0), Some(f64::NAN), Some(f64::INFINITY), Some(2e6)] {
            let mut paid = Paid::default();
            paid.add(&cost(money));
            assert!(paid.is_nothing(), "{money:?}");
        }
        let mut paid = Paid::default();
        paid.add(&cost(Some(0.25)));
        paid.below(&Paid { money: 0.5, usage: Usage::default() });
        assert_eq!(paid, Paid { money: 0.75, usage });
    }
}
