//! Whether the arguments that an agent fixes fit the tools there are. A tool that nobody serves for the
//! moment cannot be looked at: what is fixed of it is checked with every call, as all arguments are.

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

/// What is wrong with an agent's presets: the first field, dotted, and why.
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
            // The field says which argument it is.
            let wrong = wrong.strip_prefix(&format!("{argument}: ")).unwrap_or(&wrong);
            Some((format!("tool.presets.{name}.{argument}"), format!("{wrong}{meant}")))
        })
    })
}

/// Refuses an agent whose presets do not fit.
///
/// # Errors
/// The first field that is wrong.
pub(super) fn check(agent: &Agent, registry: &Registry, schemas: &Schemas) -> Result<(), Failure> {
    match misfit(agent, registry, schemas) {
        None => Ok(()),
        Some((field, why)) => {
            let field = format!("agent.{field}");
            Err(Failure::new(Code::InvalidRequest, format!("{field}: {why}")).at(field))
        }
    }
}
