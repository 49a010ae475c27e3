//! Findings about this process's environment: secrets, the model, the workspace.

use std::{net::SocketAddr, path::Path, time::Duration};

use oidc::{Issuer, Oidc};
use proto::lang::Words;
use runtime::{
    admin::{
        PORT,
        settings::{Admin, Listen},
    },
    config::{Secret, SecretFrom},
    telemetry::settings::Telemetry,
};
use tokio::net::{TcpStream, ToSocketAddrs};

use super::words::Text;
use crate::{
    args::Global,
    render::findings::Finding,
    settings::{
        Config,
        model::{Model, ModelKind},
    },
    token::{self, Exposed},
};

/// Time limit for a connection.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Reports secrets that other users can read, and an open front door.
pub(super) fn secrets(global: &Global, config: &Config) -> Vec<Finding> {
    let mut found = Vec::new();
    match token::find(global) {
        Err(error) => {
            found.push(Finding::error("token", &error));
        }
        Ok(token) => found.extend(token.exposed.map(|file| readable("token", &file))),
    }
    let named = [
        ("credentials", &config.nats.credentials),
        ("nkey", &config.nats.nkey),
        ("key", &config.model.api_key),
        ("issuer", &config.oidc.client_secret),
    ];
    for (check, secret) in named {
        if let Some(SecretFrom::File(path)) = secret.as_ref().map(|secret| secret.from()) {
            found.extend(token::open_to_others(path).map(|file| readable(check, &file)));
        }
    }
    let local = config.nats.servers().all(|server| {
        let host = server.split("://").nth(1).unwrap_or(server);
        ["127.", "localhost", "[::1]"].iter().any(|own| host.starts_with(own))
    });
    if config.oidc.issuer.is_none() || !config.door.people.is_empty() {
        found.push(door(config.door.people.len(), local));
    }
    found
}

/// Asks the issuer of tokens for its keys, as the front door does.
pub(super) async fn issuer(oidc: &Oidc) -> Option<Finding> {
    let issuer = oidc.issuer.as_ref()?;
    let examined = match Issuer::new(oidc) {
        Ok(it) => it?.examine().await,
        Err(why) => Err(why),
    };
    Some(match examined {
        Ok(keys) => Finding::ok("issuer", Text::IssuerAnswers { issuer, keys: &keys }),
        Err(why) => {
            let found = Text::IssuerSilent { issuer, why: &why };
            Finding::bad("issuer", found, Text::SeeIssuer)
        }
    })
}

/// Reports who may use the front door.
fn door(people: usize, local: bool) -> Finding {
    match people {
        // The broker may listen on other addresses than the one used here.
        0 if local => Finding::ok("door", Text::DoorOpenHere),
        0 => Finding::warning("door", Text::DoorOpen, Text::NamePeople),
        1 => Finding::ok("door", Text::OneCaller),
        count => Finding::ok("door", Text::Callers { count: &count }),
    }
}

fn readable(check: &'static str, Exposed { file, mode }: &Exposed) -> Finding {
    Finding::warning(check, Text::Readable { file, mode }, Text::CloseFile { file })
}

/// Checks that the model's server accepts connections. Calls no model, because that costs money.
pub(super) async fn model(model: &Model) -> Finding {
    let Some(kind) = model.kind else {
        return Finding::warning("model", Text::NoModel, Text::SetModel);
    };
    let name = model.name.as_deref().unwrap_or_default();
    if kind == ModelKind::Script {
        return Finding::warning("model", Text::ModelScripted { name: &name }, Text::SetProvider);
    }
    if let Some(Err(why)) = model.api_key.as_ref().map(Secret::value) {
        let found = Words::new(|language| format!("{name}: model.api_key: {}", why.text(language)));
        return Finding::warning("model", found, Text::SetKey);
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
        return Finding::skipped("model", Text::ModelPublic { name: &name });
    };
    let place = format!("{host}:{port}");
    let Err(why) = connect((host.as_str(), port)).await else {
        return Finding::ok("model", Text::Model { name: &name, place: &place });
    };
    let found = Words::new(|language| format!("{name}: {place}: {}", why.text(language)));
    Finding::bad("model", found, Text::StartModel)
}

/// Connects to a server; the error is the reason.
async fn connect(address: impl ToSocketAddrs) -> Result<(), Words> {
    match tokio::time::timeout(TIMEOUT, TcpStream::connect(address)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string().into()),
        Err(_) => Err(Text::NoConnection { seconds: &TIMEOUT.as_secs() }.into()),
    }
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
    let Err(why) = connect(&place).await else {
        return Some(Finding::ok("otlp", Text::TakesConnections { place: &place }));
    };
    let found = Words::new(|language| format!("{place}: {}", why.text(language)));
    Some(Finding::warning("otlp", found, Text::StartReceiver))
}

/// Checks that a process of this machine answers on the admin listener.
pub(super) async fn admin(admin: &Admin) -> Finding {
    let address = match admin.listen {
        Listen::Off => return Finding::skipped("admin", Text::AdminOff),
        Listen::Auto => SocketAddr::from(([127, 0, 0, 1], PORT)),
        Listen::At(address) => address,
    };
    match connect(address).await {
        Ok(()) if address.ip().is_loopback() => {
            Finding::ok("admin", Text::Admin { address: &address })
        }
        Ok(()) => Finding::ok("admin", Text::AdminOpen { address: &address }),
        Err(_) => Finding::skipped("admin", Text::AdminSilent { address: &address }),
    }
}

/// Checks that the workspace is writable.
pub(super) fn workspace(config: &Config) -> Finding {
    let path = &config.tools.workspace;
    let shown = &path.display();
    if !path.exists() {
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        return match probe(parent) {
            Ok(()) => Finding::ok("workspace", Text::WorkspaceLater { path: shown }),
            Err(why) => {
                let found = Text::WorkspaceImpossible { path: shown, why: &why };
                Finding::bad("workspace", found, Text::CreateWorkspace)
            }
        };
    }
    if !path.is_dir() {
        return Finding::bad("workspace", Text::NotADirectory { path: shown }, Text::SetWorkspace);
    }
    match probe(path) {
        Ok(()) => Finding::ok("workspace", Text::Workspace { path: shown }),
        Err(why) => {
            let found = Text::WorkspaceUnwritable { path: shown, why: &why };
            Finding::bad("workspace", found, Text::AllowWriting)
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
