//! Tests of the browser, on a real nats-server and a real Chromium: an agent searches, opens a page,
//! reads it, acts on it and publishes a report, whichever worker takes a call; and the host of a session
//! is killed.

use std::{path::Path, process::Command, time::Duration};

use broker::testing::wait::eventually;
use callboard_tests::{
    approval::run,
    company::Company,
    wait::{until, wait_for_tool},
};
use client::Client;
use proto::{
    door::Submit,
    entry::Entry,
    fact::{Called, Fact},
    id::{JobId, Seq},
    job::{JobState, Outcome},
    tool::Fault,
};
use serde_json::json;
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

use super::chaos::connect;

/// An agent whose only step searches, opens what it found, follows a link, and publishes what it read.
const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner' }
    reply: { json: { title: "a plan", steps: [ { id: s, description: "Report the price of pens." } ] } }
  - name: search
    when: { offers: finish, turn: 1 }
    reply: { calls: [ { tool: web_search, args: { query: "pens" } } ] }
  - name: open
    when: { offers: finish, turn: 2, tool_result: { tool: web_search, content: '(?<url>http://127\.0\.0\.1:\d+/shop)' } }
    reply: { calls: [ { tool: browser_open, args: { url: "{{ captures.url }}" } } ] }
  - name: follow
    when: { offers: finish, turn: 3, tool_result: { tool: browser_open, content: 'link \\"Prices\\" \[ref=(?<ref>e\d+)\]' } }
    reply: { calls: [ { tool: browser_click, args: { snapshot: 1, ref: "{{ captures.ref }}", name: "Prices" } } ] }
  - name: write
    when: { offers: finish, turn: 4, tool_result: { tool: browser_click, content: 'A pen costs (?<price>\d+) euros' } }
    reply: { calls: [ { tool: write_file, args: { path: "report.md", content: "A pen costs {{ captures.price }} euros." } } ] }
  - name: publish
    when: { offers: finish, turn: 5 }
    reply: { calls: [ { tool: publish_file, args: { path: "report.md" } } ] }
  - name: finish
    when: { offers: finish, turn: 6 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "The report is there.", attachments: ["report.md"] } } ] }
else:
  text: "It cannot be done."
"#;

/// Starts a site with a search of its own.
async fn site(prices: Prices) -> MockServer {
    let server = MockServer::start().await;
    offer(&server, prices).await;
    server
}

/// The page to which the shop's link leads.
enum Prices {
    Shown,
    /// The server holds the answer back.
    Held,
}

async fn offer(server: &MockServer, prices: Prices) {
    let shop = format!("{}/shop", server.uri());
    let found = json!({"results": [{"title": "Pens", "url": shop, "content": "All pens"}]});
    let page = |html: &str| ResponseTemplate::new(200).set_body_raw(html.to_owned(), "text/html");
    let shown = page("<title>Prices</title><p>A pen costs 7 euros</p>");
    let prices = match prices {
        Prices::Shown => shown,
        Prices::Held => shown.set_delay(Duration::from_secs(600)),
    };
    for (at, answer) in [
        ("/search", ResponseTemplate::new(200).set_body_json(found)),
        ("/shop", page("<title>Shop</title><h1>Shop</h1><a href=/prices>Prices</a>")),
        ("/prices", prices),
    ] {
        Mock::given(method("GET")).and(path(at)).respond_with(answer).mount(server).await;
    }
}

/// An installation whose tools reach the site.
async fn installation(site: &MockServer) -> Company {
    let mut company = Company::start(SCRIPT).await;
    for (option, value) in [
        ("TOOLS__BROWSER__ENABLED", "true"),
        ("TOOLS__BROWSER__SANDBOX", "container"),
        ("TOOLS__HTTP__ALLOW_PRIVATE", "true"),
        ("TOOLS__SEARCH__PROVIDERS", "[\"searxng\"]"),
        ("TOOLS__SEARCH__SEARXNG__BASE_URL", &site.uri()),
    ] {
        company.set(option, value);
    }
    company
}

async fn submit(client: &Client, id: &str) -> JobId {
    let job = JobId::new(id).unwrap();
    let agent = json!({"confirm": false, "step": {"retry": {"max_attempts": 1}}});
    let agent = Some(serde_json::from_value(agent).unwrap());
    client
        .submit(Submit { id: Some(job.clone()), agent, ..Submit::goal("report the price of pens") })
        .await
        .unwrap();
    job
}

/// Returns the results of the job's calls.
async fn called(broker: &broker::Broker, job: &JobId) -> Vec<Called> {
    let called = |entry: &Entry| match entry.fact() {
        Some(Fact::Called(called)) => Some(called),
        Some(_) | None => None,
    };
    broker.log.read(job, Seq(0)).await.unwrap().iter().filter_map(called).collect()
}

/// Returns the processes of Chromium below a process.
fn browsers(parent: u32) -> Vec<String> {
    let listed = Command::new("pgrep").args(["-P", &parent.to_string(), "-f", "headless"]).output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    listed.lines().map(str::to_owned).collect()
}

/// Returns `true` unless the process has ended. Nobody may take the end of an orphan.
fn runs(process: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(process).join("stat"));
    status.is_ok_and(|status| status.rsplit(')').next().is_some_and(|rest| !rest.starts_with(" Z")))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_searches_opens_reads_and_publishes_a_report_whichever_worker_takes_a_call() {
    let site = site(Prices::Shown).await;
    let company = installation(&site).await;
    let _processes = [company.serve("all", "all"), company.serve("more", "tools")];
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_tool(&client, "browser_open").await;
    let doctor = run(&company, &["doctor"]);
    assert!(doctor.contains("the browser of models is"), "{doctor}");

    // Calls of several jobs meet both workers, and each session is at one of them.
    let mut jobs = Vec::new();
    for n in 0..4 {
        jobs.push(submit(&client, &format!("report-{n}")).await);
    }
    for job in &jobs {
        until(&client, job, JobState::Completed).await;
        for called in called(&broker, job).await {
            assert!(called.result.success && called.fault.is_none(), "{called:?}");
        }
        let view = client.get(job).await.unwrap();
        assert!(matches!(view.outcome, Some(Outcome::Completed { .. })), "{:?}", view.outcome);
        let artifacts: Vec<_> = view.artifacts.iter().map(|it| it.file.to_string()).collect();
        assert_eq!(artifacts, ["report.md (text/markdown, 20 bytes)"]);
        assert!(view.untrusted.is_some(), "pages are content from outside");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_whose_host_is_killed_is_unknown_and_the_next_page_opens_elsewhere() {
    let site = site(Prices::Held).await;
    let company = installation(&site).await;
    let mut host = company.serve("all", "all");
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_tool(&client, "browser_open").await;
    let job = submit(&client, "report").await;
    let asked = async || {
        let requests = site.received_requests().await.unwrap();
        match requests.iter().any(|request| request.url.path() == "/prices") {
            true => Ok(()),
            false => Err("the link was not followed"),
        }
    };
    eventually("the click", asked).await;
    let orphans = browsers(host.id());
    assert!(!orphans.is_empty());
    let _next = company.serve("next", "all");
    host.kill9();
    let faults = async || {
        let called = called(&broker, &job).await;
        let click = called.iter().find(|called| called.work.as_str().contains("t3"));
        click.map(|click| click.fault).ok_or("no result yet")
    };
    let fault = eventually("the result of the click", faults).await;
    assert_eq!(fault, Some(Fault::Unknown));
    let ended = async || {
        let left = orphans.iter().find(|id| runs(id));
        left.map_or(Ok(()), Err)
    };
    eventually("the end of the killed host's Chromium", ended).await;

    site.reset().await;
    offer(&site, Prices::Shown).await;
    let again = submit(&client, "again").await;
    until(&client, &again, JobState::Completed).await;
    let called = called(&broker, &again).await;
    assert!(called.iter().all(|called| called.result.success), "{called:?}");
}
