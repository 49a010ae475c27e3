//! What people do with jobs in the console, from the first click to the result.

use callboard_browser::{Look, Page};
use serde_json::json;

use crate::stage::Stage;

/// Submits a goal on the page of new jobs; the page of the job follows.
async fn submit(page: &Page, goal: &str, button: &str) {
    page.fill("textarea.goal", goal).await;
    page.click("button.primary", button).await;
    let _: bool = page.until("the page of the job", "location.pathname.startsWith('/jobs/')").await;
}

/// Returns the id of the job that a page shows.
async fn job_of(page: &Page) -> String {
    page.value("location.pathname.split('/')[2]").await
}

/// Moves the position of a job's page back to the result of its first call, a key at a time, and
/// returns that record's number.
async fn back(stage: &Stage, page: &Page) -> u64 {
    let called = stage.record("j1", "called").await;
    // The tick of the question: the events have arrived, too.
    let _: bool = page.until("the events", "!!document.querySelector('.ticks .tick-wait')").await;
    loop {
        page.press("[").await;
        page.find(".past", "").await;
        let at: u64 = page.value("Number(new URLSearchParams(location.search).get('at'))").await;
        assert!(at >= called, "a key moved the position over a record, from {called} to {at}");
        if at == called {
            return at;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_goal_becomes_a_plan_a_question_and_a_result() {
    let Some(stage) = Stage::start().await else { return };
    let page = stage.page(&Look::default(), "/new").await;
    submit(&page, "Say two things", "Submit").await;
    page.click(".card.ask button.primary", "Confirm").await;
    page.find(".question", "Whom is it for?").await;
    page.fill(".card.ask textarea", "Ann").await;
    page.click(".card.ask button.primary", "Send").await;
    page.find(".why-bar", "Completed").await;
    page.find(".outcome", "two").await;
    let job = job_of(&page).await;
    assert_eq!(stage.view(&job).await["state"], "completed");
    page.click(".rail a", "Jobs").await;
    page.find(".job-row", "Say two things").await;
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_in_chinese_confirms_and_answers() {
    let Some(stage) = Stage::start().await else { return };
    let look = Look { language: "zh-CN", dark: true, ..Look::phone() };
    let page = stage.page(&look, "/new").await;
    submit(&page, "Say two things", "提交").await;
    page.click(".card.ask button.primary", "确认执行").await;
    page.find(".question", "Whom is it for?").await;
    page.click(".bottom a", "收件箱").await;
    page.click(".ask-row", "Whom is it for?").await;
    page.fill(".inbox-main textarea", "Ann").await;
    page.click(".inbox-main button.primary", "发送").await;
    page.click(".bottom a", "任务").await;
    page.click(".job-row", "Say two things").await;
    page.find(".why-bar", "已完成").await;
    let wide: bool = page.value("document.documentElement.scrollWidth <= innerWidth").await;
    assert!(wide, "a phone does not scroll sideways");
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_tabs_one_answers_and_the_other_shows_who_did() {
    let Some(stage) = Stage::start().await else { return };
    stage.submit(&json!({"id": "j1", "goal": "Say two things", "confirm": false})).await;
    stage.until("j1", "input-required").await;
    let [one, two] = [
        stage.page(&Look::default(), "/inbox?job=j1&ask=q1").await,
        stage.page(&Look::default(), "/inbox?job=j1&ask=q1").await,
    ];
    for page in [&one, &two] {
        page.find(".question", "Whom is it for?").await;
    }
    one.fill(".inbox-main textarea", "Ann").await;
    two.fill(".inbox-main textarea", "Bob").await;
    one.click(".inbox-main button.primary", "Send").await;
    // The second tab either sees that the question is gone, or is refused with the winner.
    two.find(".settled, .inbox-question", "Ann").await;
    stage.until("j1", "completed").await;
    let view = stage.view("j1").await;
    assert!(view.to_string().contains("Ann") && !view.to_string().contains("Bob"), "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_plan_is_asked_about_again_and_runs() {
    let Some(stage) = Stage::start().await else { return };
    stage.submit(&json!({"id": "j1", "goal": "Say two things", "confirm": true})).await;
    let page = stage.page(&Look::default(), "/jobs/j1").await;
    page.click(".card.ask button", "Edit plan").await;
    let plan = json!({"title": "one echo", "steps": [
        {"id": "only", "description": "echo", "tool": "echo", "args": {"value": "three"}},
    ]});
    page.fill(".code-edit", &plan.to_string()).await;
    page.click(".card.ask button.primary", "Send the edited plan").await;
    page.find(".card.ask .plan-title", "one echo").await;
    page.click(".card.ask button.primary", "Confirm").await;
    page.find(".why-bar", "Completed").await;
    let view = stage.view("j1").await;
    assert_eq!(view["plan"]["steps"].as_array().map(Vec::len), Some(1), "{view}");
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scrubber_shows_the_past_and_forks_and_rolls_back() {
    let Some(stage) = Stage::start().await else { return };
    stage.submit(&json!({"id": "j1", "goal": "Say two things", "confirm": false})).await;
    stage.until("j1", "input-required").await;
    let page = stage.page(&Look::default(), "/jobs/j1").await;
    back(&stage, &page).await;
    page.click(".scrub-actions button", "Compare with now").await;
    page.find("dialog .compare", "Whom is it for?").await;
    page.press("Escape").await;
    page.lose("dialog", "").await;
    page.click(".scrub-actions button", "Fork").await;
    page.click("dialog button.primary", "Fork").await;
    let _: bool = page.until("the fork", "location.pathname !== '/jobs/j1'").await;
    let fork = job_of(&page).await;
    assert_eq!(stage.view(&fork).await["forked"]["job"], "j1");
    page.open(&stage.url("/jobs/j1")).await;
    let at = back(&stage, &page).await;
    page.click(".scrub-actions button", "Roll back").await;
    let field: u64 =
        page.until("the position", "Number(document.querySelector('dialog input')?.value)").await;
    assert_eq!(field, at);
    let records = stage.records("j1").await;
    let gone = records.iter().filter(|record| **record > at).count();
    assert!(gone > 1, "{records:?} after {at}");
    page.find("dialog .consequence", &format!("{gone} records no longer count.")).await;
    page.find("dialog .consequence", "These steps run again: Ask for the reader").await;
    page.fill("dialog input", "999999").await;
    page.find("dialog .error-box", "not_found").await;
    page.fill("dialog input", &at.to_string()).await;
    page.lose("dialog .error-box", "").await;
    page.click("dialog summary", "Copy as").await;
    page.find("dialog pre", &format!("callboard jobs rollback j1 --to {at}")).await;
    page.click("dialog button.primary", "Roll back").await;
    page.lose("dialog", "").await;
    page.find(".facts", "Rollbacks").await;
    assert_eq!(stage.view("j1").await["generation"], 1);
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keyboard_alone_is_enough() {
    let Some(stage) = Stage::start().await else { return };
    let page = stage.page(&Look::default(), "/jobs").await;
    page.see("No job yet").await;
    page.press("n").await;
    page.until::<bool>("the goal's field", "document.activeElement?.matches('textarea.goal')")
        .await;
    page.write("Say two things").await;
    page.press("Ctrl+Enter").await;
    page.find(".question", "").await;
    page.press("Escape").await;
    page.press("g").await;
    page.press("i").await;
    page.find(".inbox-main .plan-title", "two echoes").await;
    page.press("a").await;
    page.find(".ask-row", "Whom is it for?").await;
    page.press("n").await;
    page.find(".inbox-main .question", "Whom is it for?").await;
    page.press("e").await;
    page.until::<bool>("the answer's field", "!!document.activeElement?.matches('[data-answer]')")
        .await;
    page.write("Ann").await;
    page.press("Ctrl+Enter").await;
    page.press("Escape").await;
    page.press("g").await;
    page.press("j").await;
    page.find(".job-row", "Completed").await;
    page.press("Enter").await;
    page.find(".why-bar", "Completed").await;
    page.press("2").await;
    page.find("[role=tab][aria-selected=true]", "Time").await;
    page.press("Ctrl+k").await;
    page.find(".palette", "").await;
    page.is_clean(&stage.host).await;
}
