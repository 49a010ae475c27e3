//! The check of an agent's fixed arguments against the registered tools. A tool that no worker
//! serves at the moment is skipped: its fixed arguments are checked with every call, as all
//! arguments are.

use agents::preset;
use proto::{
    agent::Agent,
    error::{Code, Failure},
};
use runtime::{
    arguments::{self, Placeholders},
    registry::Registry,
    schema::Schemas,
};
use serde_json::{Value, json};

/// Returns the first fixed argument that does not fit: its dotted field and the reason.
pub(super) fn misfit(
    agent: &Agent,
    registry: &Registry,
    schemas: &Schemas,
) -> Option<(String, String)> {
    agent.tool.presets.iter().find_map(|(name, fixed)| {
        let tool = registry.get(name)?;
        let partial = preset::partial(&tool.spec);
        fixed.iter().find_map(|(argument, value)| {
            let one = json!({ argument.as_str(): Value::clone(value) });
            let wrong = arguments::check(schemas, &partial, &one, Placeholders::Literal).err()?;
            let meant = preset::meant(&tool.spec, argument);
            let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
            // The field already names the argument.
            let wrong = wrong.strip_prefix(&format!("{argument}: ")).unwrap_or(&wrong);
            Some((format!("tool.presets.{name}.{argument}"), format!("{wrong}{meant}")))
        })
    })
}

/// Refuses an agent with a fixed argument that does not fit.
///
/// # Errors
/// Returns an error for the first wrong field.
pub(super) fn check(agent: &Agent, registry: &Registry, schemas: &Schemas) -> Result<(), Failure> {
    match misfit(agent, registry, schemas) {
        None => Ok(()),
        Some((field, why)) => {
            let field = format!("agent.{field}");
            Err(Failure::new(Code::InvalidRequest, format!("{field}: {why}")).at(field))
        }
    }
}
