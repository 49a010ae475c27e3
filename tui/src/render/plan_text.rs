//! A plan as YAML for an editor, and its reading back.

use proto::plan::{Plan, Step};
use serde_json::{Value, json};

/// Writes a plan as YAML, in the planner's format.
///
/// # Errors
/// Returns the reason of the library.
pub fn written(plan: &Plan) -> Result<String, String> {
    serde_saphyr::to_string(&as_planned(plan)).map_err(|error| error.to_string())
}

/// Parses YAML, of which JSON is a subset.
///
/// # Errors
/// Returns the place and the kind of the mistake.
pub fn read(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

/// Converts a plan to the planner's format, without the machine's own data.
#[must_use]
pub fn as_planned(plan: &Plan) -> Value {
    let steps: Vec<_> = plan.steps.iter().map(Step::as_planned).collect();
    let mut written = json!({"title": plan.title, "steps": steps});
    if let Some(language) = plan.language {
        written["language"] = json!(language);
    }
    if !plan.replan.is_empty() {
        written["replan"] = json!(plan.replan);
    }
    written
}
