//! Tests of the chart, rendered by Helm's own library for each file of values in `ci/`.

use std::{
    collections::BTreeMap,
    io::Write,
    process::{Command, Stdio},
    sync::OnceLock,
};

use serde_json::{Value, json};

use super::{
    dry::{self, Given},
    path, schema, strings, text, yaml, yaml_file,
};

/// The files of values.
pub(super) const CASES: [&str; 4] = ["minimal", "production", "keda-nats", "keda-prometheus"];

/// Renders the chart with several values, by name.
fn render(cases: &Value) -> Value {
    let mut python = Command::new("python3")
        .arg(callboard_tests::root().join("tests/tests/it/deployment/render.py"))
        .env("PYTHONPATH", callboard_tests::installed("helm"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let asked = json!({"chart": path("helm/callboard"), "cases": cases}).to_string();
    python.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the manifests for a file of values.
pub(super) fn manifests(case: &str) -> &'static [Value] {
    static RENDERED: OnceLock<BTreeMap<String, Vec<Value>>> = OnceLock::new();
    &RENDERED.get_or_init(|| {
        let values = |case: &str| yaml_file(&format!("helm/callboard/ci/{case}.yaml"));
        let cases: BTreeMap<&str, Value> = CASES.into_iter().map(|c| (c, values(c))).collect();
        let rendered = render(&json!(cases));
        let rendered = rendered.as_object().unwrap();
        rendered.iter().map(|(case, told)| (case.clone(), of_files(case, told))).collect()
    })[case]
}

fn of_files(case: &str, told: &Value) -> Vec<Value> {
    assert_eq!(told["error"], Value::Null, "{case}");
    assert_eq!(told["lint"], json!([]), "{case}");
    let files = told["files"].as_object().unwrap();
    let text = |(name, text): (&String, &Value)| {
        (!name.ends_with(".txt")).then(|| text.as_str().unwrap().to_owned())
    };
    files.iter().filter_map(text).flat_map(|text| yaml(&text)).collect()
}

pub(super) fn of_kind(case: &str, kind: &str) -> Vec<&'static Value> {
    manifests(case).iter().filter(|manifest| manifest["kind"] == kind).collect()
}

/// Returns the pod templates of all manifests.
fn pods(case: &str) -> Vec<(&'static str, &'static Value)> {
    let mut found = of_kind(case, "Deployment");
    found.extend(of_kind(case, "Job"));
    let name = |manifest: &'static Value| manifest["metadata"]["name"].as_str().unwrap();
    let crons = of_kind(case, "CronJob").into_iter();
    let crons = crons.map(|m| (name(m), &m["spec"]["jobTemplate"]["spec"]["template"]));
    found.into_iter().map(|m| (name(m), &m["spec"]["template"])).chain(crons).collect()
}

#[test]
fn every_manifest_keeps_its_schema_in_the_oldest_and_the_newest_release() {
    for case in CASES {
        for manifest in manifests(case) {
            for release in schema::RELEASES {
                let name = format!("{case}: {} {}", manifest["kind"], manifest["metadata"]["name"]);
                let wrong = schema::manifest(manifest, release);
                assert_eq!(wrong, Vec::<String>::new(), "{name}, Kubernetes {release}");
            }
        }
    }
}

#[test]
fn there_is_a_deployment_and_a_budget_for_every_role_and_no_secret() {
    let roles = ["door", "executor", "interaction", "planner", "supervisor", "tools"];
    for case in CASES {
        for kind in ["Deployment", "PodDisruptionBudget"] {
            let mut found: Vec<&str> = of_kind(case, kind)
                .iter()
                .map(|m| m["metadata"]["labels"]["app.kubernetes.io/component"].as_str().unwrap())
                .collect();
            found.sort_unstable();
            assert_eq!(found, roles, "{case}: {kind}");
        }
        for manifest in manifests(case) {
            assert_ne!(manifest["kind"], "Secret", "{case}: secrets are named, not made");
            let selector = &manifest["spec"]["selector"]["matchLabels"];
            let labels = &manifest["spec"]["template"]["metadata"]["labels"];
            for (label, value) in selector.as_object().into_iter().flatten() {
                assert!(labels.is_null() || labels[label] == *value, "{case}: {label}");
            }
        }
    }
}

#[test]
fn pods_are_given_longer_than_they_drain_and_are_asked_on_the_admin_port() {
    for case in CASES {
        for manifest in of_kind(case, "Deployment") {
            let name = format!("{case}: {}", manifest["metadata"]["name"]);
            let pod = &manifest["spec"]["template"]["spec"];
            let container = &pod["containers"][0];
            let drain: u64 = variable(container, "CALLBOARD__WORKERS__DRAIN_MS").parse().unwrap();
            let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
            assert!(grace * 1000 >= drain + 5_000, "{name}: {grace} s for {drain} ms");
            for (probe, asked) in
                [("startup", "/livez"), ("liveness", "/livez"), ("readiness", "/readyz")]
            {
                let get = &container[format!("{probe}Probe")]["httpGet"];
                assert_eq!(get, &json!({"path": asked, "port": "admin"}), "{name}: {probe}");
            }
            let port = &container["ports"][0];
            assert_eq!(port["name"], "admin");
            let listen = variable(container, "CALLBOARD__ADMIN__LISTEN");
            assert_eq!(listen, format!("0.0.0.0:{}", port["containerPort"]), "{name}");
            let scaled = of_kind(case, "ScaledObject").iter().any(|scaled| {
                scaled["spec"]["scaleTargetRef"]["name"] == manifest["metadata"]["name"]
            });
            assert_ne!(
                manifest["spec"].get("replicas").is_some(),
                scaled,
                "{name}: one says how many"
            );
        }
    }
}

#[test]
fn pods_have_no_rights_they_do_not_need() {
    for case in CASES {
        for (name, template) in pods(case) {
            let (pod, container) = (&template["spec"], &template["spec"]["containers"][0]);
            assert_eq!(pod["automountServiceAccountToken"], false, "{case}: {name}");
            assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{case}: {name}");
            assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
            let security = &container["securityContext"];
            assert_eq!(security["readOnlyRootFilesystem"], true, "{case}: {name}");
            assert_eq!(security["allowPrivilegeEscalation"], false, "{case}: {name}");
            assert_eq!(security["capabilities"], json!({"drop": ["ALL"]}), "{case}: {name}");
            assert!(container["resources"]["limits"]["memory"].is_string(), "{case}: {name}");
            // Each pod sees only its own key.
            let user = match name.trim_start_matches("demo-callboard-") {
                "setup" | "purge" => "operator",
                role => role,
            };
            for volume in pod["volumes"].as_array().unwrap().iter().filter(|v| v["name"] == "nkey")
            {
                let items = volume["secret"]["items"].as_array().unwrap();
                assert_eq!(items.len(), 1, "{case}: {name}");
                assert_eq!(items[0]["key"], format!("{user}.nk"), "{case}: {name}");
            }
        }
    }
}

#[test]
fn networks_are_closed_but_for_what_is_named() {
    let policies = of_kind("production", "NetworkPolicy");
    let all = policies.iter().find(|p| p["metadata"]["name"] == "demo-callboard").unwrap();
    assert_eq!(all["spec"]["policyTypes"], json!(["Ingress", "Egress"]));
    assert_eq!(all["spec"]["podSelector"]["matchLabels"].as_object().unwrap().len(), 2);
    let ports = |policy: &Value, way: &str| -> Vec<Value> {
        policy["spec"][way]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|rule| rule["ports"].as_array().unwrap().iter().map(|p| p["port"].clone()))
            .collect()
    };
    assert_eq!(ports(all, "ingress"), [json!("admin")]);
    assert_eq!(ports(all, "egress"), [53, 53, 4222, 4317, 4318].map(|port| json!(port)));
    for rule in all["spec"]["egress"].as_array().unwrap() {
        assert!(rule["to"].as_array().is_some_and(|to| !to.is_empty()), "{rule}: to everybody");
    }
    let roles = |what: &str| {
        let policy =
            policies.iter().find(|p| p["metadata"]["name"] == format!("demo-callboard-{what}"));
        strings(&policy.unwrap()["spec"]["podSelector"]["matchExpressions"][0]["values"])
    };
    assert_eq!(roles("model"), ["planner", "executor", "tools"]);
    assert_eq!(roles("tools"), ["tools"]);
    assert_eq!(of_kind("minimal", "NetworkPolicy").len(), 0);
}

#[test]
fn the_setup_runs_before_everything_else_with_the_operators_key() {
    let jobs = of_kind("production", "Job");
    let notes = &jobs[0]["metadata"]["annotations"];
    assert_eq!(notes["helm.sh/hook"], "pre-install,pre-upgrade");
    let container = &jobs[0]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(strings(&container["args"]), ["setup", "--tool-pool", "python"]);
    assert_eq!(variable(container, "CALLBOARD__NATS__INBOX_PREFIX"), "_INBOX_operator");
    // A hook runs before the release exists, so its configuration is a hook too.
    let needed = &jobs[0]["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"];
    let map = of_kind("production", "ConfigMap");
    let map = map.iter().find(|map| &map["metadata"]["name"] == needed).unwrap();
    assert_eq!(map["metadata"]["annotations"]["helm.sh/hook"], notes["helm.sh/hook"]);
}

/// Returns the files of a directory below `deploy/`, by name.
fn files(below: &str) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(path(below)).unwrap().map(Result::unwrap);
    let name = |entry: &std::fs::DirEntry| entry.file_name().into_string().unwrap();
    entries.map(|e| (name(&e), std::fs::read_to_string(e.path()).unwrap())).collect()
}

#[test]
fn alerts_and_dashboards_are_those_of_the_repository_where_they_are_asked_for() {
    assert_eq!(of_kind("minimal", "PrometheusRule").len(), 0);
    let rules = files("prometheus/rules");
    let found = of_kind("production", "PrometheusRule");
    assert_eq!(found.len(), rules.len());
    for rule in found {
        let name = rule["metadata"]["name"].as_str().unwrap().trim_start_matches("demo-");
        assert_eq!(rule["spec"], yaml(&rules[&format!("{name}.yml")])[0], "{name}");
        assert_eq!(rule["metadata"]["labels"]["release"], "prometheus");
    }
    let boards = files("grafana/dashboards");
    let is_board = |map: &&&Value| map["metadata"]["labels"]["grafana_dashboard"] == "1";
    let found: Vec<_> = of_kind("production", "ConfigMap");
    let found: Vec<_> = found.iter().filter(is_board).collect();
    assert_eq!(found.len(), boards.len());
    for map in found {
        let (file, text) = map["data"].as_object().unwrap().iter().next().unwrap();
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read(text.as_str().unwrap()), read(&boards[file]), "{file}");
    }
    assert!(of_kind("minimal", "ConfigMap").iter().all(|map| !is_board(&map)));
}

#[test]
fn ended_jobs_are_removed_only_where_that_is_asked_for() {
    assert_eq!(of_kind("minimal", "CronJob").len(), 0);
    let crons = of_kind("production", "CronJob");
    let spec = &crons[0]["spec"];
    assert_eq!(
        (&spec["schedule"], &spec["concurrencyPolicy"]),
        (&json!("0 4 * * 0"), &json!("Forbid"))
    );
    let container = &spec["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(strings(&container["args"]), ["jobs", "purge", "--yes", "--ended-before", "90d"]);
    assert_eq!(variable(container, "CALLBOARD__NATS__INBOX_PREFIX"), "_INBOX_operator");
}

#[test]
fn the_program_can_use_every_command_and_every_variable() {
    for case in CASES {
        let config = of_kind(case, "ConfigMap")[0]["data"]["callboard.toml"].as_str().unwrap();
        for (name, template) in pods(case) {
            let container = &template["spec"]["containers"][0];
            let mut files = BTreeMap::new();
            let mut env = BTreeMap::new();
            for variable in container["env"].as_array().unwrap() {
                let value = variable["value"].as_str().unwrap_or("given");
                env.insert(variable["name"].as_str().unwrap().to_owned(), value.to_owned());
                if value.starts_with("/run/callboard/nkey/") {
                    files.insert(value.to_owned(), dry::seed());
                }
            }
            files.insert("/etc/callboard/callboard.toml".to_owned(), config.to_owned());
            let given = Given { args: strings(&container["args"]), env, files };
            assert_eq!(given.wrong(), None, "{case}: {name}");
        }
    }
}

#[test]
fn values_that_cannot_be_used_are_refused_with_their_name() {
    let cases = json!({
        "none": {},
        "password": {"nats": {"url": "nats://ann:secret@nats:4222"}},
        "unknown": {"nats": {"shard": 8}},
        "kind": {"model": {"kind": "parrot", "name": "x"}},
        "nobody": {"roles": {"supervisor": {"replicas": 0}}},
    });
    let told = render(&cases);
    for (case, named) in [
        ("none", "model.name"),
        ("password", "/nats/url"),
        ("unknown", "shard"),
        ("kind", "/model/kind"),
        ("nobody", "/roles/supervisor/replicas"),
    ] {
        let error = told[case]["error"].as_str().unwrap_or_default();
        assert!(error.contains(named), "{case}: {error}");
    }
}

#[test]
fn the_version_is_the_programs() {
    let chart = yaml_file("helm/callboard/Chart.yaml");
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
    let image = format!("callboard:{}", env!("CARGO_PKG_VERSION"));
    assert!(text("compose/.env.example").contains(&image));
    assert!(text("Dockerfile").contains(&format!("ARG VERSION={}\n", env!("CARGO_PKG_VERSION"))));
}

/// Returns the value of a container's variable; empty when it is missing.
fn variable(container: &Value, name: &str) -> String {
    let variables = container["env"].as_array().unwrap();
    let found = variables.iter().find(|variable| variable["name"] == name);
    found.and_then(|variable| variable["value"].as_str()).unwrap_or_default().to_owned()
}
