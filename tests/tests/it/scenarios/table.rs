//! The check of the table of scenarios, `docs/internals/scenarios.md`.
//! `CALLBOARD_WRITE_SCENARIOS=1` writes it.

use std::fmt::Write as _;

use super::format::{self, Scenario};

/// Marks the beginning of the table in the document.
const HEAD: &str =
    "| scenario | design | line | place in the design | state |\n|---|---|---|---|---|\n";

#[test]
fn the_table_lists_every_scenario_with_its_place_and_its_state() {
    let path = callboard_tests::root().join("docs/internals/scenarios.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (before, _) = document.split_once(HEAD).expect("the document has the table");
    let scenarios: Vec<(String, Scenario)> = format::all()
        .iter()
        .map(|path| {
            let part =
                |path: &std::path::Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
            (format!("{}/{}", part(path.parent().unwrap()), part(path)), Scenario::read(path))
        })
        .collect();
    let mut wanted = format!("{before}{HEAD}");
    for (name, scenario) in &scenarios {
        let state =
            scenario.missing.as_ref().map_or("passes".to_owned(), |m| format!("lacks: {m}"));
        let Scenario { design, section, line, .. } = scenario;
        writeln!(
            wanted,
            "| [{name}](../../tests/scenarios/{name}.yaml) | {design} | {line} | {section} | {state} |"
        )
        .unwrap();
    }
    if std::env::var_os("CALLBOARD_WRITE_SCENARIOS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let document = std::fs::read_to_string(&path).unwrap();
    assert_eq!(document, wanted, "CALLBOARD_WRITE_SCENARIOS=1 writes the table");
}

#[test]
fn every_scenario_is_played_through_the_preset_of_its_directory() {
    for path in format::all() {
        let directory = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(Scenario::read(&path).agent, directory, "{}", path.display());
    }
}
