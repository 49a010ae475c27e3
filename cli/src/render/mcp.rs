//! Rendering of MCP servers and their tools.

use std::collections::BTreeMap;

use mcp_client::{FoundTool, Pins};
use proto::{
    escape,
    tool::{Approval, Effect},
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    render::table::{Piece, plain, table},
    style::{Style, Tone},
    words::Text,
};

/// A server of the settings.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    /// Name of the server.
    pub(crate) server: String,
    /// Command or address.
    pub(crate) at: String,
    /// The trust in the server.
    pub(crate) state: State,
    /// Number of trusted tools.
    pub(crate) tools: usize,
}

/// The trust in a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// Somebody trusts the server.
    Trusted,
    /// The command or address has changed since.
    Changed,
    /// Nobody has trusted the server.
    Untrusted,
}

/// A server as it is, before somebody trusts it.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    /// Name of the server.
    pub(crate) server: String,
    /// Whole command with its path, or address.
    pub(crate) at: String,
    /// Usable tools.
    pub(crate) tools: Vec<ShownTool>,
    /// Other tools, with the reasons.
    pub(crate) refused: BTreeMap<String, String>,
    /// Trusted tools that the server no longer has.
    pub(crate) gone: Vec<String>,
}

/// A tool of a server.
#[derive(Debug, Serialize)]
pub(crate) struct ShownTool {
    name: String,
    version: String,
    effect: Effect,
    approval: Approval,
    description: String,
    /// JSON Schema of the arguments, which models read too.
    schema: Value,
    news: News,
}

/// The difference between a tool and the trusted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum News {
    /// No tool of that name is trusted.
    New,
    /// The trusted tool was another one.
    Changed,
    /// The trusted tool is this one.
    Same,
}

impl ShownTool {
    /// Compares a tool with the trusted ones.
    pub(crate) fn of(tool: &FoundTool, before: Option<&Pins>) -> Self {
        let news = match before.and_then(|pins| pins.tools.get(&tool.remote)) {
            None => News::New,
            Some(digest) if *digest == tool.digest => News::Same,
            Some(_) => News::Changed,
        };
        let spec = &tool.spec;
        Self {
            name: spec.name.to_string(),
            version: spec.version.clone(),
            effect: spec.effect,
            approval: spec.approval,
            description: spec.description.clone(),
            schema: spec.schema.clone(),
            news,
        }
    }
}

/// Renders the servers, by name.
pub(crate) fn list(style: &Style, servers: &[Listed]) -> String {
    let row = |listed: &Listed| -> Vec<Piece> {
        let state = match listed.state {
            State::Trusted => (Tone::Good, style.say(Text::McpStateTrusted)),
            State::Changed => (Tone::Bad, style.say(Text::McpStateChanged)),
            State::Untrusted => (Tone::Wait, style.say(Text::McpStateUntrusted)),
        };
        let at = escape::line(&listed.at).into_owned();
        vec![plain(&listed.server), state, plain(listed.tools.to_string()), plain(at)]
    };
    table(style, Text::McpHeads, servers.iter().map(row).collect(), Text::NoMcpServers)
}

/// Renders a server and its tools, with whole descriptions.
pub(crate) fn show(style: &Style, shown: &Shown) -> String {
    let mut out = format!("{}: {}\n", escape::line(&shown.server), escape::line(&shown.at));
    for tool in &shown.tools {
        let (tone, news) = match tool.news {
            News::New => (Tone::Wait, style.say(Text::McpToolNew)),
            News::Changed => (Tone::Bad, style.say(Text::McpToolChanged)),
            News::Same => (Tone::Dim, style.say(Text::McpToolSame)),
        };
        let asks = match tool.approval {
            Approval::Always => style.say(Text::McpAsksAlways),
            Approval::Never => style.say(Text::McpAsksNever),
        };
        let (news, effect) = (style.paint(tone, &news), tool.effect.as_str());
        out.push_str(&format!("\n{} {} ({news}) {effect}, {asks}\n", tool.name, tool.version));
        for line in escape::text(tool.description.trim()).lines() {
            out.push_str(&format!("  {line}\n"));
        }
        let schema = &escape::json(&tool.schema);
        out.push_str(&format!("  {}\n", style.say(Text::McpToolArguments { schema })));
    }
    for (tool, why) in &shown.refused {
        let (tool, why) = (&escape::line(tool), &escape::line(why));
        out.push_str(&format!("\n{}\n", style.say(Text::McpToolRefused { tool, why })));
    }
    for tool in &shown.gone {
        out.push_str(&format!(
            "\n{}\n",
            style.say(Text::McpToolGone { tool: &escape::line(tool) })
        ));
    }
    out
}
