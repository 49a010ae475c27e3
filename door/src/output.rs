//! The check of the JSON Schema of a job's result, before it is stored.

use proto::{
    agent::Agent,
    error::{Code, Failure},
    lang::Words,
    output::OutputSchema,
};
use runtime::schema::Schemas;

/// Refuses a schema that is out of bounds.
///
/// # Errors
/// Returns an error at the place in the schema; `field` is the schema's own place.
pub(super) fn bounds(schema: &OutputSchema, field: &str) -> Result<(), Failure> {
    schema.check().map_err(|(place, why)| {
        let place = if place.is_empty() { field.to_owned() } else { format!("{field}.{place}") };
        let words = Words::new(|language| format!("{place} {}", why.text(language)));
        Failure::composed(Code::InvalidRequest, &words).at(place)
    })
}

/// Returns the place of an agent's schema that no reply can be checked against, and the reason.
pub(super) fn misuse(agent: &Agent, schemas: &Schemas) -> Option<(String, Words)> {
    let invalid = schemas.get(&agent.output.as_ref()?.0).err()?;
    let place = match invalid.place.as_str() {
        "." => "output".to_owned(),
        inside => format!("output.{inside}"),
    };
    Some((place, Words::from(invalid.why)))
}

/// Refuses an agent with a schema that no reply can be checked against. `before` precedes the place
/// of the schema in the request.
///
/// # Errors
/// Returns an error at the place in the schema.
pub(super) fn usable(agent: &Agent, before: &str, schemas: &Schemas) -> Result<(), Failure> {
    let Some((place, why)) = misuse(agent, schemas) else { return Ok(()) };
    let place = format!("{before}{place}");
    let words = Words::new(|language| format!("{place}: {}", why.text(language)));
    Err(Failure::composed(Code::InvalidRequest, &words).at(place))
}
