//! An installation with a gateway, and a browser in front of it.

use std::fmt::Write as _;

use broker::{kv::Bucket, testing::wait::eventually};
use callboard_browser::{Browser, Look, Page, program};
use callboard_tests::{
    company::{Company, Process},
    load,
};
use serde_json::Value;

/// The script of the model: a plan with a tool, a question and a tool.
pub(crate) const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner' }
    reply:
      json:
        title: "two echoes"
        steps:
          - { id: first, title: "Say one", description: "echo", tool: echo, args: { value: "one" } }
          - { id: ask, title: "Ask for the reader", description: "ask", depends_on: [first] }
          - { id: last, title: "Say two", description: "echo", depends_on: [ask], tool: echo, args: { value: "two" } }
  - name: ask
    when: { offers: finish, turn: 1 }
    reply: { calls: [ { tool: ask_user, args: { mode: query, prompt: "Whom is it for?" } } ] }
  - name: finish
    when: { offers: finish, turn: 2 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "asked" } } ] }
"#;

pub(crate) struct Stage {
    pub(crate) browser: Browser,
    pub(crate) host: String,
    pub(crate) gateway: Process,
    pub(crate) others: Process,
    http: reqwest::Client,
    /// The base of the processes, so it is dropped last.
    pub(crate) company: Company,
}

impl Stage {
    /// Starts everything; `None` where there is no Chromium.
    pub(crate) async fn start() -> Option<Self> {
        Self::playing(SCRIPT).await
    }

    /// Like [`Stage::start`], with another script.
    pub(crate) async fn playing(script: &str) -> Option<Self> {
        Self::with(script, |_| {}).await
    }

    /// Like [`Stage::playing`], with other settings.
    pub(crate) async fn with(script: &str, set: impl FnOnce(&mut Company)) -> Option<Self> {
        let chromium = program::chromium().or_else(|| {
            eprintln!("\n*** SKIPPED: the console was NOT tested, there is no Chromium ***");
            None
        })?;
        let mut company = Company::start(script).await;
        company.set("GATEWAY__LISTEN", "127.0.0.1:0");
        set(&mut company);
        let others = company.serve("others", "supervisor,planner,executor,tools,interaction,door");
        let gateway = company.serve("gateway", "gateway");
        let host = address(&gateway).await;
        // A restarted gateway is found at the same address.
        company.set("GATEWAY__LISTEN", &host);
        // Fails only when another provider is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let browser = Browser::start(chromium).await;
        let stage = Self { browser, host, gateway, others, http, company };
        eventually("a front door with tools", async || {
            let reply = stage.http.get(stage.url("/v1/tools")).send().await;
            let reply = reply.map_err(|e| e.to_string())?;
            // The front door answers: it wants a token.
            if reply.status() == reqwest::StatusCode::UNAUTHORIZED {
                return Ok(());
            }
            let tools: Value = reply.json().await.map_err(|e| e.to_string())?;
            let echo =
                tools["tools"].as_array().is_some_and(|t| t.iter().any(|t| t["name"] == "echo"));
            if echo { Ok(()) } else { Err(tools.to_string()) }
        })
        .await;
        Some(stage)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.host)
    }

    /// Opens a page of the console in a profile of its own.
    pub(crate) async fn page(&self, look: &Look, path: &str) -> Page {
        let page = self.browser.page(look).await;
        page.open(&self.url(path)).await;
        page
    }

    /// Submits a job over HTTP.
    pub(crate) async fn submit(&self, body: &Value) {
        let sent = self.http.post(self.url("/v1/jobs")).json(body).send().await.unwrap();
        assert!(sent.status().is_success(), "{}", sent.text().await.unwrap());
    }

    /// Sends a signal to a job over HTTP.
    pub(crate) async fn signal(&self, job: &str, body: &Value) {
        self.post(&format!("/v1/jobs/{job}/signals"), body).await;
    }

    /// Answers a question over HTTP.
    pub(crate) async fn answer(&self, job: &str, ask: &str, body: &Value) {
        self.post(&format!("/v1/jobs/{job}/questions/{ask}/answers"), body).await;
    }

    async fn post(&self, path: &str, body: &Value) {
        let sent = self.http.post(self.url(path)).json(body).send().await.unwrap();
        assert!(sent.status().is_success(), "{path}: {}", sent.text().await.unwrap());
    }

    /// Stores an agent over HTTP, whatever its revision is.
    pub(crate) async fn agent(&self, name: &str, text: &str) {
        let put = self.http.put(self.url(&format!("/v1/agents/{name}")));
        let sent = put.json(&serde_json::json!({"text": text})).send().await.unwrap();
        assert!(sent.status().is_success(), "{}", sent.text().await.unwrap());
    }

    /// Stores a workflow over HTTP, whatever its revision is.
    pub(crate) async fn workflow(&self, name: &str, text: &str) {
        let put = self.http.put(self.url(&format!("/v1/workflows/{name}")));
        let sent = put.json(&serde_json::json!({"text": text})).send().await.unwrap();
        assert!(sent.status().is_success(), "{}", sent.text().await.unwrap());
    }

    /// Announces a tool as a worker in another language does, and waits until the front door has
    /// read the announcement.
    pub(crate) async fn announce(&self, name: &str, announcement: &Value) {
        let broker = load::connect(&self.company, 8, 1).await;
        let text = announcement.to_string();
        broker.kv.put(Bucket::Tools, name, text.into()).await.unwrap();
        eventually(format!("the tool {name}"), async || {
            let tools = self.read("/v1/tools").await.to_string();
            if tools.contains(&format!("\"{name}\"")) { Ok(()) } else { Err(tools) }
        })
        .await;
    }

    /// Makes a link to the answer page of a question, and returns its path.
    pub(crate) async fn link(&self, job: &str, ask: &str) -> String {
        let path = format!("/v1/jobs/{job}/questions/{ask}/links");
        let sent = self.http.post(self.url(&path)).json(&serde_json::json!({"by": "ann"}));
        let made: Value = sent.send().await.unwrap().json().await.unwrap();
        made["path"].as_str().unwrap().to_owned()
    }

    /// Returns the view of a job.
    pub(crate) async fn view(&self, job: &str) -> Value {
        self.read(&format!("/v1/jobs/{job}")).await
    }

    /// Returns the positions of the records of a job.
    pub(crate) async fn records(&self, job: &str) -> Vec<u64> {
        let page = self.read(&format!("/v1/jobs/{job}/records")).await;
        let records = page["records"].as_array().unwrap();
        records.iter().map(|record| record["seq"].as_u64().unwrap()).collect()
    }

    /// Returns the number of a job's first record of a kind.
    pub(crate) async fn record(&self, job: &str, kind: &str) -> u64 {
        let page = self.read(&format!("/v1/jobs/{job}/records")).await;
        let records = page["records"].as_array().unwrap();
        let found = records.iter().find(|record| record["record"]["kind"] == kind);
        assert!(found.is_some(), "no record {kind} in {page}");
        found.unwrap()["seq"].as_u64().unwrap()
    }

    async fn read(&self, path: &str) -> Value {
        self.http.get(self.url(path)).send().await.unwrap().json().await.unwrap()
    }

    /// Waits until a job has a state.
    pub(crate) async fn until(&self, job: &str, state: &str) {
        eventually(format!("{job} that is {state}"), async || {
            let reply = self.http.get(self.url(&format!("/v1/jobs/{job}"))).send().await;
            let reply = reply.map_err(|e| e.to_string())?;
            let view: Value = reply.json().await.map_err(|e| e.to_string())?;
            if view["state"] == state {
                Ok(())
            } else {
                Err(format!("{} {}", view["state"], view["outcome"]))
            }
        })
        .await;
    }
}

/// Presses the last button of the open dialog, which closes.
pub(crate) async fn confirm(page: &Page, button: &str) {
    page.click("dialog footer button:last-child", button).await;
    page.lose("dialog", "").await;
}

/// Returns the address at which a gateway listens, from its log.
async fn address(gateway: &Process) -> String {
    eventually("a gateway that listens", async || {
        let logged = gateway.logged();
        let mut lines = logged.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let line = lines.find(|line| line.to_string().contains("the gateway listens"));
        let found = line.and_then(|line| {
            let fields = line.get("fields").unwrap_or(&line);
            fields["address"].as_str().map(str::to_owned)
        });
        found.ok_or(logged)
    })
    .await
}

/// Writes one line for each finding.
pub(crate) fn lines(findings: &[String]) -> String {
    let mut text = String::new();
    for finding in findings {
        let _ = writeln!(text, "{finding}");
    }
    text
}
