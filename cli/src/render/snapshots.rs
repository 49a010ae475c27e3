//! Snapshots of all rendering: unlimited, 100, 40 and 20 columns without colour, and once with
//! colour.

use proto::{job::Outcome, lang::Language};
use serde_json::json;

use super::*;
use crate::{live::progress, style::Style, text};

const WIDTHS: [Option<usize>; 4] = [None, Some(100), Some(40), Some(20)];

/// Renders at every width, checks widths and control characters, and compares with the snapshot.
fn check(name: &str, draw: impl Fn(&Style) -> String) {
    for width in WIDTHS {
        let shown = draw(&Style::plain(width));
        for line in shown.lines() {
            let wide = text::width(line);
            // A command to copy is never wrapped.
            let whole = line.contains("callboard inbox");
            assert!(
                whole || width.is_none_or(|most| wide <= most),
                "{name}: {wide} columns: {line:?}"
            );
            assert!(!line.chars().any(proto::escape::is_deceptive), "{name}: {line:?}");
        }
        let name = format!("{name}_{}", width.map_or("pipe".to_owned(), |w| w.to_string()));
        insta::assert_snapshot!(name, shown);
    }
}

#[test]
fn a_list_of_jobs() {
    check("jobs", |style| jobs::list(style, &samples::listed()));
}

#[test]
fn a_report_of_costs() {
    use crate::args::UsageBy;

    let all = [UsageBy::Day, UsageBy::Agent, UsageBy::Model, UsageBy::Tool, UsageBy::Job];
    check("usage", |style| all.map(|by| usage::report(style, &samples::usage(), by)).join("\n"));
}

/// Renders the most common displays for a user with a Chinese locale.
#[test]
fn displays_in_chinese() {
    let style = Style { language: Language::Zh, ..Style::plain(Some(100)) };
    let view = samples::view();
    let displays = [
        jobs::list(&style, &samples::listed()),
        question::list(&style, &samples::inbox()),
        usage::report(&style, &samples::usage(), crate::args::UsageBy::Job),
        describe::describe(&style, &view),
        progress::between(&style, None, &view).join("\n"),
    ];
    let shown = displays.join("\n");
    assert!(shown.lines().all(|line| line.contains("callboard inbox") || text::width(line) <= 100));
    insta::assert_snapshot!("chinese", shown);
}

#[test]
fn a_live_tree() {
    let said = tree::Said::from([(
        proto::id::StepId::new("step3").unwrap(),
        "I am reading the file now. 它有三行：第一行是标题，第二行是正文，第三行是签名。\nThen \u{1b}[31mI go on.".to_owned(),
    )]);
    check("tree", |style| tree::tree(style, &samples::view(), &said, None).join("\n"));
}

/// Renders a job that runs a workflow, as it is drawn and as lines that are appended.
#[test]
fn a_workflow_that_runs() {
    let mut view = samples::view();
    let graph = json!({
        "name": "tickets", "version": 2, "digest": "ab", "limits": {"steps": 200, "visits": 10},
        "visits": 7, "current": ["answer--3"],
        "nodes": [
            {"id": "answer", "type": "model", "state": "running", "visits": 3, "failed": 1},
        ],
    });
    view.graph = serde_json::from_value(graph).unwrap();
    view.questions.clear();
    check("workflow", |style| {
        let said = tree::Said::new();
        let tree = tree::tree(style, &view, &said, None);
        tree.into_iter().chain(progress::between(style, None, &view)).collect::<Vec<_>>().join("\n")
    });
}

/// The output of a workflow is its summary: as a text, or as JSON.
#[test]
fn a_value_that_the_summary_has_is_told_once() {
    let style = Style::plain(None);
    let told = |summary: &str, value: serde_json::Value| {
        let outcome = Outcome::Completed { summary: summary.to_owned(), results: json!({}), value };
        describe::ending(&style, &outcome, None)
    };
    let value = json!({"mark": 9, "text": "good"});
    let once = told(&format!("{value:#}"), value.clone());
    assert_eq!(once.matches("mark").count(), 1, "{once}");
    let once = told("good", json!({"text": "good"}));
    assert_eq!(once.matches("good").count(), 1, "{once}");
    let both = told("It is good.", value);
    assert!(both.contains("It is good.") && both.contains("\"mark\": 9"), "{both}");
}

#[test]
fn a_job_that_is_being_planned() {
    let mut view = samples::view();
    view.plan = None;
    view.questions.clear();
    check("planning", |style| {
        tree::tree(style, &view, &tree::Said::new(), Some("{\"title\": \"t\"")).join("\n")
    });
}

#[test]
fn a_description() {
    let mut view = samples::view();
    view.questions.truncate(2);
    check("describe", |style| describe::describe(style, &view));
}

#[test]
fn an_ending() {
    let outcome: Outcome = serde_json::from_value(json!({
        "state": "failed", "reason": "step_failed", "message": "步骤 step2 失败: 没有回答\nand \u{1b}[2J more",
    }))
    .unwrap();
    check("ending", |style| describe::ending(style, &outcome, None));
}

#[test]
fn questions_of_every_kind() {
    let page = samples::inbox();
    check("inbox", |style| question::list(style, &page));
    check("questions", |style| {
        let shown: Vec<_> =
            page.questions.iter().map(|e| question::body(style, &e.question)).collect();
        shown.join("\n")
    });
}

#[test]
fn every_record() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../proto/tests/golden/v1");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let records: Vec<serde_json::Value> = files
        .iter()
        .map(|f| serde_json::from_slice(&std::fs::read(f).unwrap()).unwrap())
        .chain([json!({"v": 9, "kind": "da\u{1b}nced", "id": "1", "by": "w", "body": {}})])
        .collect();
    let history = |style: &Style| {
        let lines = records.iter().enumerate().flat_map(|(n, record)| {
            let time = style.now;
            let family = if n % 2 == 0 { "in.crew" } else { "do.call.builtin" };
            let entry = history::Entry { seq: n as u64, family, time, record, counts: true };
            let mut lines = vec![history::line(style, &entry)];
            lines.extend(history::further(style, &entry));
            lines
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    check("history", history);
    let style = Style { language: Language::Zh, ..Style::plain(Some(100)) };
    insta::assert_snapshot!("history_zh", history(&style));
}

#[test]
fn a_difference_of_two_positions() {
    let mut from = samples::view();
    from.questions.clear();
    let to = samples::view();
    let difference = proto::diff::JobDiff::between(&from, &to);
    check_languages("diff", |style| diff::show(style, &difference));
    let none = proto::diff::JobDiff::between(&to, &to);
    check_languages("diff_none", |style| diff::show(style, &none));
}

#[test]
fn a_purge_and_its_dry_run() {
    for (name, report) in
        [("purge", samples::purged(false)), ("purge_dry_run", samples::purged(true))]
    {
        check_languages(name, |style| purge::report(style, &report));
    }
}

#[test]
fn a_record_that_was_taken_out_is_marked() {
    let style = Style::plain(None);
    let record = json!({"v": 1, "kind": "fired", "id": "1", "by": "w", "body": {"timer": "t"}});
    let line = |counts| {
        let (family, time) = ("in.clock", style.now);
        history::line(&style, &history::Entry { seq: 12, family, time, record: &record, counts })
    };
    assert!(line(true).starts_with("    12 "), "{}", line(true));
    assert!(line(false).starts_with("×   12 "), "{}", line(false));
}

#[test]
fn a_job_that_went_back_says_so() {
    let mut view = serde_json::to_value(samples::view()).unwrap();
    view["generation"] = json!(2);
    view["forked"] = json!({"job": "trip", "seq": 10});
    view["snapshots"] = json!([{"name": "before", "seq": 12, "time": "2026-11-21T09:59:00Z"}]);
    let view: proto::view::JobView = serde_json::from_value(view).unwrap();
    let shown = describe::describe(&Style::plain(None), &view);
    for part in ["trip at record 10", "before at record 12", "2: a rollback or fork"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let listed = points::list(&Style::plain(None), &view);
    assert!(listed.contains("before") && listed.contains("12"), "{listed}");
}

#[test]
fn tools_and_crew() {
    check("tools", |style| tools::list(style, &samples::tools()));
    check("crew", |style| crew::list(style, &samples::crew()));
}

#[test]
fn findings_with_advice() {
    let found = [
        findings::Finding::ok("config", "callboard.toml"),
        findings::Finding::bad(
            "nats",
            "nats://127.0.0.1:4222 refuses connections",
            "start nats-server, or give its address with --url",
        ),
        findings::Finding::skipped("jetstream", "nats cannot be reached"),
    ];
    check("findings", |style| findings::list(style, &found));
}

/// Compares a display with a snapshot in each language.
fn check_languages(name: &str, draw: impl Fn(&Style) -> String) {
    for language in Language::ALL {
        let style = Style { language: *language, ..Style::plain(Some(100)) };
        insta::assert_snapshot!(format!("{name}_{}", language.code()), draw(&style));
    }
}

#[test]
fn findings_of_fsck_with_remedies_and_a_summary() {
    check_languages("fsck", |style| fsck::report(style, &samples::checked()));
    let clean = operator::fsck::Report { jobs: 1, ..operator::fsck::Report::default() };
    check_languages("fsck_clean", |style| fsck::report(style, &clean));
}

#[test]
fn colours_are_used_only_when_they_are_wanted() {
    let mut style = Style::plain(Some(100));
    assert!(!jobs::list(&style, &samples::listed()).contains('\u{1b}'));
    style.color = true;
    let shown = jobs::list(&style, &samples::listed());
    assert!(shown.contains("\u{1b}["));
    assert!(!shown.contains("\u{1b}[2J"), "a job's goal is never acted upon");
}

#[test]
fn a_waterfall() {
    let spans = samples::spans();
    check("waterfall", |style| waterfall::show(style, &spans));
    let style = Style { language: Language::Zh, ..Style::plain(Some(80)) };
    insta::assert_snapshot!("waterfall_chinese", waterfall::show(&style, &spans));
}

#[test]
fn a_plan_that_streams_is_never_shown_as_json() {
    let style = Style::plain(Some(80));
    let view = samples::view();
    let shown = |words| tree::tree(&style, &view, &tree::Said::new(), Some(words)).join("\n");
    for plan in ["{", "{\"title\": \"A plan\"", "```json\n[{\"title\": \"A", "[\n  \"Find it\""] {
        let shown = shown(plan);
        let count = plan.chars().count();
        assert!(shown.contains(&format!("a structured reply, {count} characters")), "{shown}");
        assert!(!shown.contains("A plan\"") && !shown.contains("Find it\""), "{shown}");
    }
    for words in ["I think", "[sic] it is", "{so} be it"] {
        assert!(shown(words).contains(words));
    }
}
