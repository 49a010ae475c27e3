//! The prices of models. A job's records hold the prices that it is charged by; no fold of a log
//! takes a price from anywhere else.

use serde::{Deserialize, Serialize};

use crate::{bounds::Text, cost::Paid, lang::Words, limits, message::Usage};

/// Maximum length of a model's name, in bytes.
pub const MODEL_NAME_BYTES_MAX: usize = 256;

/// The price of a model's tokens, in US dollars per million.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Price of the tokens of prompts.
    pub input_per_million: f64,
    /// Price of the tokens of replies.
    pub output_per_million: f64,
}

impl Price {
    /// Returns the cost of some tokens, in US dollars.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "tokens of one job are far below 2^53")]
    pub fn of(&self, usage: Usage) -> f64 {
        let cost = |tokens: u64, per_million: f64| tokens as f64 * per_million / 1_000_000.0;
        cost(usage.input_tokens, self.input_per_million)
            + cost(usage.output_tokens, self.output_per_million)
    }

    /// Returns the cost of a job: its tokens without those that payments cover, and the payments.
    #[must_use]
    pub fn with(&self, usage: Usage, paid: &Paid) -> f64 {
        self.of(usage.without(paid.usage)) + paid.money
    }

    /// Returns `true` if both prices are finite and not negative.
    #[must_use]
    pub fn fits(&self) -> bool {
        [self.input_per_million, self.output_per_million].iter().all(|p| p.is_finite() && *p >= 0.0)
    }
}

/// The price of a model other than the agent's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Name of the model, as the provider knows it.
    pub model: String,
    /// US dollars per million tokens of prompts.
    pub input_per_million: f64,
    /// US dollars per million tokens of replies.
    pub output_per_million: f64,
}

impl ModelPrice {
    /// Creates the price of a model.
    #[must_use]
    pub fn new(model: impl Into<String>, price: Price) -> Self {
        let Price { input_per_million, output_per_million } = price;
        Self { model: model.into(), input_per_million, output_per_million }
    }

    /// Returns the price without the model's name.
    #[must_use]
    pub fn price(&self) -> Price {
        let Self { model: _, input_per_million, output_per_million } = *self;
        Price { input_per_million, output_per_million }
    }
}

/// Returns whether a text is a valid name of a model.
#[must_use]
pub fn is_model_name(name: &str) -> bool {
    !name.trim().is_empty()
        && name.len() <= MODEL_NAME_BYTES_MAX
        && !name.chars().any(char::is_control)
}

/// Checks the prices of models.
///
/// # Errors
/// Returns the requirement that they violate.
pub(crate) fn check(prices: &[ModelPrice]) -> Result<(), Words> {
    if prices.len() > limits::MODEL_PRICES_MAX {
        return Err(Text::Models { max: &limits::MODEL_PRICES_MAX }.into());
    }
    for (at, price) in prices.iter().enumerate() {
        if !is_model_name(&price.model) {
            return Err(Text::ModelName.into());
        }
        if !price.price().fits() {
            return Err(Text::Negative.into());
        }
        if prices.iter().take(at).any(|earlier| earlier.model == price.model) {
            return Err(Text::ModelTwice.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_by_model_are_held_to_their_bounds() {
        let price = |model: &str, input| ModelPrice {
            model: model.to_owned(),
            input_per_million: input,
            output_per_million: 0.0,
        };
        assert_eq!(check(&[price("a", 0.0), price("b/c.d", 1.0)]), Ok(()));
        // A Han character has three bytes.
        assert_eq!(check(&[price(&"字".repeat(85), 0.0)]), Ok(()));
        let too_long = check(&[price(&"字".repeat(86), 0.0)]);
        assert!(too_long.is_err_and(|why| why == Text::ModelName.into()));
        for prices in [
            vec![price("a", 1.0), price("a", 2.0)],
            vec![price(" ", 1.0)],
            vec![price("a\n", 1.0)],
            vec![price("a", -1.0)],
            vec![price("a", f64::NAN)],
            (0..33).map(|n| price(&n.to_string(), 1.0)).collect(),
        ] {
            assert!(check(&prices).is_err(), "{prices:?}");
        }
    }
}
