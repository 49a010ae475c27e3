//! `mcp`: the MCP server on standard input and output, and the trust in MCP servers of others.

use bridges::mcp::{self, McpServer};
use broker::{Broker, kv::KvError};
use mcp_client::{
    Launch, Pins, Probed,
    settings::{Server, ServerName},
};

use super::jobs::confirmed;
use crate::{
    args::{Global, McpCommand, TrustArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    render::mcp::{self as render, Listed, Shown, State},
    settings::Config,
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, command: McpCommand) -> Outcome {
    match command {
        McpCommand::Serve => serve(global, output).await,
        McpCommand::List => list(global, output).await,
        McpCommand::Trust(args) => Box::pin(trust(global, output, &args)).await,
    }
}

async fn serve(global: &Global, output: Output) -> Outcome {
    let client = connect::client(global, output.quiet()).await?;
    let server = McpServer::new(client, output.language, env!("CARGO_PKG_VERSION"));
    match mcp::serve(server).await {
        Ok(()) => Ok(Exit::Success),
        Err(error) => Err(CliError::usage(Text::McpClient { why: &error })),
    }
}

async fn list(global: &Global, output: Output) -> Outcome {
    let config = connect::config(global)?;
    let broker = connect::broker(&config, connect::writer(), false).await?;
    let listed = states(&broker, &config).await.map_err(|error| failed(&error))?;
    output.list(&listed, &listed, |one| one.server.clone(), |style| render::list(style, &listed))
}

/// Returns the trust in every server of the settings.
pub(super) async fn states(broker: &Broker, config: &Config) -> Result<Vec<Listed>, KvError> {
    let mut all = Vec::new();
    for (name, server) in &config.mcp.servers {
        let pins = mcp_client::read_pins(broker, name).await?;
        let state = match &pins {
            None => State::Untrusted,
            Some(pins) if pins.fit(server) => State::Trusted,
            Some(_) => State::Changed,
        };
        let tools = pins.map(|pins| pins.tools.len()).unwrap_or_default();
        all.push(Listed { server: name.to_string(), at: place(server), state, tools });
    }
    Ok(all)
}

/// Returns the command or the address as the settings have it.
fn place(server: &Server) -> String {
    let command = server.command.iter().chain(&server.args).map(String::as_str);
    match &server.url {
        Some(url) => url.to_string(),
        None => command.collect::<Vec<_>>().join(" "),
    }
}

async fn trust(global: &Global, output: Output, args: &TrustArgs) -> Outcome {
    let config = connect::config(global)?;
    let name = &args.server;
    let Some(server) = config.mcp.servers.get(name) else {
        return Err(CliError::not_found(Text::NoMcpServer { name }));
    };
    let launch = Launch::of(name, server).map_err(|error| CliError::setting(error.words()))?;
    let broker = connect::broker(&config, connect::writer(), false).await?;
    let before = mcp_client::read_pins(&broker, name).await.map_err(|error| failed(&error))?;
    let command = &launch.shown();
    if !global.yes {
        // Nothing of a server runs before somebody has seen its command.
        let question = [Text::McpStart { name, command }.into()];
        confirmed(output, Text::TrustingServer, question).await?;
    }
    let probed = mcp_client::probe(name, server, &launch).await;
    let probed = probed.map_err(|error| {
        let why = &proto::escape::line(&error.to_string()).into_owned();
        CliError::unavailable(Text::McpUnreachable { name, why })
    })?;
    let shown = shown(name, &launch, &probed, before.as_ref());
    output.one(&shown, name.as_str(), |style| render::show(style, &shown))?;
    if !global.yes {
        let question = [Text::McpTrustQuestion { name, count: &probed.tools.len() }.into()];
        confirmed(output, Text::TrustingServer, question).await?;
    }
    let stored = mcp_client::trust(&broker, name, &probed.pins).await;
    stored.map_err(|error| failed(&error))?;
    output.note(Text::McpTrusted { name, count: &probed.tools.len() });
    Ok(Exit::Success)
}

fn shown(name: &ServerName, launch: &Launch, probed: &Probed, before: Option<&Pins>) -> Shown {
    let tools = probed.tools.iter().map(|tool| render::ShownTool::of(tool, before)).collect();
    let refused = probed.refused.iter().map(|tool| (tool.tool.clone(), tool.why.clone()));
    let now = &probed.pins.tools;
    let gone = before.iter().flat_map(|pins| pins.tools.keys());
    Shown {
        server: name.to_string(),
        at: launch.shown(),
        tools,
        refused: refused.collect(),
        gone: gone.filter(|tool| !now.contains_key(*tool)).cloned().collect(),
    }
}

fn failed(error: &KvError) -> CliError {
    CliError::unavailable(Text::McpBucket { why: error })
}
