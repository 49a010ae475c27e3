//! What tools cost: tokens that they had a model read and write, and money that they say was paid. It
//! is reported with a result, counts when the result counts, and is added up by tool.

use serde::{Deserialize, Serialize};

use crate::{id::ToolName, message::Usage};

/// Most that one result may say was paid, in US dollars; what is beyond is no price of a call.
const MONEY_MAX: f64 = 1_000_000.0;

/// What one call of a tool cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Tokens of model calls that were made for it.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// US dollars that were paid for it, those for its tokens included. When absent its tokens cost
    /// what those of the job do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<f64>,
}

impl Cost {
    /// Whether it cost nothing that is known of.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// What was paid, if that is an amount: no less than nothing, and no more than any call can cost.
    #[must_use]
    pub fn paid(&self) -> Option<f64> {
        self.money.filter(|money| (0.0..=MONEY_MAX).contains(money))
    }
}

/// What was paid for beside tokens at the price of the job's model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Paid {
    /// US dollars.
    pub money: f64,
    /// The tokens that it was paid for too, and that cost nothing beside it.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
}

impl Paid {
    /// Whether nothing was.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// A call has ended.
    pub fn add(&mut self, cost: &Cost) {
        if let Some(money) = cost.paid() {
            self.money += money;
            self.usage += cost.usage;
        }
    }

    /// A job below has ended.
    pub fn below(&mut self, other: &Self) {
        self.money += other.money.max(0.0);
        self.usage += other.usage;
    }
}

/// What the calls of one tool cost a job so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCost {
    /// The tool.
    pub tool: ToolName,
    /// Its results that cost something.
    pub calls: u32,
    /// Their tokens.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// What was paid for them in US dollars, where they say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<f64>,
}

impl ToolCost {
    /// A tool that has cost nothing yet.
    #[must_use]
    pub fn new(tool: ToolName) -> Self {
        Self { tool, calls: 0, usage: Usage::default(), money: None }
    }

    /// A call has ended.
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
        let usage = Usage { input_tokens: 5, output_tokens: 7 };
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
