//! Rendering of the registered tools.

use proto::{
    door::{RefusedTool, Tools},
    escape,
    tool::{Approval, Effect, ToolSpec},
};

use crate::{
    render::{
        line::Line,
        table::{Piece, plain, table},
    },
    style::{Style, Tone},
    words::Text,
};

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
