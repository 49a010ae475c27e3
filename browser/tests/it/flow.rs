//! The graph of a workflow on the page of a job: its states while the job runs and across kills, the
//! visits of a node, and the positions of the past.

use callboard_browser::{Look, Page};
use serde_json::json;

use crate::stage::Stage;

/// Rules of the model: the first draft is bad, and the second one is good.
pub(crate) const RULES: &str = r#"
  - name: a good mark
    when: { system: 'judge texts strictly', last: 'the second draft' }
    reply: { usage: { input: 410, output: 12 }, text: '{"mark": 9, "advice": "none"}' }
  - name: a bad mark
    when: { system: 'judge texts strictly' }
    reply: { usage: { input: 390, output: 14 }, text: '{"mark": 3, "advice": "be longer"}' }
  - name: the draft after an advice
    when: { last: 'be longer' }
    reply: { usage: { input: 300, output: 80 }, text: 'the second draft' }
  - name: a draft
    when: { last: 'Write the notes of' }
    reply: { usage: { input: 250, output: 60 }, text: 'the first draft' }
"#;

/// A draft that is judged until it is good and then shown to a person, who may send it back.
pub(crate) const WORKFLOW: &str = r#"
workflow: release-notes
version: 3
state:
  draft: {schema: {type: string}, initial: ''}
  advice: {schema: {type: string}, initial: none}
  mark: {schema: {type: number}, initial: 0}
output: {text: "{{ state.draft }}"}
start: collect
nodes:
  collect:
    type: parallel
    title: Collect the changes
    branches: {log: read-log, issues: read-issues}
    next: draft
  read-log: {type: tool, title: Read the change log, tool: echo, args: {value: 12 changes}}
  read-issues: {type: tool, title: Read the closed issues, tool: echo, args: {value: 31 issues}}
  draft:
    type: model
    title: Write a draft
    prompt: "Write the notes of {{ input.version }}. Advice: {{ state.advice }}"
    write: {draft: "{{ reply }}"}
    next: judge
  judge:
    type: model
    title: Judge the draft
    system: You judge texts strictly.
    prompt: "{{ state.draft }}"
    reply: {type: object, properties: {mark: {type: number}, advice: {type: string}}, required: [mark, advice]}
    write: {mark: "{{ reply.mark }}", advice: "{{ reply.advice }}"}
    next: good
  good:
    type: branch
    title: Is it good enough?
    next: [{when: state.mark >= 8, to: approve}, {when: visits.draft < 3, to: draft}, {to: poor}]
  approve:
    type: human
    title: Ask the editor
    ask: Publish the notes of {{ input.version }}?
    form: [{key: publish, label: Publish, type: boolean, required: true}]
    deadline: {after: 2d, then: poor}
    next: [{when: answer.publish, to: end}, {to: draft}]
  poor: {type: end, fail: The notes are not good enough}
"#;

/// Texts and states of the nodes that are drawn.
const NODES: &str = "[...document.querySelectorAll('.graph .node')].map((el) => \
    `${el.querySelector('.node-title').innerText}: ${el.querySelector('.mark').getAttribute('aria-label')}`)";

/// Pairs of nodes that overlap, and nodes outside of the drawing.
const OVERLAPS: &str = "(() => { const boxes = [...document.querySelectorAll('.graph foreignObject')].map((el) => el.getBBox()); \
    const svg = document.querySelector('.graph > svg').viewBox.baseVal; const found = []; \
    boxes.forEach((a, i) => { if (a.x < svg.x || a.y < svg.y || a.x + a.width > svg.x + svg.width || a.y + a.height > svg.y + svg.height) found.push(`outside ${i}`); \
    boxes.slice(i + 1).forEach((b, j) => { if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height) found.push(`${i} ${i + 1 + j}`); }); }); \
    for (const path of document.querySelectorAll('.graph .edge')) { const box = path.getBBox(); if (box.x < svg.x || box.x + box.width > svg.x + svg.width) found.push(path.getAttribute('d')); } \
    return found; })()";

pub(crate) fn job(id: &str) -> serde_json::Value {
    json!({
        "id": id, "goal": "Publish the release notes of 2.4",
        "workflow": {"source": WORKFLOW, "input": {"version": "2.4"}},
    })
}

/// Starts an installation with a workflow that waits for a person after a loop.
async fn waiting(look: &Look, path: &str) -> Option<(Stage, Page)> {
    let stage = Stage::playing(&format!("rules:{RULES}")).await?;
    stage.submit(&job("notes")).await;
    stage.until("notes", "input-required").await;
    let page = stage.page(look, path).await;
    Some((stage, page))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_graph_follows_a_loop_across_kills_and_reloads() {
    let Some((mut stage, page)) = waiting(&Look::default(), "/jobs/notes").await else { return };
    page.find(".graph .node", "Ask the editor").await;
    page.find(".graph .edge-label", "visits.draft < 3").await;
    page.find(".graph .node", "×2").await;
    let shown: Vec<String> = page.value(NODES).await;
    assert!(shown.contains(&"Ask the editor: Waiting".to_owned()), "{shown:?}");
    assert!(shown.contains(&"Write a draft: Completed".to_owned()), "{shown:?}");
    assert_eq!(page.value::<Vec<String>>(OVERLAPS).await, Vec::<String>::new());
    stage.gateway.restart(&stage.company);
    stage.others.restart(&stage.company);
    stage.until("notes", "input-required").await;
    // The editor sends the notes back, so the loop goes on.
    stage.answer("notes", "q1", &json!({"decision": "respond", "value": {"publish": false}})).await;
    page.find(".graph .node", "×3").await;
    // The third draft is bad, and the workflow gives up. Every event is there at the end of the stream.
    page.find(".live-dot.off", "").await;
    let live: Vec<String> = page.value(NODES).await;
    // A page that opens now reads the stored events.
    let fresh = stage.page(&Look::default(), "/jobs/notes").await;
    fresh.find(".live-dot.off", "").await;
    fresh.find(".graph .node", "×3").await;
    assert_eq!(live, fresh.value::<Vec<String>>(NODES).await);
    fresh.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_shows_its_visits_and_the_past_shows_where_they_were() {
    let Some((stage, page)) = waiting(&Look::default(), "/jobs/notes").await else { return };
    page.click(".graph .node", "Judge the draft").await;
    page.find(".panel .call summary", "judge--1").await;
    page.find(".panel .call", "be longer").await;
    page.find(".panel .call", "the second draft").await;
    page.find(".panel .call", "Went on to good").await;
    page.click(".panel .call[open] button", "Calls and turns").await;
    page.find(".panel h3", "Model turns").await;
    let first = stage.records("notes").await.into_iter().nth(2).unwrap();
    let page = stage.page(&Look::default(), &format!("/jobs/notes?at={first}&node=judge")).await;
    page.find(".panel", "No path has entered this node.").await;
    let then: Vec<String> = page.value(NODES).await;
    assert!(then.contains(&"Judge the draft: Pending".to_owned()), "{then:?}");
    page.press("l").await;
    page.find(".panel .call summary", "judge--2").await;
    page.is_clean(&stage.host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_move_from_node_to_node() {
    let Some((stage, page)) = waiting(&Look::default(), "/jobs/notes").await else { return };
    page.find(".graph .node", "Write a draft").await;
    let focus = "([...document.querySelectorAll('.graph .node')].find((el) => el.innerText.includes('Write a draft')).focus(), true)";
    let _: bool = page.value(focus).await;
    page.press("ArrowDown").await;
    page.press("Enter").await;
    page.find(".panel h2", "Judge the draft").await;
    page.press("Escape").await;
    page.lose(".panel", "").await;
    page.is_clean(&stage.host).await;
}
