//! The check that tests neither sleep on the real clock nor assert its times, since a slower
//! machine would fail them. Tests wait for events with `broker::testing::wait` and
//! `callboard_tests::wait`, and `bench/` measures speed. The check reads tokens.
//!
//! A test on tokio's paused clock may use time freely, because its time is an input like any other.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::{
    purity::marks_a_test,
    sources::{self, Source},
};

/// Test files that use the clock, with the number of uses and the reason. The numbers may only
/// decrease.
const EXCEPTIONS: &[(&str, usize, &str)] = &[
    ("broker/src/testing/wait.rs", 5, "the waits themselves, and the one bound of all tests"),
    ("broker/tests/it/contract/facts.rs", 1, "a feed that waits may give no event in memory"),
    ("broker/tests/it/contract/words.rs", 1, "what must not come gives no event"),
    ("model/src/retry.rs", 2, "a helper of tests on the paused clock"),
    ("operator/src/purge/tests.rs", 1, "a helper of tests on the paused clock"),
    ("runtime/src/worker/tests/local.rs", 1, "a helper of tests on the paused clock"),
    ("tests/tests/it/door/explaining.rs", 1, "a helper of tests on the paused clock"),
    ("tests/tests/it/scenarios/play.rs", 5, "runs on the paused clock"),
    (
        "tests/tests/it/supervisor/company.rs",
        1,
        "a call takes no time, or time of the paused clock",
    ),
];

/// A use of the clock.
struct Use {
    line: usize,
    what: String,
}

/// The token before a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A dot: the path is the name of a method.
    Dot,
    /// `fn`: the path is the name of a function that is defined here.
    Fn,
    Other,
}

/// Returns the violation of a call, if there is one.
fn wrong(path: &[String], before: Before) -> Option<&'static str> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let is_call = before == Before::Other;
    match path.as_slice() {
        [.., "sleep" | "sleep_until"] if is_call => Some("wait for an event instead of a time"),
        ["timeout" | "timeout_at"] | [.., "time", "timeout" | "timeout_at"] if is_call => {
            Some("the bound of a wait is `PATIENCE`: use `broker::testing::wait`")
        }
        ["elapsed"] if before == Before::Dot => Some("measure in `bench/`, not in a test"),
        [.., "Instant", "now"] if is_call => Some("measure in `bench/`, not in a test"),
        _ => None,
    }
}

/// Collects the uses in tokens. `in_test` is `true` inside test code.
fn collect(tokens: TokenStream, in_test: bool, found: &mut Vec<Use>) {
    let (mut path, mut before, mut colons) = (Vec::<String>::new(), Before::Other, 0);
    let mut last = Before::Other;
    // `true` while the next block belongs to a test, or to a test on the paused clock.
    let (mut test_follows, mut is_paused) = (false, false);
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) => {
                if colons != 2 {
                    path.clear();
                    before = last;
                }
                let word = word.to_string();
                last = if word == "fn" { Before::Fn } else { Before::Other };
                path.push(word);
                colons = 0;
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
            TokenTree::Punct(mark) => {
                if let ('#', Some(TokenTree::Group(attribute))) = (mark.as_char(), tokens.peek()) {
                    test_follows |= marks_a_test(attribute);
                    is_paused |= attribute.stream().to_string().contains("start_paused");
                }
                if mark.as_char() == ';' {
                    (test_follows, is_paused) = (false, false);
                }
                if mark.as_char() == '\'' {
                    // The lexer treats the name of a lifetime as a word.
                    tokens.next();
                }
                last = if mark.as_char() == '.' { Before::Dot } else { Before::Other };
                path.clear();
                colons = 0;
            }
            TokenTree::Group(group) => {
                let is_test = in_test || test_follows;
                if is_test && group.delimiter() == Delimiter::Parenthesis {
                    found.extend(used(&path, before, &group));
                }
                let is_block = group.delimiter() == Delimiter::Brace;
                if !(is_block && is_paused) {
                    collect(group.stream(), is_test, found);
                }
                if is_block {
                    (test_follows, is_paused) = (false, false);
                }
                path.clear();
                (last, colons) = (Before::Other, 0);
            }
            TokenTree::Literal(_) => {
                path.clear();
                (last, colons) = (Before::Other, 0);
            }
        }
    }
}

fn used(path: &[String], before: Before, call: &Group) -> Option<Use> {
    let why = wrong(path, before)?;
    let line = call.span_open().start().line;
    Some(Use { line, what: format!("`{}`: {why}", path.join("::")) })
}

/// Returns whether a whole file is test code on the real clock. The simulation's worlds run on a
/// paused one.
fn is_test_code(path: &str) -> bool {
    if path.starts_with("simulation/src/") {
        return false;
    }
    let always = ["tests/src/", "broker/src/testing/"];
    path.ends_with("/tests.rs")
        || path.split('/').rev().skip(1).any(|directory| directory == "tests")
        || always.iter().any(|directory| path.starts_with(directory))
}

fn uses(source: &Source) -> Vec<Use> {
    let tokens: TokenStream = source.text.parse().expect("the file is Rust, it is compiled");
    let mut found = Vec::new();
    collect(tokens, is_test_code(&source.path), &mut found);
    found
}

/// `exceptions` is [`EXCEPTIONS`], or a table of a test.
fn violations(sources: &[Source], exceptions: &[(&str, usize, &str)]) -> Vec<String> {
    let allowed: BTreeMap<&str, usize> =
        exceptions.iter().map(|(path, times, _)| (*path, *times)).collect();
    let mut all = Vec::new();
    for source in sources {
        let (path, found) = (&source.path, uses(source));
        let most = allowed.get(path.as_str()).copied().unwrap_or_default();
        if found.len() > most {
            all.extend(found.iter().map(|one| format!("{path}:{}: {}", one.line, one.what)));
        } else if found.len() < most {
            all.push(format!("{path}: {} uses, no longer {most}: lower the number", found.len()));
        }
    }
    let is_gone = |path: &&&str| !sources.iter().any(|source| source.path == **path);
    all.extend(allowed.keys().filter(is_gone).map(|path| format!("{path} is not in the tree")));
    all
}

#[test]
fn no_test_sleeps_on_the_real_clock_or_asserts_a_time_of_it() {
    let sources = sources::ending_with(".rs");
    assert_eq!(violations(&sources, EXCEPTIONS), Vec::<String>::new());
}

#[rstest::rstest]
#[case::a_sleep("async fn f() { tokio::time::sleep(PAUSE).await; }")]
#[case::a_sleep_by_its_last_name("use tokio::time::sleep; async fn f() { sleep(PAUSE).await; }")]
#[case::a_thread_that_sleeps("fn f() { std::thread::sleep(PAUSE); }")]
#[case::an_assertion("fn f() { assert!(began.elapsed() < Duration::from_secs(15)); }")]
#[case::an_assertion_by_name("fn f() { let took = began.elapsed(); assert!(took < LIMIT); }")]
#[case::a_deadline("fn f() { while Instant::now() < end {} }")]
#[case::a_clock_with_its_path("fn f() { let began = std::time::Instant::now(); }")]
#[case::a_bound_of_its_own("async fn f() { tokio::time::timeout(LIMIT, g()).await.unwrap(); }")]
#[case::a_test_on_the_real_clock("#[tokio::test] async fn t() { sleep(PAUSE).await; }")]
#[case::after_a_paused_test(
    "#[tokio::test(start_paused = true)] async fn t() {} async fn f() { sleep(PAUSE).await; }"
)]
fn a_use_of_the_real_clock_is_found(#[case] code: &str) {
    let test_code = Source::of("a/tests/it/b.rs", code);
    assert_eq!(violations(&[test_code], &[]).len(), 1, "{code}");
    let unit_test = Source::of("a/src/b.rs", &format!("#[cfg(test)] mod tests {{ {code} }}"));
    assert_eq!(violations(&[unit_test], &[]).len(), 1, "{code}");
    let program = Source::of("a/src/b.rs", code);
    assert_eq!(violations(&[program], &[]), Vec::<String>::new(), "{code}");
}

#[rstest::rstest]
#[case::the_paused_clock(
    "#[tokio::test(start_paused = true)] async fn t() { sleep(A).await; assert!(b.elapsed() == A); }"
)]
#[case::the_paused_clock_with_cases(
    "#[rstest] #[case(1)] #[tokio::test(start_paused = true)] async fn t(#[case] n: u8) { sleep(A); }"
)]
#[case::a_wait_for_an_event("async fn f() { wait::until(\"it\", async || holds()).await; }")]
#[case::words("// tokio::time::sleep(A)\nfn f() { g(\"sleep(1)\"); }")]
#[case::a_function_of_that_name("fn sleep(ms: u64) {} fn timeout(which: Phase) {}")]
#[case::another_timeout("fn f() { client.timeout(LIMIT); ModelError::timeout(which); }")]
#[case::a_time_that_was_told("fn f() { assert_eq!(view.elapsed_ms, 5); }")]
fn what_reads_no_real_clock_is_let_be(#[case] code: &str) {
    let test_code = Source::of("a/tests/it/b.rs", code);
    assert_eq!(violations(&[test_code], &[]), Vec::<String>::new(), "{code}");
}

#[test]
fn an_exception_may_only_shrink() {
    let source = || [Source::of("a/tests/it/b.rs", "async fn f() { sleep(A).await; }")];
    let except = |times| [("a/tests/it/b.rs", times, "a reason")];
    assert_eq!(violations(&source(), &except(1)), Vec::<String>::new());
    assert_eq!(violations(&source(), &except(2)).len(), 1);
    assert_eq!(violations(&[], &except(1)), ["a/tests/it/b.rs is not in the tree"]);
}
