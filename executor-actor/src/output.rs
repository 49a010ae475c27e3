//! The turn of a workflow's node, and the turn in which a model gives the structured result of a job:
//! their requests, and the check of the reply against the schema. Pure.

use model::{ModelRequest, Params, Reply};
use proto::{
    decision::TurnWork,
    excerpt,
    fact::TurnReply,
    lang::Language,
    message::{Message, StopReason},
    output::{MISFITS_MAX, Misfit, OUTPUT_BYTES_MAX, OutputSchema},
    strict,
    work_error::ErrorClass,
};
use runtime::schema::Schemas;
use serde_json::Value;

use crate::{prompt, resolve::failed, words::Text};

/// Characters that each end of a reply that does not fit keeps.
const REPLY_CHARS: usize = 8_000;

/// Builds the model request. No tool is offered, and providers that can are held to the schema.
pub(crate) fn request(
    work: &TurnWork,
    task: &proto::decision::StepTask,
    schema: Option<&OutputSchema>,
) -> ModelRequest {
    let language = work.language;
    let frame = &work.model.system;
    let system = match schema {
        Some(schema) if work.node => prompt::reply(language, frame, &schema.0),
        Some(schema) => prompt::output(language, frame, &task.goal, &schema.0),
        None => frame.trim().to_owned(),
    };
    let mut told = prompt::task(language, task);
    let notices = work.notices.iter().map(|notice| notice.text(language));
    for beside in prompt::instructions(language, &work.instructions).into_iter().chain(notices) {
        told.push_str(&format!("\n\n{beside}"));
    }
    let system = (!system.is_empty()).then_some(Message::System { text: system });
    let messages = system.into_iter().chain([Message::User { text: told }]).collect();
    let params = Params {
        model: work.model.model.clone(),
        fallback: work.model.fallback.clone(),
        temperature: work.model.temperature,
        top_p: work.model.top_p,
        effort: work.model.effort,
        may_be_cached: work.is_first_try(),
        json: schema.is_some(),
        schema: schema.map(|schema| schema.0.clone()),
        ..Params::default()
    };
    ModelRequest { messages, tools: Vec::new(), params }
}

/// Checks a reply. The log keeps the verdict, which no later reader draws again.
pub(crate) fn resolve(
    reply: &Reply,
    work: &TurnWork,
    schema: &OutputSchema,
    schemas: &Schemas,
) -> TurnReply {
    let language = work.language;
    let compiled = match schemas.get(&schema.0) {
        Ok(compiled) => compiled,
        Err(unusable) => return failed(&unusable.to_string(), ErrorClass::Permanent),
    };
    let text = reply.text.trim();
    let wrong = |why: Text<'_>| vec![Misfit { field: ".".to_owned(), why: why.text(language) }];
    let misfits = match reply.stop {
        StopReason::Length => wrong(Text::OutputCut),
        StopReason::End | StopReason::ToolCalls | StopReason::ContentFilter => match parsed(text) {
            None => wrong(Text::OutputNoJson),
            Some(value) if value.to_string().len() > OUTPUT_BYTES_MAX => {
                wrong(Text::OutputTooLong { max: &(OUTPUT_BYTES_MAX / 1024) })
            }
            Some(value) => match misfits(&compiled.check(&value), language) {
                fits if fits.is_empty() => return done(value),
                misfits => misfits,
            },
        },
    };
    TurnReply::Misfit { text: excerpt::ends(text, REPLY_CHARS), misfits }
}

fn done(value: Value) -> TurnReply {
    let response = String::new();
    TurnReply::Done { success: true, response, attachments: Vec::new(), value }
}

/// Parses a reply: JSON, or JSON in the one code fence that is the whole reply.
fn parsed(text: &str) -> Option<Value> {
    let inside = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    let inside = inside.and_then(|text| text.strip_suffix("```"));
    strict::value_from_str(inside.unwrap_or(text).trim()).ok()
}

fn misfits(found: &[runtime::schema::Misfit], language: Language) -> Vec<Misfit> {
    let one = |misfit: &runtime::schema::Misfit| Misfit {
        field: excerpt::line(&misfit.field, 200),
        why: misfit.why_in(language).to_owned(),
    };
    found.iter().take(MISFITS_MAX).map(one).collect()
}

#[cfg(test)]
mod tests {
    use proto::message::Usage;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::testing;

    fn schema() -> OutputSchema {
        OutputSchema(json!({
            "type": "object", "required": ["total", "items"],
            "properties": {
                "total": {"type": "number"},
                "items": {"type": "array", "items": {
                    "type": "object", "required": ["price"],
                    "properties": {"price": {"type": "number"}}
                }}
            }
        }))
    }

    fn resolved(text: &str, stop: StopReason) -> TurnReply {
        let reply = Reply {
            text: text.to_owned(),
            thought: String::new(),
            calls: Vec::new(),
            opaque: None,
            answered: None,
            usage: Usage::default(),
            stop,
            model: "m".to_owned(),
        };
        resolve(&reply, &testing::turn(json!({})), &schema(), &Schemas::new())
    }

    #[rstest]
    #[case(r#"{"total": 3, "items": []}"#)]
    #[case("```json\n{\"total\": 3, \"items\": []}\n```")]
    #[case(" \n```\n{\"total\": 3, \"items\": []}```")]
    fn a_reply_that_fits_is_the_result(#[case] text: &str) {
        let TurnReply::Done { success: true, value, .. } = resolved(text, StopReason::End) else {
            panic!("not done")
        };
        assert_eq!(value, json!({"total": 3, "items": []}));
    }

    #[rstest]
    #[case::missing(r#"{"total": 3}"#, StopReason::End, &["items"])]
    #[case::deep(r#"{"total": "3", "items": [{"price": 1}, {}]}"#, StopReason::End, &["total", "items[1].price"])]
    #[case::no_json("The total is 3.", StopReason::End, &["."])]
    #[case::words_around("Here: {\"total\": 3, \"items\": []}", StopReason::End, &["."])]
    #[case::twice(r#"{"total": 3, "total": 4, "items": []}"#, StopReason::End, &["."])]
    #[case::cut(r#"{"total": 3"#, StopReason::Length, &["."])]
    fn every_place_that_does_not_fit_is_named(
        #[case] text: &str,
        #[case] stop: StopReason,
        #[case] places: &[&str],
    ) {
        let TurnReply::Misfit { text: kept, misfits } = resolved(text, stop) else {
            panic!("fits")
        };
        assert_eq!(kept, text);
        let mut found: Vec<_> = misfits.iter().map(|misfit| misfit.field.as_str()).collect();
        found.sort_unstable();
        let mut places = places.to_vec();
        places.sort_unstable();
        assert_eq!(found, places, "{misfits:?}");
    }

    #[test]
    fn a_result_beyond_its_bound_does_not_fit() {
        let long = json!({"total": 1, "items": [], "more": "x".repeat(OUTPUT_BYTES_MAX)});
        let TurnReply::Misfit { text, .. } = resolved(&long.to_string(), StopReason::End) else {
            panic!("fits")
        };
        assert!(text.chars().count() < 3 * REPLY_CHARS);
    }
}
