//! What people do in the console beside the way of one job: every kind of question, the actions on
//! jobs, agents, tools and chat.

use callboard_browser::Look;
use callboard_tests::scripts::EVERY_KIND;
use serde_json::json;

use crate::stage::{Stage, confirm};

/// Largest first load in bytes as sent: the list of jobs in an empty cache.
const FIRST_LOAD_MAX: u64 = 60 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_link_for_one_person_is_made_and_revoked_at_its_question() {
    let Some(stage) = Stage::start().await else { return };
    stage.submit(&json!({"id": "j1", "goal": "ask", "confirm": false})).await;
    stage.until("j1", "input-required").await;
    let page = stage.page(&Look::default(), "/inbox").await;
    page.click(".question-foot button", "Answer link").await;
    page.fill("#link-for", "Ann").await;
    page.click("dialog .copy-as summary", "Copy as").await;
    page.find("dialog .copy-as pre", "callboard inbox link j1 q1 --by Ann").await;
    page.click("dialog footer button.primary", "Make the link").await;
    page.see("Ann may answer at this address").await;
    let address: String =
        page.until("the address", "document.querySelector('#link-address')?.textContent").await;
    let path = address.strip_prefix(&stage.url("")).expect("an address of this gateway");
    let other = stage.page(&Look::phone(), path).await;
    other.find("main", "Whom is it for?").await;
    page.click("dialog footer button.danger", "Revoke all links").await;
    page.see("The link no longer works").await;
    other.open(&address).await;
    other.lose("main", "Whom is it for?").await;
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_question_is_answered_in_the_inbox() {
    let Some(stage) = Stage::playing(EVERY_KIND).await else { return };
    let page = stage.page(&Look::default(), "/jobs").await;
    page.see("No job yet").await;
    let sent = "[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]\
                .filter((e) => !e.name.includes('/v1/')).reduce((sum, e) => sum + e.encodedBodySize, 0)";
    let sent: u64 = page.value(sent).await;
    assert!((20_000..=FIRST_LOAD_MAX).contains(&sent), "the first load has {sent} bytes");

    stage.submit(&json!({"id": "j1", "goal": "ask", "confirm": false})).await;
    stage.until("j1", "input-required").await;
    page.open(&stage.url("/inbox")).await;
    page.click(".ask-row", "Which colours?").await;
    page.click(".inbox-main .option", "red").await;
    page.click(".inbox-main .option", "green").await;
    page.click(".inbox-main button.primary", "Send").await;

    page.click(".ask-row", "The trip").await;
    page.fill("#j1-q2-days", "12").await;
    page.click(".inbox-main button.primary", "Send").await;
    page.find("#j1-q2-days-wrong", "Must be 1 to 9").await;
    page.find("#j1-q2-to-wrong", "").await;
    page.fill("#j1-q2-days", "3").await;
    page.fill("#j1-q2-to", "Oslo").await;
    // The button moves when the mistakes go.
    page.lose(".inbox-main .wrong", "").await;
    page.click(".inbox-main button.primary", "Send").await;

    page.click(".ask-row", "http_post").await;
    page.find(".inbox-main .exact", r"a\u{200b}b").await;
    page.find(".inbox-main .consequence", "http_post").await;
    page.click(".inbox-main button.primary", "Approve").await;
    stage.until("j1", "completed").await;
    let past = stage.view("j1").await["past_questions"].to_string();
    for said in ["red", "green", "Oslo", "approve"] {
        assert!(past.contains(said), "{said} in {past}");
    }
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_rejected_with_a_reason_after_the_page_said_what_follows() {
    let Some(stage) = Stage::start().await else { return };
    for (id, look) in [("wide", Look::default()), ("phone", Look::phone())] {
        stage.submit(&json!({"id": id, "goal": "Say two things", "confirm": true})).await;
        stage.until(id, "input-required").await;
        let page = stage.page(&look, &format!("/inbox?job={id}&ask=q1")).await;
        page.find(".inbox-main .plan-list", "").await;
        if id == "wide" {
            page.press("r").await;
        } else {
            page.click(".inbox-main button", "Cancel").await;
        }
        page.find("dialog .consequence", "Rejects the plan and ends the job").await;
        page.fill("dialog input", "too long").await;
        page.click("dialog summary", "Copy as").await;
        page.find("dialog pre", &format!("callboard inbox reject {id} q1 --text 'too long'")).await;
        assert_eq!(stage.view(id).await["state"], "input-required", "nothing was sent yet");
        confirm(&page, "Reject the plan").await;
        stage.until(id, "canceled").await;
        let past = stage.view(id).await["past_questions"].to_string();
        assert!(past.contains("too long"), "{past}");
        page.is_clean(&stage.host).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_paused_instructed_and_ended() {
    let Some(stage) = Stage::start().await else { return };
    stage.submit(&json!({"id": "j1", "goal": "Say two things", "confirm": false})).await;
    stage.until("j1", "input-required").await;
    let page = stage.page(&Look::default(), "/jobs/j1").await;
    page.click(".job-actions button", "Pause").await;
    page.find("dialog .consequence", "nothing new starts").await;
    confirm(&page, "Pause").await;
    page.click(".job-actions button", "Resume").await;
    confirm(&page, "Resume").await;
    page.click(".job-actions button", "Instruct").await;
    page.fill("dialog textarea", "Be brief").await;
    confirm(&page, "Instruct").await;
    page.find(".toasts", "The instruction is stored.").await;
    page.click(".job-actions [aria-haspopup=menu]", "").await;
    page.click(".menu-list button", "Cancel job").await;
    confirm(&page, "Cancel job").await;
    page.find(".why-bar", "Canceled").await;
    assert_eq!(stage.view("j1").await["state"], "canceled");
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_of_an_agent_is_checked_while_it_is_written_and_compared_before_it_is_stored() {
    let Some(stage) = Stage::start().await else { return };
    let page = stage.page(&Look::default(), "/agents?name=default").await;
    page.click(".two-list button", "New agent").await;
    page.fill(".two-main input", "careful").await;
    page.fill(".code-edit", "extends: react\nstep: { max_turns: none }\n").await;
    page.find("#agent-check .error-box", "max_turns").await;
    page.find(".gutter .wrong", "2").await;
    let place = "(document.querySelector('.code-edit').setSelectionRange(0, 0), document.querySelector('#agent-check .link').click(), document.querySelector('.code-edit').selectionStart)";
    let place: usize = page.value(place).await;
    let text = "extends: react\nstep: { max_turns: none }\n";
    assert!(text[place..].starts_with("none"), "{place}");
    let off = "document.querySelector('.two-main button.primary').disabled";
    assert!(page.value::<bool>(off).await, "a text with mistakes is not saved");
    page.fill(".code-edit", "extends: react\nstep: { max_turns: 7 }\n").await;
    page.find("#agent-check .checked", "").await;
    page.click(".two-main button.primary", "Review and save").await;
    page.find("dialog .diff", "+ step: { max_turns: 7 }").await;
    page.click("dialog summary", "Copy as").await;
    page.find("dialog pre:not(.diff)", "callboard agents put careful.yaml --expect 0").await;
    page.click("dialog .segments button", "curl").await;
    page.find("dialog pre:not(.diff)", "curl -X PUT").await;
    page.find("dialog footer", "Save").await;
    confirm(&page, "Save").await;
    page.find(".two-main h1", "careful").await;
    page.find(".two-list .item", "careful").await;
    page.click(".two-list button", "New agent").await;
    page.find("#start-from", "").await;
    let _: bool = page.value("(() => { const from = document.querySelector('#start-from'); from.value = 'careful'; return from.dispatchEvent(new Event('change')); })()").await;
    let _: bool = page
        .until(
            "the text of the other agent",
            "document.querySelector('.code-edit').value.includes('max_turns: 7')",
        )
        .await;
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_tried_and_tasks_with_files_talked_about() {
    let Some(stage) = Stage::start().await else { return };
    let page = stage.page(&Look::default(), "/tools?name=echo").await;
    page.fill("#try-echo-value", "\"said once\"").await;
    page.click(".two-main button.primary", "Run as a job").await;
    page.find(".why-bar", "Completed").await;
    page.find(".outcome", "said once").await;

    page.open(&stage.url("/chat")).await;
    let attach = "(() => { const field = document.querySelector('.attach input'); const files = new DataTransfer(); \
                  files.items.add(new File(['Ann'], 'readers.md')); field.files = files.files; return field.dispatchEvent(new Event('change')); })()";
    page.find(".composer textarea", "").await;
    let _: bool = page.value(attach).await;
    page.find(".compose-files", "readers.md").await;
    page.fill(".composer textarea", "Say two things").await;
    page.click(".composer button.primary", "").await;
    page.click(".card.ask button.primary", "Confirm").await;
    page.lose(".compose-files", "").await;
    page.find(".step-calls", "Say one").await;
    page.find(".plan-bar summary", "1/3").await;
    let job: String = page
        .value("document.querySelector('.task-why a, .plan-open a').pathname.split('/')[2]")
        .await;
    assert_eq!(stage.view(&job).await["files"][0]["name"], "readers.md");
    page.find(".card.ask .question", "Whom is it for?").await;
    page.fill(".composer textarea", "Ann").await;
    page.click(".composer button.primary", "").await;
    page.find(".task-end", "Done").await;
    page.is_clean(&stage.host).await;
}
