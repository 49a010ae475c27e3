//! `doctor`: checks everything that a job needs and gives advice about each problem. Stores nothing
//! but one empty message in each shard, which the server removes after a second.

mod drift;
mod installation;
mod jobs;
mod monitor;
mod rights;
mod storage;
mod surroundings;

use std::collections::BTreeSet;

use broker::inspect::{InspectError, Inspector};
use client::Client;
use proto::{door::AgentEntry, subject::Subjects};
use runtime::config::{Origin, Setting};

use crate::{
    args::{DoctorArgs, Global},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::{Format, Output},
    render::findings::{self, Finding, Grade},
    roles::{self, Role},
    settings::Config,
};

pub(super) async fn run(global: &Global, output: Output, args: DoctorArgs) -> Outcome {
    let asked = args.roles.as_deref().map(roles::parse_roles).transpose();
    let asked = asked.map_err(|e| CliError::input("roles", e.to_string()))?;
    let config = match connect::config(global) {
        Ok(config) => config,
        Err(error) if output.format == Format::Table => {
            let finding = Finding::error("config", &error);
            output.print(&findings::list(&output.style(), &[finding]))?;
            return Ok(Exit::Usage);
        }
        Err(error) => return Err(error),
    };
    let mut found = vec![configured(&config)];
    found.extend(surroundings::secrets(global, &config));
    let told = match &args.monitor {
        Some(address) => Some(monitor::ask(address).await),
        None => None,
    };
    let (said, unsaid) =
        told.map_or((None, None), |told| (told.as_ref().ok().copied(), told.err()));
    found.extend(unsaid);
    let checked = on_server(global, &config, &args, asked.as_ref(), said);
    found.extend(Box::pin(checked).await);
    found.push(surroundings::model(&config.model).await);
    found.push(surroundings::workspace(&config));
    found.extend(surroundings::receiver(&config.telemetry).await);
    found.push(surroundings::admin(&config.admin).await);
    let bad = found.iter().any(|finding| finding.grade == Grade::Bad);
    output.list(&found, &found, |f| f.check.to_owned(), |style| findings::list(style, &found))?;
    Ok(if bad { Exit::Failed } else { Exit::Success })
}

fn configured(config: &Config) -> Finding {
    let from = |is: fn(&Origin) -> bool| config.explain().iter().filter(move |s| is(&s.source));
    let file =
        from(|o| matches!(o, Origin::File(_))).next().map(|s: &Setting| s.source.to_string());
    let env = from(|o| matches!(o, Origin::Env(_))).count();
    let flags = from(|o| matches!(o, Origin::Flag(_))).count();
    let file = file.unwrap_or_else(|| "the defaults".to_owned());
    let mut words = file;
    if env > 0 {
        words.push_str(&format!(", {env} from the environment"));
    }
    if flags > 0 {
        words.push_str(&format!(", {flags} from flags"));
    }
    Finding::ok("config", words)
}

/// Runs the checks that need the server.
async fn on_server(
    global: &Global,
    config: &Config,
    args: &DoctorArgs,
    asked: Option<&BTreeSet<Role>>,
    said: Option<monitor::ServerReport>,
) -> Vec<Finding> {
    let nats = &config.nats;
    let later = [
        "version",
        "jetstream",
        "storage",
        "installation",
        "drift",
        "writes",
        "permissions",
        "crew",
        "tools",
        "agents",
        "jobs",
    ];
    let skipped = |from: &str, why: &str| {
        let from = later.iter().position(|check| *check == from).unwrap_or_default();
        later.iter().skip(from).map(|check| Finding::skipped(check, why)).collect::<Vec<_>>()
    };
    let inspector = match Inspector::connect(&nats.into()).await {
        Ok(inspector) => inspector,
        Err(error) => {
            let found = format!("{} cannot be reached: {error}", nats.url);
            let advice = "start nats-server (with JetStream: -js), or name it with --url; `callboard dev` starts one of its own";
            let mut all = vec![Finding::bad("nats", found, advice)];
            all.extend(skipped("version", "nats cannot be reached"));
            return all;
        }
    };
    let server = match inspector.server().await {
        Ok(server) => server,
        Err(error) => return vec![Finding::bad("nats", error.to_string(), "look at its log")],
    };
    let mut all = vec![installation::reached(nats, &server), installation::version(&server)];
    let is_old = all.iter().any(|finding| finding.grade == Grade::Bad);
    match inspector.jetstream().await {
        Ok(()) => {}
        Err(error @ InspectError::Forbidden(_)) => {
            let advice = "give the user this right, or use the operator's key; deploy/nats/permissions.conf has the rights of every role";
            all.push(Finding::bad("jetstream", error.to_string(), advice));
            let why = "this user may not read JetStream";
            let unseen = ["storage", "installation", "drift", "writes", "permissions"];
            all.extend(unseen.map(|check| Finding::skipped(check, why)));
            // The front door needs none of these permissions.
            all.extend(crew(global, config).await);
            return all;
        }
        Err(error) => {
            let advice = "start nats-server with -js, or with a jetstream { } block, and give the account access";
            all.push(Finding::bad("jetstream", error.to_string(), advice));
            all.extend(skipped("storage", "JetStream is not there"));
            return all;
        }
    }
    all.push(Finding::ok("jetstream", "is on"));
    if is_old {
        all.extend(skipped("storage", "the server is too old"));
        return all;
    }
    all.push(storage::account(&inspector).await);
    all.extend(said.as_ref().map(monitor::room));
    let Ok(subjects) = Subjects::new(&nats.prefix, nats.shards) else { return all };
    let sync = said.and_then(|said| said.sync);
    let (streams, there) = installation::streams(&inspector, nats, &subjects, sync).await;
    all.extend(streams);
    if !there {
        all.extend(skipped("drift", "there is no installation"));
        return all;
    }
    match broker::nats::drift(&nats.into(), &subjects, &args.tool_pools).await {
        Ok(drift) => all.extend(drift::findings(&drift, nats.create)),
        Err(error) => all.push(Finding::skipped("drift", error.to_string())),
    }
    all.push(storage::writes(nats, &subjects).await);
    all.extend(rights::findings(nats, &subjects, asked).await);
    all.extend(crew(global, config).await);
    all
}

/// Runs the checks that need the front door.
async fn crew(global: &Global, config: &Config) -> Vec<Finding> {
    // Warnings about tokens are separate findings.
    match connect::client(global, Output::silent()).await {
        // Without retries: the current state is what is checked.
        Ok(client) => alive(&client.with_retries(None), config).await,
        Err(error) => {
            let crew = Finding::error("crew", &error);
            vec![crew, Finding::skipped("tools", "the front door cannot be reached")]
        }
    }
}

/// Reports invalid values in the bucket of agents, and invalid agents.
async fn agents(client: &Client) -> Finding {
    let agents = match client.agents(None).await {
        Ok(found) => found.agents,
        Err(failure) => return Finding::bad("agents", failure.message, failure.hint),
    };
    let is_wrong = |agent: &&AgentEntry| !agent.mistakes.is_empty() || !agent.ignored.is_empty();
    let wrong: Vec<&str> =
        agents.iter().filter(is_wrong).map(|agent| agent.name.as_str()).collect();
    if wrong.is_empty() {
        return Finding::ok("agents", format!("{} can be used", agents.len()));
    }
    let found = format!("invalid agents: {}", wrong.join(", "));
    let advice = "`callboard agents show NAME` says why; `agents put` replaces the bucket's value, `agents rm` removes it";
    Finding::warning("agents", found, advice)
}

/// Reports the running processes and their roles.
async fn alive(client: &Client, config: &Config) -> Vec<Finding> {
    let crew = match client.crew().await {
        Ok(crew) => crew,
        Err(failure) => {
            let error = CliError::from(failure);
            return vec![
                Finding::error("crew", &error),
                Finding::skipped("tools", "nobody answers"),
            ];
        }
    };
    let plays = |role: &Role| crew.workers.iter().any(|w| w.roles.iter().any(|r| r == role.name()));
    let missing: Vec<&str> =
        Role::ALL.iter().filter(|role| !plays(role)).map(|role| role.name()).collect();
    let mut all = Vec::new();
    let there = match crew.workers.len() {
        1 => "one process".to_owned(),
        n => format!("{n} processes"),
    };
    if missing.is_empty() {
        all.push(Finding::ok("crew", format!("{there}, every role has a process")));
    } else {
        let roles = missing.join(",");
        let found = format!("{there}, and no process has the role {}", missing.join(", "));
        all.push(Finding::bad("crew", found, format!("callboard serve --roles {roles}")));
    }
    let ours = env!("CARGO_PKG_VERSION");
    let other: Vec<&str> =
        crew.workers.iter().map(|w| w.version.as_str()).filter(|v| *v != ours).collect();
    if let Some(version) = other.first() {
        let found =
            format!("{} processes run another version ({version}; this is {ours})", other.len());
        all.push(Finding::warning("skew", found, "upgrade every process to one version"));
    }
    let owned: BTreeSet<u16> =
        crew.workers.iter().flat_map(|w| w.shards.iter().map(|s| s.0)).collect();
    let shards = usize::from(config.nats.shards);
    if owned.len() < shards && plays(&Role::Supervisor) {
        let found = format!("{} of {shards} shards have an owner", owned.len());
        let advice = "wait a few seconds and check again; jobs of the other shards wait until then";
        all.push(Finding::warning("shards", found, advice));
    }
    all.push(match client.tools().await {
        Ok(tools) if tools.tools.is_empty() => {
            Finding::warning("tools", "none are registered", "callboard serve --roles tools")
        }
        Ok(tools) => jobs::tools(&tools),
        Err(failure) => Finding::bad("tools", failure.message, failure.hint),
    });
    all.push(agents(client).await);
    all.push(jobs::held(client).await);
    all
}
