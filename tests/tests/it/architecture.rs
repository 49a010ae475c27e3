//! The dependencies between the crates, and the external crates that only one of them may link.
//! `ARCHITECTURE.md` has the reasons; `deny.toml` restricts transitive dependencies.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde::Deserialize;

use crate::sources::{self, Source};

/// The members on which a member of the workspace may depend.
enum Reach {
    /// Only these members.
    Only(&'static [&'static str]),
    /// All members, because it composes them.
    Composes,
}

use Reach::{Composes, Only};

const MESSAGES: &str = "callboard-messages";
const PROTO: &str = "callboard-proto";
const AGENTS: &str = "callboard-agents";
const MACHINE: &str = "callboard-machine";
const BROKER: &str = "callboard-broker";
const OPERATOR: &str = "callboard-operator";
const RUNTIME: &str = "callboard-runtime";
const MODEL: &str = "callboard-model";

/// The allowed dependencies. The actor crates never depend on each other: they communicate only
/// over subjects, so that each role can run anywhere and be replaced alone.
const ARROWS: &[(&str, Reach)] = &[
    (PROTO, Only(&[MESSAGES])),
    (MESSAGES, Only(&[])),
    (AGENTS, Only(&[MESSAGES, PROTO])),
    (MACHINE, Only(&[MESSAGES, PROTO, AGENTS])),
    (BROKER, Only(&[MESSAGES, PROTO])),
    (RUNTIME, Only(&[MESSAGES, PROTO, AGENTS, MACHINE, BROKER])),
    (MODEL, Only(&[MESSAGES, PROTO, AGENTS])),
    ("callboard-client", Only(&[MESSAGES, PROTO, BROKER, RUNTIME])),
    ("callboard-bridges", Only(&[MESSAGES, PROTO, "callboard-client"])),
    ("callboard-oidc", Only(&[MESSAGES, PROTO, RUNTIME])),
    (
        "callboard-gateway",
        Only(&[
            MESSAGES,
            PROTO,
            BROKER,
            RUNTIME,
            "callboard-client",
            "callboard-bridges",
            "callboard-oidc",
        ]),
    ),
    ("callboard-tui", Only(&[MESSAGES, PROTO, "callboard-client"])),
    (OPERATOR, Only(&[MESSAGES, PROTO, MACHINE, BROKER, RUNTIME])),
    ("callboard-door", Only(&[MESSAGES, PROTO, AGENTS, MACHINE, BROKER, RUNTIME, OPERATOR])),
    ("callboard-supervisor", Only(&[PROTO, MACHINE, BROKER, RUNTIME])),
    ("callboard-planner-actor", Only(&[MESSAGES, PROTO, AGENTS, MACHINE, BROKER, RUNTIME, MODEL])),
    ("callboard-executor-actor", Only(&[MESSAGES, PROTO, AGENTS, MACHINE, BROKER, RUNTIME, MODEL])),
    (
        "callboard-tool-actors",
        Only(&[MESSAGES, PROTO, MACHINE, BROKER, RUNTIME, MODEL, "callboard-sandbox"]),
    ),
    ("callboard-sandbox", Only(&[])),
    ("callboard-mcp-client", Only(&[MESSAGES, PROTO, BROKER, RUNTIME, "callboard-tool-actors"])),
    ("callboard-browser-tools", Only(&[MESSAGES, PROTO, BROKER, RUNTIME, "callboard-tool-actors"])),
    ("callboard-interaction-actor", Only(&[MESSAGES, PROTO, AGENTS, MACHINE, BROKER, RUNTIME])),
    ("callboard", Composes),
    (BENCH, Composes),
    ("callboard-simulation", Composes),
    ("callboard-tests", Composes),
    ("callboard-browser", Only(&[BROKER, "callboard-tests"])),
];

const BENCH: &str = "callboard-bench";

/// External crates that only one member may link, with the reason.
const ALONE: &[(&str, &str, &str)] = &[
    (
        "async-nats",
        BROKER,
        "the log and the bus are reached through the broker crate, in memory as on NATS",
    ),
    ("bincode", PROTO, "the codec is unmaintained and must be replaceable in one file"),
];

/// Exceptions of [`ALONE`], with the reason.
const BESIDE: &[(&str, &str, &str)] = &[(
    "async-nats",
    BENCH,
    "what NATS can do without our code is the limit that our figures are held against",
)];

/// Crates without I/O, whose time and randomness are arguments.
const PURE: &[&str] = &[PROTO, AGENTS, MACHINE];

/// Dependencies that a pure crate must not have.
const IMPURE: &[&str] = &[
    "async-nats",
    "async-trait",
    "axum",
    "fastrand",
    "futures",
    "ractor",
    "rand",
    "reqwest",
    "rustix",
    "tokio",
    "tokio-util",
];

/// The required part of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Member>,
}

/// A member of the workspace, with all its dependencies: normal, development and build.
#[derive(Deserialize)]
struct Member {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
}

impl Member {
    fn names(&self) -> BTreeSet<&str> {
        self.dependencies.iter().map(|dependency| dependency.name.as_str()).collect()
    }
}

fn members() -> Vec<Member> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(callboard_tests::root())
        .output()
        .expect("cargo runs, it ran this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    metadata.packages
}

/// Returns forbidden dependencies between members, and differences between [`ARROWS`] and the
/// members.
fn wrong_arrows(members: &[Member]) -> Vec<String> {
    let arrows: BTreeMap<&str, &Reach> =
        ARROWS.iter().map(|(name, reach)| (*name, reach)).collect();
    let local: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let mut wrong = Vec::new();
    for member in members {
        let Some(reach) = arrows.get(member.name.as_str()) else {
            wrong
                .push(format!("{} has no place in ARROWS: say what it may depend on", member.name));
            continue;
        };
        let allowed = match reach {
            Composes => continue,
            Only(allowed) => allowed,
        };
        for other in member.names().intersection(&local).filter(|name| !allowed.contains(name)) {
            wrong.push(format!("{} must not depend on {other}", member.name));
        }
    }
    for gone in arrows.keys().filter(|name| !local.contains(**name)) {
        wrong.push(format!("{gone} is in ARROWS and not in the workspace"));
    }
    wrong
}

/// Returns the members that link a crate which only another one may link.
fn wrong_links(members: &[Member]) -> Vec<String> {
    let mut wrong = Vec::new();
    for member in members {
        let names = member.names();
        for (dependency, owner, why) in ALONE {
            let beside = BESIDE.iter().any(|(d, who, _)| d == dependency && *who == member.name);
            if names.contains(dependency) && member.name != *owner && !beside {
                let name = &member.name;
                wrong.push(format!("{name} must not link {dependency}, only {owner} may: {why}"));
            }
        }
        if PURE.contains(&member.name.as_str()) {
            for dependency in IMPURE.iter().filter(|name| names.contains(**name)) {
                wrong.push(format!("{} is pure and must not link {dependency}", member.name));
            }
        }
    }
    wrong
}

#[test]
fn crates_depend_on_each_other_only_along_the_arrows() {
    assert_eq!(wrong_arrows(&members()), Vec::<String>::new());
}

#[test]
fn nats_and_the_codec_are_linked_by_one_crate_each() {
    let members = members();
    assert_eq!(wrong_links(&members), Vec::<String>::new());
    for (dependency, owner, _) in ALONE {
        let linked = members.iter().any(|m| m.name == *owner && m.names().contains(dependency));
        assert!(linked, "{owner} no longer links {dependency}: the rule is out of date");
    }
    for (dependency, who, _) in BESIDE {
        let linked = members.iter().any(|m| m.name == *who && m.names().contains(dependency));
        assert!(linked, "{who} no longer links {dependency}: the exception is out of date");
    }
}

/// Returns the members of [`ARROWS`], with one additional dependency.
fn with(member: &str, dependency: &str) -> Vec<Member> {
    ARROWS
        .iter()
        .map(|(name, _)| Member {
            name: (*name).to_owned(),
            dependencies: (*name == member)
                .then(|| Dependency { name: dependency.to_owned() })
                .into_iter()
                .collect(),
        })
        .collect()
}

#[rstest::rstest]
#[case::actors_never_know_each_other("callboard-planner-actor", "callboard-executor-actor")]
#[case::no_actor_knows_the_supervisor("callboard-tool-actors", "callboard-supervisor")]
#[case::nobody_below_knows_the_program("callboard-client", "callboard")]
#[case::the_screens_do_not_know_the_program("callboard-tui", "callboard")]
#[case::the_vocabulary_knows_nobody("callboard-proto", "callboard-runtime")]
#[case::the_vocabulary_knows_no_agent_file("callboard-proto", "callboard-agents")]
#[case::the_model_port_stands_alone("callboard-model", "callboard-runtime")]
#[case::the_supervisor_calls_no_model("callboard-supervisor", "callboard-model")]
fn a_wrong_arrow_is_found(#[case] member: &str, #[case] dependency: &str) {
    let expected = vec![format!("{member} must not depend on {dependency}")];
    assert_eq!(wrong_arrows(&with(member, dependency)), expected);
}

#[test]
fn a_crate_without_a_place_is_found_and_so_is_one_that_is_gone() {
    let mut members = with("callboard", "callboard-proto");
    members[0].name = "callboard-novelty".to_owned();
    let wrong = wrong_arrows(&members);
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong[0].contains("callboard-novelty has no place"), "{wrong:?}");
    assert!(wrong[1].contains("callboard-proto is in ARROWS"), "{wrong:?}");
}

#[rstest::rstest]
#[case::nats_outside_the_broker("callboard-runtime", "async-nats", 1)]
#[case::nats_in_a_test_crate("callboard-tests", "async-nats", 1)]
#[case::nats_in_the_bench("callboard-bench", "async-nats", 0)]
#[case::nats_in_the_broker("callboard-broker", "async-nats", 0)]
#[case::the_codec_outside_proto("callboard-runtime", "bincode", 1)]
#[case::the_codec_in_proto("callboard-proto", "bincode", 0)]
#[case::a_runtime_in_the_vocabulary("callboard-proto", "tokio", 1)]
#[case::a_runtime_in_the_machine("callboard-machine", "tokio", 1)]
fn a_wrong_link_is_found(#[case] member: &str, #[case] dependency: &str, #[case] wrong: usize) {
    assert_eq!(wrong_links(&with(member, dependency)).len(), wrong);
}

/// Returns the dependencies of a member that its sources never mention.
fn unused(member: &str, manifest: &toml::Table, sources: &[Source]) -> Vec<String> {
    let of = |directories: &[&str]| -> String {
        let below = |source: &&Source| {
            directories.iter().any(|at| source.path.starts_with(&format!("{member}/{at}")))
        };
        sources.iter().filter(below).map(|source| source.text.as_str()).collect()
    };
    let (own, all) = (of(&["src/"]), of(&["src/", "tests/", "build.rs"]));
    let sections = [("dependencies", own), ("dev-dependencies", all)];
    let named = sections.into_iter().flat_map(|(section, text)| {
        let names = manifest.get(section).and_then(toml::Value::as_table);
        let names = names.into_iter().flat_map(|table| table.keys());
        let is_unused = |name: &&String| !mentions(&text, &name.replace('-', "_"));
        names.filter(is_unused).map(|name| format!("{member}: {name}")).collect::<Vec<_>>()
    });
    named.collect()
}

/// Returns whether a text contains a word, as a whole word.
fn mentions(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (text.get(..at), text.get(at + word.len()..));
        let free = |side: Option<char>| !side.is_some_and(part);
        free(before.and_then(|text| text.chars().next_back()))
            && free(after.and_then(|text| text.chars().next()))
    })
}

#[test]
fn every_dependency_is_used() {
    let sources = sources::ending_with(".rs");
    let root = callboard_tests::root();
    let workspace = std::fs::read_to_string(root.join("Cargo.toml")).expect("there is a workspace");
    let workspace: toml::Table = workspace.parse().expect("cargo reads it");
    let members = workspace["workspace"]["members"].as_array().expect("it lists its members");
    let found: Vec<String> = members
        .iter()
        .filter_map(toml::Value::as_str)
        .flat_map(|member| {
            let text = std::fs::read_to_string(root.join(member).join("Cargo.toml"));
            let manifest = text.expect("a member has a manifest").parse().expect("cargo reads it");
            unused(member, &manifest, &sources)
        })
        .collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn an_unused_dependency_is_found() {
    let manifest = r#"
        dependencies = { used-one = "1", idle = "1" }
        dev-dependencies = { in-tests = "1", idle-in-tests = "1" }
    "#;
    let sources = [
        Source::of("a/src/lib.rs", "use used_one::X; // idles"),
        Source::of("a/tests/it/main.rs", "use in_tests::Y; use idle::Z;"),
    ];
    let found = unused("a", &manifest.parse().unwrap(), &sources);
    assert_eq!(found, ["a: idle", "a: idle-in-tests"]);
}

/// Returns the lines of `ARCHITECTURE.md`'s path of a job that name a missing file or function.
fn broken_stops(page: &str, root: &std::path::Path) -> Vec<String> {
    let path = page.split("## The path of a job").nth(1).expect("the page has this part");
    let path = path.split("\n##").next().unwrap_or(path);
    let stops = path.lines().filter_map(|line| line.split('`').nth(1)?.split_once(": "));
    let mut broken = Vec::new();
    for (file, functions) in stops {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        for function in functions.split(", ") {
            if !text.contains(&format!("fn {function}("))
                && !text.contains(&format!("fn {function}<"))
            {
                broken.push(format!("{file} has no function {function}"));
            }
        }
    }
    broken
}

#[test]
fn every_stop_on_the_path_of_a_job_is_there() {
    let root = callboard_tests::root();
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the page is there");
    assert!(page.matches(".rs: ").count() >= 12, "the path is told from end to end");
    assert_eq!(broken_stops(&page, root), Vec::<String>::new());
    let gone =
        "## The path of a job\n1. `machine/src/decide.rs: decide, divine`\n2. `nowhere.rs: run`\n";
    assert_eq!(broken_stops(gone, root).len(), 2);
}
