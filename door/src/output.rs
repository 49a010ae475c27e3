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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn agent(schema: Value) -> Agent {
        Agent { output: Some(OutputSchema(schema)), ..Agent::default() }
    }

    #[rstest]
    #[case::no_object(json!({"type": "array"}), "output.type")]
    #[case::too_large(json!({"type": "object", "title": "x".repeat(20_000)}), "output")]
    fn a_schema_out_of_bounds_is_refused_at_its_place(#[case] schema: Value, #[case] place: &str) {
        let refused = bounds(&OutputSchema(schema), "output").unwrap_err();
        assert_eq!(refused.field.as_deref(), Some(place));
    }

    #[rstest]
    #[case::unknown_type(json!({"type": "object", "properties": {"a": {"type": "strnig"}}}), "agent.output.properties.a.type")]
    #[case::remote(json!({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/a"}}}), "agent.output")]
    fn a_schema_that_checks_nothing_is_refused_at_its_place(
        #[case] schema: Value,
        #[case] place: &str,
    ) {
        let refused = usable(&agent(schema), "agent.", &Schemas::new()).unwrap_err();
        let field = refused.field.unwrap_or_default();
        assert!(field.starts_with(place), "{field}: {}", refused.message);
        assert_eq!(usable(&agent(json!({"type": "object"})), "agent.", &Schemas::new()), Ok(()));
    }
}
