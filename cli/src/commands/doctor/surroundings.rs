//! Findings about this process's environment: secrets, the model, the workspace.

use std::{net::SocketAddr, path::Path, time::Duration};

use proto::lang::Words;
use runtime::{
    admin::{
        PORT,
        settings::{Admin, Listen},
    },
    config::{Secret, SecretFrom},
    telemetry::settings::Telemetry,
};
use tokio::net::TcpStream;

use crate::{
    args::Global,
    render::findings::{Finding, LANGUAGE},
    settings::{
        Config,
        model::{Model, ModelKind},
    },
    token,
};

/// Time limit for a connection to the model's server.
const PATIENCE: Duration = Duration::from_secs(3);

/// Reports secrets that other users can read, and an open front door.
pub(super) fn secrets(global: &Global, config: &Config) -> Vec<Finding> {
    let mut found = Vec::new();
    match token::find(global) {
        Err(error) => {
            found.push(Finding::error("token", &error));
        }
        Ok(token) => found.extend(token.warning.map(|warning| readable("token", &warning))),
    }
    let named = [
        ("credentials", &config.nats.credentials),
        ("nkey", &config.nats.nkey),
        ("key", &config.model.api_key),
    ];
    for (check, secret) in named {
        if let Some(SecretFrom::File(path)) = secret.as_ref().map(|secret| secret.from()) {
            found.extend(token::open_to_others(path).map(|warning| readable(check, &warning)));
        }
    }
    let local = config.nats.servers().all(|server| {
        let host = server.split("://").nth(1).unwrap_or(server);
        ["127.", "localhost", "[::1]"].iter().any(|own| host.starts_with(own))
    });
    found.push(door(config.door.people.len(), local));
    found
}

/// Reports who may use the front door.
fn door(people: usize, local: bool) -> Finding {
    const OPEN: &str = "everybody who can reach the broker may submit, answer and cancel";
    match people {
        0 if local => {
            // The broker may listen on other addresses than the one used here.
            let found =
                format!("{OPEN}; it is on loopback here, and may be listening elsewhere too");
            Finding::ok("door", found)
        }
        0 => Finding::warning(
            "door",
            OPEN,
            "name people in door.people, and give the roles NATS credentials of their own",
        ),
        1 => Finding::ok("door", "one caller has a token; requests without one are refused"),
        n => Finding::ok(
            "door",
            format!("{n} callers have tokens; requests without one are refused"),
        ),
    }
}

fn readable(check: &'static str, warning: &Words) -> Finding {
    let words = warning.text(LANGUAGE).trim_start_matches("warning: ");
    let (found, advice) = words.split_once("; ").unwrap_or((words, "chmod 600"));
    Finding::warning(check, found, advice)
}

/// Checks that the model's server accepts connections. Calls no model, because that costs money.
pub(super) async fn model(model: &Model) -> Finding {
    let Some(kind) = model.kind else {
        let advice = "set model.kind and model.name for `callboard serve`; `dev` and `demo` have a scripted one";
        return Finding::warning("model", "none is configured", advice);
    };
    let name = model.name.as_deref().unwrap_or_default();
    if kind == ModelKind::Script {
        return Finding::warning(
            "model",
            format!("{name} is scripted"),
            "set model.kind to a provider to have a real one",
        );
    }
    if let Some(Err(why)) = model.api_key.as_ref().map(Secret::value) {
        let advice = "set it for the processes that call the model; others need no key";
        return Finding::warning("model", format!("{name}: model.api_key: {why}"), advice);
    }
    let place = match &model.base_url {
        Some(url) => url.host_str().map(|host| {
            (host.trim_matches(['[', ']']).to_owned(), url.port_or_known_default().unwrap_or(443))
        }),
        None => match kind {
            ModelKind::Ollama => Some(("127.0.0.1".to_owned(), 11434)),
            ModelKind::OpenAi | ModelKind::Anthropic | ModelKind::Gemini | ModelKind::Script => {
                None
            }
        },
    };
    let Some((host, port)) = place else {
        return Finding::skipped("model", format!("{name} at its provider's public address"));
    };
    let connect = tokio::time::timeout(PATIENCE, TcpStream::connect((host.as_str(), port)));
    let why = match connect.await {
        Ok(Ok(_)) => {
            return Finding::ok("model", format!("{name}; {host}:{port} takes connections"));
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no connection within {} s", PATIENCE.as_secs()),
    };
    let advice = "start it, or correct model.base_url; plans and turns are retried until then";
    Finding::bad("model", format!("{name}: {host}:{port}: {why}"), advice)
}

/// Checks that the OTLP receiver accepts connections; `None` if none is configured.
pub(super) async fn receiver(telemetry: &Telemetry) -> Option<Finding> {
    let url = match (&telemetry.otlp_endpoint, std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT")) {
        (Some(url), _) => url.to_string(),
        (None, Ok(url)) if !url.is_empty() => url,
        (None, Ok(_) | Err(_)) => return None,
    };
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", &url));
    let place = rest.split('/').next().unwrap_or_default();
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let default = if scheme == "https" { 443 } else { 4317 };
    let has_port = place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let place = if has_port { place.to_owned() } else { format!("{place}:{default}") };
    let why = match tokio::time::timeout(PATIENCE, TcpStream::connect(&place)).await {
        Ok(Ok(_)) => return Some(Finding::ok("otlp", format!("{place} takes connections"))),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no connection within {} s", PATIENCE.as_secs()),
    };
    let advice = "start the collector, or correct telemetry.otlp_endpoint; jobs continue, and unsent telemetry is dropped";
    Some(Finding::warning("otlp", format!("{place}: {why}"), advice))
}

/// Checks that a process of this machine answers on the admin listener.
pub(super) async fn admin(admin: &Admin) -> Finding {
    let address = match admin.listen {
        Listen::Off => return Finding::skipped("admin", "admin.listen is off"),
        Listen::Auto => SocketAddr::from(([127, 0, 0, 1], PORT)),
        Listen::At(address) => address,
    };
    let open = match admin.listen {
        Listen::At(address) if !address.ip().is_loopback() => {
            ", and so does everybody who reaches this machine: there is no authentication"
        }
        Listen::At(_) | Listen::Auto | Listen::Off => "",
    };
    let connect = tokio::time::timeout(PATIENCE, TcpStream::connect(address));
    match connect.await {
        Ok(Ok(_)) => Finding::ok("admin", format!("{address} answers{open}")),
        Ok(Err(_)) | Err(_) => {
            Finding::skipped("admin", format!("no process of this machine answers at {address}"))
        }
    }
}

/// Checks that the workspace is writable.
pub(super) fn workspace(config: &Config) -> Finding {
    let path = &config.tools.workspace;
    let shown = path.display();
    if !path.exists() {
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        return match probe(parent) {
            Ok(()) => {
                Finding::ok("workspace", format!("{shown} will be created when a tool needs it"))
            }
            Err(error) => Finding::bad(
                "workspace",
                format!("{shown} does not exist and cannot be created: {error}"),
                "create it, or set tools.workspace",
            ),
        };
    }
    if !path.is_dir() {
        return Finding::bad(
            "workspace",
            format!("{shown} is not a directory"),
            "set tools.workspace",
        );
    }
    match probe(path) {
        Ok(()) => Finding::ok("workspace", format!("{shown} can be written")),
        Err(error) => {
            let advice = "give the user of this process the right to write there; read_file works without it";
            Finding::bad("workspace", format!("{shown} cannot be written: {error}"), advice)
        }
    }
}

/// Creates and removes a file: permission bits alone prove too little.
fn probe(directory: &Path) -> std::io::Result<()> {
    let path = directory.join(format!(".callboard-doctor-{}", std::process::id()));
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
    made?;
    std::fs::remove_file(&path)
}
