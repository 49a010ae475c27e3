//! What is deployed is what it says: the image, the compose file, the chart, the units. Everything here
//! is checked without Docker, Kubernetes or systemd running: against their schemas, and by giving
//! every command line and every variable in them to the real program.

mod chart;
mod compose;
mod dry;
mod image;
mod scaling;
mod schema;
mod units;

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::Value;

/// A file below `deploy/`.
fn path(below: &str) -> PathBuf {
    callboard_tests::root().join("deploy").join(below)
}

fn text(below: &str) -> String {
    let path = path(below);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// YAML with its merges done; several documents are several values, empty ones are left out.
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

/// The strings of a list; nothing for what is no list.
fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Lines `NAME=value` of a file for an environment; comments and empty lines are left out.
fn environment(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.to_owned()))
        .collect()
}
