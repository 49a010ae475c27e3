//! What the page of a job shows and does beside its questions: files, plans and their history, the
//! keys of the graph, names of the past, and the stream of a tab that nobody looks at.

use broker::testing::wait::eventually;
use callboard_browser::{Look, Page};
use serde_json::json;

use crate::stage::Stage;

/// A plan of two calls, the first with a number that no double holds, and a question between them.
const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner' }
    reply:
      raw: true
      json:
        title: "two echoes"
        steps:
          - { id: first, title: "Say one", description: "echo", tool: echo, args: { value: 12345678901234567890 } }
          - { id: ask, title: "Ask for the reader", description: "ask", depends_on: [first] }
          - { id: last, title: "Say two", description: "echo", depends_on: [first, ask], tool: echo, args: { value: "two" } }
  - name: ask
    when: { offers: finish, turn: 1 }
    reply: { calls: [ { tool: ask_user, args: { mode: query, prompt: "Whom is it for?" } } ] }
  - name: finish
    when: { offers: finish, turn: 2 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "asked" } } ] }
"#;

const BIG: &str = "12345678901234567890";

/// Starts an installation with a job that waits for an answer, and opens its page.
async fn asking(path: &str) -> Option<(Stage, Page)> {
    let stage = Stage::playing(SCRIPT).await?;
    let job = json!({
        "id": "j1", "goal": "Say two things", "confirm": false,
        "files": [{"name": "notes of ann.md", "content": {"text": "twelve notes"}}],
    });
    stage.submit(&job).await;
    stage.until("j1", "input-required").await;
    let page = stage.page(&Look::default(), path).await;
    page.find(".question", "Whom is it for?").await;
    Some((stage, page))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_job_is_saved_under_its_name() {
    let Some((stage, page)) = asking("/jobs/j1").await else { return };
    let directory = tempfile::tempdir().unwrap();
    page.save_in(directory.path()).await;
    page.click(".files-of button", "notes of ann.md").await;
    let file = directory.path().join("notes of ann.md");
    // The browser creates the file before it writes the content.
    eventually("the content of the file", async || match std::fs::read_to_string(&file) {
        Ok(text) if text == "twelve notes" => Ok(()),
        other => Err(other),
    })
    .await;
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_plan_keeps_its_digits_and_is_a_version_with_its_author() {
    let Some(stage) = Stage::playing(SCRIPT).await else { return };
    stage.submit(&json!({"id": "j1", "goal": "Say two things", "confirm": true})).await;
    let page = stage.page(&Look::default(), "/jobs/j1").await;
    page.click(".card.ask button", "Edit plan").await;
    let edit: String =
        page.until("the text of the plan", "document.querySelector('.code-edit')?.value").await;
    assert!(edit.contains(&format!("\"value\": {BIG}")), "{edit}");
    page.fill(".code-edit", &edit.replace("Say two", "Say three")).await;
    page.click(".card.ask .copy-as summary", "").await;
    page.find(".card.ask .copy-as pre", "callboard inbox answer j1 q1 --plan -").await;
    page.find(".card.ask .copy-as pre", BIG).await;
    page.click(".card.ask button.primary", "Send the edited plan").await;
    page.click(".card.ask button.primary", "Confirm").await;
    page.find(".card.ask .question", "Whom is it for?").await;
    // The plan that runs has the digits, and the log shows them.
    page.open(&stage.url("/jobs/j1?tab=log&log=records")).await;
    page.find(".log-row", BIG).await;
    page.open(&stage.url("/jobs/j1")).await;
    page.find(".stepper", "2 plans").await;
    page.press("<").await;
    page.find(".revision", "Edited by").await;
    page.find(".revision .row-changed del", "Say two").await;
    page.find(".revision .row-changed ins", "Say three").await;
    page.press("<").await;
    page.find(".revision", "Made by the planner").await;
    page.press(">").await;
    page.press(">").await;
    page.find(".graph .node", "Say three").await;
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_move_in_the_graph_and_finished_steps_hide() {
    let Some((stage, page)) = asking("/jobs/j1").await else { return };
    page.find(".graph .node", "Say one").await;
    let _: bool = page.value("(document.querySelector('.graph .node').focus(), true)").await;
    // The plan draws no edge from the first step to the last, because the others imply it.
    page.find(".graph .edge.implied", "").await;
    let focus = "document.activeElement?.closest('foreignObject')?.dataset.node";
    for (key, node) in [("ArrowDown", "ask"), ("ArrowDown", "last"), ("ArrowUp", "ask")] {
        page.press(key).await;
        let _: bool = page.until(node, &format!("{focus} === {node:?}")).await;
    }
    page.press("h").await;
    page.lose(".graph .node", "Say one").await;
    page.find(".tab-head button", "1 finished hidden").await;
    page.press("h").await;
    page.find(".graph .node", "Say one").await;
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_the_past_gets_a_name() {
    let Some((stage, page)) = asking("/jobs/j1").await else { return };
    let planned = stage.record("j1", "planned").await;
    page.open(&stage.url(&format!("/jobs/j1?at={planned}"))).await;
    page.click(".scrub-actions button", "Name this point").await;
    page.fill("dialog input[required]", "the-plan").await;
    page.find("dialog .consequence", &format!("Gives record {planned} of the job a name")).await;
    page.click("dialog .copy-as summary", "").await;
    let command = format!("callboard jobs snapshot --at {planned} j1 the-plan");
    page.find("dialog .copy-as pre", &command).await;
    page.click("dialog .copy-as button", "NATS").await;
    page.find("dialog .copy-as pre", "nats req cb.svc.signal ").await;
    page.click("dialog footer button:last-child", "Name this point").await;
    page.lose("dialog", "").await;
    let named = &stage.view("j1").await["snapshots"][0];
    assert_eq!((&named["name"], &named["seq"]), (&json!("the-plan"), &json!(planned)));
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_that_nobody_looks_at_gives_its_stream_back_and_misses_nothing() {
    let Some((stage, page)) = asking("/jobs/j1?tab=said").await else { return };
    let streams = || page.requests().iter().filter(|url| url.contains("/events?")).count();
    assert_eq!(streams(), 1);
    let hide = "(() => { const later = setTimeout; let hidden = true;\
                window.setTimeout = (run, ms) => later(run, ms === 30_000 ? 0 : ms);\
                Object.defineProperty(document, 'hidden', { get: () => hidden });\
                window.look = () => { hidden = false; document.dispatchEvent(new Event('visibilitychange')); };\
                document.dispatchEvent(new Event('visibilitychange')); return true; })()";
    let _: bool = page.value(hide).await;
    // The timer of the tab has run.
    let _: bool = page.value("new Promise((done) => setTimeout(() => done(true), 50))").await;
    stage.answer("j1", "q1", &json!({"value": "Ann"})).await;
    stage.until("j1", "completed").await;
    let unseen: bool = page.value("!document.body.innerText.includes('Completed')").await;
    assert!(unseen, "a page without a stream shows nothing new");
    let _: bool = page.value("(window.look(), true)").await;
    page.find(".why-bar", "Completed").await;
    page.find(".live-dot.off", "").await;
    let lines = "[...document.querySelectorAll('.say')].map((el) => el.innerText)";
    let live: Vec<String> = page.value(lines).await;
    assert_eq!(streams(), 2);
    let fresh = stage.page(&Look::default(), "/jobs/j1?tab=said").await;
    fresh.find(".live-dot.off", "").await;
    assert_eq!(live, fresh.value::<Vec<String>>(lines).await);
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_somebody_else_rolls_back_is_followed_again() {
    let Some((stage, page)) = asking("/jobs/j1").await else { return };
    let planned = stage.record("j1", "planned").await;
    stage.answer("j1", "q1", &json!({"value": "Ann"})).await;
    page.find(".why-bar", "Completed").await;
    page.find(".live-dot.off", "").await;
    stage.signal("j1", &json!({"signal": {"roll_back": {"to": planned, "again": true}}})).await;
    page.find(".card.ask .question", "Whom is it for?").await;
    page.find(".facts", "Rollbacks").await;
    page.fill(".card.ask textarea", "Bob").await;
    page.click(".card.ask button.primary", "Send").await;
    page.find(".why-bar", "Completed").await;
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_that_the_model_was_asked_and_the_header_what_is_spent() {
    let Some((stage, page)) = asking("/jobs/j1?tab=log").await else { return };
    page.find(".log-row", "Planning: asked the model").await;
    page.find(".log-row", "Ask for the reader: asked the model").await;
    page.find(".meter", "Cost").await;
    page.click("[role=tab]", "Time").await;
    page.find(".fall-row", "Turn 1").await;
    page.is_clean(&stage.host).await;
}
