//! The cost of work: tokens, and the money that is known to have been spent on them.

use serde::{Deserialize, Serialize};

use crate::{cost::Cost, message::Usage, price::Price};

/// Tokens and money that were spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Spent {
    /// Tokens of models.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// US dollars, as far as prices are known; absent if no part has a known price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<f64>,
    /// Those of the tokens whose price is not known, which `money` does not include.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub unpriced: Usage,
}

impl Spent {
    /// Returns the cost of tokens at a price; `None` if it is not known.
    #[must_use]
    pub fn at(usage: Usage, price: Option<&Price>) -> Self {
        match price {
            Some(price) => Self { usage, money: Some(price.of(usage)), unpriced: Usage::default() },
            None => Self { usage, money: None, unpriced: usage },
        }
    }

    /// Returns the cost of a tool call: the payment that the tool reported, or the price of its
    /// tokens.
    #[must_use]
    pub fn on(call: &Cost, price: Option<&Price>) -> Self {
        match call.paid() {
            Some(money) => {
                Self { usage: call.usage, money: Some(money), unpriced: Usage::default() }
            }
            None => Self::at(call.usage, price),
        }
    }

    /// Returns `true` if nothing was spent.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the number of all tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.usage.input_tokens.saturating_add(self.usage.output_tokens)
    }
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.usage += other.usage;
        self.unpriced += other.unpriced;
        self.money = match (self.money, other.money) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
    }
}

impl std::iter::Sum for Spent {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PRICE: Price = Price::new(2.0, 4.0);

    #[test]
    fn tokens_without_a_price_are_told_apart_and_cost_an_unknown_amount() {
        let usage = Usage::reported(1_000_000, 500_000);
        let unknown = Spent::at(usage, None);
        assert_eq!((unknown.money, unknown.unpriced), (None, usage));
        assert_eq!(json!(unknown).get("money"), None);
        let mut sum = Spent::at(usage, Some(&PRICE));
        assert_eq!((sum.money, sum.unpriced), (Some(4.0), Usage::default()));
        sum += unknown;
        assert_eq!((sum.money, sum.unpriced, sum.tokens()), (Some(4.0), usage, 3_000_000));
        assert!(Spent::default().is_nothing() && !unknown.is_nothing());
        assert_eq!(serde_json::from_value::<Spent>(json!(sum)).unwrap(), sum);
    }

    #[test]
    fn a_reported_payment_covers_the_tokens_of_the_call() {
        let usage = Usage::reported(1_000_000, 0);
        let call = |money| Cost { usage, money };
        assert_eq!(Spent::on(&call(Some(0.5)), Some(&PRICE)).money, Some(0.5));
        assert_eq!(Spent::on(&call(Some(0.5)), None).unpriced, Usage::default());
        assert_eq!(Spent::on(&call(None), Some(&PRICE)).money, Some(2.0));
        assert_eq!(Spent::on(&call(Some(-1.0)), None).unpriced, usage);
        let free = Price::new(0.0, 0.0);
        let both = [Spent::at(usage, Some(&free)), Spent::on(&call(Some(0.5)), None)];
        assert_eq!(both.into_iter().sum::<Spent>().money, Some(0.5));
        assert_eq!(both[0].money, Some(0.0), "a price of zero is a known price");
    }
}
