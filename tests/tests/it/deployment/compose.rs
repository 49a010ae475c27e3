//! Tests of the compose file, against the specification's schema and against the files, keys,
//! programs and settings that it uses.

use std::{collections::BTreeMap, path::Path, process::Command, sync::OnceLock};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    dry::{self, Given},
    environment, path, schema, strings, text, yaml, yaml_file,
};

/// Services without a health check: their image has no program for it, or they end soon.
const WITHOUT_HEALTH: [&str; 5] = ["prepare", "setup", "cli", "otel-collector", "tempo"];

/// Returns the file with its variables substituted.
fn file() -> &'static Value {
    static READ: OnceLock<Value> = OnceLock::new();
    READ.get_or_init(|| {
        let mut text = text("compose/compose.yaml");
        let mut given = environment(&super::text("compose/.env.example"));
        for (name, value) in [("CALLBOARD_UID", "1000"), ("CALLBOARD_GID", "1000")] {
            given.insert(name.to_owned(), value.to_owned());
        }
        given.insert("GRAFANA_ADMIN_PASSWORD".to_owned(), "chosen".to_owned());
        while let Some(at) = text.find("${") {
            let end = at + text[at..].find('}').unwrap();
            let name = text[at + 2..end].split(':').next().unwrap();
            let value = given.get(name).unwrap_or_else(|| panic!("{name} is not in .env.example"));
            text = format!("{}{value}{}", &text[..at], &text[end + 1..]);
        }
        yaml(&text).swap_remove(0)
    })
}

fn services() -> impl Iterator<Item = (&'static str, &'static Value)> {
    file()["services"].as_object().unwrap().iter().map(|(name, service)| (name.as_str(), service))
}

fn ours(service: &Value) -> bool {
    service["image"].as_str().unwrap().starts_with("callboard:")
}

/// Returns a copy of `deploy/` after a run of `deploy/nats/keys`.
fn with_keys() -> &'static Path {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    MADE.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let copied = Command::new("cp").arg("-R").arg(path("")).arg(directory.path()).status();
        assert!(copied.unwrap().success());
        let nats = directory.path().join("deploy/nats");
        let _ = std::fs::remove_dir_all(nats.join("private"));
        let made = Command::new(nats.join("keys"))
            .env("CALLBOARD", callboard_tests::callboard())
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        directory
    })
    .path()
}

/// Returns the mounts from the repository: the path there, and the path in the service.
fn mounts(service: &Value) -> Vec<(std::path::PathBuf, String)> {
    let base = with_keys().join("deploy/compose");
    let mut found: Vec<_> = strings(&service["volumes"])
        .iter()
        .filter(|volume| volume.starts_with('.'))
        .map(|volume| {
            let parts: Vec<&str> = volume.split(':').collect();
            assert_eq!(parts[2..], ["ro"], "{volume} is only read");
            (base.join(parts[0]), parts[1].to_owned())
        })
        .collect();
    for secret in service["secrets"].as_array().into_iter().flatten() {
        let source = &file()["secrets"][secret["source"].as_str().unwrap()]["file"];
        let target = format!("/run/secrets/{}", secret["target"].as_str().unwrap());
        found.push((base.join(source.as_str().unwrap()), target));
    }
    found
}

#[test]
fn it_keeps_the_specification() {
    assert_eq!(schema::violations(&schema::compose(), file()), Vec::<String>::new());
}

#[test]
fn everything_it_mounts_is_there_and_everything_it_names_is_defined() {
    for (name, service) in services() {
        for (source, _) in mounts(service) {
            assert!(source.exists(), "{name} mounts {}", source.display());
        }
        for volume in strings(&service["volumes"]).iter().filter(|v| !v.starts_with('.')) {
            let volume = volume.split(':').next().unwrap();
            assert!(file()["volumes"].get(volume).is_some(), "{name}: no volume {volume}");
        }
        for network in strings(&service["networks"]) {
            assert!(file()["networks"].get(&network).is_some(), "{name}: no network {network}");
        }
        for other in service["depends_on"].as_object().into_iter().flat_map(|map| map.keys()) {
            assert!(file()["services"].get(other).is_some(), "{name} waits for {other}");
        }
    }
}

#[test]
fn the_program_can_use_every_command_and_every_variable() {
    let model = environment(&text("compose/model.env.example"));
    for (name, service) in services().filter(|(_, service)| ours(service)) {
        let mut env: BTreeMap<String, String> = service["environment"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned()))
            .collect();
        if name == "gateway" {
            // The operator names people before the first start.
            let token = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
            let people =
                format!("{{ ann = {{ roles = [\"read\"], token_sha256 = \"{token}\" }} }}");
            env.insert("CALLBOARD__DOOR__PEOPLE".to_owned(), people);
        }
        if service.get("env_file").is_some() {
            assert_eq!(strings(&service["env_file"]), ["model.env"]);
            env.extend(model.clone());
            env.insert("MODEL_API_KEY".to_owned(), "a key".to_owned());
        }
        let files: BTreeMap<String, String> = mounts(service)
            .into_iter()
            .map(|(source, target)| (target, std::fs::read_to_string(source).unwrap()))
            .collect();
        let given = Given { args: strings(&service["command"]), env, files };
        assert_eq!(given.wrong(), None, "{name}");
        if let Some(test) = service.pointer("/healthcheck/test") {
            let words = strings(test);
            assert_eq!(words[..2], ["CMD", "/usr/local/bin/callboard"], "{name}");
            let args = words[2..].to_vec();
            assert_eq!(Given { args, ..given }.wrong(), None, "{name}");
        }
    }
}

#[test]
fn the_servers_can_use_the_configuration_they_are_given() {
    let nats_server = callboard_tests::installed("nats-server");
    let found: Vec<_> = services().filter(|(name, _)| name.starts_with("nats-")).collect();
    assert_eq!(found.len(), 3);
    for (name, service) in found {
        let place = tempfile::tempdir().unwrap();
        for (source, target) in mounts(service) {
            let to = place.path().join(target.trim_start_matches('/'));
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            let copied = Command::new("cp").arg("-R").arg(source).arg(to).status();
            assert!(copied.unwrap().success());
        }
        let working =
            place.path().join(service["working_dir"].as_str().unwrap().trim_start_matches('/'));
        let args =
            strings(&service["command"]).into_iter().map(|arg| match arg.strip_prefix('/') {
                Some(below) => place.path().join(below),
                None => arg.into(),
            });
        let tried =
            Command::new(&nats_server).args(args).arg("-t").current_dir(working).output().unwrap();
        assert!(tried.status.success(), "{name}: {}", String::from_utf8_lossy(&tried.stderr));
    }
}

#[test]
fn every_service_is_hardened_bounded_pinned_and_watched() {
    for (name, service) in services() {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(strings(&service["cap_drop"]), ["ALL"], "{name}");
        assert_eq!(strings(&service["security_opt"]), ["no-new-privileges:true"], "{name}");
        for limit in ["cpus", "memory"] {
            let limits = &service["deploy"]["resources"]["limits"];
            assert!(limits[limit].is_string(), "{name} has no limit of {limit}");
        }
        let (_, tag) = service["image"].as_str().unwrap().rsplit_once(':').unwrap();
        assert!(
            tag.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit()),
            "{name}: {tag}"
        );
        assert!(tag.matches('.').count() >= 2, "{name}: {tag} is not one release");
        let watched = service.get("healthcheck").is_some();
        assert_eq!(watched, !WITHOUT_HEALTH.contains(&name), "{name}: health check");
        for port in strings(&service["ports"]) {
            assert!(port.starts_with("127.0.0.1:"), "{name}: {port} is open to everybody");
        }
    }
    for line in text("compose/.env.example").lines().filter(|line| !line.starts_with('#')) {
        if let Some((name, value)) = line.split_once('=') {
            assert!(name.ends_with("_IMAGE") || value.is_empty(), "{name} has a default");
        }
    }
}

/// Everybody can pin the images of others by digest, and the example names the releases that the
/// file starts without it.
#[test]
fn every_image_can_be_given_by_its_digest() {
    let file = text("compose/compose.yaml");
    let given = environment(&text("compose/.env.example"));
    let images: Vec<_> = file.lines().filter_map(|l| l.trim().strip_prefix("image: ")).collect();
    assert_eq!(images.len(), file.matches("image:").count());
    for image in images {
        let variable = image.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let (name, release) = variable.and_then(|v| v.split_once(":-")).expect(image);
        assert_eq!(given.get(name).map(String::as_str), Some(release), "{name}");
    }
}

#[test]
fn roles_are_given_longer_than_they_drain() {
    let settings: toml::Table = text("compose/callboard.toml").parse().unwrap();
    let drain = settings["workers"]["drain_ms"].as_integer().unwrap();
    for (name, service) in services().filter(|(_, service)| {
        ours(service) && strings(&service["command"]).first().is_some_and(|word| word == "serve")
    }) {
        let grace = service["stop_grace_period"].as_str().unwrap().trim_end_matches('s');
        let grace: i64 = grace.parse().unwrap();
        assert!(grace * 1000 >= drain + 10_000, "{name}: {grace} s for {drain} ms");
        assert_eq!(service["stop_signal"], "SIGTERM", "{name}");
        let target = &service["depends_on"]["setup"]["condition"];
        assert_eq!(target, "service_completed_successfully", "{name}");
    }
    let replicas = &file()["services"]["supervisor"]["deploy"]["replicas"];
    assert_eq!(replicas, 2, "supervisors survive one another");
}

#[test]
fn prometheus_looks_for_the_services_where_they_answer() {
    let config = yaml_file("prometheus/prometheus.yml");
    let found = &config["scrape_configs"][0]["dns_sd_configs"][0];
    let settings: toml::Table = text("compose/callboard.toml").parse().unwrap();
    let listen = settings["admin"]["listen"].as_str().unwrap();
    assert!(listen.ends_with(&format!(":{}", found["port"])), "{listen}");
    for name in strings(&found["names"]) {
        assert!(file()["services"].get(&name).is_some(), "no service {name}");
    }
}

#[test]
fn the_collector_has_a_definition_for_every_part_of_its_pipelines() {
    let config = yaml_file("otel/collector.yaml");
    let pipelines = config["service"]["pipelines"].as_object().unwrap();
    assert!(pipelines.contains_key("traces"));
    for (name, pipeline) in pipelines {
        for kind in ["receivers", "processors", "exporters"] {
            for part in strings(&pipeline[kind]) {
                assert!(config[kind].get(&part).is_some(), "{name}: no {part} among {kind}");
            }
        }
    }
    for part in strings(&config["service"]["extensions"]) {
        assert!(config["extensions"].get(&part).is_some(), "no extension {part}");
    }
}

#[test]
fn the_keys_that_roles_are_given_are_their_own() {
    for (name, service) in services().filter(|(_, service)| ours(service)) {
        let user = match name {
            "setup" => "operator",
            "cli" => "client",
            role => role,
        };
        let keys: Vec<_> = mounts(service)
            .into_iter()
            .filter(|(source, _)| source.extension().is_some_and(|e| e == "nk"))
            .map(|(source, _)| source.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(keys, [user], "{name}");
        let inbox = service["environment"]["CALLBOARD__NATS__INBOX_PREFIX"].as_str().unwrap();
        assert!(inbox.starts_with(&format!("_INBOX_{user}")), "{name}: {inbox}");
    }
    assert!(dry::seed().starts_with("SU"));
}
