//! Findings about MCP servers that nobody trusts, and about trusted tools that no process offers.

use proto::{door::Tools, lang::Words};

use super::words::Text;
use crate::{
    connect,
    render::{findings::Finding, mcp::State},
    settings::Config,
};

/// Reports each MCP server of the settings; nothing without one. `tools` are the registered tools.
pub(super) async fn findings(config: &Config, tools: Option<&Tools>) -> Vec<Finding> {
    if config.mcp.servers.is_empty() {
        return Vec::new();
    }
    let broker = match connect::broker(config, connect::writer(), false).await {
        Ok(broker) => broker,
        Err(error) => return vec![Finding::error("mcp", &error)],
    };
    let states = match crate::commands::mcp::states(&broker, config).await {
        Ok(states) => states,
        Err(error) => return vec![Finding::skipped("mcp", Words::from(error.to_string()))],
    };
    let found = states.iter().map(|listed| {
        let name = &listed.server;
        let trust = || Words::from(format!("callboard mcp trust {name}"));
        let begin = format!("{name}__");
        let offered = tools.map(|tools| {
            tools.tools.iter().filter(|tool| tool.name.as_str().starts_with(&begin)).count()
        });
        match (listed.state, offered) {
            (State::Untrusted, _) => Finding::warning("mcp", Text::McpUntrusted { name }, trust()),
            (State::Changed, _) => Finding::bad("mcp", Text::McpChanged { name }, trust()),
            (State::Trusted, Some(count)) if count < listed.tools => {
                let text = Text::McpWithheld { name, offered: &count, trusted: &listed.tools };
                Finding::warning("mcp", text, trust())
            }
            (State::Trusted, _) => {
                Finding::ok("mcp", Text::McpServer { name, count: &listed.tools })
            }
        }
    });
    found.collect()
}
