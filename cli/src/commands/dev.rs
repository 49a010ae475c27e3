//! `dev`: runs every role in one process until Ctrl-C, for experiments.

use std::{
    fs::{self, File},
    io::IsTerminal,
    path::{Path, PathBuf},
};

use runtime::{config::Origin, telemetry::Sink};

use super::{
    embedded::{self, Embedded, Options, Storage},
    process::Process,
    script_model,
};
use crate::{
    args::{DevArgs, Global},
    connect,
    failure::{CliError, Outcome},
    output::{Loudness, Output},
    roles,
    settings::Config,
    style::Tone,
    text,
    words::Text,
};

/// Default port of the child nats-server, which is also the clients' default.
const PORT: u16 = 4222;
/// Goal of the example in the greeting, which the scripted model knows.
const GOAL: &str = "Summarise notes.md";
/// Name of the log's file in the data directory.
const LOG: &str = "callboard.log";

pub(super) async fn run(global: &Global, output: Output, args: DevArgs) -> Outcome {
    let mut config = connect::config(global)?;
    let identity = roles::identity(&embedded::all());
    let log = log_file(output, &args.dir);
    let sink = log.as_deref().map_or(Ok(Sink::StandardError), appended)?;
    let process = Process::begin(&config, sink, &identity).await?;
    let workspace_is_set =
        config.explain().iter().any(|s| s.key == "tools.workspace" && s.source != Origin::Default);
    if !workspace_is_set {
        config.tools.workspace = args.dir.join("workspace");
        embedded::put_examples(&config.tools.workspace)?;
    }
    let played = args.script.clone();
    let script = match &args.script {
        None => embedded::SCRIPT.to_owned(),
        Some(path) => script_model::read(path)?,
    };
    let port = port(&config.nats.url);
    let options = Options { dir: args.dir, memory: args.memory, port, script };
    let shutdown = process.shutdown.clone();
    let started = Embedded::start(config.clone(), &identity, options, shutdown.clone());
    let embedded = Box::pin(started).await?;
    process.at_work(&embedded.company);
    match greet(output, &config, &embedded, (played.as_deref(), log.as_deref())) {
        // Closed output does not stop the service.
        Err(error) if !error.is_closed() => return Err(error),
        Ok(()) | Err(_) => {}
    }
    shutdown.cancelled().await;
    output.note(Text::Finishing);
    process.end(embedded.stop()).await
}

/// Returns the file of the log; `None` for standard error. Only a terminal needs to be kept free of
/// the log: a redirection is a choice of the user.
fn log_file(output: Output, dir: &Path) -> Option<PathBuf> {
    let is_free = output.loudness == Loudness::Verbose || !std::io::stderr().is_terminal();
    (!is_free).then(|| dir.join(LOG))
}

fn appended(path: &Path) -> Result<Sink, CliError> {
    let opened = fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))
        .and_then(|()| File::options().create(true).append(true).open(path));
    opened.map(Sink::File).map_err(|e| CliError::io(&path.display().to_string(), &e))
}

/// Returns the port that clients with the same configuration will use.
fn port(url: &str) -> u16 {
    let first = url.split(',').next().unwrap_or_default();
    let port = first.rsplit_once(':').and_then(|(_, port)| port.trim_end_matches('/').parse().ok());
    port.unwrap_or(PORT)
}

/// Prints seven lines: where everything is, how to submit, and how to stop.
fn greet(
    output: Output,
    config: &Config,
    embedded: &Embedded,
    (script, log): (Option<&Path>, Option<&Path>),
) -> Result<(), CliError> {
    let style = output.style();
    let say = |text: Text<'_>| style.say(text);
    let (tone, jobs, submit) = match &embedded.kept {
        Storage::Server { version, url, dir } => {
            let jobs = say(Text::DevJobs { version, url, dir: &dir.display() });
            // Clients find the default port themselves.
            let server = if port(url) == PORT { String::new() } else { format!("--url {url} ") };
            (Tone::Good, jobs, format!("callboard {server}run \"{GOAL}\""))
        }
        Storage::Memory(why) => {
            let why = why.text(output.language);
            let jobs = say(Text::DevJobsInMemory { why: &why });
            (Tone::Wait, jobs, say(Text::DevSubmitNowhere))
        }
    };
    let model = match (&embedded.model.script, script) {
        (Some(_), None) => say(Text::DevModelScripted),
        (Some(_), Some(path)) => say(Text::DevModelScript { path: &path.display() }),
        (None, _) => config.model.name.clone().unwrap_or_default(),
    };
    let files = say(Text::DevFiles { path: &config.tools.workspace.display() });
    let console = embedded.company.gateway().map(|at| format!("http://{at}"));
    let console = console.unwrap_or_default();
    let stop = match log {
        Some(path) => say(Text::DevStopAndLog { path: &path.display() }),
        None => say(Text::DevStop),
    };
    let rows = [
        (Text::DevJobsLabel, Tone::Plain, jobs),
        (Text::DevModelLabel, Tone::Plain, model),
        (Text::DevFilesLabel, Tone::Plain, files),
        (Text::DevSubmitLabel, Tone::Strong, submit),
        (Text::DevConsoleLabel, Tone::Strong, console),
        (Text::DevStopLabel, Tone::Plain, stop),
    ];
    let widest = rows.iter().map(|(label, ..)| text::width(&say(*label))).max().unwrap_or(0);
    output.line(&style.paint(tone, &format!("✓ {}", say(Text::DevRuns))))?;
    // Lines are not wrapped, so that the command can be copied.
    rows.iter().try_for_each(|(label, tone, value)| {
        let label = say(*label);
        let space = " ".repeat(widest - text::width(&label));
        let label = style.paint(Tone::Dim, &label);
        output.line(&format!("  {label}{space}  {}", style.paint(*tone, value)))
    })
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
