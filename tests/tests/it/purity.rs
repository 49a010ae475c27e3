//! The forbidden dependencies of the job machine and the vocabulary, found in their tokens: no
//! waiting, no clock, no randomness, no I/O. So a job can be replayed from its log, and a seed
//! replays the whole system.
//!
//! Code under `#[cfg(test)]` and files named `tests` are exempt.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::sources::{self, Source};

/// Segments that no path may contain, with the reason.
const WORDS: &[(&str, &str)] = &[
    ("async", "waits"),
    ("await", "waits"),
    ("tokio", "waits"),
    ("futures", "waits"),
    ("ractor", "runs actors"),
    ("broker", "reaches the network"),
    ("runtime", "is the shell, which calls the pure code and not the other way round"),
    ("async_nats", "reaches the network"),
    ("reqwest", "reaches the network"),
    ("tracing", "writes a log: return what happened instead"),
    ("println", "writes to the terminal"),
    ("eprintln", "writes to the terminal"),
    ("Instant", "reads the clock: take the time as an argument"),
    ("SystemTime", "reads the clock: take the time as an argument"),
    ("fastrand", "draws a random number"),
    ("rand", "draws a random number"),
    ("getrandom", "draws a random number"),
    ("new_v4", "draws a random number"),
    ("now_v7", "reads the clock and draws a random number"),
    ("HashMap", "is iterated in another order in each process: use a BTreeMap or a Vec"),
    ("HashSet", "is iterated in another order in each process: use a BTreeSet"),
    ("thread_local", "is state that the log does not know"),
];

/// Modules of the standard library with I/O.
const STD: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread"];

/// A path in the code with the number of its line, such as `std::time::Duration` or a single word.
pub(crate) struct Path {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
}

/// Returns every path of a file, with expanded `use` groups and without test code.
pub(crate) fn paths(text: &str) -> Vec<Path> {
    let tokens: TokenStream = text.parse().expect("the file is Rust, it is compiled");
    let mut found = Vec::new();
    collect(tokens, &[], &mut found);
    found
}

/// Collects the paths of tokens. `prefix` is the path before a group: `std` in `use std::{fs, io}`.
fn collect(tokens: TokenStream, prefix: &[String], found: &mut Vec<Path>) {
    let mut path = Path { segments: prefix.to_vec(), line: 0 };
    // Two colons separate the segments of `a::b`; a single one is a type annotation.
    let mut colons = 0;
    let mut in_test = false;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(_) | TokenTree::Literal(_) if in_test => {}
            TokenTree::Ident(word) => {
                if colons != 2 {
                    finish(&mut path, prefix, found);
                }
                path.line = word.span().start().line;
                // A raw identifier counts as its word.
                path.segments.push(word.to_string().trim_start_matches("r#").to_owned());
                colons = 0;
            }
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                finish(&mut path, prefix, found);
                if let Some(TokenTree::Group(group)) = tokens.peek()
                    && marks_a_test(group)
                {
                    in_test = true;
                }
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
            TokenTree::Punct(mark) => {
                finish(&mut path, prefix, found);
                colons = 0;
                in_test &= mark.as_char() != ';';
                if mark.as_char() == '\'' {
                    // The lexer treats the name of a lifetime as a word.
                    tokens.next();
                }
            }
            TokenTree::Group(group) => {
                let inner = if colons == 2 { path.segments.clone() } else { Vec::new() };
                if !in_test {
                    finish(&mut path, prefix, found);
                    collect(group.stream(), &inner, found);
                }
                in_test &= group.delimiter() != Delimiter::Brace;
                colons = 0;
            }
            TokenTree::Literal(_) => {
                finish(&mut path, prefix, found);
                colons = 0;
            }
        }
    }
    finish(&mut path, prefix, found);
}

/// Ends a path. It is kept when it is longer than its prefix.
fn finish(path: &mut Path, prefix: &[String], found: &mut Vec<Path>) {
    if path.segments.len() > prefix.len() {
        found.push(Path { segments: std::mem::take(&mut path.segments), line: path.line });
    }
    path.segments = prefix.to_vec();
}

/// Returns whether a group is `[cfg(test)]`.
pub(crate) fn marks_a_test(group: &Group) -> bool {
    group.delimiter() == Delimiter::Bracket
        && group.stream().to_string().replace(' ', "") == "cfg(test)"
}

/// Returns the violation of a path, if there is one.
fn impurity(path: &Path) -> Option<String> {
    let segments: Vec<&str> = path.segments.iter().map(String::as_str).collect();
    let written = segments.join("::");
    if let Some((_, why)) = WORDS.iter().find(|(word, _)| segments.contains(word)) {
        return Some(format!("`{written}` {why}"));
    }
    if segments.len() > 1 && segments.last() == Some(&"now") {
        return Some(format!("`{written}` reads the clock: take the time as an argument"));
    }
    match segments.as_slice() {
        ["std", module, ..] if STD.contains(module) => {
            Some(format!("`{written}` reaches outside or shares state"))
        }
        _ => None,
    }
}

fn impurities(source: &Source) -> Vec<String> {
    paths(&source.text)
        .iter()
        .filter_map(|path| {
            impurity(path).map(|what| format!("{}:{}: {what}", source.path, path.line))
        })
        .collect()
}

pub(crate) fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// Returns the sources below a directory, or the single file of a module.
fn pure_sources(module: &str) -> Vec<Source> {
    let (file, directory) = (format!("{module}.rs"), format!("{module}/"));
    let found: Vec<Source> = sources::ending_with(".rs")
        .into_iter()
        .filter(|source| source.path == file || source.path.starts_with(&directory))
        .filter(|source| !is_test_file(&source.path))
        .collect();
    assert!(!found.is_empty(), "{module} is not there: the rule is out of date");
    found
}

#[rstest::rstest]
#[case::the_job_machine("machine/src")]
#[case::the_vocabulary("proto/src")]
#[case::the_language_of_agents("agents/src")]
#[case::the_activation("supervisor/src/activation")]
fn the_pure_core_waits_for_nothing_and_reads_nothing(#[case] module: &str) {
    let wrong: Vec<String> = pure_sources(module).iter().flat_map(impurities).collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// Returns the files outside the codec that name the codec's crate.
fn name_the_codec(sources: &[Source]) -> Vec<String> {
    sources
        .iter()
        .filter(|source| {
            source.path != "proto/src/wire.rs" && !source.path.starts_with("proto/src/wire/")
        })
        .flat_map(|source| {
            paths(&source.text)
                .into_iter()
                .filter(|path| path.segments.iter().any(|segment| segment == "bincode"))
                .map(|path| format!("{}:{}: names bincode", source.path, path.line))
        })
        .collect()
}

#[test]
fn the_codec_is_named_in_one_file() {
    let sources = sources::ending_with(".rs");
    assert_eq!(name_the_codec(&sources), Vec::<String>::new());
    let wire = sources.iter().find(|source| source.path == "proto/src/wire.rs");
    let wire = wire.expect("proto/src/wire.rs is the codec's file");
    assert!(paths(&wire.text).iter().any(|path| path.segments[0] == "bincode"));
}

#[test]
fn naming_the_codec_elsewhere_is_found() {
    let elsewhere = Source::of("broker/src/bus.rs", "//! A bus.\n\nuse bincode::config;\n");
    assert_eq!(name_the_codec(&[elsewhere]), ["broker/src/bus.rs:3: names bincode"]);
    let mentioned =
        Source::of("broker/src/bus.rs", "//! Not `bincode`.\nconst A: &str = \"bincode\";");
    assert_eq!(name_the_codec(&[mentioned]), Vec::<String>::new());
}

#[rstest::rstest]
#[case::a_function_that_waits("async fn f() {}")]
#[case::waiting("fn f() { g().await }")]
#[case::a_runtime("use tokio::sync::mpsc;")]
#[case::the_shell("fn f(log: &broker::log::Log) {}")]
#[case::a_clock("fn f() { let t = std::time::Instant::now(); }")]
#[case::a_clock_in_a_group("use std::{collections::BTreeMap, time::{Duration, SystemTime}};")]
#[case::a_clock_in_a_macro("fn f() { vec![Timestamp::now()] }")]
#[case::a_clock_under_another_name("use jiff::Timestamp as T; fn f() { T::now(); }")]
#[case::chance("fn f() { fastrand::u64(..) }")]
#[case::an_id_by_chance("fn f() -> Uuid { Uuid::new_v4() }")]
#[case::an_id_by_the_clock("fn f() -> Uuid { uuid::Uuid::now_v7() }")]
#[case::a_file("fn f() { std::fs::read(path) }")]
#[case::a_file_in_a_group("use std::{fs, fmt};")]
#[case::a_file_deep_in_a_group("use {std::{fmt, fs::File}};")]
#[case::the_network("use std::net::TcpStream;")]
#[case::the_environment("fn f() { ::std::env::var(name) }")]
#[case::an_order_by_chance("fn f(m: HashMap<String, u8>) {}")]
#[case::state_of_its_own("thread_local! { static COUNT: Cell<u8> = Cell::new(0); }")]
#[case::after_a_test_module("#[cfg(test)] mod tests { } fn f() { std::fs::read(path) }")]
#[case::after_a_test_file("#[cfg(test)] mod tests; use std::fs;")]
fn an_impurity_is_found(#[case] code: &str) {
    assert_eq!(impurities(&Source::of("x.rs", code)).len(), 1, "{code}");
}

#[rstest::rstest]
#[case::words_in_comments("//! Never tokio, async or Instant.\n/// No std::fs.\nfn f() {}")]
#[case::words_in_strings("const A: &str = \"tokio::spawn\";")]
#[case::a_length_of_time("use std::{collections::BTreeMap, fmt, time::Duration};")]
#[case::the_time_as_an_argument("fn f(now: Timestamp) -> bool { self.now > now }")]
#[case::a_shared_pointer("fn f<'async_nats>(word: &'async_nats std::sync::Arc<str>) {}")]
#[case::a_field_of_a_type("struct S { env: u8, fs: u8 }")]
#[case::test_code("#[cfg(test)] mod tests { use std::fs; async fn f() {} }")]
#[case::a_test_import("#[cfg(test)] use std::fs;")]
#[case::a_documented_test("#[cfg(test)]\n#[allow(x)]\nfn f(a: [u8; 2]) { std::fs::read(a) }")]
fn what_is_pure_is_let_be(#[case] code: &str) {
    assert_eq!(impurities(&Source::of("x.rs", code)), Vec::<String>::new(), "{code}");
}
