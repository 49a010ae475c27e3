//! The accessibility of every page, dark and light, wide and narrow, by the rules of axe-core.

use callboard_browser::{Look, Page, program};
use serde_json::json;

use crate::stage::{Stage, lines};

/// The pages, each with a selector of what it shows when it is complete.
const PAGES: &[(&str, &str)] = &[
    ("/jobs", ".job-row"),
    ("/jobs/done", ".node, .step-row"),
    ("/jobs/done?tab=time", ".fall-row"),
    ("/jobs/done?tab=said", ".say"),
    ("/jobs/done?tab=log", ".log-row"),
    ("/jobs/done?tab=agent", ".tree"),
    ("/jobs/family?tab=family", ".node, .family-list .step-row"),
    ("/jobs?label=team%3Dbilling", ".chip.removable"),
    ("/jobs/done?step=first", ".panel"),
    ("/jobs/flow?view=graph", ".node"),
    ("/jobs/flow?view=graph&node=judge", ".panel .call"),
    ("/jobs/open", ".question"),
    ("/inbox?job=open&ask=q1", ".question"),
    ("/new", "textarea.goal"),
    ("/chat", "textarea"),
    ("/agents?name=default", ".tree"),
    ("/workflows", ".flow-list .item"),
    ("/workflows/human-review?node=review", ".flow-lines .at"),
    ("/tools?name=echo", ".two-main form"),
    ("/crew", ".table"),
    ("/costs", ".bars-bar"),
    ("/health", ".finding"),
    ("/signin", "form"),
    ("/nothing-here", ".empty"),
];

/// A workflow with a loop, of which one way is never taken.
const FLOW: &str = r#"
workflow: rounds
start: judge
nodes:
  judge: {type: tool, title: Go round, tool: echo, args: {value: once more}, on_error: end, next: more}
  more: {type: branch, next: [{when: visits.judge < 3, to: judge}, {to: end}]}
"#;

/// Returns the violations of a page, one line each.
pub(crate) async fn violations(page: &Page, what: &str) -> Vec<String> {
    let run = "axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations.flatMap(\
               (v) => v.nodes.map((n) => `${v.id}: ${n.target} ${n.html.slice(0, 160)} \
               ${n.any.map((a) => a.message).join()}`)))";
    let found: Vec<String> = page.value(run).await;
    found.into_iter().map(|violation| format!("{what}: {violation}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_accessible() {
    let Some(stage) = Stage::start().await else { return };
    let axe = format!("{}\n;true", program::axe());
    stage.submit(&json!({"id": "done", "goal": "Say it", "confirm": false, "plan": {"title": "one", "steps": [
        {"id": "first", "title": "Say one", "description": "echo", "tool": "echo", "args": {"value": "one"}},
        {"id": "next", "title": "Say two", "description": "echo", "tool": "echo", "args": {"value": "two"}, "depends_on": ["first"]},
    ]}})).await;
    stage.submit(&json!({"id": "open", "goal": "Say two things", "confirm": true})).await;
    stage.submit(&json!({"id": "family", "goal": "Say it twice", "agent": {"name": "default", "agents": ["react"], "confirm": false}, "plan": {"title": "one", "steps": [
        {"id": "first", "title": "Say one", "description": "echo", "tool": "react", "args": {"goal": "Say one"}},
    ]}})).await;
    stage
        .submit(
            &json!({"id": "flow", "goal": "Go round", "workflow": {"source": FLOW, "input": {}}}),
        )
        .await;
    stage.until("flow", "completed").await;
    stage.until("done", "completed").await;
    stage.until("family", "completed").await;
    stage.until("open", "input-required").await;
    let answer = stage.link("open", "q1").await;
    let pages = PAGES.iter().copied().chain([(answer.as_str(), "form")]);
    let mut found = Vec::new();
    // 720 by 450 pixels are a window of 1440 by 900 at 200 % zoom.
    for (width, height, dark) in [
        (1440, 900, false),
        (1440, 900, true),
        (720, 450, false),
        (320, 900, false),
        (320, 900, true),
    ] {
        let page = stage.browser.page(&Look { width, height, dark, ..Look::default() }).await;
        for (path, complete) in pages.clone() {
            page.open(&stage.url(path)).await;
            page.find(complete, "").await;
            let _: bool = page.value(&axe).await;
            let theme = if dark { "dark" } else { "light" };
            found.extend(violations(&page, &format!("{path} at {width} px, {theme}")).await);
            let fits: bool = page.value("document.documentElement.scrollWidth <= innerWidth").await;
            if !fits {
                found.push(format!("{path} scrolls sideways at {width} px"));
            }
        }
        page.is_clean(&stage.host).await;
        page.close().await;
    }
    assert!(found.is_empty(), "{}", lines(&found));
}

/// The dialogs, each with its page, what the page shows when it is complete, and the clicks or keys that open it.
const DIALOGS: &[(&str, &str, &[&str])] = &[
    ("/jobs", ".job-row", &["?"]),
    ("/jobs", ".job-row", &["Ctrl+k"]),
    ("/jobs", ".job-row", &["p"]),
    ("/jobs", ".job-row", &["/.filters > button:not(.act-on)"]),
    ("/jobs", ".job-row", &["/.act-on", "/dialog .copy-as summary"]),
    ("/jobs", ".job-row", &[" ", "/.act-on", "/dialog .copy-as summary"]),
    ("/jobs?q=say", ".saved-views button", &["/.saved-views button"]),
    ("/jobs/done", ".node, .step-row", &["f"]),
    ("/jobs/open", ".question", &["x", "/dialog .copy-as summary"]),
    ("/agents?name=mine", ".history button", &["/.two-main button[title=Delete]"]),
    (
        "/agents?name=mine",
        ".history button",
        &["/.history li:last-child button", "/dialog .copy-as summary"],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_dialog_is_accessible() {
    let Some(stage) = Stage::start().await else { return };
    let axe = format!("{}\n;true", program::axe());
    stage.submit(&json!({"id": "done", "goal": "Say it", "confirm": false, "plan": {"title": "one", "steps": [
        {"id": "first", "title": "Say one", "description": "echo", "tool": "echo", "args": {"value": "one"}},
    ]}})).await;
    stage.until("done", "completed").await;
    stage.submit(&json!({"id": "open", "goal": "Say two things", "confirm": true})).await;
    stage.until("open", "input-required").await;
    for turns in [5, 6] {
        stage.agent("mine", &format!("extends: react\nstep: {{ max_turns: {turns} }}\n")).await;
    }
    let mut found = Vec::new();
    for (width, height, dark) in [(1440, 900, false), (720, 450, true), (320, 900, false)] {
        let page = stage.browser.page(&Look { width, height, dark, ..Look::default() }).await;
        for (path, complete, steps) in DIALOGS {
            page.open(&stage.url(path)).await;
            page.find(complete, "").await;
            for step in *steps {
                match step.strip_prefix('/') {
                    Some(selector) => page.click(selector, "").await,
                    None => page.press(step).await,
                }
            }
            page.find("dialog", "").await;
            let _: bool = page
                .until("the consequence", "!document.querySelector('dialog [aria-busy=true]')")
                .await;
            let _: bool = page.value(&axe).await;
            let what = format!("{path} {steps:?} at {width} px");
            found.extend(violations(&page, &what).await);
            let fits: bool = page
                .value("(({ left, right }) => left >= 0 && right <= innerWidth)(document.querySelector('dialog').getBoundingClientRect()) && document.documentElement.scrollWidth <= innerWidth")
                .await;
            if !fits {
                found.push(format!("{what} is wider than the window"));
            }
        }
        page.is_clean(&stage.host).await;
        page.close().await;
    }
    assert!(found.is_empty(), "{}", lines(&found));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_violation_is_found() {
    let Some(stage) = Stage::start().await else { return };
    let page = stage.page(&Look::default(), "/new").await;
    page.find("textarea.goal", "").await;
    let _: bool = page.value(&format!("{}\n;true", program::axe())).await;
    let _: bool = page
        .value("(document.querySelector('main').append(document.createElement('select')), true)")
        .await;
    let found = violations(&page, "/new").await;
    assert!(found.iter().any(|violation| violation.contains("select-name")), "{}", lines(&found));
}
