//! Detection of goals that need a plan, by text patterns or by a model call. When in doubt, a goal
//! needs one.

use std::sync::LazyLock;

use agents::toolbox::Toolbox;
use model::{ModelRequest, Params};
use proto::{
    decision::{Detect, PlanWork},
    message::{Message, Usage},
    policy::{Detected, Detector},
};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::{
    parse::{self, ReplyForm},
    prompt,
};

/// The patterns, one per line. A goal may mix languages, so the patterns of all languages apply.
const PATTERNS: &[(&str, &str)] = &messages::files!("patterns");

static COMPILED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let lines =
        PATTERNS.iter().rev().flat_map(|(_, file)| file.lines()).filter(|line| !line.is_empty());
    let compiled = lines.map(|line| RegexBuilder::new(line).case_insensitive(true).build());
    compiled.collect::<Result<_, _>>().expect("the patterns are compiled by a test")
});

/// Returns the verdict if it needs no model call.
pub(crate) fn at_once(work: &PlanWork, detect: &Detect, tools: &Toolbox<'_>) -> Option<Detected> {
    let by = detect.by;
    if tools.offered().is_empty() {
        // Without tools, several steps could do no more than one.
        return Some(Detected {
            complex: false,
            by,
            why: "no tools are offered".to_owned(),
            usage: Usage::default(),
        });
    }
    match by {
        Detector::Patterns => {
            let found = COMPILED.iter().find(|pattern| pattern.is_match(&work.goal));
            let why = found.map_or("no pattern was found", |pattern| pattern.as_str()).to_owned();
            Some(Detected { complex: found.is_some(), by, why, usage: Usage::default() })
        }
        Detector::Model => None,
    }
}

/// Builds the model request for the verdict.
pub(crate) fn request(work: &PlanWork, detect: &Detect) -> ModelRequest {
    let text = prompt::detect(work.language, &work.goal);
    ModelRequest {
        messages: vec![Message::User { text }],
        tools: Vec::new(),
        params: Params {
            model: detect.model.clone().or_else(|| work.model.model.clone()),
            temperature: work.model.temperature,
            top_p: work.model.top_p,
            // A model of its own for this question is usually small, and may not reason at all.
            effort: work.model.effort.filter(|_| detect.model.is_none()),
            may_be_cached: work.is_first_try(),
            json: true,
            ..Params::default()
        },
    }
}

/// Parses the model's verdict. An unintelligible reply counts as complex: a superfluous plan costs
/// less than a missing one.
pub(crate) fn understood(answer: Result<&str, String>) -> Detected {
    let by = Detector::Model;
    let read =
        answer.and_then(|text| parse::value(text, ReplyForm::Verdict).map_err(|e| e.to_string()));
    match read {
        Ok(value) => {
            let complex = value.get("complex").and_then(Value::as_bool).unwrap_or(true);
            let why = value.get("why").and_then(Value::as_str).unwrap_or_default();
            Detected { complex, by, why: why.chars().take(200).collect(), usage: Usage::default() }
        }
        Err(error) => {
            let why: String = error.chars().take(200).collect();
            Detected {
                complex: true,
                by,
                why: format!("taken for complex: {why}"),
                usage: Usage::default(),
            }
        }
    }
}

#[cfg(test)]
mod tests;
