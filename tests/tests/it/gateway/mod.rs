//! Tests of the HTTP gateway on a real installation: nats-server, the scripted model over HTTP, and
//! processes that are killed.

mod a2a;
mod agui;
mod callers;
mod conformance;
mod dialects;
mod four_eyes;
mod hostile;
mod http2;
mod links;
mod mcp;
mod notifications;
mod oidc;
mod openapi;
mod pages;
mod reading;
mod requests;
mod streams;
mod tls;
mod traced;
mod webhooks;

use broker::testing::wait::eventually;
use callboard_tests::company::{Company, Process};
use futures::StreamExt;
use reqwest::{Client as Http, Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;

const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner' }
    reply:
      json:
        title: "two echoes"
        steps:
          - { id: first, description: "echo", tool: echo, args: { value: "one" } }
          - { id: ask, description: "ask", depends_on: [first] }
          - { id: last, description: "echo", depends_on: [ask], tool: echo, args: { value: "two" } }
  - name: ask
    when: { offers: finish, turn: 1 }
    reply: { calls: [ { tool: ask_user, args: { mode: query, prompt: "Whom?" } } ] }
  - name: finish
    when: { offers: finish, turn: 2 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "asked" } } ] }
"#;

/// An installation with the gateway in a process of its own.
struct Stage {
    http: Http,
    address: String,
    gateway: Process,
    others: Process,
    /// The base of the processes, so it is dropped last.
    company: Company,
}

impl Stage {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(set: impl FnOnce(&mut Company)) -> Self {
        Self::of(SCRIPT, set).await
    }

    async fn of(script: &str, set: impl FnOnce(&mut Company)) -> Self {
        let mut company = Company::start(script).await;
        company.set("GATEWAY__LISTEN", "127.0.0.1:0");
        set(&mut company);
        let roles = "supervisor,planner,executor,tools,interaction,door";
        let others = company.serve("others", roles);
        let gateway = company.serve("gateway", "gateway");
        let address = address(&gateway).await;
        // A restarted gateway is found at the same address.
        company.set("GATEWAY__LISTEN", &address);
        // Fails only when another provider is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = Http::builder().no_proxy().build().unwrap();
        let stage = Self { http, address, gateway, others, company };
        eventually("a front door behind the gateway", async || {
            let status = stage.get("/v1/tools").send().await.map(|r| r.status());
            match status {
                Ok(StatusCode::OK | StatusCode::UNAUTHORIZED) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
        stage
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("http://{}{path}", self.address))
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    async fn read(&self, path: &str) -> Value {
        let response = self.get(path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.json().await.unwrap()
    }

    async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        taken(self.request(Method::POST, path).json(body).send().await.unwrap()).await
    }

    /// Waits until a job asks, and returns the id of the question.
    async fn question(&self, job: &str) -> String {
        eventually("a question", async || {
            let view =
                self.get(&format!("/v1/jobs/{job}")).send().await.map_err(|e| e.to_string())?;
            let view: Value = view.json().await.map_err(|e| e.to_string())?;
            view["questions"][0]["id"].as_str().map(str::to_owned).ok_or(view["state"].to_string())
        })
        .await
    }

    async fn answer(&self, job: &str, ask: &str, body: &Value) -> (StatusCode, Value) {
        self.post(&format!("/v1/jobs/{job}/questions/{ask}/answers"), body).await
    }
}

async fn taken(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
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

/// The beginning of an event about a question.
const ASKED: &str = "\"type\":\"interaction\",\"phase\":\"asked\"";

/// A frame of a stream of server-sent events.
#[derive(Debug, Default, Clone)]
struct Frame {
    name: String,
    id: String,
    data: String,
}

/// An open stream of server-sent events.
struct Frames {
    bytes: futures::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    text: String,
}

impl Frames {
    fn of(response: Response) -> Self {
        Self { bytes: response.bytes_stream().boxed(), text: String::new() }
    }

    /// Reads frames until `last` accepts one, the stream ends, or it breaks. Returns whether one was
    /// accepted.
    async fn until(&mut self, seen: &mut Vec<Frame>, last: impl Fn(&Frame) -> bool) -> bool {
        loop {
            while let Some((frame, rest)) = self.text.split_once("\n\n") {
                let mut read = Frame::default();
                for line in frame.lines() {
                    match line.split_once(':').map(|(name, value)| (name, value.trim_start())) {
                        Some(("event", name)) => name.clone_into(&mut read.name),
                        Some(("id", id)) => id.clone_into(&mut read.id),
                        Some(("data", data)) => read.data.push_str(data),
                        Some(_) | None => {}
                    }
                }
                self.text = rest.to_owned();
                if !read.name.is_empty() {
                    seen.push(read.clone());
                    if last(&read) {
                        return true;
                    }
                }
            }
            let Some(Ok(chunk)) = self.bytes.next().await else { return false };
            self.text.push_str(&String::from_utf8_lossy(&chunk));
        }
    }
}

fn is_end(frame: &Frame) -> bool {
    frame.name == "end"
}
