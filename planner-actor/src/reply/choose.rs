//! The conversion of a decision to the planner's reply: a plan of one step, a question, a note, or
//! the end.

use agents::draft::{self, Draft, DraftStep, Frame};
use proto::{
    decision::{PlanTalk, PlanWork},
    excerpt,
    fact::{Asked, AskedKind, PlanNote, PlanPhase, PlanReply},
    lang::Language,
    limits,
    outline::{self, Item, ItemStatus},
    policy::PlanProtocol,
    strict,
    tool::ToolSpec,
};
use serde_json::{Value, json};

use super::{Mistake, Understood};
use crate::{
    course::Course,
    parse::choice::{self, Choice, Phase},
    summary,
    words::Text,
};

/// Characters of an input in a step's description, at each end.
const INPUT_CHARS: usize = 200;

/// Interprets a decision; the error is worded for the model.
pub(super) fn choose(
    value: Value,
    work: &PlanWork,
    frame: &Frame<'_>,
) -> Result<Understood, Mistake> {
    let course = Course::of(&work.dialogue);
    let phased = work.protocol == PlanProtocol::Phased;
    let choice = if phased { choice::phased(value, course.phase) } else { choice::decision(value) };
    let choice = choice.map_err(|e| e.text(work.language))?;
    match choice {
        Choice::Act { plan, tool, input } => {
            let outline = intended(&course, phased, &plan);
            let plan = one_step(&tool, input, &outline, frame, work.language);
            let plan = plan.map_err(Mistake::of_action)?;
            Ok(Understood { reply: PlanReply::Plan { plan }, outline })
        }
        Choice::Ask { .. } if !work.may_ask => {
            Err(Text::NoMoreQuestions.text(work.language).into())
        }
        Choice::Ask { plan, question } => {
            let question = question.map_or_else(|| unasked(work), Ok)?;
            let question = Asked { prompt: question, kind: AskedKind::Query, default: None };
            let outline = intended(&course, phased, &plan);
            Ok(Understood { reply: PlanReply::Question { question }, outline })
        }
        Choice::Listed { items } => {
            let again = course.phase == Phase::Replan;
            let phase = if again { PlanPhase::Replanned } else { PlanPhase::Planned };
            let outline = outline::of_texts(items.iter().map(String::as_str));
            Ok(PlanReply::Noted { note: PlanNote { phase, outline, response: None } }.into())
        }
        Choice::ItemDone { response } => {
            let outline = course.with_current(ItemStatus::Done);
            let note = PlanNote { phase: PlanPhase::ItemDone, outline, response };
            Ok(PlanReply::Noted { note }.into())
        }
        Choice::Done { response } => {
            let response = response.or_else(|| course.reached.map(str::to_owned));
            let response = response.ok_or_else(|| Text::NoAnswer.text(work.language))?;
            let outline = course.closed();
            Ok(Understood { reply: PlanReply::Finished { response, language: None }, outline })
        }
    }
}

/// Returns the text of a question that the model did not word. The first time, the model is told
/// that words are missing; the second time, a fixed question is used.
fn unasked(work: &PlanWork) -> Result<String, String> {
    let missing = Text::QuestionWithoutWords.text(work.language);
    let last = work.dialogue.last();
    if matches!(last, Some(PlanTalk::Rejected { error, .. }) if *error == missing) {
        Ok(Text::SayWhatIsMissing.text(work.language))
    } else {
        Err(missing)
    }
}

/// Returns the intended items during an action, whose item is in progress.
fn intended(course: &Course<'_>, phased: bool, plan: &[String]) -> Vec<Item> {
    if phased {
        return course.with_current(ItemStatus::InProgress);
    }
    let mut items = outline::of_texts(plan.iter().map(String::as_str));
    if let Some(first) = items.first_mut() {
        first.status = ItemStatus::InProgress;
    }
    items
}

fn one_step(
    tool: &str,
    input: Value,
    outline: &[Item],
    frame: &Frame<'_>,
    language: Language,
) -> Result<proto::plan::Plan, String> {
    let spec =
        frame.tools.find(tool).map_err(|e| format!("next_action.tool: {}", e.text(language)))?;
    let args = arguments(spec, input, language)?;
    let current = outline.iter().find(|item| item.status == ItemStatus::InProgress);
    let title = current.map(|item| item.title.clone()).unwrap_or_default();
    let input = excerpt::ends(&args.to_string(), INPUT_CHARS);
    let step = DraftStep {
        id: None,
        title: excerpt::line(&title, limits::TITLE_BYTES_MAX),
        description: format!("{} {input}", spec.name),
        depends_on: Vec::new(),
        tool: Some(spec.name.to_string()),
        args: Some(args),
    };
    let draft = Draft { steps: vec![step], ..Draft::default() };
    draft::plan(draft, frame).map_err(|e| e.text(language))
}

/// Converts an input to arguments: an object, an object written as a text, or the tool's only text.
fn arguments(tool: &ToolSpec, input: Value, language: Language) -> Result<Value, String> {
    let text = match input {
        Value::Object(_) => return Ok(input),
        Value::Null => return Ok(json!({})),
        Value::String(text) => text,
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            return Err(not_arguments(tool, language));
        }
    };
    match strict::value_from_slice(text.as_bytes()) {
        Ok(written @ Value::Object(_)) => return Ok(written),
        // Malformed arguments are not a text for the tool.
        Err(_) if begins_as_object(&text) => return Err(not_arguments(tool, language)),
        Ok(_) | Err(_) => {}
    }
    match only_text(&tool.schema) {
        Some(name) => Ok(json!({name: text})),
        None if text.trim().is_empty() => Ok(json!({})),
        None => Err(not_arguments(tool, language)),
    }
}

fn begins_as_object(text: &str) -> bool {
    let inner = text.trim_start().strip_prefix('{').map(str::trim_start);
    inner.is_some_and(|inner| inner.starts_with(['"', '\'', '“']))
}

fn not_arguments(tool: &ToolSpec, language: Language) -> String {
    let arguments = &summary::of_schema(&tool.schema);
    Text::NotArguments { tool: &tool.name, arguments }.text(language)
}

/// Returns the only required argument of a tool, or its only one, if it is a text.
fn only_text(schema: &Value) -> Option<&str> {
    let properties = schema.get("properties")?.as_object()?;
    let required = schema.get("required").and_then(Value::as_array);
    let name = match required.map(Vec::as_slice) {
        Some([one]) => one.as_str()?,
        Some([]) | None if properties.len() == 1 => properties.keys().next()?,
        Some(_) | None => return None,
    };
    let kind = properties.get(name)?.get("type")?.as_str()?;
    (kind == "string").then_some(name)
}
