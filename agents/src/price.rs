//! Prices and context windows of models, by name. Only this module decides which model a figure
//! belongs to.

use std::collections::BTreeMap;

/// A figure of every model that one is known of: by name, of the model that is asked where nobody names
/// one, and of any other.
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
    /// Nothing is known but the figure of the usual model, which has this name.
    #[must_use]
    pub fn usual(name: Option<String>, figure: Option<T>) -> Self {
        Self { named: BTreeMap::new(), usual_name: name, usual: figure, others: None }
    }

    /// A model's figure is known. It counts for the usual model too, if that has the name.
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

    /// The figure of the model that is asked by this name; by none: of the usual one.
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
}
