//! The list of jobs while jobs come and change, many jobs at once, families of jobs, and the history
//! of agents.

use callboard_browser::{Look, Page};
use serde_json::json;

use crate::stage::{Stage, confirm};

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_jobs_is_live_narrowed_kept_and_acted_on() {
    let Some(stage) = Stage::start().await else { return };
    let page = stage.page(&Look::default(), "/jobs").await;
    page.see("No job yet").await;
    for (id, team) in [("j1", "billing"), ("j2", "billing"), ("j3", "sales")] {
        let goal = format!("Report {id}");
        let labels = json!({"team": team});
        stage.submit(&json!({"id": id, "goal": goal, "confirm": true, "labels": labels})).await;
    }
    page.find(".job-row", "Report j1").await;
    page.find(".job-row .label-chip", "team=sales").await;
    page.find(".pill:nth-child(2) .num", "3").await;
    assert!(page.requests().iter().any(|request| request.ends_with("/v1/feed")));

    page.click(".filters button", "Filter").await;
    page.fill("dialog input.mono", "team=billing").await;
    page.click("dialog button.primary", "Apply").await;
    page.lose(".job-row", "Report j3").await;
    page.click(".saved-views button", "Keep this filter").await;
    page.fill("dialog input", "Billing").await;
    confirm(&page, "Save").await;
    page.click(".act-on", "Act on all that match").await;
    page.find("dialog .consequence", "2 jobs pause").await;
    page.click("dialog .segments button", "Cancel job").await;
    page.find("dialog .consequence", "2 jobs end").await;
    page.click("dialog summary", "Copy as").await;
    page.find("dialog pre", "callboard jobs cancel --label team=billing").await;
    // A look at the request for another client sends nothing.
    page.click("dialog .copy-as .segments button", "NATS").await;
    page.find("dialog pre", "nats req cb.svc.batch").await;
    page.click("dialog .copy-as .segments button", "CLI").await;
    assert_eq!(stage.view("j1").await["state"], "input-required");
    confirm(&page, "Send").await;
    page.find(".toasts", "Sent to 2 jobs").await;
    stage.until("j1", "canceled").await;
    stage.until("j2", "canceled").await;
    page.click(".filters .removable", "team=billing").await;
    page.find(".job-row", "Report j3").await;

    page.press(" ").await;
    page.click(".act-on", "Act on 1 marked job").await;
    page.find("dialog .consequence", "1 job pauses").await;
    page.click("dialog summary", "Copy as").await;
    page.find("dialog pre", "callboard jobs pause j3").await;
    page.click("dialog .copy-as .segments button", "curl").await;
    page.find("dialog pre", "/v1/jobs/j3/signals").await;
    confirm(&page, "Send").await;
    page.find(".toasts", "Sent to 1 job").await;
    assert_eq!(stage.view("j3").await["sub_status"], "paused");
    assert_eq!(stage.view("j1").await["state"], "canceled");

    page.fill("#filter", "report J2").await;
    page.lose(".job-row", "Report j3").await;
    page.find(".job-row", "Report j2").await;
    page.click(".saved-views a", "Billing").await;
    page.find(".job-row", "Report j1").await;
    page.is_clean(&stage.host).await;
}

/// Returns the number that a pill shows.
async fn pill(page: &Page, name: &str) -> String {
    let number = format!("__page.find('.pill', '{name}').querySelector('.num').innerText.trim()");
    page.value(&number).await
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_need_attention_are_counted_listed_and_named_on_every_page_by_one_condition() {
    let Some(mut stage) = Stage::start().await else { return };
    stage.others.kill9();
    let _without_tools =
        stage.company.serve("without-tools", "supervisor,planner,executor,interaction,door");
    let page = stage.page(&Look::default(), "/jobs").await;
    page.find(".strip", "No process has the role tools").await;
    stage.submit(&json!({"id": "held", "goal": "Say two things", "confirm": false})).await;
    stage.submit(&json!({"id": "asks", "goal": "Say two others", "confirm": true})).await;
    stage.until("asks", "input-required").await;
    page.find(".job-row .c-why", "No worker listens for call.builtin").await;
    let one =
        "__page.find('.pill', 'Needs attention').querySelector('.num').innerText.trim() === '1'";
    let _: bool = page.until("the number of jobs that need attention", one).await;
    page.click(".pill", "Needs attention").await;
    page.lose(".job-row", "Say two others").await;
    page.find(".job-row", "Say two things").await;
    assert_eq!(page.value::<usize>("document.querySelectorAll('.job-item').length").await, 1);
    page.click(".act-on", "Act on all that match").await;
    page.find("dialog .consequence", "1 job pauses").await;
    page.press("Escape").await;
    page.lose("dialog", "").await;
    page.open(&stage.url("/health")).await;
    page.find(".finding", "1 job needs attention").await;
    page.find(".finding", "All 8 shards have an owner").await;
    page.find(".step-list a", "Say two things").await;

    let _tools = stage.company.serve("tools", "tools");
    page.open(&stage.url("/jobs")).await;
    page.lose(".strip", "").await;
    let none = one.replace("=== '1'", "=== '0'");
    let _: bool = page.until("no job that needs attention", &none).await;
    assert_eq!(pill(&page, "All").await, "2");
    page.is_clean(&stage.host).await;
}

const FAMILY: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner' }
    reply:
      raw: true
      json:
        title: "two parts"
        steps:
          - { id: one, title: "The first part", description: "find", tool: react, args: { goal: "Find the first part" } }
          - { id: two, title: "The second part", description: "find", tool: react, args: { goal: "Find the second part" } }
  - name: finish
    when: { offers: finish }
    reply: { calls: [ { tool: finish, args: { success: true, response: "found" } } ] }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_family_is_shown_whole_from_any_of_its_jobs() {
    let Some(stage) = Stage::playing(FAMILY).await else { return };
    let agent = json!({"name": "default", "agents": ["react"], "confirm": false});
    stage.submit(&json!({"id": "root", "goal": "Find both parts", "agent": agent})).await;
    stage.until("root", "completed").await;
    let page = stage.page(&Look::default(), "/jobs/root").await;
    page.find(".outcome", "found").await;
    page.press("6").await;
    page.find("[role=tab][aria-selected=true]", "Family").await;
    page.find(".tab-head", "3 jobs in this family").await;
    page.find(".node.at", "Find both parts").await;
    page.click(".node", "Find the second part").await;
    page.find(".node.at", "Find the second part").await;
    page.find(".node", "Find the first part").await;
    let edges: usize = page.value("document.querySelectorAll('.graph .edge').length").await;
    assert_eq!(edges, 2);
    page.click(".segments button", "List").await;
    page.find(".family-list .at", "Find the second part").await;
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_goes_back_to_a_revision_and_is_never_overwritten_unseen() {
    let Some(stage) = Stage::start().await else { return };
    let turns = |n: u32| format!("extends: react\nstep: {{ max_turns: {n} }}\n");
    stage.agent("careful", &turns(5)).await;
    stage.agent("careful", &turns(6)).await;
    let page = stage.page(&Look::default(), "/agents?name=careful").await;
    page.find(".history li:nth-child(1)", "In force").await;
    page.click(".history li:nth-child(2) button", "Created").await;
    page.find("dialog .diff-removed", "max_turns: 6").await;
    page.find("dialog .diff-added", "max_turns: 5").await;
    confirm(&page, "Go back to this text").await;
    page.find(".two-main pre.block", "max_turns: 5").await;
    page.find(".history li:nth-child(3)", "").await;

    page.click(".two-main .page-head button", "Edit").await;
    page.fill(".code-edit", &turns(7)).await;
    // Somebody else is faster.
    stage.agent("careful", &turns(8)).await;
    page.click(".two-main button.primary", "Review and save").await;
    page.click("dialog button.primary", "Save").await;
    page.find("dialog .error-box", "stale").await;
    page.is_clean(&stage.host).await;
}
