//! `doctor`: checks everything that a job needs and gives advice about each problem. Stores nothing
//! but one empty message in each shard, which the server removes after a second.

mod browser;
mod drift;
mod installation;
mod jobs;
mod mcp;
mod monitor;
mod rights;
mod shell;
mod storage;
mod surroundings;
mod webhooks;
mod words;

use std::collections::BTreeSet;

use broker::inspect::{InspectError, Inspector};
use client::Client;
use proto::{door::AgentEntry, lang::Words, subject::Subjects};
use runtime::config::{Origin, Setting};

use self::words::Text;
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
    found.extend(surroundings::issuer(&config.oidc).await);
    found.push(surroundings::model(&config.model).await);
    found.push(surroundings::workspace(&config));
    found.extend(shell::finding(&config).await);
    found.extend(browser::finding(&config));
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
    let words = Words::new(|language| {
        let mut text = file.clone().unwrap_or_else(|| Text::Defaults.text(language));
        if env > 0 {
            text.push_str(&Text::FromEnvironment { count: &env }.text(language));
        }
        if flags > 0 {
            text.push_str(&Text::FromFlags { count: &flags }.text(language));
        }
        text
    });
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
    let skipped = |from: &str, why: Text<'_>| {
        let from = later.iter().position(|check| *check == from).unwrap_or_default();
        later.iter().skip(from).map(|check| Finding::skipped(check, why)).collect::<Vec<_>>()
    };
    let inspector = match Inspector::connect(&nats.into()).await {
        Ok(inspector) => inspector,
        Err(error) => {
            let found = Text::Unreachable { url: &nats.url, why: &error };
            let mut all = vec![Finding::bad("nats", found, Text::StartServer)];
            all.extend(skipped("version", Text::NotReached));
            return all;
        }
    };
    let server = match inspector.server().await {
        Ok(server) => server,
        Err(error) => return vec![Finding::bad("nats", error.to_string(), Text::ItsLog)],
    };
    let mut all = vec![installation::reached(nats, &server), installation::version(&server)];
    let is_old = all.iter().any(|finding| finding.grade == Grade::Bad);
    match inspector.jetstream().await {
        Ok(()) => {}
        Err(error @ InspectError::Forbidden(_)) => {
            all.push(Finding::bad("jetstream", error.to_string(), Text::GiveRight));
            let unseen = ["storage", "installation", "drift", "writes", "permissions"];
            all.extend(unseen.map(|check| Finding::skipped(check, Text::MayNotRead)));
            // The front door needs none of these permissions.
            all.extend(crew(global, config).await);
            return all;
        }
        Err(error) => {
            all.push(Finding::bad("jetstream", error.to_string(), Text::EnableJetstream));
            all.extend(skipped("storage", Text::NoJetstream));
            return all;
        }
    }
    all.push(Finding::ok("jetstream", Text::Jetstream));
    if is_old {
        all.extend(skipped("storage", Text::OldServer));
        return all;
    }
    all.push(storage::account(&inspector).await);
    all.extend(said.as_ref().map(monitor::room));
    let Ok(subjects) = Subjects::new(&nats.prefix, nats.shards) else { return all };
    let sync = said.and_then(|said| said.sync);
    let (streams, there) = installation::streams(&inspector, nats, &subjects, sync).await;
    all.extend(streams);
    if !there {
        all.extend(skipped("drift", Text::NoInstallation));
        return all;
    }
    match broker::nats::drift(&nats.into(), &subjects, &args.tool_pools).await {
        Ok(drift) => all.extend(drift::findings(&drift, nats.create)),
        Err(error) => all.push(Finding::skipped("drift", connect::refused(&error))),
    }
    all.push(storage::writes(nats, &subjects).await);
    all.extend(rights::findings(nats, &subjects, asked, &config.webhooks).await);
    all.extend(webhooks::findings(nats, &subjects, &config.webhooks).await);
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
            vec![crew, Finding::skipped("tools", Text::NoDoor)]
        }
    }
}

/// Reports invalid values in the bucket of agents, and invalid agents.
async fn agents(client: &Client) -> Finding {
    let agents = match client.agents(None).await {
        Ok(found) => found.agents,
        Err(failure) => return Finding::error("agents", &failure.into()),
    };
    let is_wrong = |agent: &&AgentEntry| !agent.mistakes.is_empty() || !agent.ignored.is_empty();
    let wrong: Vec<&str> =
        agents.iter().filter(is_wrong).map(|agent| agent.name.as_str()).collect();
    if wrong.is_empty() {
        return Finding::ok("agents", Text::Agents { count: &agents.len() });
    }
    let found = Text::AgentsInvalid { names: &wrong.join(", ") };
    Finding::warning("agents", found, Text::RepairAgents)
}

/// Reports the running processes and their roles.
async fn alive(client: &Client, config: &Config) -> Vec<Finding> {
    let crew = match client.crew().await {
        Ok(crew) => crew,
        Err(failure) => {
            let crew = Finding::error("crew", &failure.into());
            return vec![crew, Finding::skipped("tools", Text::NoAnswer)];
        }
    };
    let plays = |role: &Role| crew.workers.iter().any(|w| w.roles.iter().any(|r| r == role.name()));
    let missing = Role::ALL.iter().filter(|role| role.is_needed() && !plays(role));
    let missing: Vec<&str> = missing.map(|role| role.name()).collect();
    let mut all = Vec::new();
    let (count, roles) = (&crew.workers.len(), &missing.join(", "));
    let found = match (missing.is_empty(), count) {
        (true, 1) => Text::CrewOfOne,
        (true, _) => Text::Crew { count },
        (false, 1) => Text::RolesMissingOfOne { roles },
        (false, _) => Text::RolesMissing { count, roles },
    };
    all.push(match missing.is_empty() {
        true => Finding::ok("crew", found),
        false => {
            Finding::bad("crew", found, format!("callboard serve --roles {}", missing.join(",")))
        }
    });
    let ours = env!("CARGO_PKG_VERSION");
    let other: Vec<&str> =
        crew.workers.iter().map(|w| w.version.as_str()).filter(|v| *v != ours).collect();
    if let Some(version) = other.first() {
        let found = Text::Skew { count: &other.len(), version, ours: &ours };
        all.push(Finding::warning("skew", found, Text::UpgradeProcesses));
    }
    let owned: BTreeSet<u16> =
        crew.workers.iter().flat_map(|w| w.shards.iter().map(|s| s.0)).collect();
    let shards = usize::from(config.nats.shards);
    if owned.len() < shards && plays(&Role::Supervisor) {
        let found = Text::Shards { owned: &owned.len(), all: &shards };
        all.push(Finding::warning("shards", found, Text::WaitForOwners));
    }
    let tools = client.tools().await;
    let servers = mcp::findings(config, tools.as_ref().ok()).await;
    all.push(match tools {
        Ok(tools) if tools.tools.is_empty() => {
            Finding::warning("tools", Text::NoTools, "callboard serve --roles tools")
        }
        Ok(tools) => jobs::tools(&tools),
        Err(failure) => Finding::error("tools", &failure.into()),
    });
    all.extend(servers);
    all.push(agents(client).await);
    all.push(jobs::held(client).await);
    all
}
