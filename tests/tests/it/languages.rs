//! Tests that texts for people and models are in the language files only.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{self, Source};

/// Code that contains Chinese, with the reason: it parses or shows texts of people and models.
const READS_CHINESE: &[(&str, &str)] = &[
    ("cli/src/args/chat.rs", "help that names the words of `chat/line.rs`"),
    ("cli/src/chat/line.rs", "the words by which people cancel"),
    ("cli/src/commands/demo.rs", "the goal of the demonstration"),
    ("client/src/session/parse.rs", "the words by which people agree and decline"),
    ("planner-actor/src/parse/said.rs", "the words by which models introduce examples"),
    ("proto/src/lang.rs", "the names of languages, as models and people write them"),
    ("tool-actors/src/tools/create_task.rs", "a word between a task and its date"),
    ("tool-actors/src/tools/list_tasks.rs", "the word after `/todo` that lists the tasks"),
];

/// Returns the tables of a language file.
fn tables(file: &str) -> BTreeSet<String> {
    let file: toml::Table = file.parse().expect("the compiler has read it");
    file.into_iter().map(|(table, _)| table).collect()
}

/// Returns the number of modules that use each table.
fn spoken(sources: &[Source]) -> BTreeMap<String, usize> {
    let mut spoken = BTreeMap::new();
    let calls = ["messages::texts!(", "messages::translations!(", "messages::reasons!("];
    let is_itself = |source: &&Source| {
        source.path.starts_with("messages/") || source.path == "tests/tests/it/languages.rs"
    };
    for source in sources.iter().filter(|source| !is_itself(source)) {
        for call in calls {
            for rest in source.text.split(call).skip(1) {
                let table = rest.split(')').next().unwrap_or_default();
                *spoken.entry(table.to_owned()).or_default() += 1;
            }
        }
    }
    spoken
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}')
}

/// Returns the part of a file that is compiled into the program.
fn production(source: &Source) -> &str {
    let tests = ["/tests/", "/tests.rs", "testing", "simulation/", "bench/", "fuzz/", "samples.rs"];
    let beside = ["tests/", "cli/src/render/snapshots.rs", "planner-actor/src/normalise.rs"];
    let is_test = tests.iter().any(|part| source.path.contains(part))
        || beside.iter().any(|path| source.path.starts_with(path));
    let code = if is_test { "" } else { source.text.as_str() };
    code.split("#[cfg(test)]").next().unwrap_or_default()
}

#[test]
fn every_table_is_the_messages_of_one_module() {
    let spoken = spoken(&sources::ending_with(".rs"));
    let files = sources::ending_with(".toml");
    let files = files.iter().filter(|file| file.path.starts_with("messages/languages/"));
    let tables: BTreeSet<String> = files.flat_map(|file| tables(&file.text)).collect();
    assert!(tables.len() > 20, "the files are found");
    let twice: Vec<_> = spoken.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(spoken.into_keys().collect::<BTreeSet<_>>(), tables);
}

#[test]
fn no_code_speaks_chinese_by_itself() {
    let sources = sources::ending_with(".rs");
    let found: BTreeSet<&str> = sources
        .iter()
        .filter(|source| production(source).chars().any(is_chinese))
        .map(|source| source.path.as_str())
        .collect();
    let allowed: BTreeSet<&str> = READS_CHINESE.iter().map(|(path, _)| *path).collect();
    assert_eq!(found, allowed, "put it into messages/languages/, or say here why not");
}
