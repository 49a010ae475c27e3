//! The editor of workflows: a stored workflow is broken, mended and stored, and the graph of a running
//! job changes.

use callboard_browser::{Look, Page, program};

use crate::{
    access, flow,
    stage::{Stage, confirm, lines},
};

const GREET: &str = "workflow: greet
about: Says hello
start: hello
nodes:
  hello: {type: human, title: Say hello, ask: Hello?, deadline: {after: 1h, then: end}, next: end}
";

/// The next version of the text, with a mistake in its line 6.
const BROKEN: &str = "workflow: greet
version: 2
about: Says hello
start: hello
nodes:
  hello: {type: human, title: Say hello, ask: Hello?, deadline: {after: 1h, then: end}, next: bye}
";

/// The text with the node that was missing.
const MENDED: &str = "workflow: greet
version: 2
about: Says hello
start: hello
nodes:
  hello: {type: human, title: Say hello, ask: Hello?, deadline: {after: 1h, then: end}, next: bye}
  bye: {type: end, title: Say goodbye}
";

/// The page on a phone and wide; the last size is that in which the test goes on.
const SIZES: [(u32, u32); 2] = [(390, 844), WIDE];
const WIDE: (u32, u32) = (1440, 900);

/// Checks the page at each of the sizes.
async fn is_accessible(page: &Page, what: &str, sizes: &[(u32, u32)]) {
    let axe = format!("{}\n;true", program::axe());
    let mut found = Vec::new();
    for &(width, height) in sizes {
        page.resize(width, height).await;
        let _: bool = page.value(&axe).await;
        found.extend(access::violations(page, &format!("{what} at {width} px")).await);
        let fits = "document.documentElement.scrollWidth <= innerWidth";
        if !page.value::<bool>(fits).await {
            found.push(format!("{what} scrolls sideways at {width} px"));
        }
    }
    assert!(found.is_empty(), "{}", lines(&found));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_is_mended_and_stored_and_a_running_job_takes_another_graph() {
    let Some(stage) = Stage::playing(&format!("rules:{}", flow::RULES)).await else { return };
    stage.workflow("greet", GREET).await;
    stage.submit(&flow::job("notes")).await;
    let page = stage.page(&Look { dark: true, ..Look::default() }, "/workflows").await;
    page.find(".flow-list .item", "human-review").await;
    is_accessible(&page, "the list of workflows", &SIZES).await;
    page.click(".flow-list .item", "greet").await;
    page.click(".graph .node", "Say hello").await;
    page.find(".flow-lines .at", "hello:").await;
    is_accessible(&page, "a workflow", &[WIDE]).await;
    mend(&page).await;
    restore(&page).await;
    change(&stage, &page).await;
    page.is_clean(&stage.host).await;
}

/// Breaks the text of the workflow that is shown, mends it and stores it.
async fn mend(page: &Page) {
    page.press("e").await;
    page.find("#flow-check .checked", "").await;
    page.fill(".code-edit", BROKEN).await;
    page.find("#flow-check .link", "bye").await;
    page.find(".gutter .wrong", "6").await;
    page.find(".flow-beside", "1 mistake").await;
    is_accessible(page, "a text with a mistake", &SIZES).await;
    page.click("#flow-check .link", "").await;
    let place: usize = page.value("document.querySelector('.code-edit').selectionStart").await;
    assert!(BROKEN[place..].starts_with("bye"), "{place}: {}", &BROKEN[place..]);
    let off = "document.querySelector('.page-head button.primary').disabled";
    assert!(page.value::<bool>(off).await, "a text with mistakes is not stored");
    let _: bool = page.value("history.back(), true").await;
    page.find("dialog", "Discard the changes?").await;
    page.click("dialog footer button", "Back").await;
    page.lose("dialog", "").await;
    page.click(".rail a", "Jobs").await;
    page.find("dialog", "Discard the changes?").await;
    page.click("dialog footer button", "Back").await;
    page.lose("dialog", "").await;
    let kept: String = page.value("document.querySelector('.code-edit').value").await;
    assert_eq!(kept, BROKEN);
    // A version has one definition, and the next number is told before anything is stored.
    page.fill(".code-edit", &MENDED.replace("version: 2", "version: 1")).await;
    page.find("#flow-check", "write `version: 2`").await;
    page.fill(".code-edit", MENDED).await;
    page.lose("#flow-check", "write `version: 2`").await;
    page.find("#flow-check .checked", "").await;
    page.find(".graph .node", "Say goodbye").await;
    page.click(".page-head button.primary", "Review and save").await;
    page.find("dialog .diff-added", "Say goodbye").await;
    page.click("dialog summary", "Copy as").await;
    page.find("dialog .copy-as pre", "callboard workflow set greet.yaml --expect").await;
    confirm(page, "Save").await;
    page.find(".toasts", "greet is stored").await;
    page.find(".flow-lines", "Say goodbye").await;
}

/// Puts the first version of the workflow that is shown in force again.
async fn restore(page: &Page) {
    page.find(".history li", "In force").await;
    is_accessible(page, "a workflow with versions", &SIZES).await;
    page.click(".history li:nth-child(2) button", "1").await;
    page.find("dialog", "greet, version 1").await;
    page.find("dialog .diff-removed", "Say goodbye").await;
    page.click("dialog summary", "Copy as").await;
    page.find("dialog .copy-as pre", "callboard workflow rollback greet --to 1").await;
    confirm(page, "Put in force again").await;
    page.find(".toasts", "Version 1 of greet is in force again").await;
    page.lose(".flow-lines", "Say goodbye").await;
    page.find(".history li:nth-child(2)", "In force").await;
}

/// Changes the graph of the job that waits for a person, after a graph without the node of that person.
async fn change(stage: &Stage, page: &Page) {
    stage.until("notes", "input-required").await;
    page.open(&stage.url("/jobs/notes")).await;
    page.find(".graph .node", "Ask the editor").await;
    page.press("e").await;
    page.find("#flow-check .checked", "").await;
    let text: String = page.value("document.querySelector('.code-edit').value").await;
    page.fill(".code-edit", &text.replace("approve", "agree")).await;
    page.find(".flow-beside .consequence .error-box", "approve").await;
    let off = "document.querySelector('.flow-editing button.primary').disabled";
    assert!(page.value::<bool>(off).await, "a graph that strands a path is not sent");
    page.fill(".code-edit", &text.replace("visits.draft < 3", "visits.draft < 7")).await;
    page.find(".flow-beside .consequence", "(~good)").await;
    is_accessible(page, "the graph of a job", &[WIDE]).await;
    page.click(".flow-editing button.primary", "Review and change").await;
    page.find("dialog .diff-added", "visits.draft < 7").await;
    page.find("dialog .consequence", "good").await;
    page.click("dialog summary", "Copy as").await;
    let copied = "callboard workflow migrate notes release-notes.yaml --base 0";
    page.find("dialog .copy-as pre", copied).await;
    confirm(page, "Change the graph").await;
    page.find(".toasts", "The new graph is in force.").await;
    page.find(".graph .edge-label", "visits.draft < 7").await;
    page.find(".tab-head .chip", "revision 1").await;
}
