//! Golden samples of records, one file each, by version of the format. Samples may be added and
//! must never change: a log from any earlier version must stay readable.

use std::{collections::BTreeSet, fs, path::PathBuf};

use callboard_proto::{
    decision::DecisionKind,
    fact::Fact,
    id::WorkerId,
    record::{Body, Known, Record},
};
use serde_json::Value;

fn samples() -> Vec<(String, String)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1");
    let mut samples: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap().trim_end().to_owned())
        })
        .collect();
    samples.sort();
    samples
}

#[test]
fn every_golden_record_is_understood_and_written_again_as_it_was() {
    let by = WorkerId::new("w1").unwrap();
    for (name, text) in samples() {
        let record = Record::from_slice(text.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(
            String::from_utf8(record.to_vec()).unwrap(),
            text,
            "{name}: unknown or reordered fields"
        );
        let known = record.known().unwrap_or_else(|e| panic!("{name}: {e}"));
        let again = match &known {
            Known::Fact(fact) => Record::of_fact(fact, record.id.clone(), &by),
            Known::Decision(decision) => Record::of_decision(decision, record.id.clone(), &by),
        };
        let again: Value = serde_json::from_slice(&again.unwrap().to_vec()).unwrap();
        assert_eq!(
            again,
            serde_json::from_str::<Value>(&text).unwrap(),
            "{name}: this version writes it differently"
        );
    }
}

#[test]
fn every_kind_has_a_golden_record() {
    let facts = Fact::KINDS.iter().copied();
    let decisions = DecisionKind::ALL.iter().map(|kind| kind.as_str());
    let wanted: BTreeSet<_> = facts.chain(decisions).map(str::to_owned).collect();
    let found: BTreeSet<_> = samples()
        .into_iter()
        .map(|(name, _)| name.split('.').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(found, wanted);
}

#[test]
fn a_newer_record_with_fields_unknown_here_is_understood_and_kept_whole() {
    for (name, text) in samples() {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        value["later"] = Value::from("x");
        value["body"]["later"] = serde_json::json!({"deep": [1.50, null]});
        let text = value.to_string();
        let record = Record::from_slice(text.as_bytes()).unwrap();
        assert!(record.known().is_ok(), "{name}: {:?}", record.known());
        assert!(matches!(record.body, Body::Inline(_)));
        let written: Value = serde_json::from_slice(&record.to_vec()).unwrap();
        assert_eq!(written, value, "{name}");
    }
}
