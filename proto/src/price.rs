//! The prices of models, and figures of models by name. Only this module decides which model a
//! figure belongs to. A job's records hold the prices that it is charged by; no fold of a log takes
//! a price from anywhere else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{cost::Paid, limits, message::Usage};

/// Maximum length of a model's name, in bytes.
pub const MODEL_NAME_BYTES_MAX: usize = 256;

/// The price of a model's tokens, in US dollars per million.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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

    pub(crate) fn fits(&self) -> bool {
        [self.input_per_million, self.output_per_million].iter().all(|p| p.is_finite() && *p >= 0.0)
    }
}

/// The price of a model other than the agent's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
pub(crate) fn check(prices: &[ModelPrice]) -> Result<(), &'static str> {
    if prices.len() > limits::MODEL_PRICES_MAX {
        return Err("must have at most 32 models");
    }
    for (at, price) in prices.iter().enumerate() {
        if !is_model_name(&price.model) {
            return Err("must name models by 1 to 256 characters without control characters");
        }
        if !price.price().fits() {
            return Err("must not be negative");
        }
        if prices.iter().take(at).any(|earlier| earlier.model == price.model) {
            return Err("must name each model once");
        }
    }
    Ok(())
}

/// A figure by model: for named models, for the default model, and for all others.
#[derive(Debug, Clone, PartialEq)]
pub struct ByModel<T> {
    named: BTreeMap<String, T>,
    usual_name: Option<String>,
    usual: Option<T>,
    others: Option<T>,
}

impl<T> Default for ByModel<T> {
    fn default() -> Self {
        Self { named: BTreeMap::new(), usual_name: None, usual: None, others: None }
    }
}

impl<T: Copy> ByModel<T> {
    /// Creates a table with the figure of the default model alone, which has this name.
    #[must_use]
    pub fn usual(name: Option<String>, figure: Option<T>) -> Self {
        Self { named: BTreeMap::new(), usual_name: name, usual: figure, others: None }
    }

    /// Adds the figure of a model. It counts for the default model too, when that has the name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, figure: T) -> Self {
        self.named.insert(name.into(), figure);
        self
    }

    /// Sets the figure of models without a figure of their own.
    #[must_use]
    pub fn others(mut self, figure: Option<T>) -> Self {
        self.others = figure;
        self
    }

    /// Returns the figure of a model, or of the default model when `model` is `None`.
    #[must_use]
    pub fn of(&self, model: Option<&str>) -> Option<T> {
        let usual = self.usual_name.as_deref();
        let named = model.or(usual).and_then(|name| self.named.get(name));
        let is_usual = model.is_none() || model == usual;
        named.or(self.usual.as_ref().filter(|_| is_usual)).or(self.others.as_ref()).copied()
    }

    /// Returns the name of the default model, when it is known.
    #[must_use]
    pub fn usual_name(&self) -> Option<&str> {
        self.usual_name.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_the_figure_of_its_name() {
        let prices = ByModel::usual(Some("gpt-5".to_owned()), Some(1)).with("qwen/qwen3.5-72b", 2);
        let windows = ByModel::usual(Some("gpt-5".to_owned()), Some(1)).others(Some(1));
        let windows = windows.with("gpt-5", 3).with("a.b", 4);
        for (asked, price, window) in [
            (None, Some(1), Some(3)),
            (Some("gpt-5"), Some(1), Some(3)),
            (Some("qwen/qwen3.5-72b"), Some(2), Some(1)),
            (Some("a.b"), None, Some(4)),
            (Some("GPT-5"), None, Some(1)),
        ] {
            assert_eq!((prices.of(asked), windows.of(asked)), (price, window), "{asked:?}");
        }
        let nameless = ByModel::usual(None, Some(7));
        assert_eq!((nameless.of(None), nameless.of(Some("x"))), (Some(7), None));
        assert_eq!(ByModel::<u8>::default().of(None), None);
    }

    #[test]
    fn prices_by_model_are_held_to_their_bounds() {
        let price = |model: &str, input| ModelPrice {
            model: model.to_owned(),
            input_per_million: input,
            output_per_million: 0.0,
        };
        assert_eq!(check(&[price("a", 0.0), price("b/c.d", 1.0)]), Ok(()));
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
