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
    /// Price of prompt tokens that the provider had in its cache; `input_per_million` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_per_million: Option<f64>,
    /// Price of prompt tokens that the provider wrote to its cache; `input_per_million` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_per_million: Option<f64>,
    /// Price of the tokens of replies.
    pub output_per_million: f64,
}

impl Price {
    /// Creates the price of a model whose prompts cost the same from a cache.
    #[must_use]
    pub const fn new(input_per_million: f64, output_per_million: f64) -> Self {
        let (cached_per_million, written_per_million) = (None, None);
        Self { input_per_million, cached_per_million, written_per_million, output_per_million }
    }

    /// Returns the cost of some tokens, in US dollars.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "tokens of one job are far below 2^53")]
    pub fn of(&self, usage: Usage) -> f64 {
        let cost = |tokens: u64, per_million: f64| tokens as f64 * per_million / 1_000_000.0;
        // Reports may contradict themselves; no part is counted twice, and none is negative.
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let written = usage.written_tokens.min(usage.input_tokens - cached);
        let per_million = |own: Option<f64>| own.unwrap_or(self.input_per_million);
        cost(usage.input_tokens - cached - written, self.input_per_million)
            + cost(cached, per_million(self.cached_per_million))
            + cost(written, per_million(self.written_per_million))
            + cost(usage.output_tokens, self.output_per_million)
    }

    /// Returns the cost of a job: its tokens without those that payments cover, and the payments.
    #[must_use]
    pub fn with(&self, usage: Usage, paid: &Paid) -> f64 {
        self.of(usage.without(paid.usage)) + paid.money
    }

    /// Returns `true` if all prices are finite and not negative.
    #[must_use]
    pub fn fits(&self) -> bool {
        let always = [Some(self.input_per_million), Some(self.output_per_million)];
        let of_caches = [self.cached_per_million, self.written_per_million];
        always.iter().chain(&of_caches).flatten().all(|p| p.is_finite() && *p >= 0.0)
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
    /// US dollars per million prompt tokens that the provider had in its cache;
    /// `input_per_million` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_per_million: Option<f64>,
    /// US dollars per million prompt tokens that the provider wrote to its cache;
    /// `input_per_million` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_per_million: Option<f64>,
    /// US dollars per million tokens of replies.
    pub output_per_million: f64,
}

impl ModelPrice {
    /// Creates the price of a model.
    #[must_use]
    pub fn new(model: impl Into<String>, price: Price) -> Self {
        let Price {
            input_per_million,
            cached_per_million,
            written_per_million,
            output_per_million,
        } = price;
        Self {
            model: model.into(),
            input_per_million,
            cached_per_million,
            written_per_million,
            output_per_million,
        }
    }

    /// Returns the price without the model's name.
    #[must_use]
    pub fn price(&self) -> Price {
        let Self {
            model: _,
            input_per_million,
            cached_per_million,
            written_per_million,
            output_per_million,
        } = *self;
        Price { input_per_million, cached_per_million, written_per_million, output_per_million }
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
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_of_a_cache_have_prices_of_their_own_or_those_of_prompts() {
        let usage = Usage { cached_tokens: 600, written_tokens: 300, ..Usage::reported(1_000, 10) };
        let usual = Price::new(1_000_000.0, 0.0);
        let own = Price {
            cached_per_million: Some(100_000.0),
            written_per_million: Some(2_000_000.0),
            ..usual
        };
        assert_eq!([usual.of(usage), own.of(usage)], [1_000.0, 100.0 + 60.0 + 600.0]);
        // Counts that cannot be true never make a cost negative.
        assert_eq!(own.of(Usage { input_tokens: 5, ..usage }), 0.5);

        let written = json!({"input_per_million": 1000000.0, "output_per_million": 0.0});
        assert_eq!(json!(usual), written);
        assert_eq!(serde_json::from_value::<Price>(json!(own)).unwrap(), own);
        assert_eq!(ModelPrice::new("m", own).price(), own);
        assert!(own.fits() && !Price { cached_per_million: Some(-1.0), ..usual }.fits());
    }

    #[test]
    fn prices_by_model_are_held_to_their_bounds() {
        let price = |model: &str, input| ModelPrice::new(model, Price::new(input, 0.0));
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
