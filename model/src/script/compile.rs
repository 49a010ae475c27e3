//! Compilation of a script's YAML, which detects every mistake in it.

use std::time::Duration;

use regex::Regex;
use serde_saphyr::Spanned;

use super::{
    Rule, Script, ScriptError,
    format::{FaultDoc, ReplyDoc, RuleDoc, ScriptDoc, StreamDoc, WhenDoc},
    matcher::{ToolResultWhen, When},
    reply::{CallPlan, Fault, Pace, ReplyPlan, Words},
    template::{Templates, Tree},
};

pub(super) fn script(text: &str) -> Result<Script, ScriptError> {
    let doc: ScriptDoc = serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map(|at| at.line());
        ScriptError::new(line, plain(&error))
    })?;
    let mut templates = Templates::new();
    let mut rules = Vec::with_capacity(doc.rules.len());
    for (position, spanned) in doc.rules.into_iter().enumerate() {
        let line = Some(spanned.defined.line());
        rules.push(rule(spanned.value, position + 1, line, doc.stream, &mut templates)?);
    }
    let otherwise = match doc.otherwise {
        Some(spanned) => {
            Some(reply(spanned.value, Some(spanned.defined.line()), doc.stream, &mut templates)?)
        }
        None => None,
    };
    if rules.is_empty() && otherwise.is_none() {
        return Err(ScriptError::new(
            None,
            "the script has neither rules nor an else: it could answer nothing",
        ));
    }
    let models = if doc.models.is_empty() { vec!["scripted".to_owned()] } else { doc.models };
    Ok(Script { models, rules, otherwise, templates })
}

/// Returns the parser's message on one line, without the position, which is reported separately.
fn plain(error: &serde_saphyr::Error) -> String {
    let rendered = error.without_snippet().to_string();
    let message = rendered.lines().next().unwrap_or_default();
    // The parser adds " at line 3, column 5".
    match message.rfind(" at line ") {
        Some(end) => message[..end].to_owned(),
        None => message.to_owned(),
    }
}

fn rule(
    doc: RuleDoc,
    position: usize,
    line: Option<u64>,
    defaults: StreamDoc,
    templates: &mut Templates,
) -> Result<Rule, ScriptError> {
    if doc.times == Some(0) {
        return Err(ScriptError::new(line, "times: 0 is a rule that never answers; remove it"));
    }
    if doc.reply.is_none() && doc.fault.is_none() {
        return Err(ScriptError::new(line, "the rule needs a reply, a fault, or both"));
    }
    Ok(Rule {
        name: doc.name.unwrap_or_else(|| format!("rule {position}")),
        when: when(doc.when, line)?,
        times: doc.times,
        reply: reply(doc.reply.unwrap_or_default(), line, defaults, templates)?,
        fault: doc.fault.map(|doc| fault(doc, line)).transpose()?,
    })
}

fn when(doc: WhenDoc, line: Option<u64>) -> Result<When, ScriptError> {
    if doc.turn == Some(0) {
        return Err(ScriptError::new(line, "turn counts from 1"));
    }
    Ok(When {
        role: doc.role,
        system: pattern(doc.system)?,
        last: pattern(doc.last)?,
        any: pattern(doc.any)?,
        tool_result: match doc.tool_result {
            Some(result) => {
                Some(ToolResultWhen { tool: result.tool, content: pattern(result.content)? })
            }
            None => None,
        },
        turn: doc.turn,
        offers: doc.offers,
        model: pattern(doc.model)?,
        temperature: doc.temperature,
        top_p: doc.top_p,
        effort: doc.effort,
    })
}

fn pattern(source: Option<Spanned<String>>) -> Result<Option<Regex>, ScriptError> {
    let Some(source) = source else { return Ok(None) };
    Regex::new(&source.value).map(Some).map_err(|error| {
        // The last line of a regex error contains the reason; the lines above draw the pattern.
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        ScriptError::new(
            Some(source.defined.line()),
            format!("the pattern {:?} is not a regular expression: {reason}", source.value),
        )
    })
}

fn reply(
    doc: ReplyDoc,
    line: Option<u64>,
    defaults: StreamDoc,
    templates: &mut Templates,
) -> Result<ReplyPlan, ScriptError> {
    let template_error = |message: String| ScriptError::new(line, message);
    let words = match (doc.text, doc.json) {
        (Some(_), Some(_)) => {
            return Err(ScriptError::new(line, "a reply has text or json, not both"));
        }
        (Some(text), None) => Words::Text(templates.text(text, doc.raw).map_err(template_error)?),
        (None, Some(value)) => Words::Json(templates.tree(value, doc.raw).map_err(template_error)?),
        (None, None) => Words::None,
    };
    let thought = doc
        .thought
        .map(|text| templates.text(text, doc.raw))
        .transpose()
        .map_err(template_error)?;
    let mut calls = Vec::with_capacity(doc.calls.len());
    for call in doc.calls {
        let args = match call.args {
            // A string is sent unchanged as the arguments, to imitate models that write invalid
            // ones.
            Some(value) => templates.tree(value, doc.raw).map_err(template_error)?,
            None => Tree::empty(),
        };
        calls.push(CallPlan {
            tool: templates.text(call.tool, doc.raw).map_err(template_error)?,
            args,
            id: call
                .id
                .map(|id| templates.text(id, doc.raw))
                .transpose()
                .map_err(template_error)?,
        });
    }
    Ok(ReplyPlan {
        words,
        thought,
        calls,
        pace: pace(doc.stream.unwrap_or(defaults), line)?,
        finish: doc.finish,
        usage: doc.usage,
    })
}

fn pace(doc: StreamDoc, line: Option<u64>) -> Result<Pace, ScriptError> {
    if doc.chunk == Some(0) {
        return Err(ScriptError::new(line, "stream.chunk is a number of characters, at least 1"));
    }
    Ok(Pace {
        chunk: doc.chunk.unwrap_or(usize::MAX),
        delay: Duration::from_millis(doc.delay_ms),
        first_delay: Duration::from_millis(doc.first_delay_ms),
    })
}

fn fault(doc: FaultDoc, line: Option<u64>) -> Result<Fault, ScriptError> {
    if doc.status.is_none() && (doc.retry_after.is_some() || doc.code.is_some()) {
        return Err(ScriptError::new(line, "fault: retry_after and code belong to a status"));
    }
    let mut chosen = Vec::new();
    if let Some(status) = doc.status {
        if !(400..=599).contains(&status) {
            return Err(ScriptError::new(
                line,
                format!("fault: status {status} is not an error (400 to 599)"),
            ));
        }
        chosen.push(Fault::Status { status, retry_after: doc.retry_after, code: doc.code });
    }
    chosen.extend(doc.malformed.then_some(Fault::Malformed));
    chosen.extend(doc.cut.then_some(Fault::Cut));
    chosen.extend(doc.hang.map(Fault::Hang));
    chosen.extend(doc.drop.map(Fault::Drop));
    match (chosen.pop(), chosen.is_empty()) {
        (Some(fault), true) => Ok(fault),
        (_, _) => {
            Err(ScriptError::new(line, "fault: exactly one of status, malformed, cut, hang, drop"))
        }
    }
}
