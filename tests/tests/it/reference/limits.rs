//! The check of `docs/limits.md` against the constants. Every constant named `…_MAX` is on the page
//! with its value, or in [`INTERNAL`] with the reason why it does not concern users.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};

use super::{page, rows};
use crate::sources::{self, Source};

const PAGE: &str = "docs/limits.md";

/// Constants that do not concern users, by path or prefix, with the reason.
const INTERNAL: &[(&str, &str)] = &[
    ("cli::answer::keyboard::", "the same as the limit of an answer"),
    ("cli::args::", "how wide a line of help is drawn"),
    ("cli::chat::line_editor::", "the lines that the history of the line editor keeps"),
    ("cli::commands::chat::own::", "the jobs that a command of the chat looks at and shows"),
    ("cli::commands::doctor::", "from when on a difference of clocks is reported"),
    ("cli::commands::operate::", "what one of our own processes answers"),
    ("cli::commands::worker::", "the concurrency up to which a check sends calls"),
    ("client::session::live_text::", "the amount of streaming text that a screen keeps"),
    ("tui::", "how wide a line is drawn, and what the screens keep"),
    (
        "interaction_actor::inbox_service::RACES_MAX",
        "attempts against others who write at the same moment",
    ),
    ("gateway::agui::steering::RACES_MAX", "attempts against others who write"),
    ("model::provider::http::ERROR_BYTES_MAX", "what is read of a provider's error"),
    ("model::words::", "what is kept of a provider's error"),
    ("model::observed::", "messages of one span"),
    ("planner_actor::", "how hard a reply is read, and how tools are described to a model"),
    ("proto::limits::WIRE_BYTES_MAX", "messages between our own processes"),
    ("agents::placeholder::", "names that a message lists"),
    ("agents::toolbox::", "names that a message lists"),
    ("runtime::http::HEAD", "the form of a request over HTTP"),
    ("runtime::http::SEND_BYTES_MAX", "what waits for a peer that does not read"),
    ("door::agents::verbs::RACES_MAX", "attempts against others who write"),
    ("browser_tools::session::look::ROW_CHARS_MAX", "what a row of the list of tabs shows"),
    ("door::workflows::storing::RACES_MAX", "attempts against others who write"),
    ("door::workflows::versions::RACES_MAX", "attempts against others who write"),
    ("door::row::ROWS_MAX", "a cache, which changes no reply"),
    ("door::folds::", "a cache, which changes no reply and has a bound in bytes"),
    ("tool_actors::search::engine::EXCERPT", "what a message has of a provider's refusal"),
    ("tool_actors::shell::files::DEPTH_MAX", "how deep the size of a workspace is counted"),
    ("sandbox::", "messages between our own processes, and the size of a pipe"),
    ("simulation::cases::cast::MISSED_MAX", "requests that a report lists"),
    ("simulation::cases::report::FAILED_MAX", "seeds that a report lists"),
    ("mcp_client::connection::ERROR_BYTES_MAX", "what is read of a server's error"),
    ("mcp_client::process::STDERR_BYTES_MAX", "what the log has of a server's last words"),
    ("browser_tools::chromium::STDERR_BYTES_MAX", "what the log has of Chromium's first words"),
    ("browser_tools::link::", "messages between Callboard and Chromium"),
    ("browser_tools::proxy::BARRED_MAX", "refused requests that wait for the next reply"),
    ("browser_tools::session::picture::", "the sides of a picture, which has a bound in bytes"),
    ("browser_tools::snapshot::ADDRESS_CHARS_MAX", "what a line has of an address"),
    ("browser_tools::snapshot::draw::", "the same as the limit of a text"),
    ("browser_tools::specs::TEXT_CHARS_MAX", "the same as the limit of a text"),
    ("browser_tools::state::", "what a note has of a page's words, and the frames of a tab"),
    ("runtime::arguments::", "mistakes that a message lists"),
    ("runtime::config::read::", "mistakes that a message lists"),
    ("broker::log::", "how a write without a clear answer is settled"),
    ("broker::memory::", "the log in memory, which keeps nothing"),
    ("broker::nats::", "what the connection to the broker holds"),
    ("runtime::presence::observe::", "series of one metric"),
    ("runtime::registry::announce::RACES_MAX", "attempts against others who announce"),
    ("runtime::schema::KEPT_MAX", "a cache"),
    ("runtime::schema::MISFITS_MAX", "mistakes that a message lists"),
    ("runtime::telemetry::logs::line::", "the length of a field of the log"),
    ("runtime::telemetry::span::", "the length of an attribute"),
    ("runtime::worker::", "what streams while work is done, and may be lost"),
    ("supervisor::activation::", "the bounds of one activation"),
    ("supervisor::actors::", "retries, waits and caches of the supervisor"),
    ("runtime::conversations::CONFLICTS_MAX", "attempts against others who write"),
    ("gateway::webhooks::tasks::CONFLICTS_MAX", "attempts against others who write"),
    ("tool_actors::tasks::CONFLICTS_MAX", "attempts against others who write"),
    ("tool_actors::workspace::DISTURBED_MAX", "attempts against others who write"),
];

/// Directories whose constants are no part of the program.
const ELSEWHERE: [&str; 5] = ["bench/", "simulation/", "fuzz/", "tests/", "deploy/"];

/// The part of these that the command line offers to users.
const OFFERED: &str = "simulation/src/cases/";

/// Returns the constants of a source by path, with the tokens of their values.
fn constants(source: &Source) -> BTreeMap<String, Vec<TokenTree>> {
    let module = source.path.replacen("/src", "", 1).replace('-', "_");
    let module = module.trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("/lib");
    let module = module.replace('/', "::");
    let tokens: TokenStream = source.text.parse().unwrap();
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = BTreeMap::new();
    for at in 0..tokens.len() {
        let (Some(TokenTree::Ident(word)), Some(TokenTree::Ident(name))) =
            (tokens.get(at), tokens.get(at + 1))
        else {
            continue;
        };
        if word != "const" || !name.to_string().ends_with("_MAX") {
            continue;
        }
        let is = |mark: char| move |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == mark);
        let rest = tokens[at..].iter().skip_while(|token| !is('=')(token)).skip(1);
        let value = rest.take_while(|token| !is(';')(token)).cloned().collect();
        found.insert(format!("{module}::{name}"), value);
    }
    found
}

/// Evaluates a constant: a number, or a duration in milliseconds.
fn value(tokens: &[TokenTree], others: &BTreeMap<String, Vec<TokenTree>>) -> Option<f64> {
    let split = |mark: char| {
        tokens.iter().rposition(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == mark))
    };
    let sides =
        |at: usize| Some((value(&tokens[..at], others)?, value(&tokens[at + 1..], others)?));
    if let [TokenTree::Group(group)] = tokens {
        return value(&group.stream().into_iter().collect::<Vec<_>>(), others);
    }
    if let Some(at) = split('<') {
        let (left, right) = (value(&tokens[..at - 1], others)?, value(&tokens[at + 1..], others)?);
        return Some(left * right.exp2());
    }
    if let Some((left, right)) = split('+').and_then(sides) {
        return Some(left + right);
    }
    if let Some((left, right)) = split('-').and_then(sides) {
        return Some(left - right);
    }
    if let Some((left, right)) = split('*').and_then(sides) {
        return Some(left * right);
    }
    let words: Vec<String> = tokens.iter().map(ToString::to_string).collect();
    if let [.., unit, _] = words.as_slice()
        && let Some(TokenTree::Group(group)) = tokens.last()
    {
        let inner = value(&group.stream().into_iter().collect::<Vec<_>>(), others)?;
        return match unit.as_str() {
            "from_secs" => Some(inner * 1000.0),
            "from_millis" => Some(inner),
            _ => None,
        };
    }
    match words.last()? {
        name if name.ends_with("_MAX") => {
            let path = words.concat().replace("crate", "").trim_start_matches("::").to_owned();
            let (_, tokens) = others.iter().find(|(other, _)| other.ends_with(&path))?;
            value(tokens, others)
        }
        number => {
            let digits: String = number
                .replace('_', "")
                .chars()
                .take_while(|c| c.is_ascii_digit() || *c == '.')
                .collect();
            digits.parse().ok()
        }
    }
}

fn known() -> BTreeMap<String, f64> {
    let sources = sources::ending_with(".rs");
    let ours = |source: &&Source| {
        source.path.contains("/src/")
            && !source.path.contains("/tests/")
            && !source.path.ends_with("/tests.rs")
            && (source.path.starts_with(OFFERED)
                || !ELSEWHERE.iter().any(|directory| source.path.starts_with(directory)))
    };
    let tokens: BTreeMap<_, _> = sources.iter().filter(ours).flat_map(constants).collect();
    let read = |(path, value_of): (&String, &Vec<TokenTree>)| {
        let number = value(value_of, &tokens)
            .unwrap_or_else(|| panic!("the value of {path} cannot be read"));
        (path.clone(), number)
    };
    tokens.iter().map(read).collect()
}

/// Parses `64 KiB`, `10,000 records` or `10 minutes` to the number of the constant.
fn read(text: &str, constant: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let number: f64 = number.replace(',', "").parse().ok()?;
    let is_seconds = constant.ends_with("_SECONDS_MAX");
    let milliseconds = match unit {
        "ms" => 1.0,
        "s" => 1_000.0,
        "minutes" => 60_000.0,
        "hours" => 3_600_000.0,
        "days" => 86_400_000.0,
        _ => 0.0,
    };
    Some(match unit {
        "KiB" => number * 1024.0,
        "MiB" => number * 1024.0 * 1024.0,
        _ if milliseconds > 0.0 && is_seconds => number * milliseconds / 1000.0,
        _ if milliseconds > 0.0 => number * milliseconds,
        _ => number,
    })
}

/// Returns the values of the page, by the end of the constant's path.
fn documented() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for row in rows(&page(PAGE), "limit") {
        let [what, value, _beyond, constant] = row.try_into().unwrap();
        for constant in constant.codes {
            let before = found.insert(constant.clone(), value.text.clone());
            assert_eq!(before, None, "{}: {constant} is there twice", what.text);
        }
    }
    found
}

#[test]
fn every_limit_is_on_the_page_with_its_value_or_met_by_nobody() {
    let (known, documented) = (known(), documented());
    let is_end = |path: &str, end: &str| path.ends_with(&format!("::{end}"));
    let is_internal = |path: &str| INTERNAL.iter().any(|(internal, _)| path.starts_with(internal));
    let mut wrong = Vec::new();
    for (path, number) in &known {
        let named = documented.iter().find(|(end, _)| is_end(path, end));
        match (named, is_internal(path)) {
            (Some((_, text)), false) if read(text, path) == Some(*number) => {}
            (Some((_, text)), false) => {
                wrong.push(format!("{path}: the page says {text}, it is {number}"));
            }
            (None, true) => {}
            (None, false) => {
                wrong.push(format!("{path} = {number}: neither on the page nor internal"));
            }
            (Some(_), true) => wrong.push(format!("{path}: on the page and internal")),
        }
    }
    for end in documented.keys() {
        let paths = known.keys().filter(|path| is_end(path, end)).count();
        if paths != 1 {
            wrong.push(format!("{end}: the page names {paths} constants by this"));
        }
    }
    let is_there = |internal: &str| known.keys().any(|path| path.starts_with(internal));
    let idle = INTERNAL.iter().filter(|(internal, _)| !is_there(internal));
    wrong.extend(idle.map(|(internal, _)| format!("{internal} is internal and gone")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn values_are_read_from_sources_and_from_the_page() {
    let source = Source::of(
        "a-b/src/c/mod.rs",
        "pub const A_MAX: usize = 64 * 1024;\nconst B_MAX: u64 = (1 << 53) - 1;\n\
         const C_MAX: Duration = Duration::from_secs(2 * 60);\nconst D_MAX: usize = crate::c::A_MAX;\n\
         const E: usize = 3;\nconst F_MAX: f64 = 1_000.0;\nconst G_MAX: usize = 2 * c::A_MAX + 100;",
    );
    let constants = constants(&source);
    let read = |name: &str| value(&constants[&format!("a_b::c::{name}")], &constants);
    assert_eq!(constants.len(), 6);
    assert_eq!((read("A_MAX"), read("B_MAX")), (Some(65536.0), Some(9007199254740991.0)));
    assert_eq!((read("C_MAX"), read("D_MAX")), (Some(120_000.0), Some(65536.0)));
    assert_eq!((read("F_MAX"), read("G_MAX")), (Some(1000.0), Some(131_172.0)));
    for (text, constant, number) in [
        ("64 KiB", "A_MAX", 65536.0),
        ("10,000 records", "A_MAX", 10_000.0),
        ("10 minutes", "WATCH_SECONDS_MAX", 600.0),
        ("24 hours", "WAIT_MS_MAX", 86_400_000.0),
        ("100", "A_MAX", 100.0),
    ] {
        assert_eq!(super::limits::read(text, constant), Some(number), "{text}");
    }
}
