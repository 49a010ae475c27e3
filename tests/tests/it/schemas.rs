//! The check of the JSON Schemas: those of docs/schemas/ are those of the types, and they accept what
//! the types accept, and refuse what the types refuse.
//!
//! `CALLBOARD_WRITE_CONFIGURATION=1` writes docs/schemas/.

use std::{collections::BTreeSet, fs, path::PathBuf};

use jsonschema::Validator;
use proto::{
    decision::DecisionKind,
    door::{Submit, Verb},
    event::Event,
    fact::Fact,
    record::Record,
    schema::{Name, WHOLE},
};
use serde_json::{Value, json};

fn root() -> PathBuf {
    callboard_tests::root().to_path_buf()
}

fn validator(name: Name) -> Validator {
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
    let built = options.should_validate_formats(true).build(&name.document());
    built.unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Returns the golden samples of records: file name and content.
fn samples() -> Vec<(String, Value)> {
    let mut samples = Vec::new();
    for version in fs::read_dir(root().join("proto/tests/golden")).unwrap() {
        for file in fs::read_dir(version.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            samples.push((name, serde_json::from_str(&text).unwrap()));
        }
    }
    samples.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(samples.len() > 60, "golden samples are missing");
    samples
}

#[test]
fn the_schemas_of_the_documentation_are_those_of_the_types() {
    let write = std::env::var_os("CALLBOARD_WRITE_CONFIGURATION").is_some();
    let directory = root().join("docs/schemas");
    let mut files = BTreeSet::new();
    for name in WHOLE {
        let path = directory.join(format!("{name}.json"));
        let wanted = format!("{}\n", serde_json::to_string_pretty(&name.document()).unwrap());
        if write {
            fs::create_dir_all(&directory).unwrap();
            fs::write(&path, &wanted).unwrap();
        }
        let now = fs::read_to_string(&path).unwrap_or_default();
        let hint = "CALLBOARD_WRITE_CONFIGURATION=1 writes it";
        assert!(now == wanted, "docs/schemas/{name}.json differs: {hint}");
        files.insert(format!("{name}.json"));
    }
    let found = fs::read_dir(directory).unwrap().map(|file| file.unwrap().file_name());
    let found: BTreeSet<_> = found.map(|name| name.to_string_lossy().into_owned()).collect();
    assert_eq!(found, files);
}

#[test]
fn every_name_has_a_schema_and_every_kind_and_verb_a_name() {
    let names: BTreeSet<String> = Name::all().map(|name| name.to_string()).collect();
    let kinds =
        Fact::KINDS.iter().copied().chain(DecisionKind::ALL.iter().map(|kind| kind.as_str()));
    for wanted in kinds
        .map(|kind| format!("record.{kind}"))
        .chain(Verb::ALL.iter().map(|verb| format!("request.{verb}")))
        .chain(Verb::ALL.iter().map(|verb| format!("reply.{verb}")))
    {
        assert!(names.contains(&wanted), "{wanted}");
    }
    for name in Name::all() {
        validator(name);
        assert_eq!(Name::parse(&name.to_string()), Some(name));
        assert_eq!(name.document()["title"], json!(name.to_string()));
    }
    assert_eq!(Name::parse("record.nothing"), None);
}

#[test]
fn every_golden_record_fits_the_schema_of_its_kind_and_of_all_records() {
    let whole = validator(Name::Record);
    for (file, sample) in samples() {
        let kind = sample["kind"].as_str().unwrap().to_owned();
        let name = Name::parse(&format!("record.{kind}")).unwrap();
        let errors: Vec<_> = validator(name).iter_errors(&sample).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{file}");
        assert!(whole.is_valid(&sample), "{file}");
    }
}

/// A change of one place of a JSON value.
struct Mutant {
    what: String,
    value: Value,
}

/// Returns the value with each field left out, and with each value replaced by one of another type.
fn mutants(value: &Value) -> Vec<Mutant> {
    let mut all = Vec::new();
    let mut places = vec![String::new()];
    while let Some(place) = places.pop() {
        let at = value.pointer(&place).unwrap();
        let mut replaced = |what: &str, by: Value| {
            let mut copy = value.clone();
            *copy.pointer_mut(&place).unwrap() = by;
            all.push(Mutant { what: format!("{what} {place}"), value: copy });
        };
        if !at.is_object() {
            replaced("an object at", json!({ "odd": [1] }));
        }
        if !at.is_number() {
            replaced("a number at", json!(-1.5));
        }
        if !at.is_string() {
            replaced("a text at", json!("odd one"));
        }
        match at {
            Value::Object(fields) => {
                for name in fields.keys() {
                    let mut copy = value.clone();
                    let parent = copy.pointer_mut(&place).and_then(Value::as_object_mut).unwrap();
                    parent.shift_remove(name);
                    all.push(Mutant { what: format!("without {place}/{name}"), value: copy });
                    let name = name.replace('~', "~0").replace('/', "~1");
                    places.push(format!("{place}/{name}"));
                }
            }
            Value::Array(items) => {
                places.extend((0..items.len()).map(|n| format!("{place}/{n}")));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    all
}

/// Compares a schema with a reader on every mutant of a sample.
fn compare(
    file: &str,
    schema: &Validator,
    sample: &Value,
    reads: impl Fn(&Value) -> bool,
) -> usize {
    let mut refused = 0;
    for Mutant { what, value } in mutants(sample) {
        let (fits, read) = (schema.is_valid(&value), reads(&value));
        if read {
            let why: Vec<_> = schema.iter_errors(&value).map(|e| e.to_string()).collect();
            assert!(fits, "{file}, {what}: Callboard reads it, and the schema refuses it: {why:?}");
        } else {
            assert!(!fits, "{file}, {what}: the schema accepts what Callboard refuses");
            refused += 1;
        }
    }
    refused
}

#[test]
fn a_changed_record_is_refused_exactly_where_callboard_refuses_it() {
    for (file, sample) in samples() {
        let kind = sample["kind"].as_str().unwrap();
        let schema = validator(Name::parse(&format!("record.{kind}")).unwrap());
        let reads = |value: &Value| {
            // The kind chooses the schema, so another kind is another schema's business.
            let record = Record::from_slice(value.to_string().as_bytes());
            record.is_ok_and(|record| record.kind == kind && record.known().is_ok())
        };
        let refused = compare(&file, &schema, &sample, reads);
        assert!(refused > 5, "{file}: {refused} mutants were refused");
    }
}

/// Returns the JSON of all blocks of a kind in a document, one a line.
fn shown(page: &str, kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let head = format!("```json {kind}\n");
    let blocks = text.split(&head).skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_event_of_the_documentation_fits_and_a_changed_one_does_not() {
    let schema = validator(Name::Event);
    let events = shown("docs/events.md", "event");
    assert!(events.len() > 10);
    for event in events {
        assert!(schema.is_valid(&event), "{event}");
        compare("docs/events.md", &schema, &event, |value| {
            serde_json::from_value::<Event>(value.clone()).is_ok()
        });
    }
}

#[test]
fn a_submission_is_accepted_exactly_where_the_front_door_reads_it() {
    let schema = validator(Name::RequestOf(Verb::Submit));
    for sample in [
        json!({ "goal": "Plan a trip" }),
        json!({ "id": "a", "goal": "/echo", "call": { "tool": "echo", "args": { "value": 1 } } }),
        json!({ "goal": "g", "agent": "react", "language": "en", "confirm": false, "deadline_ms": 5,
                "tools": ["echo"], "labels": { "team": "blue" } }),
        json!({ "goal": "g", "agent": { "plan": { "when": "never" }, "confirm": false } }),
        json!({ "goal": "", "fork": { "job": "a" }, "id": "b" }),
    ] {
        assert!(schema.is_valid(&sample), "{sample}");
        let reads = |value: &Value| serde_json::from_value::<Submit>(value.clone()).is_ok();
        assert!(compare("submit", &schema, &sample, reads) > 0);
    }
}

#[test]
fn every_agent_file_fits_and_the_mistakes_of_files_do_not() {
    let schema = validator(Name::Agent);
    let mut files = Vec::new();
    for directory in ["agents", "examples/editor/agents", "examples/agent-tests"] {
        for file in fs::read_dir(root().join(directory)).unwrap() {
            let path = file.unwrap().path();
            let is_agent = path.extension().is_some_and(|ending| ending == "yaml")
                && !path.to_string_lossy().ends_with("-test.yaml")
                && !path.to_string_lossy().ends_with("script.yaml");
            files.extend(is_agent.then_some(path));
        }
    }
    assert!(files.len() > 11, "{files:?}");
    for file in files {
        let agent = agents::source::json(&fs::read_to_string(&file).unwrap()).unwrap();
        let errors: Vec<_> = schema.iter_errors(&agent).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", file.display());
    }
    for mistake in [
        json!({ "name": "a" }),
        json!({ "plan": { "wen": "never" } }),
        json!({ "plan": { "when": "sometimes" } }),
        json!({ "confirm": "no" }),
        json!({ "deadline_ms": -1 }),
        json!({ "extends": 3 }),
        json!({ "tools": "echo" }),
    ] {
        assert!(!schema.is_valid(&mistake), "{mistake}");
    }
    assert!(schema.is_valid(&json!({ "deadline_ms": null, "plan": { "model": null } })));
}
