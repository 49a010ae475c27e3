//! The check of the table of requirements, `docs/internals/requirements.md`, against the code.
//! Every id appears once and in order, every named test exists and runs, every linked file exists,
//! and the figures at the top are correct. People judge what the tests show.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::sources::{self, Source};

/// The families in order, with the number of requirements of each.
const FAMILIES: &[(&str, usize)] = &[
    ("CFG", 15),
    ("PLN", 23),
    ("ASK", 15),
    ("CHK", 6),
    ("DSP", 9),
    ("VAR", 7),
    ("STEP", 11),
    ("TOOL", 10),
    ("SUB", 4),
    ("RPL", 8),
    ("MEM", 6),
    ("OBS", 2),
    ("EVT", 5),
    ("FAIL", 11),
    ("WF", 11),
    ("SNAP", 1),
    ("MON", 5),
    ("UI", 3),
    ("CMD", 2),
    ("AUD", 1),
    ("NFR", 6),
];

/// The maximum number of tests in a row, which enforces a choice.
const TESTS_MAX: usize = 3;

/// A cell of the table.
#[derive(Debug, Default, Clone)]
struct Cell {
    text: String,
    codes: Vec<String>,
    links: Vec<String>,
}

/// The degree to which a requirement is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Met {
    Shown,
    Partly,
    NotYet,
}

/// A row: a requirement, its place, and its tests.
struct Row {
    id: String,
    asks: Cell,
    place: Cell,
    shown_by: Cell,
}

impl Row {
    fn tests(&self) -> impl Iterator<Item = &String> {
        self.shown_by.codes.iter().filter(|code| code.contains("::"))
    }

    fn met(&self) -> Met {
        match &self.shown_by.text {
            text if text.starts_with("not yet") => Met::NotYet,
            text if text.contains("partly") => Met::Partly,
            _ => Met::Shown,
        }
    }
}

/// Returns the rows of every table whose first column is `id`.
fn rows(document: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut cells, mut is_ours) = (Vec::<Cell>::new(), false);
    for event in Parser::new_ext(document, Options::ENABLE_TABLES) {
        let cell = cells.last_mut();
        match event {
            Event::Start(Tag::TableHead | Tag::TableRow) => cells.clear(),
            Event::Start(Tag::TableCell) => cells.push(Cell::default()),
            Event::End(TagEnd::TableHead) => {
                is_ours = cells.first().is_some_and(|cell| cell.text == "id");
            }
            Event::End(TagEnd::TableRow) if is_ours => {
                let mut cells = cells.drain(..);
                let mut next = || cells.next().unwrap_or_default();
                let (id, asks, place, shown_by) = (next().text, next(), next(), next());
                rows.push(Row { id, asks, place, shown_by });
            }
            Event::Text(words) => cell.into_iter().for_each(|cell| cell.text.push_str(&words)),
            Event::Code(words) => cell.into_iter().for_each(|cell| {
                cell.text.push_str(&words);
                cell.codes.push(words.to_string());
            }),
            Event::Start(Tag::Link { dest_url, .. }) => {
                cell.into_iter().for_each(|cell| cell.links.push(dest_url.to_string()));
            }
            Event::Start(_)
            | Event::End(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    rows
}

/// Returns the tests of the sources as `crate/module::function`, without ignored ones. The module
/// is the file, or the parent of `mod.rs` and `tests.rs`.
fn tests(sources: &[Source]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for source in sources {
        let mut parts = source.path.trim_end_matches(".rs").split('/');
        let package = parts.next().unwrap_or_default();
        let nameless = ["mod", "tests", "it", "src", "main"];
        let module = parts.rfind(|part| !nameless.contains(part)).unwrap_or(package);
        let (mut is_test, mut is_ignored) = (false, false);
        for line in source.text.lines().map(str::trim) {
            is_test |= ["#[test]", "#[tokio::test", "#[rstest"].iter().any(|a| line.starts_with(a));
            is_ignored |= line.starts_with("#[ignore");
            let Some(name) = function(line) else { continue };
            if is_test && !is_ignored {
                *found.entry(format!("{package}/{module}::{name}")).or_default() += 1;
            }
            (is_test, is_ignored) = (false, false);
        }
    }
    found
}

/// Returns the name of the function that begins on a line.
fn function(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
    let line = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
    line.split(['(', '<']).next()
}

/// Returns the mistakes of the table. `is_there` returns whether a path from the root exists.
fn wrong(
    rows: &[Row],
    tests: &BTreeMap<String, usize>,
    is_there: impl Fn(&str) -> bool,
) -> Vec<String> {
    let ids = rows.iter().map(|row| row.id.as_str());
    let wanted: Vec<String> = FAMILIES
        .iter()
        .flat_map(|(family, most)| (1..=*most).map(move |n| format!("{family}-{n}")))
        .collect();
    let mut wrong = Vec::new();
    if !ids.clone().eq(wanted.iter().map(String::as_str)) {
        let place = ids.zip(&wanted).find(|(id, wanted)| id != wanted);
        let place = place.map(|(id, wanted)| format!("{id} stands where {wanted} should"));
        wrong.push(place.unwrap_or_else(|| format!("{} rows, not {}", rows.len(), wanted.len())));
    }
    for row in rows {
        let mut say = |what: &str| wrong.push(format!("{}: {what}", row.id));
        if row.asks.text.is_empty() || row.place.text.is_empty() {
            say("says nothing of what it asks, or of where it is");
        }
        let named = row.tests().count();
        match row.met() {
            Met::Shown | Met::Partly if named == 0 => say("names no test, and is not `not yet: …`"),
            Met::Shown | Met::Partly if named > TESTS_MAX => {
                say("names more tests than anybody reads")
            }
            Met::Shown => {}
            Met::Partly if !row.shown_by.text.contains("partly: ") => {
                say("does not say what is missing")
            }
            Met::Partly => {}
            Met::NotYet if named > 0 => say("names tests of what is not there"),
            Met::NotYet if !row.shown_by.text.starts_with("not yet: ") => {
                say("does not say what is missing")
            }
            Met::NotYet => {}
        }
        for test in row.tests() {
            match tests.get(test) {
                Some(1) => {}
                Some(n) => say(&format!("{test} may be any of {n} tests")),
                None => say(&format!("there is no test {test} that is run")),
            }
        }
        for link in row.place.links.iter().chain(&row.shown_by.links) {
            let file = link.split('#').next().unwrap_or_default();
            let path = match (file.strip_prefix("../../"), file.strip_prefix("../")) {
                (Some(path), _) => path.to_owned(),
                (None, Some(path)) => format!("docs/{path}"),
                (None, None) => format!("docs/internals/{file}"),
            };
            if !is_there(&path) {
                say(&format!("{path} is not there"));
            }
        }
    }
    wrong
}

/// Returns the sentence at the top of the document.
fn figures(rows: &[Row]) -> String {
    let count = |met: Met| rows.iter().filter(|row| row.met() == met).count();
    format!(
        "Of {} requirements {} are shown, {} in part, and {} not yet.",
        rows.len(),
        count(Met::Shown),
        count(Met::Partly),
        count(Met::NotYet)
    )
}

#[test]
fn every_requirement_is_in_the_table_with_tests_that_are_there() {
    let document =
        std::fs::read_to_string(callboard_tests::root().join("docs/internals/requirements.md"));
    let document = document.unwrap();
    let rows = rows(&document);
    let is_there = |path: &str| callboard_tests::root().join(path).exists();
    let wrong = wrong(&rows, &tests(&sources::ending_with(".rs")), is_there);
    assert_eq!(wrong, Vec::<String>::new(), "\n{}", wrong.join("\n"));
    let named: BTreeSet<&String> = rows.iter().flat_map(Row::tests).collect();
    println!("{} They name {} tests.", figures(&rows), named.len());
    assert!(document.contains(&figures(&rows)), "say on top: {}", figures(&rows));
}

/// Returns a complete table in which a test supplies one row.
fn table(id: &str, row: &str) -> String {
    let mut table = "| id | asks | where | shown by |\n|---|---|---|---|\n".to_owned();
    for (family, most) in FAMILIES {
        for n in 1..=*most {
            if format!("{family}-{n}") == id {
                table.push_str(row);
            } else {
                table.push_str(&format!("| {family}-{n} | x | [a](../a.md) | `c/m::holds` |\n"));
            }
        }
    }
    table
}

#[rstest::rstest]
#[case::as_it_should_be("| DSP-2 | x | [a](../a.md#b) | `c/m::holds`, `c/m::async_too` |\n", "")]
#[case::not_yet("| DSP-2 | x | a | not yet: a wheel |\n", "")]
#[case::partly("| DSP-2 | x | [a](../../b.rs) | `c/m::holds`; partly: no wheel |\n", "")]
#[case::left_out("", "DSP-3 stands where DSP-2 should")]
#[case::twice(
    "| DSP-2 | x | a | `c/m::holds` |\n| DSP-2 | x | a | `c/m::holds` |\n",
    "DSP-2 stands where DSP-3 should"
)]
#[case::no_such_test("| DSP-2 | x | a | `c/m::gone` |\n", "there is no test c/m::gone")]
#[case::of_another_module("| DSP-2 | x | a | `c/n::holds` |\n", "there is no test c/n::holds")]
#[case::a_helper("| DSP-2 | x | a | `c/m::helper` |\n", "there is no test c/m::helper")]
#[case::never_run("| DSP-2 | x | a | `c/m::asleep` |\n", "there is no test c/m::asleep")]
#[case::one_of_two("| DSP-2 | x | a | `c/m::double` |\n", "may be any of 2 tests")]
#[case::no_test("| DSP-2 | x | a | it works |\n", "names no test")]
#[case::not_yet_and_shown(
    "| DSP-2 | x | a | not yet: `c/m::holds` |\n",
    "tests of what is not there"
)]
#[case::not_yet_and_no_more("| DSP-2 | x | a | not yet |\n", "does not say what is missing")]
#[case::partly_and_no_more(
    "| DSP-2 | x | a | `c/m::holds`, partly |\n",
    "does not say what is missing"
)]
#[case::no_such_file("| DSP-2 | x | [a](../c.md) | `c/m::holds` |\n", "docs/c.md is not there")]
#[case::asks_nothing("| DSP-2 | | a | `c/m::holds` |\n", "says nothing of what it asks")]
#[case::too_many(
    "| DSP-2 | x | a | `c/m::holds` `c/m::holds` `c/m::holds` `c/m::holds` |\n",
    "more tests than anybody reads"
)]
fn a_table_that_is_wrong_is_found(#[case] row: &str, #[case] expected: &str) {
    let code = "#[test]\nfn holds() {}\nfn helper() {}\n#[rstest]\n#[case::x(1)]\n#[tokio::test]\nasync fn async_too(#[case] n: u8) {}\n\
        #[test]\n#[ignore = \"slow\"]\nfn asleep() {}\n#[test]\nfn double() {}\n";
    let sources = [
        Source::of("c/src/m/tests.rs", code),
        Source::of("c/tests/it/m.rs", "#[test]\nfn double() {}\n"),
        Source::of("c/src/n.rs", "fn holds() {}\n"),
    ];
    let is_there = |path: &str| ["docs/a.md", "b.rs"].contains(&path);
    let wrong = wrong(&rows(&table("DSP-2", row)), &tests(&sources), is_there).join("\n");
    assert_eq!(wrong.is_empty(), expected.is_empty(), "{wrong}");
    assert!(wrong.contains(expected), "{wrong}");
}

#[test]
fn figures_that_are_not_those_of_the_table_are_found() {
    let rows = rows(&table("DSP-2", "| DSP-2 | x | a | not yet: a wheel |\n"));
    assert_eq!(figures(&rows), "Of 161 requirements 160 are shown, 0 in part, and 1 not yet.");
}
