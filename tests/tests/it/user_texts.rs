//! The check that code holds no sentence for users: sentences are in the language files, where each
//! has its translation. A sentence is a string literal with two words of English beside each other.
//!
//! Code under `#[cfg(test)]`, invariants (`expect`), the log of the program and attributes that no
//! user reads are exempt. Other exceptions are listed with their reasons.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};

use crate::{
    purity::{is_test_file, marks_a_test},
    sources::{self, Source},
};

/// The sources that make texts for users: files, or directories.
const SPEAKING: &[&str] = &[
    "agents/src/catalogue",
    "agents/src/conflicts",
    "agents/src/source",
    "agents/src/toolbox.rs",
    "broker/src/log/error.rs",
    "broker/src/nats/installation.rs",
    "broker/src/nats/setup.rs",
    "broker/src/nats/words.rs",
    "cli/src/",
    "door/src/",
    "interaction-actor/src/",
    "operator/src/",
    "proto/src/agent/",
    "proto/src/bounds.rs",
    "proto/src/budget.rs",
    "proto/src/conversation.rs",
    "proto/src/guard.rs",
    "proto/src/id.rs",
    "proto/src/interaction.rs",
    "proto/src/observe.rs",
    "proto/src/preset.rs",
    "proto/src/price.rs",
    "proto/src/refusal.rs",
    "proto/src/retry.rs",
    "runtime/src/admin/health.rs",
    "runtime/src/admin/settings.rs",
    "runtime/src/arguments.rs",
    "runtime/src/config/",
    "runtime/src/nats.rs",
    "runtime/src/people.rs",
    "runtime/src/telemetry/logs/filter.rs",
    "runtime/src/telemetry/settings.rs",
    "runtime/src/worker/settings.rs",
    "simulation/src/cases/suite.rs",
    "tool-actors/src/settings.rs",
    "tool-actors/src/workspace/",
    "tui/src/",
];

/// Sources of these directories that speak English only, with the reason.
const ENGLISH: &[(&str, &str)] = &[
    ("cli/src/args/", "the help, and the errors of the parser of the command line, are in English"),
    ("cli/src/exit.rs", "a part of the help"),
    ("cli/src/render/samples.rs", "the samples of tests"),
    ("cli/src/render/snapshots.rs", "tests"),
];

/// Literals that are no texts of ours for users, with the reason.
const LITERALS: &[(&str, &str, &str)] = &[
    ("agents/src/source/mistake.rs", "missing field `", SERDE),
    ("agents/src/source/mistake.rs", "invalid type: ", SERDE),
    ("agents/src/source/mistake.rs", "invalid value: ", SERDE),
    ("agents/src/source/mistake.rs", "a boolean", SERDE),
    ("agents/src/source/mistake.rs", "a string", SERDE),
    ("agents/src/source/mistake.rs", "a sequence", SERDE),
    ("agents/src/source/mistake.rs", "a map", SERDE),
    ("agents/src/source/mistake.rs", "unit value", SERDE),
    ("agents/src/source/own.rs", "unknown field", SERDE),
    ("agents/src/source/tree.rs", " at line ", "a word of the YAML parser, which is cut off"),
    ("agents/src/source/tree.rs", "duplicate mapping key: ", "words of the YAML parser"),
    ("broker/src/nats/installation.rs", "another process is setting up", "repeated until it did"),
    ("cli/src/chat/line.rs", "cancel the current task", "the words by which people cancel"),
    ("cli/src/commands/completions.rs", "no script", DEFECT),
    ("cli/src/commands/demo.rs", DEMO_GOAL, "the goal of the demonstration"),
    ("cli/src/commands/demo.rs", "the stage crew", "an answer in the demonstration"),
    ("cli/src/commands/keys.rs", KEYS_HEAD, "a comment in a file for nats-server"),
    ("cli/src/commands/process.rs", "asked to", "the log of the program"),
    ("cli/src/contexts.rs", CONTEXT_NAME, "an error of the parser of the command line"),
    ("cli/src/failure.rs", "the reader of the output closed it", "never shown"),
    ("cli/src/roles/role.rs", ROLES, "an error of the parser of the command line"),
    ("door/src/bucket.rs", "the watch ended", "the log of the program"),
    ("door/src/lib.rs", "front door", "the name of the service in traces"),
    ("door/src/signal.rs", "this signal is not a rollback", DEFECT),
    ("door/src/watch/feed.rs", AGAIN, "advice to programs"),
    ("door/src/watch/follower.rs", "the job cannot be followed", DEFECT),
    ("interaction-actor/src/inbox.rs", "the key does not name a question", DEFECT),
    ("interaction-actor/src/inbox_service.rs", "the plan cannot be written: {error}", DEFECT),
    ("interaction-actor/src/inbox_service.rs", NO_SCHEMA, DEFECT),
    ("operator/src/purge/mod.rs", "too long", "the command line has a text of its own for it"),
    ("proto/src/agent/sub.rs", SUB_AGENT, SERDE),
    ("runtime/src/config/read.rs", "unknown field ", SERDE),
    ("runtime/src/config/read.rs", "missing field ", SERDE),
    ("simulation/src/cases/suite.rs", " at line ", "a word of the YAML parser, which is cut off"),
];

const SERDE: &str = "words of serde, which are parsed and translated";
const DEFECT: &str = "a defect of Callboard";

const DEMO_GOAL: &str =
    "Read examples/demo/notes.md, ask me who the summary is for, and write it to summary.md";
const KEYS_HEAD: &str =
    "# Public keys of the broker's users, made by `callboard keys`. No secrets.";
const CONTEXT_NAME: &str = "must be 1 to {NAME_BYTES_MAX} characters of A-Z a-z 0-9 _ -";
const ROLES: &str = "there is no role {0:?}; the roles are supervisor, planner, executor, tools, \
    interaction, door, gateway and all";
const AGAIN: &str = "Watch again, with `after` set to the last position you saw.";
const NO_SCHEMA: &str = "the question has no usable schema: {error}";
const SUB_AGENT: &str = "the name of an agent, or a mapping with name, interactive and language";

/// Calls whose arguments are for developers: the invariants of code, and defects of Callboard.
const FOR_DEVELOPERS: &[&str] = &["expect", "internal"];

/// Macros whose arguments are for developers and operators who read the log of the program.
const MACROS: &[&str] = &[
    "trace",
    "debug",
    "info",
    "warn",
    "error",
    "event",
    "info_span",
    "debug_span",
    "error_span",
    "panic",
    "unreachable",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
];

/// Attributes that no user reads.
const ATTRIBUTES: &[&str] =
    &["allow", "cfg", "cfg_attr", "debug", "deprecated", "doc", "expect", "must_use", "serde"];

/// A literal with the number of its line.
#[derive(Debug, PartialEq)]
struct Sentence {
    line: usize,
    text: String,
}

/// Returns the sentences of a file.
fn sentences(text: &str) -> Vec<Sentence> {
    let tokens: TokenStream = text.parse().expect("the file is Rust, it is compiled");
    let mut found = Vec::new();
    collect(tokens, &mut found);
    found
}

fn collect(tokens: TokenStream, found: &mut Vec<Sentence>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut at, mut in_test) = (0, false);
    while let Some(token) = tokens.get(at) {
        let rest = tokens.get(at + 1..).unwrap_or_default();
        at += 1;
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                let is_inner =
                    matches!(rest, [TokenTree::Punct(mark), ..] if mark.as_char() == '!');
                let Some(TokenTree::Group(group)) = rest.get(usize::from(is_inner)) else {
                    continue;
                };
                at += usize::from(is_inner) + 1;
                in_test |= marks_a_test(group);
                let name = group.stream().into_iter().next().map(|name| name.to_string());
                if !in_test && !name.is_some_and(|name| ATTRIBUTES.contains(&name.as_str())) {
                    collect(group.stream(), found);
                }
            }
            TokenTree::Punct(mark) => in_test &= mark.as_char() != ';',
            TokenTree::Ident(word) => {
                let word = word.to_string();
                at += match rest {
                    [TokenTree::Group(_), ..] if FOR_DEVELOPERS.contains(&word.as_str()) => 1,
                    [TokenTree::Punct(mark), TokenTree::Group(_), ..]
                        if mark.as_char() == '!' && MACROS.contains(&word.as_str()) =>
                    {
                        2
                    }
                    _ => 0,
                };
            }
            TokenTree::Group(group) if in_test => in_test = group.delimiter() != Delimiter::Brace,
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Literal(_) if in_test => {}
            TokenTree::Literal(literal) => found.extend(sentence(literal)),
        }
    }
}

/// Returns a string literal that holds a sentence. A command to type is not one.
fn sentence(literal: &Literal) -> Option<Sentence> {
    let source = literal.to_string();
    let text = source.trim_start_matches('r').trim_matches('#');
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    let text = text.replace("\\n", "\n").replace("\\\"", "\"");
    let without_code: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let is_sentence =
        without_code.lines().any(|line| !line.starts_with("callboard ") && has_words(line));
    is_sentence.then(|| Sentence { line: literal.span().start().line, text })
}

/// Returns whether two words of lower-case letters follow each other.
fn has_words(line: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
    let pairs: Vec<&str> = line.split(' ').collect();
    pairs.windows(2).any(|pair| {
        let first = pair[0].trim_start_matches(['(', '"', '\\', '\'']);
        let second = pair[1].trim_end_matches([')', ',', '.', ';', ':', '!', '?', '"', '\\', '\'']);
        is_word(first) && is_word(second)
    })
}

/// Returns the sources that speak to users in every language.
fn speaking() -> Vec<Source> {
    let is_listed = |source: &Source| {
        SPEAKING.iter().any(|path| source.path.starts_with(path))
            && !ENGLISH.iter().any(|(path, _)| source.path.starts_with(path))
            && !is_test_file(&source.path)
    };
    sources::ending_with(".rs").into_iter().filter(is_listed).collect()
}

/// Returns the exceptions that are in use, and the sentences that are not excepted.
fn judge(sources: &[Source]) -> (BTreeSet<(&'static str, &'static str)>, Vec<String>) {
    let (mut used, mut wrong) = (BTreeSet::new(), Vec::new());
    for source in sources {
        for Sentence { line, text } in sentences(&source.text) {
            let known =
                LITERALS.iter().find(|(path, known, _)| *path == source.path && *known == text);
            match known {
                Some((path, known, _)) => {
                    used.insert((*path, *known));
                }
                None => wrong.push(format!(
                    "{}:{line}: {text:?}: put it into messages/languages/, or say here why not",
                    source.path
                )),
            }
        }
    }
    (used, wrong)
}

#[test]
fn sentences_for_users_are_in_the_language_files() {
    let sources = speaking();
    for path in SPEAKING {
        assert!(sources.iter().any(|source| source.path.starts_with(path)), "{path} is not there");
    }
    let (used, wrong) = judge(&sources);
    assert_eq!(wrong, Vec::<String>::new());
    let listed: BTreeSet<_> = LITERALS.iter().map(|(path, text, _)| (*path, *text)).collect();
    let gone: Vec<_> = listed.difference(&used).collect();
    assert!(gone.is_empty(), "these are not there any more: {gone:?}");
    let all = sources::ending_with(".rs");
    for (path, _) in ENGLISH {
        let mut there = all.iter().filter(|source| source.path.starts_with(path));
        assert!(there.any(|source| !sentences(&source.text).is_empty()), "{path} has no sentence");
    }
}

#[test]
fn a_sentence_that_is_put_into_any_of_these_files_is_found() {
    for source in speaking() {
        let before = sentences(&source.text).len();
        let planted = "fn planted() -> String { format!(\"{} was not found\", 1) }";
        // Before the tests of the file, and after them.
        for text in [format!("{planted}\n{}", code(&source)), format!("{}\n{planted}", source.text)]
        {
            let found = sentences(&text);
            assert_eq!(found.len(), before + 1, "{}", source.path);
            assert!(found.iter().any(|found| found.text == "{} was not found"), "{}", source.path);
        }
    }
}

/// Returns a file without the documentation that must be at its start.
fn code(source: &Source) -> String {
    let lines = source.text.lines().map(|line| if line.starts_with("//!") { "" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

#[rstest::rstest]
#[case::an_error("fn f() { Err(\"is not there\") }")]
#[case::a_format("fn f() { format!(\"{name} is missing here\") }")]
#[case::a_raw_text("const A: &str = r#\"say \"it is so\"\"#;")]
#[case::a_derived_error("#[error(\"there is no job {0}\")] struct A;")]
#[case::a_derived_display("#[display(\"the file {}\", _0)] struct A;")]
#[case::a_second_line("const A: &str = \"Head\\nthe rest of it\";")]
#[case::after_an_invariant("fn f() { a.expect(\"it is there\"); b(\"is not there\") }")]
#[case::after_a_log_line("fn f() { tracing::warn!(\"it is late\"); b(\"is not there\") }")]
#[case::after_a_test("#[cfg(test)] mod tests { fn f() {} } fn g() { b(\"is not there\") }")]
#[case::after_a_test_file("#[cfg(test)] mod tests; fn g() { b(\"is not there\") }")]
#[case::behind_code("const A: &str = \"`callboard run` is the command\";")]
fn a_sentence_is_found(#[case] code: &str) {
    assert_eq!(sentences(code).len(), 1, "{code}");
}

#[rstest::rstest]
#[case::a_key("const A: &str = \"model.api_key\";")]
#[case::a_word("const A: &str = \"running\";")]
#[case::a_text_of_the_catalogue("fn f() { style.say(Text::NoJobs) }")]
#[case::a_comment("//! It is a comment.\n/// So is this one.\nfn f() {}")]
#[case::an_invariant("fn f() { a.expect(\"it is there\") }")]
#[case::a_defect("fn f() { CliError::internal(\"it was not sent\") }")]
#[case::a_log_line("fn f() { tracing::warn!(%error, \"it is late\") }")]
#[case::a_reason("#[expect(clippy::all, reason = \"it is so\")] fn f() {}")]
#[case::test_code("#[cfg(test)] mod tests { const A: &str = \"it is so\"; }")]
#[case::a_command("const A: &str = \"callboard inbox answer {job}\";")]
#[case::code_in_a_text("const A: &str = \"`jobs purge is here`\";")]
#[case::lines_of_a_file("const A: &str = \"confirm: true\\nplan: never\";")]
fn what_no_user_reads_is_let_be(#[case] code: &str) {
    assert_eq!(sentences(code), Vec::new(), "{code}");
}
