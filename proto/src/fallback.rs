//! Models that answer in place of another one, by the reason why that one did not.

use serde::{Deserialize, Serialize};

use crate::{bounds::Text, lang::Words, price::is_model_name};

/// Maximum number of models that an agent falls back to.
pub const FALLBACKS_MAX: usize = 4;

/// A reason why a model did not answer.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::Display,
    strum::VariantArray,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FallbackReason {
    /// The provider takes no more requests for this model at the moment.
    RateLimited,
    /// The provider has no capacity for this model at the moment.
    Overloaded,
    /// The provider cannot be reached, does not reply in time, or failed.
    Outage,
    /// The model refused, or a content filter withheld the reply.
    Refused,
    /// The conversation exceeds the model's context.
    ContextTooLong,
}

/// A model to ask if the models before it did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fallback {
    /// Name of the model.
    pub model: String,
    /// Reasons for which the model is asked; all but a refusal when absent. For any other reason
    /// the next one of the list is considered.
    #[serde(default = "usual", skip_serializing_if = "is_usual")]
    pub on: Vec<FallbackReason>,
}

fn usual() -> Vec<FallbackReason> {
    use FallbackReason::{ContextTooLong, Outage, Overloaded, RateLimited};
    vec![RateLimited, Overloaded, Outage, ContextTooLong]
}

fn is_usual(on: &Vec<FallbackReason>) -> bool {
    *on == usual()
}

/// Checks a list of models to fall back to.
///
/// # Errors
/// Returns the place in the list, dotted, and the requirement that it violates.
pub fn check(fallback: &[Fallback]) -> Result<(), (String, Words)> {
    if fallback.len() > FALLBACKS_MAX {
        let max = &FALLBACKS_MAX;
        return Err((String::new(), Words::new(|l| Text::Models { max }.text(l))));
    }
    for (index, one) in fallback.iter().enumerate() {
        if !is_model_name(&one.model) {
            return Err((format!("[{index}].model"), Text::ModelName.into()));
        }
        if one.on.is_empty() {
            return Err((format!("[{index}].on"), Text::NoReason.into()));
        }
        if fallback.iter().take(index).any(|earlier| earlier.model == one.model) {
            return Err((format!("[{index}].model"), Text::ModelTwice.into()));
        }
    }
    Ok(())
}

/// A model that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FellBack {
    /// Name of the model; absent for the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Reason why it did not answer.
    pub reason: FallbackReason,
}

/// The model that was asked in the end, when others did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AnsweredBy {
    /// Name of the model. Its price counts.
    pub model: String,
    /// Models that were asked before it, in their order; at most [`FALLBACKS_MAX`].
    pub fell_back: Vec<FellBack>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_out_of_bounds_is_refused_with_its_place() {
        let five = ["a", "b", "c", "d", "e"].map(|model| json!({"model": model}));
        for (list, place) in [
            (json!([{"model": "a"}, {"model": "b", "on": ["refused"]}]), None),
            (json!([{"model": "a"}, {"model": "a"}]), Some("[1].model")),
            (json!([{"model": ""}]), Some("[0].model")),
            (json!([{"model": "a", "on": []}]), Some("[0].on")),
            (json!(five), Some("")),
        ] {
            let list: Vec<Fallback> = serde_json::from_value(list).unwrap();
            assert_eq!(check(&list).err().map(|(found, _)| found), place.map(str::to_owned));
        }
    }

    #[test]
    fn a_refusal_is_no_usual_reason() {
        let one: Fallback = serde_json::from_value(json!({"model": "a"})).unwrap();
        assert!(!one.on.contains(&FallbackReason::Refused));
        assert_eq!(json!(one), json!({"model": "a"}));
    }
}
