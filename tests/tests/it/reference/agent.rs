//! The check of `docs/agent-reference.md` against the fields of agent files. The fields are not
//! listed here: an agent with an unknown field or value is refused with the list of the known ones.

use std::collections::BTreeSet;

use agents::{
    catalogue::Catalogue,
    conflicts::{self, clashes},
    source::{self, Source},
};
use proto::{
    agent::{Agent, Layer},
    id::AgentName,
    lang::Language,
};
use serde_json::{Value, json};

use super::{page, rows};
use crate::{
    markdown::{self, Cell},
    sources,
};

const PAGE: &str = "docs/agent-reference.md";

/// A word unlike any field or value, whose error lists all of them.
const PROBE: &str = "zzzzzzzzzzzz";

/// The keys of an agent file that are no policies.
const OF_THE_FILE: [&str; 2] = ["extends", "about"];

/// The other fields that an agent needs when a key is tried alone.
const AROUND: &[(&str, &str)] = &[
    ("agents[].", "agents: [{name: a}]"),
    ("approval.rules[].", "approval: {rules: [{tool: t, then: ask}]}"),
    ("approval.untrusted.", "approval: {untrusted: {then: ask}}"),
    (
        "approval.inherited[].",
        "approval: {inherited: [{rules: [{tool: t, then: ask}], untrusted: {then: ask}}]}",
    ),
    ("fallback[].", "fallback: [{model: m}]"),
    ("budget.price.", "budget: {price: {input_per_million: 1.0, output_per_million: 1.0}}"),
    (
        "budget.prices[].",
        "budget: {prices: [{model: m, input_per_million: 1.0, output_per_million: 1.0}]}",
    ),
    ("step.retry.", "step: {retry: {max_attempts: 1}}"),
    ("ask.rounds", "ask: {limit: unlimited}"),
    ("guard.repeat_warn", "guard: {repeat_stop: 100}"),
    ("guard.repeat_stop", "guard: {repeat_warn: 0}"),
];

/// Returns the mistakes of an agent file.
fn mistakes(text: &str) -> Vec<String> {
    let name = AgentName::new("mine").unwrap();
    let source = Source { name, place: "mine.yaml".to_owned(), text: text.to_owned() };
    let mut catalogue = Catalogue::default();
    catalogue.set(Layer::Directory, [source]);
    catalogue.mistakes().iter().map(|mistake| mistake.why.text(Language::En).to_owned()).collect()
}

/// Sets a key. `a[].b` is a field of the first item of a list.
fn set(agent: &mut Value, key: &str, value: Value) {
    let (name, rest) = key.split_once('.').map_or((key, None), |(name, rest)| (name, Some(rest)));
    let at = match name.strip_suffix("[]") {
        None => &mut agent[name],
        Some(list) => {
            if agent[list].is_null() {
                agent[list] = json!([{}]);
            }
            &mut agent[list][0]
        }
    };
    match rest {
        None => *at = value,
        Some(rest) => set(at, rest, value),
    }
}

fn only(key: &str, value: Value) -> String {
    let mut agent = json!({});
    set(&mut agent, key, value);
    agent.to_string()
}

/// Returns the fields or values that a mistake of a file lists.
fn listed(text: &str, what: &str) -> Option<Vec<String>> {
    let before = format!("there is no such {what}; there are ");
    let mistakes = mistakes(text);
    let listed = mistakes.iter().find_map(|mistake| mistake.strip_prefix(&before))?;
    Some(listed.split(", ").map(str::to_owned).collect())
}

/// Returns the fields below a key; `None` when the key is no mapping.
fn fields(key: &str) -> Option<Vec<String>> {
    let below = if key.is_empty() { PROBE.to_owned() } else { format!("{key}.{PROBE}") };
    listed(&only(&below, json!(0)), "field")
}

/// Returns the words that a key or the items of its list may have; `None` when they are no words.
fn words(key: &str) -> Option<BTreeSet<String>> {
    let values = [json!(PROBE), json!([PROBE])];
    values.into_iter().find_map(|value| listed(&only(key, value), "value")).map(BTreeSet::from_iter)
}

fn is_written(key: &str) -> bool {
    let mistakes = mistakes(&only(key, json!(PROBE)));
    !mistakes.iter().any(|why| why.starts_with("the name of an agent is the name of its file"))
}

/// Returns every key of an agent file that holds a value.
fn keys() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut mappings = vec![String::new()];
    while let Some(mapping) = mappings.pop() {
        for name in fields(&mapping).unwrap() {
            let key = if mapping.is_empty() { name } else { format!("{mapping}.{name}") };
            let below =
                [key.clone(), format!("{key}[]")].into_iter().find(|key| fields(key).is_some());
            match below {
                Some(below) => mappings.push(below),
                None if is_written(&key) => {
                    found.insert(key);
                }
                None => {}
            }
        }
    }
    found
}

/// One row: a key with its type, its default, and the errors for wrong values.
struct Row {
    key: String,
    kind: Cell,
    default: Cell,
    errors: Vec<String>,
}

fn documented() -> Vec<Row> {
    let read = |row: Vec<Cell>| {
        let [key, kind, default, _meaning, errors] = row.try_into().unwrap();
        Row { key: key.codes[0].clone(), kind, default, errors: errors.codes }
    };
    rows(&page(PAGE), "key").into_iter().map(read).collect()
}

/// Returns the agent in which a key is tried.
fn around(key: &str) -> Value {
    let yaml =
        AROUND.iter().find(|(prefix, _)| key.starts_with(prefix)).map_or("{}", |(_, yaml)| yaml);
    source::json(yaml).unwrap()
}

fn agent(fields: &Value) -> Result<Agent, String> {
    serde_json::from_value(fields.clone()).map_err(|error| error.to_string())
}

fn with(key: &str, value: Value) -> Result<Agent, String> {
    let mut fields = around(key);
    set(&mut fields, key, value);
    agent(&fields)
}

fn yaml(text: &str) -> Value {
    source::json(&format!("value: {text}")).unwrap()["value"].clone()
}

/// Returns values within the bounds in a type's description, and values right outside.
fn bounds(kind: &str) -> Vec<(Value, bool)> {
    let words: Vec<String> = kind
        .split_whitespace()
        .map(|word| word.trim_end_matches([',', ';', '.']).replace(',', ""))
        .collect();
    let number = |word: &String| word.parse::<f64>().ok();
    let value = |number: f64| {
        let whole = !words.iter().any(|word| word.contains('.'));
        #[expect(clippy::cast_possible_truncation, reason = "bounds are whole numbers below 2^53")]
        if whole { json!(number as i64) } else { json!(number) }
    };
    let step = if words.iter().any(|word| word.contains('.')) { 0.1 } else { 1.0 };
    let mut found = Vec::new();
    for window in words.windows(3) {
        let [first, second, third] = window else { continue };
        match (first.as_str(), second.as_str(), number(first), number(second), number(third)) {
            (_, "to", Some(least), _, Some(most)) => {
                found.extend([(value(least), true), (value(most), true)]);
                found.extend([(value(least - step), false), (value(most + step), false)]);
            }
            ("at", "most", _, _, Some(most)) => {
                found.extend([(value(most), true), (value(most + step), false)]);
            }
            ("at", "least", _, _, Some(least)) => {
                found.extend([(value(least), true), (value(least - step), false)]);
            }
            (_, "above", _, _, Some(least)) => found.push((value(least), false)),
            _ => {}
        }
    }
    // A negative value where an unsigned number belongs is an error of another kind.
    found.retain(|(value, _)| value.as_i64().is_none_or(|number| number >= 0));
    found
}

#[test]
fn the_page_has_every_key_of_an_agent_file_and_no_other() {
    let documented: Vec<String> = documented().into_iter().map(|row| row.key).collect();
    let once: BTreeSet<String> = documented.iter().cloned().collect();
    assert_eq!(once.len(), documented.len(), "a key is there twice");
    let keys = keys();
    assert_eq!(keys.difference(&once).collect::<Vec<_>>(), [""; 0], "not on the page");
    assert_eq!(once.difference(&keys).collect::<Vec<_>>(), [""; 0], "no key of an agent file");
}

#[test]
fn the_page_has_every_word_that_a_key_takes() {
    for Row { key, kind, .. } in documented() {
        if let Some(words) = words(&key) {
            assert_eq!(BTreeSet::from_iter(kind.codes), words, "{key}");
        }
    }
}

#[test]
fn the_defaults_of_the_page_change_nothing() {
    for Row { key, default, .. } in documented() {
        if OF_THE_FILE.contains(&key.as_str()) {
            continue;
        }
        let without = agent(&around(&key)).unwrap();
        match (default.codes.first(), default.text.as_str()) {
            (Some(code), _) => assert_eq!(with(&key, yaml(code)), Ok(without), "{key}: {code}"),
            (None, "required") => assert!(with(&key, Value::Null).is_err(), "{key}"),
            (None, _) => assert_eq!(with(&key, Value::Null), Ok(without), "{key}: none"),
        }
    }
}

/// Returns the messages about agents, in English.
fn messages() -> Vec<String> {
    let files = sources::ending_with(".toml");
    let file = files.iter().find(|file| file.path == "messages/languages/en.toml").unwrap();
    let file: toml::Table = file.text.parse().unwrap();
    let tables = ["bounds", "agent_file", "conflicts", "id"].map(|table| &file[table]);
    let texts = tables.into_iter().flat_map(|table| table.as_table().unwrap().values());
    texts.map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Returns whether a text is a message whose arguments in braces have values.
fn is_instance(message: &str, text: &str) -> bool {
    let mut parts = message.split('{').map(|part| part.split_once('}').map_or(part, |(_, p)| p));
    let Some(mut rest) = parts.next().and_then(|start| text.strip_prefix(start)) else {
        return false;
    };
    for part in parts {
        match part {
            "" => rest = "",
            part => match rest.split_once(part) {
                Some((_, after)) => rest = after,
                None => return false,
            },
        }
    }
    rest.is_empty()
}

#[test]
fn a_message_is_found_with_its_arguments_and_not_without_its_words() {
    for (message, text, is) in [
        ("must be {low} to {high}", "must be 1 to 9", true),
        ("must be {low} to {high}", "must be 1 or 9", false),
        ("must be at most {max}, or \"unlimited\"", "must be at most 9, or \"unlimited\"", true),
        ("must not be negative", "must not be negative", true),
        ("must not be negative", "must not be", false),
        ("must be {low}", "should be 9", false),
    ] {
        assert_eq!(is_instance(message, text), is, "{message}: {text}");
    }
}

#[test]
fn the_bounds_of_the_page_are_kept_and_what_it_says_of_wrong_values_is_said() {
    let said = messages();
    let mut tried = 0;
    for Row { key, kind, errors, .. } in documented() {
        for error in &errors {
            let is_said = said.iter().any(|message| is_instance(message, error));
            assert!(is_said, "{key}: nobody says {error:?}");
        }
        if !["number", "whole number", "milliseconds"]
            .iter()
            .any(|word| kind.text.starts_with(word))
        {
            continue;
        }
        for (value, fits) in bounds(&kind.text) {
            tried += 1;
            let wrong = conflicts::check(&with(&key, value.clone()).unwrap()).err();
            let wrong = wrong.filter(|wrong| key.starts_with(&wrong.field));
            match (fits, wrong) {
                (true, wrong) => assert_eq!(wrong, None, "{key}: {value}"),
                (false, Some(wrong)) => {
                    assert!(
                        errors.iter().any(|e| *e == wrong.why.text(Language::En)),
                        "{key}: {value}: {wrong}"
                    );
                }
                (false, None) => panic!("{key}: {value} is taken"),
            }
        }
    }
    assert!(tried > 60, "only {tried} bounds were read from the page");
}

/// The map shows one file, with every key that is independent of others.
#[test]
fn the_map_of_the_page_has_every_key_with_its_default() {
    let blocks = markdown::parse(&page(PAGE)).blocks;
    let map = blocks.iter().find(|block| block.info == ["yaml", "map"]).unwrap();
    let mut fields = source::json(&map.text).unwrap();
    for key in OF_THE_FILE {
        fields.as_object_mut().unwrap().shift_remove(key);
    }
    assert_eq!(agent(&fields), Ok(Agent::default()));
    for key in keys().iter().filter(|key| !OF_THE_FILE.contains(&key.as_str())) {
        let pointer = format!("/{}", key.replace('.', "/"));
        let above = pointer.rsplit_once('/').and_then(|(above, _)| fields.pointer(above));
        // An item of a list and a field of a mapping that is absent have no place in the map.
        let inside = key.contains("[]") || above.is_some_and(Value::is_null);
        assert!(inside || fields.pointer(&pointer).is_some(), "{key} is not in the map");
    }
}

#[test]
fn the_page_has_every_combination_that_is_refused() {
    let row = |clash: &agents::conflicts::Clash| {
        let example = clash.example.replace('\n', "; ");
        let refused = if clash.idle { "where it is written" } else { "always" };
        let [key, with] = clash.fields;
        format!(
            "| `{key}` | `{with}` | {} | {refused} | `{example}` |",
            clash.why().text(Language::En)
        )
    };
    let page = page(PAGE);
    let wanted: Vec<String> = clashes().map(row).collect();
    let missing: Vec<&String> = wanted.iter().filter(|row| !page.contains(*row)).collect();
    assert!(missing.is_empty(), "not on the page:\n{}", wanted.join("\n"));
    assert_eq!(
        rows(&page, "setting").len(),
        wanted.len(),
        "the page has more:\n{}",
        wanted.join("\n")
    );
}

#[test]
fn keys_are_found_however_deep_they_stand() {
    let keys = keys();
    for key in
        ["extends", "plan.when", "step.retry.jitter", "budget.prices[].model", "agents[].name"]
    {
        assert!(keys.contains(key), "{key}");
    }
    for not in ["name", "plan", "budget.price", "tool.presets.zzzzzzzzzzzz"] {
        assert!(!keys.contains(not), "{not}");
    }
    assert_eq!(
        words("dispatch").unwrap(),
        BTreeSet::from(["parallel", "sequential", "levels"].map(str::to_owned))
    );
    assert_eq!(bounds("whole number, 1 to 1,000").len(), 4);
}
