//! Small rules for every file, each with its reason.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use proto::error::Code;

use crate::{
    markdown,
    sources::{self, Source},
};

/// The maximum length of a file. A longer file has more than one purpose.
const LINES_MAX: usize = 500;

/// Longer files, with their length and the reason. The length may only decrease: a shorter file is
/// entered with its new length, or removed from the list.
const LONGER: &[(&str, usize, &str)] = &[];

/// Languages of the examples in comments. No example in Rust is among them: `make test` runs no
/// tests of documentation, each of which would be built by itself.
const EXAMPLES_IN: &[&str] = &["json", "text"];

/// Texts that no file may contain, with the reason. They are written in two halves so that this
/// file does not contain them.
const FORBIDDEN: &[(&str, &str, &str)] = &[
    ("/wo", "rk/", "is a path of one machine"),
    ("/tmp/st", "udio", "is a path of one machine"),
    ("arti", "factory", "is a registry of one network: the clients know their registries"),
    ("pypi", ".org", "is a registry's host: pip knows it, or was told another"),
    ("python", "hosted.org", "is a registry's host: pip knows it, or was told another"),
    ("index.cra", "tes.io", "is a registry's host: cargo knows it, or was told another"),
    ("static.cra", "tes.io", "is a registry's host: cargo knows it, or was told another"),
    ("proxy.go", "lang.org", "is a registry's host"),
    ("registry.np", "mjs.org", "is a registry's host"),
];

fn without_purpose(sources: &[Source]) -> Vec<String> {
    sources
        .iter()
        .filter(|source| !source.text.starts_with("//! "))
        .map(|source| {
            format!("{}: open it with `//!`: what it is for, what it must never do", source.path)
        })
        .collect()
}

fn examples_that_nothing_runs(sources: &[Source]) -> Vec<String> {
    let mut wrong = Vec::new();
    for source in sources {
        let mut is_within = false;
        for (number, line) in source.text.lines().enumerate() {
            let line = line.trim_start();
            let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            let Some(language) = comment.and_then(|text| text.trim_start().strip_prefix("```"))
            else {
                continue;
            };
            is_within = !is_within;
            if is_within && !EXAMPLES_IN.contains(&language) {
                wrong.push(format!(
                    "{}:{}: nothing runs an example here: make it a test, or name its language",
                    source.path,
                    number + 1
                ));
            }
        }
    }
    wrong
}

fn forbidden(sources: &[Source]) -> Vec<String> {
    let words: Vec<(String, &str)> =
        FORBIDDEN.iter().map(|(a, b, why)| (format!("{a}{b}"), *why)).collect();
    let mut wrong = Vec::new();
    for source in sources {
        for (number, line) in source.text.lines().enumerate() {
            let line = line.to_lowercase();
            for (word, why) in words.iter().filter(|(word, _)| line.contains(word)) {
                wrong.push(format!("{}:{}: `{word}` {why}", source.path, number + 1));
            }
        }
    }
    wrong
}

/// `longer` is [`LONGER`], or a table of a test.
fn too_long(sources: &[Source], longer: &[(&str, usize, &str)]) -> Vec<String> {
    let excepted: BTreeMap<&str, usize> =
        longer.iter().map(|(path, lines, _)| (*path, *lines)).collect();
    let mut wrong = Vec::new();
    for source in sources {
        let (path, lines) = (&source.path, source.text.lines().count());
        match excepted.get(path.as_str()) {
            None if lines > LINES_MAX => {
                wrong.push(format!(
                    "{path}: {lines} lines, at most {LINES_MAX}: divide it by purpose"
                ));
            }
            Some(most) if lines > *most => {
                wrong.push(format!("{path}: grew from {most} lines to {lines}: divide it"));
            }
            Some(most) if lines <= LINES_MAX => {
                wrong.push(format!(
                    "{path}: {lines} lines, no longer {most}: take it out of LONGER"
                ));
            }
            Some(most) if lines < *most => {
                wrong.push(format!("{path}: {lines} lines, no longer {most}: lower the number"));
            }
            None | Some(_) => {}
        }
    }
    for gone in excepted.keys().filter(|path| !sources.iter().any(|s| s.path == **path)) {
        wrong.push(format!("{gone}: is in LONGER and not in the tree"));
    }
    wrong
}

/// Returns the broken links of Markdown files. `exists` returns whether a path from the root
/// exists.
fn broken_links(documents: &[Source], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let parsed: BTreeMap<&str, markdown::Document> = documents
        .iter()
        .map(|source| (source.path.as_str(), markdown::parse(&source.text)))
        .collect();
    let mut wrong = Vec::new();
    for (path, document) in &parsed {
        for link in document.links.iter().filter(|link| is_local(&link.target)) {
            let (file, anchor) = match link.target.split_once('#') {
                Some((file, anchor)) => (file, Some(anchor)),
                None => (link.target.as_str(), None),
            };
            let target = resolve(path, file);
            let there = target.as_deref().is_some_and(&exists);
            let anchored = match (target.as_deref().and_then(|t| parsed.get(t)), anchor) {
                (Some(document), Some(anchor)) => document.anchors.iter().any(|a| a == anchor),
                (None, _) | (_, None) => true,
            };
            if !there || !anchored {
                wrong.push(format!("{path}:{}: {} leads nowhere", link.line, link.target));
            }
        }
    }
    wrong
}

fn is_local(target: &str) -> bool {
    !target.contains("://") && !target.starts_with("mailto:")
}

/// Returns a link of a document as a path from the root; `None` when it leaves the checkout.
fn resolve(document: &str, link: &str) -> Option<String> {
    if link.is_empty() {
        return Some(document.to_owned());
    }
    let mut parts: Vec<&str> = match link.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => document.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect(),
    };
    for part in link.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some(parts.join("/"))
}

/// Returns the missing documents that sources refer to (`docs/x.md` in a hint or a comment).
fn broken_promises(sources: &[Source], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut wrong = BTreeSet::new();
    for source in sources {
        for (at, _) in source.text.match_indices("docs/") {
            let path: String = source.text[at..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || "/_-.".contains(*c))
                .collect();
            let path = path.trim_end_matches('.');
            if Path::new(path).extension().is_some_and(|end| end == "md") && !exists(path) {
                wrong.insert(format!("{}: speaks of {path}, which is not there", source.path));
            }
        }
    }
    wrong.into_iter().collect()
}

/// Returns the codes without a page, the pages without a code, and the pages without their code in
/// the title.
fn wrong_error_pages(codes: &[&str], pages: &[Source]) -> Vec<String> {
    let named: BTreeMap<&str, &Source> = pages
        .iter()
        .filter_map(|page| {
            Some((page.path.strip_prefix("docs/errors/")?.strip_suffix(".md")?, page))
        })
        .filter(|(name, _)| *name != "README")
        .collect();
    let mut wrong = Vec::new();
    for code in codes {
        match named.get(code) {
            None => wrong.push(format!("docs/errors/{code}.md is missing")),
            Some(page) if !page.text.lines().next().is_some_and(|title| title.contains(code)) => {
                wrong.push(format!("{}: its title does not name {code}", page.path));
            }
            Some(_) => {}
        }
    }
    for name in named.keys().filter(|name| !codes.contains(name)) {
        wrong.push(format!("docs/errors/{name}.md explains a code that does not exist"));
    }
    wrong
}

fn in_the_checkout(path: &str) -> bool {
    callboard_tests::root().join(path).exists()
}

#[test]
fn every_source_says_what_it_is_for() {
    assert_eq!(without_purpose(&sources::ending_with(".rs")), Vec::<String>::new());
    assert_eq!(without_purpose(&[Source::of("a.rs", "use b;\n//! Late.\n")]).len(), 1);
}

#[test]
fn no_example_in_a_comment_goes_without_a_test() {
    assert_eq!(examples_that_nothing_runs(&sources::ending_with(".rs")), Vec::<String>::new());
    let found = |text| examples_that_nothing_runs(&[Source::of("a.rs", text)]).len();
    assert_eq!(found("//! ```json\n//! {}\n//! ```\n"), 0);
    assert_eq!(
        found("    /// ```\n    /// assert!(true);\n    /// ```\n/// ```rust\n/// ```\n"),
        2
    );
}

#[test]
fn no_file_names_one_machine_or_a_registry() {
    assert_eq!(forbidden(&sources::all()), Vec::<String>::new());
    for (a, b, why) in FORBIDDEN {
        let text = format!("fine\nsee {a}{b} there");
        assert_eq!(forbidden(&[Source::of("a.md", &text)]), [format!("a.md:2: `{a}{b}` {why}")]);
    }
}

#[test]
fn no_source_grows_past_its_limit() {
    assert_eq!(too_long(&sources::ending_with(".rs"), LONGER), Vec::<String>::new());
}

#[rstest::rstest]
#[case::as_long_as_allowed(500, None, true)]
#[case::too_long(501, None, false)]
#[case::excepted(600, Some(600), true)]
#[case::excepted_and_grown(601, Some(600), false)]
#[case::shrunk_and_not_lowered(599, Some(600), false)]
#[case::no_longer_an_exception(400, Some(600), false)]
fn the_limit_of_a_source_may_only_shrink(
    #[case] lines: usize,
    #[case] excepted: Option<usize>,
    #[case] fine: bool,
) {
    let source = Source::of("a.rs", &"x\n".repeat(lines));
    let longer: Vec<_> = excepted.into_iter().map(|lines| ("a.rs", lines, "a reason")).collect();
    let wrong = too_long(&[source], &longer);
    assert_eq!(wrong.is_empty(), fine, "{wrong:?}");
    assert_eq!(too_long(&[], &[("gone.rs", 600, "a reason")]).len(), 1);
}

#[test]
fn links_between_documents_lead_somewhere() {
    let wrong = broken_links(&sources::ending_with(".md"), in_the_checkout);
    assert_eq!(wrong, Vec::<String>::new());
}

#[rstest::rstest]
#[case::a_neighbour("[a](b.md)", true)]
#[case::a_heading_of_a_neighbour("[a](b.md#two-words)", true)]
#[case::a_heading_of_its_own("[a](#top)", true)]
#[case::upwards("[a](../README.md)", true)]
#[case::a_directory("[a](../docs/)", true)]
#[case::another_place("[a](https://example.com/no.md)", true)]
#[case::nothing("[a](c.md)", false)]
#[case::no_such_heading("[a](b.md#three)", false)]
#[case::no_such_heading_of_its_own("[a](#bottom)", false)]
#[case::out_of_the_checkout("[a](../../b.md)", false)]
#[case::an_image("![a](c.svg)", false)]
fn a_link_that_leads_nowhere_is_found(#[case] text: &str, #[case] fine: bool) {
    let documents = [
        Source::of("docs/a.md", &format!("# Top\n\n{text}\n")),
        Source::of("docs/b.md", "# Two words\n"),
    ];
    let wrong = broken_links(&documents, |path| {
        ["docs", "docs/a.md", "docs/b.md", "README.md"].contains(&path)
    });
    assert_eq!(wrong.is_empty(), fine, "{wrong:?}");
}

#[test]
fn documents_that_sources_speak_of_exist() {
    // Tests use invented names; the program's messages and the comments do not.
    let mut sources = sources::ending_with(".rs");
    sources.retain(|source| !source.path.contains("tests/"));
    assert_eq!(broken_promises(&sources, in_the_checkout), Vec::<String>::new());
}

#[test]
fn a_document_that_is_only_promised_is_found() {
    let source = Source::of("a.rs", "/// See docs/a.md, docs/b/c.md. And docs/errors/ too.");
    let wrong = broken_promises(&[source], |path| path == "docs/a.md");
    assert_eq!(wrong, ["a.rs: speaks of docs/b/c.md, which is not there"]);
}

#[test]
fn every_error_code_has_a_page() {
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(wrong_error_pages(&codes, &sources::ending_with(".md")), Vec::<String>::new());
}

#[test]
fn a_page_that_is_missing_or_astray_is_found() {
    let pages = [
        Source::of("docs/errors/README.md", "# Errors\n"),
        Source::of("docs/errors/closed.md", "# `closed`\n"),
        Source::of("docs/errors/stale.md", "# Something else\n"),
        Source::of("docs/errors/former.md", "# `former`\n"),
        Source::of("docs/other.md", "# Other\n"),
    ];
    assert_eq!(
        wrong_error_pages(&["closed", "stale", "timeout"], &pages),
        [
            "docs/errors/stale.md: its title does not name stale",
            "docs/errors/timeout.md is missing",
            "docs/errors/former.md explains a code that does not exist",
        ]
    );
}
