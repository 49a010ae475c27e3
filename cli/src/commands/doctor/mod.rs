//! `doctor`: looks at everything a job needs and says what to do about what is missing. Changes
//! nothing.

mod installation;
mod surroundings;

use client::Client;
use proto::subject::Subjects;
use runtime::{
    config::{Config, Origin, Setting},
    inspect::Inspector,
};

use crate::{
    args::Global,
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::{Format, Output},
    render::findings::{self, Finding, Grade},
    roles::Role,
};

/// Looks.
pub(super) async fn run(global: &Global, output: Output) -> Outcome {
    let config = match connect::config(global) {
        Ok(config) => config,
        Err(error) if output.format == Format::Table => {
            let advice = error.hint.clone().unwrap_or_default();
            let finding = Finding::bad("config", error.message.clone(), advice);
            output.print(&findings::list(&output.look(), &[finding]))?;
            return Ok(Exit::Usage);
        }
        Err(error) => return Err(error),
    };
    let mut found = vec![configured(&config)];
    found.extend(surroundings::secrets(global, &config));
    found.extend(on_server(global, &config).await);
    found.push(surroundings::model(&config.model).await);
    found.push(surroundings::workspace(&config));
    let bad = found.iter().any(|finding| finding.grade == Grade::Bad);
    output.list(&found, &found, |f| f.check.to_owned(), |look| findings::list(look, &found))?;
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

/// What needs the server.
async fn on_server(global: &Global, config: &Config) -> Vec<Finding> {
    let nats = &config.nats;
    let later = ["version", "jetstream", "installation", "crew", "tools"];
    let skipped = |from: usize, why: &str| {
        later.iter().skip(from).map(|check| Finding::skipped(check, why)).collect::<Vec<_>>()
    };
    let inspector = match Inspector::connect(nats).await {
        Ok(inspector) => inspector,
        Err(error) => {
            let found = format!("{} cannot be reached: {error}", nats.url);
            let advice = "start nats-server (with JetStream: -js), or name it with --url; `callboard dev` starts one of its own";
            let mut all = vec![Finding::bad("nats", found, advice)];
            all.extend(skipped(0, "nats cannot be reached"));
            return all;
        }
    };
    let server = match inspector.server().await {
        Ok(server) => server,
        Err(error) => return vec![Finding::bad("nats", error.to_string(), "look at its log")],
    };
    let mut all = vec![installation::reached(nats, &server), installation::version(&server)];
    let is_old = all.iter().any(|finding| finding.grade == Grade::Bad);
    if let Err(error) = inspector.jetstream().await {
        let advice = "start nats-server with -js, or with a jetstream { } block, and give the account access";
        all.push(Finding::bad("jetstream", error.to_string(), advice));
        all.extend(skipped(2, "JetStream is not there"));
        return all;
    }
    all.push(Finding::ok("jetstream", "is on"));
    if is_old {
        all.extend(skipped(2, "the server is too old"));
        return all;
    }
    let Ok(subjects) = Subjects::new(&nats.prefix, nats.shards) else { return all };
    let (streams, there) = installation::streams(&inspector, nats, &subjects).await;
    all.extend(streams);
    if !there {
        all.extend(skipped(3, "there is no installation"));
        return all;
    }
    // Connecting compares every stream with what it must be.
    match connect::client(global, quiet()).await {
        Ok(client) => {
            all.push(Finding::ok("drift", "every stream is as it was made"));
            all.extend(alive(&client, config).await);
        }
        Err(error) => {
            let advice = "nothing is changed by itself: put the stream back as it must be, or move the jobs to another prefix";
            all.push(Finding::bad("drift", error.message, advice));
            all.extend(skipped(3, "the installation cannot be used"));
        }
    }
    all
}

/// Warnings about tokens are findings of their own here.
fn quiet() -> Output {
    use crate::output::{Color, Loudness};
    Output::new(Format::Table, Loudness::Quiet, Color::Never, Default::default())
}

/// Who is at work.
async fn alive(client: &Client, config: &Config) -> Vec<Finding> {
    let crew = match client.crew().await {
        Ok(crew) => crew,
        Err(failure) => {
            let error = CliError::from(failure);
            let advice = error.hint.clone().unwrap_or_default();
            return vec![
                Finding::bad("crew", error.message, advice),
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
        all.push(Finding::ok("crew", format!("{there}, every role is played")));
    } else {
        let roles = missing.join(",");
        let found = format!("{there}, and nobody plays {}", missing.join(", "));
        all.push(Finding::bad("crew", found, format!("callboard serve --roles {roles}")));
    }
    let ours = env!("CARGO_PKG_VERSION");
    let other: Vec<&str> =
        crew.workers.iter().map(|w| w.version.as_str()).filter(|v| *v != ours).collect();
    if let Some(version) = other.first() {
        let found =
            format!("{} processes run another version ({version}; this is {ours})", other.len());
        all.push(Finding::warning("skew", found, "bring everything to one version when you can"));
    }
    let owned: std::collections::BTreeSet<u16> =
        crew.workers.iter().flat_map(|w| w.shards.iter().map(|s| s.0)).collect();
    let shards = usize::from(config.nats.shards);
    if owned.len() < shards && plays(&Role::Supervisor) {
        let found = format!("{} of {shards} shards have an owner", owned.len());
        let advice = "wait a few seconds and look again; jobs of the others stand still until then";
        all.push(Finding::warning("shards", found, advice));
    }
    all.push(match client.tools().await {
        Ok(tools) if tools.tools.is_empty() => {
            Finding::warning("tools", "none are registered", "callboard serve --roles tools")
        }
        Ok(tools) => Finding::ok("tools", format!("{} are registered", tools.tools.len())),
        Err(failure) => Finding::bad("tools", failure.message, failure.hint),
    });
    all
}
