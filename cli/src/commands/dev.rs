//! `dev`: runs every role in one process until Ctrl-C, for experiments.

use std::net::SocketAddr;

use runtime::config::Origin;

use super::{
    embedded::{self, Embedded, Options, Storage},
    process::Process,
    script_model,
};
use crate::{
    args::{DevArgs, Global},
    connect,
    failure::{CliError, Outcome},
    output::Output,
    roles,
    style::Tone,
    words::Text,
};

/// Default port of the child nats-server, which is also the clients' default.
const PORT: u16 = 4222;

pub(super) async fn run(global: &Global, output: Output, args: DevArgs) -> Outcome {
    let mut config = connect::config(global)?;
    let identity = roles::identity(&embedded::all());
    let process = Process::begin(&config, &identity).await?;
    let workspace_is_set =
        config.explain().iter().any(|s| s.key == "tools.workspace" && s.source != Origin::Default);
    if !workspace_is_set {
        config.tools.workspace = args.dir.join("workspace");
        embedded::put_examples(&config.tools.workspace)?;
    }
    let script = match &args.script {
        None => embedded::SCRIPT.to_owned(),
        Some(path) => script_model::read(path)?,
    };
    let port = port(&config.nats.url);
    let options = Options { dir: args.dir, memory: args.memory, port, script };
    let workspace = config.tools.workspace.display().to_string();
    let shutdown = process.shutdown.clone();
    let embedded = Box::pin(Embedded::start(config, &identity, options, shutdown.clone())).await?;
    process.at_work(&embedded.company);
    match greet(output, &embedded, &workspace, process.admin()) {
        // Closed output does not stop the service.
        Err(error) if !error.is_closed() => return Err(error),
        Ok(()) | Err(_) => {}
    }
    shutdown.cancelled().await;
    output.note(Text::Finishing);
    process.end(embedded.stop()).await
}

/// Returns the port that clients with the same configuration will use.
fn port(url: &str) -> u16 {
    let first = url.split(',').next().unwrap_or_default();
    let port = first.rsplit_once(':').and_then(|(_, port)| port.trim_end_matches('/').parse().ok());
    port.unwrap_or(PORT)
}

fn greet(
    output: Output,
    embedded: &Embedded,
    workspace: &str,
    admin: Option<SocketAddr>,
) -> Result<(), CliError> {
    let style = output.style();
    let tone = match embedded.kept {
        Storage::Server { .. } => Tone::Good,
        Storage::Memory(_) => Tone::Wait,
    };
    output.line(&style.paint(tone, &embedded.kept.words(style.language)))?;
    match &embedded.model.script {
        Some(server) => output.say(Text::ModelScripted { url: &server.base_url() }),
        None => output.say(Text::ModelConfigured),
    }?;
    output.say(Text::Workspace { path: &workspace })?;
    if let Some(address) = &admin {
        output.say(Text::Admin { address })?;
    }
    match &embedded.kept {
        Storage::Server { url, .. } => output.say(Text::TryDev { url }),
        // Other processes cannot reach an in-memory log.
        Storage::Memory(_) => output.say(Text::TryDemo),
    }
}

#[cfg(test)]
mod tests {
    use super::port;

    #[test]
    fn the_server_listens_where_clients_look() {
        assert_eq!(port("nats://127.0.0.1:4333, nats://127.0.0.1:1"), 4333);
        assert_eq!(port("nats://127.0.0.1:4333/"), 4333);
        assert_eq!(port("nats://localhost"), 4222);
    }
}
