//! The schemas of manifests: Kubernetes' own strict schemas, of the oldest and the newest supported
//! release; the compose specification; and schemas of the parts of KEDA's and the Prometheus
//! operator's resources that the chart uses.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, Mutex, OnceLock},
};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::{path, yaml_file};

/// The tested releases of Kubernetes. The first one is the chart's `kubeVersion`.
pub(super) const RELEASES: [&str; 2] = ["1.31", "1.37"];

fn schemas() -> &'static Path {
    static FOUND: OnceLock<std::path::PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| callboard_tests::installed("schemas"))
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// Returns the violations of a schema by a value.
pub(super) fn violations(schema: &Value, value: &Value) -> Vec<String> {
    violations_of(&validator(schema), value)
}

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).unwrap_or_else(|e| panic!("{e}"))
}

fn violations_of(validator: &Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

/// Returns the schema of the compose specification.
pub(super) fn compose() -> Value {
    read(&schemas().join("check_jsonschema/builtin_schemas/vendor/compose-spec.json"))
}

/// Returns the violations of a manifest, for one release of Kubernetes.
pub(super) fn manifest(value: &Value, release: &str) -> Vec<String> {
    // Schemas that contain a pod take a third of a second to compile.
    static COMPILED: Mutex<BTreeMap<[String; 3], Arc<Validator>>> = Mutex::new(BTreeMap::new());
    let (kind, version) = (value["kind"].as_str().unwrap(), value["apiVersion"].as_str().unwrap());
    let key = [kind, version, release].map(str::to_owned);
    let found = COMPILED.lock().unwrap().get(&key).cloned();
    let compiled = found.unwrap_or_else(|| {
        let made = Arc::new(validator(&schema_of(kind, version, release)));
        COMPILED.lock().unwrap().insert(key, Arc::clone(&made));
        made
    });
    violations_of(&compiled, value)
}

fn schema_of(kind: &str, version: &str, release: &str) -> Value {
    match version {
        "keda.sh/v1alpha1" | "monitoring.coreos.com/v1" => {
            let directory = callboard_tests::root().join("tests/tests/it/deployment/schemas");
            read(&directory.join(format!("{}.json", kind.to_lowercase())))
        }
        _ => kubernetes(kind, version, release),
    }
}

fn kubernetes(kind: &str, version: &str, release: &str) -> Value {
    let directory = schemas()
        .join(format!("kubernetes_validate/kubernetes-json-schema/v{release}.0-local-strict"));
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let group = group.split('.').next().filter(|group| !group.is_empty());
    let name: Vec<&str> = [Some(kind), group, Some(version)].into_iter().flatten().collect();
    let file = directory.join(format!("{}.json", name.join("-").to_lowercase()));
    // The files refer to a common file of definitions, which is copied into the schema.
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut schema: Value =
        serde_json::from_str(&text.replace("/api/_definitions.json#/$defs/", "#/$defs/")).unwrap();
    schema.as_object_mut().unwrap().remove("$id");
    let all = read(&directory.join("_definitions.json"))["$defs"].take();
    let mut used = Map::new();
    collect(&schema, &all, &mut used);
    schema["$defs"] = Value::Object(used);
    schema
}

/// Collects the definitions that a schema needs, transitively. Copying all of them would take
/// seconds.
fn collect(schema: &Value, all: &Value, used: &mut Map<String, Value>) {
    match schema {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str);
            if let Some(name) = name.and_then(|name| name.strip_prefix("#/$defs/"))
                && !used.contains_key(name)
            {
                used.insert(name.to_owned(), all[name].clone());
                collect(&all[name], all, used);
            }
            fields.values().for_each(|field| collect(field, all, used));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, all, used)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_oldest_release_is_the_one_that_the_chart_names() {
    let chart = yaml_file("helm/callboard/Chart.yaml");
    assert_eq!(chart["kubeVersion"], format!(">={}.0-0", RELEASES[0]));
    assert!(path("helm/callboard/values.schema.json").is_file());
}

#[test]
fn a_field_that_does_not_exist_is_found_in_every_kind_of_schema() {
    for (manifest_of, version, spec) in [
        ("Deployment", "apps/v1", json!({"replica": 1})),
        ("NetworkPolicy", "networking.k8s.io/v1", json!({"podSelectors": {}})),
        ("ScaledObject", "keda.sh/v1alpha1", json!({"minReplicas": 1})),
        ("PodMonitor", "monitoring.coreos.com/v1", json!({"endpoints": []})),
        ("ServiceMonitor", "monitoring.coreos.com/v1", json!({"podMetricsEndpoints": []})),
        ("PrometheusRule", "monitoring.coreos.com/v1", json!({"groups": [{"rules": []}]})),
    ] {
        let value = json!({
            "apiVersion": version, "kind": manifest_of, "metadata": {"name": "x"}, "spec": spec
        });
        for release in RELEASES {
            assert_ne!(manifest(&value, release), Vec::<String>::new(), "{manifest_of}");
        }
    }
    let file = json!({"services": {"one": {"image": "x", "restarts": "no"}}});
    assert_ne!(violations(&compose(), &file), Vec::<String>::new());
}
