//! Rendering of the registered tools.

use proto::{
    door::{RefusedTool, Tools},
    escape,
    fact::Called,
    id::{JobId, ToolName},
    job::Outcome,
    tool::{Approval, Effect, ToolSpec},
};
use serde::Serialize;

use crate::{
    render::{
        line::Line,
        table::{Piece, plain, table},
    },
    style::{Style, Tone},
    words::Text,
};

/// A tool that was called by hand.
#[derive(Debug, Serialize)]
pub(crate) struct ToolCalled {
    /// The job that made the call.
    pub(crate) job: JobId,
    pub(crate) tool: ToolName,
    /// The outcome of the job.
    pub(crate) outcome: Option<Outcome>,
    /// The result; absent if the call never ran.
    #[serde(flatten)]
    pub(crate) called: Option<Called>,
}

/// Renders the result of a call: what the tool returned, or why it did not.
pub(crate) fn called(style: &Style, done: &ToolCalled) -> String {
    let Some(called) = &done.called else {
        let why = match &done.outcome {
            Some(Outcome::Failed { message, .. }) => message.clone(),
            Some(Outcome::Canceled { reason }) => reason.clone().unwrap_or_default(),
            Some(Outcome::Completed { summary, .. }) => summary.clone(),
            None => String::new(),
        };
        let why = &escape::text(&why);
        let line = Line::new().add(Tone::Bad, style.say(Text::CallNotRun { why }));
        return format!("{}\n", line.render(style));
    };
    let (result, fault) = (&called.result, called.fault);
    let mut out = String::new();
    let mut say = |tone: Tone, text: &str| {
        for line in escape::text(text).lines() {
            out.push_str(&format!("{}\n", Line::new().add(tone, line.to_owned()).render(style)));
        }
    };
    if let Some(fault) = fault {
        say(Tone::Bad, &style.say(Text::CallFault { fault: &fault.as_str() }));
    }
    if let Some(error) = &result.error {
        say(Tone::Bad, error);
    }
    if let Some(message) = &result.message {
        say(Tone::Plain, message);
    }
    if let Some(data) = &result.data {
        let text = serde_json::to_string_pretty(data).unwrap_or_else(|_| data.to_string());
        say(Tone::Plain, &text);
    }
    if out.is_empty() {
        let text = if result.success { Text::CallDone } else { Text::CallFailed };
        let tone = if result.success { Tone::Good } else { Tone::Bad };
        out = format!("{}\n", Line::new().add(tone, style.say(text)).render(style));
    }
    out
}

/// Renders the list, by name.
pub(crate) fn list(style: &Style, tools: &Tools) -> String {
    let rows = tools.tools.iter().map(|tool| row(style, tools, tool)).collect();
    let mut out = table(style, Text::ToolsHeads, rows, Text::NoTools);
    for RefusedTool { name, why } in &tools.refused {
        let (name, why) = (&escape::line(name), &escape::line(why));
        let line = Line::new().add(Tone::Bad, style.say(Text::ToolRefused { name, why }));
        out.push_str(&format!("{}\n", line.render(style)));
    }
    out
}

fn row(style: &Style, tools: &Tools, tool: &ToolSpec) -> Vec<Piece> {
    let (effect, tone) = match tool.effect {
        Effect::Pure => ("pure", Tone::Dim),
        Effect::Idempotent => ("idempotent", Tone::Plain),
        Effect::Once => ("once", Tone::Wait),
    };
    let asks = match tool.approval {
        Approval::Never => (Tone::Dim, "never".to_owned()),
        Approval::Always => (Tone::Wait, "always".to_owned()),
    };
    let timeout = match tool.timeout_ms {
        ms if ms % 1_000 == 0 => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    };
    let workers = match tools.workers.get(&tool.name) {
        None => plain(""),
        Some(0) => (Tone::Bad, style.say(Text::ToolDead)),
        Some(count) => plain(style.say(Text::ToolLive { count })),
    };
    vec![
        plain(tool.name.as_str()),
        plain(tool.pool.as_str()),
        workers,
        (tone, effect.to_owned()),
        plain(timeout),
        asks,
        plain(escape::line(&tool.version)),
        plain(escape::line(&tool.in_language(style.language).description)),
    ]
}
