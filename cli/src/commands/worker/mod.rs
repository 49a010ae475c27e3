//! `worker check`: plays the supervisor against a foreign tool worker on a real nats-server, and
//! judges how the worker keeps the protocol of `docs/tools.md`.

mod checks;
mod process;
mod stage;

use broker::nats::LostBuckets;
use proto::lang::Words;
use runtime::config::{Flag, Sources};
use serde::Serialize;
use serde_json::Value;

use self::{
    checks::Check,
    process::WorkerProcess,
    stage::{Stage, Target},
};
use crate::{
    args::{CheckWorkerArgs, WorkerCommand},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    input,
    output::Output,
    render::table::{Piece, plain, table},
    settings::Config,
    style::{Style, Tone},
    words::Text,
};

/// Time without a sign of life after which the server redelivers a call, in milliseconds: short, so
/// that a check of a redelivery is.
const ACK_WAIT_MS: u64 = 2_000;

/// The verdict on one check.
#[derive(Debug, Clone, PartialEq)]
enum Verdict {
    Passed,
    /// The worker broke the protocol; holds what was seen.
    Failed(Words),
    /// The check could not run; holds the reason.
    NotChecked(Words),
}

/// A check with its verdict, for programs.
#[derive(Debug, Serialize)]
struct Checked {
    check: &'static str,
    verdict: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    found: String,
}

pub(super) async fn run(output: Output, command: WorkerCommand) -> Outcome {
    let WorkerCommand::Check(args) = command;
    let target = Target {
        pool: args.pool.clone(),
        tool: args.tool.clone(),
        args: json("args", &args.args)?,
        slow: args.slow.as_deref().map(|slow| json("slow", slow)).transpose()?,
    };
    let directory = Directory::new()?;
    let verdicts = check(&args, target, &directory).await?;
    let failed = verdicts.iter().any(|(_, verdict)| matches!(verdict, Verdict::Failed(_)));
    let checked: Vec<Checked> =
        verdicts.iter().map(|(check, verdict)| checked(output, *check, verdict)).collect();
    output.list(
        &checked,
        &checked,
        |one| one.check.to_owned(),
        |style| {
            let rows = verdicts.iter().map(|(check, verdict)| row(style, *check, verdict));
            table(style, Text::WorkerHeads, rows.collect(), Text::NoSettings)
        },
    )?;
    Ok(if failed { Exit::Failed } else { Exit::Success })
}

async fn check(
    args: &CheckWorkerArgs,
    target: Target,
    directory: &Directory,
) -> Result<Vec<(Check, Verdict)>, CliError> {
    let options = broker::nats_server::ChildOptions {
        store_dir: directory.0.join("nats"),
        ..Default::default()
    };
    let server = broker::nats_server::Child::start(&options).await;
    let server = server.map_err(|e| CliError::start(e.to_string()))?;
    let config = config(&server.url(), directory)?;
    let subjects = connect::subjects(&config)?;
    let broker = connect::broker(&config, connect::writer(), true).await?;
    // The consumers exist before the worker, so that it finds the short acknowledgement wait.
    let (options, pools) = ((&config.nats).into(), std::slice::from_ref(&args.pool));
    broker::nats::set_up(
        &options,
        &subjects,
        pools,
        LostBuckets::Refuse,
        broker::nats::OldRecords::Refuse,
    )
    .await
    .map_err(|e| CliError::start(e.to_string()))?;
    let worker = WorkerProcess::start(&args.command, &config.nats)?;
    let mut stage = Stage::new(broker, target, worker).await?;
    let mut verdicts: Vec<(Check, Verdict)> = Vec::new();
    for check in Check::ALL {
        let broken = |needed: Check| {
            let verdict = verdicts.iter().find(|(check, _)| *check == needed);
            verdict.is_some_and(|(_, verdict)| matches!(verdict, Verdict::Failed(_)))
        };
        let verdict = match check.needs().iter().find(|(needed, _)| broken(*needed)) {
            Some((_, why)) => Verdict::NotChecked((*why).into()),
            None => check.run(&mut stage).await?,
        };
        verdicts.push((*check, verdict));
    }
    stage.end().await;
    server.stop(std::time::Duration::from_secs(10)).await;
    Ok(verdicts)
}

/// Builds the default configuration: a check ignores the machine's settings.
fn config(url: &str, directory: &Directory) -> Result<Config, CliError> {
    let flag = |key: &str, value: String| {
        let (key, name) = (key.to_owned(), "worker-check".to_owned());
        Flag { key, value, name }
    };
    let flags = vec![
        flag("nats.url", url.to_owned()),
        flag("nats.shards", "2".to_owned()),
        flag("nats.ack_wait_ms", ACK_WAIT_MS.to_string()),
    ];
    let cwd = directory.0.clone();
    Ok(Config::load(&Sources { file: None, env: Vec::new(), flags, cwd })?)
}

fn json(field: &str, text: &str) -> Result<Value, CliError> {
    let text = input::text(field, text, proto::limits::GOAL_BYTES_MAX)?;
    serde_json::from_str(&text).map_err(|e| {
        let why = e.to_string();
        CliError::input(
            field,
            Words::new(|language| Text::NotJson { field: &field, why: &why }.text(language)),
        )
    })
}

fn checked(output: Output, check: Check, verdict: &Verdict) -> Checked {
    let (verdict, found) = match verdict {
        Verdict::Passed => ("passed", String::new()),
        Verdict::Failed(found) => ("failed", found.text(output.language).to_owned()),
        Verdict::NotChecked(why) => ("not_checked", why.text(output.language).to_owned()),
    };
    Checked { check: check.name(), verdict, found }
}

fn row(style: &Style, check: Check, verdict: &Verdict) -> Vec<Piece> {
    let found = |words: &Words| plain(words.text(style.language).to_owned());
    let (tone, word, found) = match verdict {
        Verdict::Passed => (Tone::Good, Text::WorkerPassed, plain(style.say(check.promise()))),
        Verdict::Failed(words) => (Tone::Bad, Text::WorkerFailed, found(words)),
        Verdict::NotChecked(why) => (Tone::Dim, Text::WorkerNotChecked, found(why)),
    };
    vec![plain(check.name()), (tone, style.say(word)), found]
}

/// A temporary directory, removed on drop.
#[derive(Debug)]
struct Directory(std::path::PathBuf);

impl Directory {
    fn new() -> Result<Self, CliError> {
        let name = format!("callboard-worker-check-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path)
            .map_err(|e| CliError::io(&path.display().to_string(), &e))?;
        Ok(Self(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // An error leaves files in the temporary directory only, which the system clears.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
