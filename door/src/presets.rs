//! The check of an agent's fixed arguments against the registered tools. A tool that no worker
//! serves at the moment is skipped: its fixed arguments are checked with every call, as all
//! arguments are.

use agents::preset;
use proto::{
    agent::Agent,
    error::{Code, Failure},
    lang::Words,
    refusal::Text,
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
) -> Option<(String, Words)> {
    agent.tool.presets.iter().find_map(|(name, fixed)| {
        let tool = registry.get(name)?;
        let partial = preset::partial(&tool.spec);
        fixed.iter().find_map(|(argument, value)| {
            let one = json!({ argument.as_str(): Value::clone(value) });
            let wrong = arguments::check(schemas, &partial, &one, Placeholders::Literal).err()?;
            let meant = preset::meant(&tool.spec, argument);
            let words = Words::new(|language| {
                let why = without(argument, wrong.text(language));
                match &meant {
                    Some(meant) => Text::Near { why: &why, meant }.text(language),
                    None => why.to_owned(),
                }
            });
            Some((format!("tool.presets.{name}.{argument}"), words))
        })
    })
}

/// Removes the name of the argument, which the field already names.
fn without<'w>(argument: &str, wrong: &'w str) -> &'w str {
    let rest = wrong.strip_prefix(argument).and_then(|rest| rest.strip_prefix([':', '：']));
    rest.map_or(wrong, str::trim_start)
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
            let words = Words::new(|language| format!("{field}: {}", why.text(language)));
            Err(Failure::composed(Code::InvalidRequest, &words).at(field))
        }
    }
}
