//! Tests of cases: their files, their expectations, and the faults that they find.

use std::path::PathBuf;

use agents::catalogue::Catalogue;
use proto::lang::{Language, Words};
use rstest::rstest;

use super::*;

/// Seeds of the tests with faults.
const SEEDS: u64 = 60;

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/agent-tests")
}

fn parsed(text: &str) -> Result<Suite, Mistake> {
    let read = |file: &str| {
        std::fs::read_to_string(examples().join(file)).map_err(|e| Words::from(e.to_string()))
    };
    Suite::parse(text, Sources { agents: Catalogue::presets(), read: &read })
}

fn example(file: &str) -> Suite {
    parsed(&std::fs::read_to_string(examples().join(file)).unwrap()).unwrap()
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[rstest]
#[case("refunds-test.yaml")]
#[case("careless-test.yaml")]
fn the_examples_pass_without_faults(#[case] file: &str) {
    for case in example(file).cases {
        let report = run(&case, None);
        assert!(report.is_passed(), "{}: {report:#?}", case.name);
    }
}

#[test]
fn faults_find_the_careless_tool_and_the_mended_one_passes() {
    let careless = &example("careless-test.yaml").cases[0];
    let found = chaos(careless, &(0..=SEEDS - 1), threads());
    assert_eq!(found.seeds, SEEDS);
    let twice = found.failed.iter().flat_map(|report| &report.findings);
    let twice: Vec<_> = twice.filter(|f| f.expectation == Expectation::Effects).collect();
    assert!(!twice.is_empty(), "{found:#?}");
    for finding in twice {
        assert_eq!((finding.about.as_str(), finding.expected.as_str()), ("refund", "1"));
        assert!(finding.found.parse::<u32>().unwrap() > 1, "{finding:?}");
    }
    let mended = &example("refunds-test.yaml").cases[0];
    let kept = chaos(mended, &(0..=SEEDS - 1), threads());
    assert_eq!(kept.failures, 0, "{kept:#?}");
    assert!(kept.excused < SEEDS / 2, "the faults decide too many ends: {kept:#?}");
}

#[test]
fn every_case_of_the_example_keeps_its_expectations_with_faults_of_every_kind() {
    for case in example("refunds-test.yaml").cases {
        let kept = chaos(&case, &(100..=100 + SEEDS / 3), threads());
        assert_eq!(kept.failures, 0, "{}: {kept:#?}", case.name);
        assert!(kept.counts.contains_key("processes killed"), "{:?}", kept.counts);
    }
}

#[test]
fn a_seed_gives_the_same_run_each_time() {
    let case = &example("refunds-test.yaml").cases[0];
    let failing = &example("careless-test.yaml").cases[0];
    for seed in [0, 7, 23] {
        assert_eq!(trace(case, Some(seed)), trace(case, Some(seed)), "seed {seed}");
        assert_eq!(run(failing, Some(seed)), run(failing, Some(seed)), "seed {seed}");
    }
}

/// A file with one case, whose model calls `echo` and then ends.
fn file(expect: &str) -> String {
    format!(
        r#"
agent: react
script:
  rules:
    - when: {{ offers: finish, turn: 1 }}
      reply: {{ calls: [{{ tool: echo, args: {{ value: {{ a: 1 }} }} }}] }}
    - when: {{ offers: finish }}
      reply: {{ calls: [{{ tool: finish, args: {{ success: true, response: '{{"total": 3}}' }} }}] }}
tools:
  - builtin: echo
  - {{ name: pay, effect: once }}
cases:
  - name: one
    goal: Echo it
    expect: {expect}
"#
    )
}

#[rstest]
#[case("{}", &[])]
#[case("{ state: completed }", &[])]
#[case("{ state: failed }", &["state"])]
#[case("{ result: { json: { total: 3 } } }", &[])]
#[case("{ result: { json: { total: 4 } } }", &["result json"])]
#[case("{ result: { contains: total, matches: '3' } }", &[])]
#[case("{ result: { contains: sum, matches: '^3' } }", &["result contains", "result matches"])]
#[case("{ result: { text: three } }", &["result text"])]
#[case("{ path: { exactly: [turn, call echo, turn] } }", &[])]
#[case("{ path: { exactly: [turn, turn] } }", &["path exactly"])]
#[case("{ path: { includes: [call echo, turn] } }", &[])]
#[case("{ path: { includes: [call echo, call echo] } }", &["path includes"])]
#[case("{ calls: [{ tool: echo, args: { value: { a: 1 } } }] }", &[])]
#[case("{ calls: [{ tool: echo, args: { value: { a: 2 } } }] }", &["calls echo"])]
#[case("{ calls: [{ tool: pay }] }", &["calls pay"])]
#[case("{ not_called: [pay] }", &[])]
#[case("{ not_called: [echo] }", &["not_called echo"])]
#[case("{ effects: { pay: 0 } }", &[])]
#[case("{ effects: { pay: 1 } }", &["effects pay"])]
#[case("{ turns: { min: 2, max: 2 } }", &[])]
#[case("{ turns: { max: 1 }, tokens: { max: 1 }, questions: { min: 1 } }", &["questions", "turns", "tokens"])]
#[case("{ cost: { min: 0.5 } }", &["cost"])]
fn each_expectation_is_compared_with_the_run(#[case] expect: &str, #[case] expected: &[&str]) {
    let suite = parsed(&file(expect)).unwrap();
    let report = run(&suite.cases[0], None);
    let word = |finding: &Finding| {
        let word = serde_json::to_value(finding.expectation).unwrap();
        format!("{} {}", word.as_str().unwrap(), finding.about).trim().to_owned()
    };
    let found: Vec<_> = report.findings.iter().map(word).collect();
    assert_eq!(found, expected, "{report:#?}");
    assert_eq!(report.broken, Vec::<String>::new());
}

#[test]
fn what_the_file_has_no_answer_to_is_named() {
    let text = r#"
agent: react
script:
  rules:
    - when: { offers: finish, turn: 1 }
      reply: { calls: [{ tool: pay, args: { amount: 5 } }] }
tools:
  - name: pay
    effect: once
    results: [{ when: { amount: 4 }, ok: {} }]
cases: [{ name: one, goal: Pay, expect: { state: failed } }]
"#;
    let report = run(&parsed(text).unwrap().cases[0], None);
    let of = |kind| report.findings.iter().find(|f| f.expectation == kind).map(|f| &f.found);
    assert_eq!(of(Expectation::Results).unwrap(), "pay {\"amount\":5}");
    assert!(of(Expectation::Script).unwrap().contains("no result"), "{report:#?}");
}

#[test]
fn a_question_that_nobody_answers_is_named_and_the_run_ends() {
    let text = r#"
agent: react
script:
  rules:
    - when: { offers: ask_user, turn: 1 }
      reply: { calls: [{ tool: ask_user, args: { mode: query, prompt: "Which year?" } }] }
    - when: { offers: finish, last: '(?<year>\d{4})' }
      reply: { calls: [{ tool: finish, args: { success: true, response: "{{ captures.year }}" } }] }
cases:
  - { name: silent, goal: Find out }
  - name: told
    goal: Find out
    answers: [{ kind: question, prompt: year, value: "1984" }]
    expect: { result: { text: "1984" }, path: { exactly: [turn, ask question, turn] } }
"#;
    let suite = parsed(text).unwrap();
    let report = run(&suite.cases[0], None);
    assert_eq!(report.findings.len(), 1, "{report:#?}");
    assert_eq!(report.findings[0].found, "input-required\nquestion: Which year?");
    assert_eq!(report.broken, Vec::<String>::new());
    let told = run(&suite.cases[1], None);
    assert!(told.is_passed(), "{told:#?}");
}

#[test]
fn a_fault_that_the_file_scripts_excuses_nothing() {
    let text = r#"
agent: react
script:
  rules:
    - when: { offers: finish, turn: 1 }
      reply: { calls: [{ tool: find, args: { order: 7 } }] }
    - when: { offers: finish }
      reply: { calls: [{ tool: finish, args: { success: false, response: "not found" } }] }
tools:
  - { name: find, effect: pure, results: [{ fault: unavailable }] }
cases: [{ name: one, goal: Find }]
"#;
    let suite = parsed(text).unwrap();
    let found = chaos(&suite.cases[0], &(0..=SEEDS - 1), threads());
    assert_eq!(found.failures + found.excused, SEEDS, "{found:#?}");
    assert!(found.excused < SEEDS / 2, "the file decides the end: {found:#?}");
}

const HEAD: &str = "agent: react\nscript: { else: { text: hello } }\n";

#[rstest]
#[case(
    "agent: nobody-knows\ncases: []\n",
    "1:8: there is no agent nobody-knows; a file with an agent ends in .yaml"
)]
#[case("agent: absent.yaml\ncases: []\n", "1:8: No such file or directory (os error 2)")]
#[case(
    "agent: react\ncases: [{ name: a }]\n",
    "2:9: the case needs a script, of its own or of the file"
)]
#[case(
    "agent: react\nscript: { rules: [] }\ncases: [{ name: a }]\n",
    "2:9: the script: the script has neither rules nor an else: it could answer nothing"
)]
#[case("cases: []\n", "1:1: missing field `agent`")]
#[case(&format!("{HEAD}cases: []\n"), "1:1: the file has no cases")]
#[case(&format!("{HEAD}cases:\n  - name: a\n  - name: a\n"), "5:5: there are two cases named a")]
#[case(&format!("{HEAD}tools:\n  - name: pay\ncases: [{{ name: a }}]\n"), "4:5: the tool pay needs an `effect`: pure, idempotent or once")]
#[case(&format!("{HEAD}tools:\n  - {{ builtin: run }}\ncases: [{{ name: a }}]\n"), "4:5: there is no built-in tool run for tests; there are echo, sleep")]
#[case(&format!("{HEAD}tools:\n  - {{ about: x }}\ncases: [{{ name: a }}]\n"), "4:5: a tool has either a `name` or the name of a `builtin`")]
#[case(&format!("{HEAD}tools:\n  - {{ name: t, effect: pure, results: [{{ ok: 1, failed: x }}] }}\ncases: [{{ name: a }}]\n"), "4:5: each result of t has exactly one of `ok`, `failed` and `fault`")]
#[case(&format!("{HEAD}cases:\n  - {{ name: a, expect: {{ effects: {{ pay: 1 }} }} }}\n"), "4:5: the expectations name the tool pay, which the case does not have")]
#[case(&format!("{HEAD}cases:\n  - {{ name: a, expect: {{ path: {{ exactly: [jump] }} }} }}\n"), "4:5: jump is no part of a path; write plan, turn, call TOOL, ask KIND or spawn AGENT")]
#[case(&format!("{HEAD}cases:\n  - {{ name: a, expect: {{ result: {{ matches: '(' }} }} }}\n"), "4:5: ( is not a regular expression")]
fn a_mistake_in_a_file_is_reported_with_its_place(#[case] text: &str, #[case] expected: &str) {
    let mistake = parsed(text).unwrap_err();
    assert_eq!(mistake.text("t", Language::En).strip_prefix("t:").unwrap(), expected);
    assert!(!mistake.why.text(Language::Zh).is_empty());
}

#[test]
fn an_unknown_field_is_refused_where_it_stands() {
    let text = format!("{HEAD}cases:\n  - name: a\n    expects: {{}}\n");
    let mistake = parsed(&text).unwrap_err();
    let said = mistake.text("t", Language::En);
    assert!(said.starts_with("t:5:") && said.contains("expects"), "{said}");
}
