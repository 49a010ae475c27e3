//! Tests of the deployments: the image, the compose file, the chart and the units. They need no
//! Docker, Kubernetes or systemd. They validate the files against their schemas, and give every
//! command line and variable to the real program.

mod chart;
mod compose;
mod dry;
mod image;
mod scaling;
mod schema;
mod units;

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::Value;

/// Returns the path of a file below `deploy/`.
fn path(below: &str) -> PathBuf {
    callboard_tests::root().join("deploy").join(below)
}

fn text(below: &str) -> String {
    let path = path(below);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Parses YAML documents, with merges applied and without empty documents.
fn yaml(text: &str) -> Vec<Value> {
    let documents: Vec<Option<Value>> =
        serde_saphyr::from_multiple(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    documents.into_iter().flatten().filter(|value| !value.is_null()).collect()
}

fn yaml_file(below: &str) -> Value {
    let mut documents = yaml(&text(below));
    assert_eq!(documents.len(), 1, "{below} is one document");
    documents.swap_remove(0)
}

/// Returns the strings of a list; empty when the value is no list.
fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Parses the lines `NAME=value` of an environment file, without comments and empty lines.
fn environment(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.to_owned()))
        .collect()
}
