//! The OpenAPI document, held against the answers of a real installation: of every route, and to
//! every role.

use std::collections::BTreeSet;

use broker::testing::wait::eventually;
use callboard_tests::company::Company;
use proto::door::{Role, Verb};
use reqwest::{Method, Response, StatusCode, header, redirect::Policy};
use serde_json::{Value, json};

use super::{Frames, Stage, is_end, taken};

/// The document, and the routes of which an answer was checked.
pub(super) struct Document {
    document: Value,
    checked: BTreeSet<(String, String)>,
}

impl Document {
    pub(super) async fn of(stage: &Stage) -> Self {
        Self { document: stage.read("/openapi.json").await, checked: BTreeSet::new() }
    }

    /// Returns every route: its method, its path and its description.
    fn routes(&self) -> Vec<(Method, String, Value)> {
        let mut routes = Vec::new();
        for (path, operations) in self.document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let method = method.to_ascii_uppercase().parse().unwrap();
                routes.push((method, path.clone(), operation.clone()));
            }
        }
        routes
    }

    /// Checks an answer against the description of its route.
    pub(super) async fn check(&mut self, method: &Method, path: &str, response: Response) -> Value {
        let (method, status) = (method.as_str().to_ascii_lowercase(), response.status());
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.map(|kind| kind.to_str().unwrap().split(';').next().unwrap().to_owned());
        let operation = &self.document["paths"][path][&method];
        let described = match operation["responses"].get(status.as_str()) {
            Some(response) => response,
            None => &operation["responses"]["default"],
        };
        let text = match kind.as_deref() {
            // It does not end by itself while the job runs.
            Some("text/event-stream") => String::new(),
            Some(_) | None => response.text().await.unwrap(),
        };
        let said = format!("{method} {path}: {status} {kind:?} {text}");
        assert!(described.is_object(), "{said}");
        let body: Value = match (&kind, described.get("content")) {
            (None, None) => Value::Null,
            (Some(kind), Some(content)) => {
                let content = content.get(kind).unwrap_or_else(|| panic!("another type: {said}"));
                match content.get("schema") {
                    None => Value::Null,
                    Some(schema) => {
                        let body: Value = serde_json::from_str(&text).expect(&said);
                        self.fits(schema, &body, &said);
                        body
                    }
                }
            }
            (Some(_), None) | (None, Some(_)) => panic!("not described: {said}"),
        };
        if status.is_success() || status.is_redirection() {
            self.checked.insert((method, path.to_owned()));
        }
        body
    }

    fn fits(&self, schema: &Value, body: &Value, said: &str) {
        let mut whole = schema.clone();
        whole["components"] = self.document["components"].clone();
        let validator = jsonschema::draft202012::new(&whole).unwrap();
        let wrong: Vec<_> = validator
            .iter_errors(body)
            .map(|error| format!("{} at {}", error, error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{said}\n{wrong:#?}");
    }

    /// Sends a request to a route, and checks the answer.
    pub(super) async fn ask(
        &mut self,
        stage: &Stage,
        (method, path): (Method, &str),
        filled: &str,
        body: Option<Value>,
    ) -> Value {
        let request = stage.request(method.clone(), filled);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        self.check(&method, path, request.send().await.unwrap()).await
    }
}

/// The path of a route with its parameters.
fn filled(path: &str, handle: &str) -> String {
    let sha256 = proto::digest::of_bytes(b"a piece");
    let values = [
        ("job", "j1"),
        ("ask", "q1"),
        ("name", "mine"),
        ("workflow", "greet"),
        ("agent", "default"),
        ("sha256", &*sha256),
        ("handle", handle),
        ("code", "stale"),
    ];
    values
        .iter()
        .fold(path.to_owned(), |path, (name, value)| path.replace(&format!("{{{name}}}"), value))
}

/// Tries the routes of questions: two are open one after the other.
async fn answered(stage: &Stage, api: &mut Document, ask: &str) {
    let get = |path: &'static str| (Method::GET, path);
    let post = |path: &'static str| (Method::POST, path);
    api.ask(stage, get("/v1/inbox"), "/v1/inbox", None).await;
    let links = "/v1/jobs/{job}/questions/{ask}/links";
    let of = |path: &str| path.replace("{job}", "j1").replace("{ask}", ask);
    let made = api.ask(stage, post(links), &of(links), Some(json!({"by": "ann"}))).await;
    let page = made["path"].as_str().unwrap();
    api.ask(stage, get("/a/{handle}"), page, None).await;
    api.ask(stage, (Method::DELETE, links), &of(links), None).await;
    api.ask(stage, get("/a/{handle}"), page, None).await;
    let answers = "/v1/jobs/{job}/questions/{ask}/answers";
    api.ask(stage, post(answers), &of(answers), Some(json!({"decision": "approve"}))).await;
    api.ask(stage, post(answers), &of(answers), Some(json!({"decision": "approve"}))).await;
    let second = stage.question("j1").await;
    let path = links.replace("{job}", "j1").replace("{ask}", &second);
    let made = api.ask(stage, post(links), &path, Some(json!({"by": "ann"}))).await;
    let page = made["path"].as_str().unwrap();
    let html = stage.get(page).send().await.unwrap().text().await.unwrap();
    let of = super::links::hidden(&html);
    let form = format!("of={of}&decision=respond&value=Ann");
    let sent = stage.request(Method::POST, page).body(form).send().await.unwrap();
    api.check(&Method::POST, "/a/{handle}", sent).await;
}

/// Tries the requests that only say what they would do. `j1` has ended, and `j2` is its fork.
async fn previewed(stage: &Stage, api: &mut Document) {
    let [fork, signals] = ["/v1/jobs/{job}/forks", "/v1/jobs/{job}/signals"];
    let post = |path: &'static str| (Method::POST, path);
    let body = Some(json!({"at": 5, "id": "j3"}));
    let said = api.ask(stage, post(fork), "/v1/jobs/j1/forks?dry_run=1", body).await;
    assert!(said["text"].as_str().is_some_and(|text| text.contains("from record 5")), "{said}");
    assert_eq!(stage.get("/v1/jobs/j3").send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let cancel = Some(json!({"signal": "cancel"}));
    let said = api.ask(stage, post(signals), "/v1/jobs/j2/signals?dry_run=1", cancel).await;
    assert_eq!(
        (&said["sentences"][0]["name"], &said["refused"]),
        (&json!("cancel"), &Value::Null),
        "{said}"
    );
    let view = stage.read("/v1/jobs/j1").await;
    let back = json!({"signal": {"roll_back": {"to": view["seq"]}}, "reason": "again"});
    let said = api.ask(stage, post(signals), "/v1/jobs/j1/signals?dry_run", Some(back)).await;
    assert_eq!((&said["seq"], &said["refused"]["code"]), (&view["seq"], &json!("invalid_request")));
    let unknown = json!({"signal": {"roll_back": {"to": 9999}}});
    let chinese = stage.request(Method::POST, "/v1/jobs/j1/signals?dry_run=1").json(&unknown);
    let chinese = chinese.header(header::ACCEPT_LANGUAGE, "zh").send().await.unwrap();
    let refused = api.check(&Method::POST, signals, chinese).await["refused"].clone();
    assert_eq!(refused["code"], "not_found");
    assert!(refused["message"].as_str().is_some_and(|text| text.contains("记录")), "{refused}");
    assert_eq!(stage.read("/v1/jobs/j1").await["seq"], view["seq"], "nothing was stored");
}

/// Every route was checked, not one less, and there is no route that the document does not have.
async fn complete(stage: &Stage, api: &Document) {
    for (method, path, _) in api.routes() {
        let route = (method.as_str().to_ascii_lowercase(), path);
        // The tests of the issuer and of webhooks check them.
        let is_elsewhere =
            route.0 == "post" && ["/v1/login", "/v1/hooks/{name}"].contains(&&*route.1);
        assert!(
            is_elsewhere || api.checked.contains(&route),
            "no good answer of {route:?} was checked"
        );
    }
    let paths: BTreeSet<String> = api.routes().into_iter().map(|(_, path, _)| path).collect();
    for path in paths {
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            if api.document["paths"][&path].get(method.as_str().to_ascii_lowercase()).is_none() {
                let response = stage.request(method.clone(), &filled(&path, "x")).send().await;
                let status = response.unwrap().status();
                assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            }
        }
    }
}

/// Reads a question, differences, a code that is unknown, and a page of events.
async fn looked_up(stage: &Stage, api: &mut Document, ask: &str, view: &Value) {
    for (path, filled) in [
        ("/v1/jobs/{job}/questions/{ask}", format!("/v1/jobs/j1/questions/{ask}")),
        ("/v1/jobs/{job}/diff", format!("/v1/jobs/j1/diff?a={}", view["seq"])),
        ("/v1/jobs/{job}/diff", "/v1/jobs/j1/diff?a=revision:0&b=revision:0".to_owned()),
        ("/errors/{code}", "/errors/none".to_owned()),
    ] {
        api.ask(stage, (Method::GET, path), &filled, None).await;
    }
    let page = stage.get("/v1/jobs/j1/events").header(header::ACCEPT, "application/json");
    api.check(&Method::GET, "/v1/jobs/{job}/events", page.send().await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_answers_as_the_document_says() {
    let set = |company: &mut Company| company.set("GATEWAY__WRITES_PER_SECOND", "1000");
    let mut stage = Stage::with(set).await;
    stage.http = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
    let stage = stage;
    let mut api = Document::of(&stage).await;
    let get = |path: &'static str| (Method::GET, path);
    let post = |path: &'static str| (Method::POST, path);
    let files = json!([{"name": "notes.md", "content": {"text": "some notes"}}]);
    let submit = json!({"id": "j1", "goal": "two echoes", "confirm": true, "files": files});
    api.ask(&stage, post("/v1/jobs"), "/v1/jobs", Some(submit.clone())).await;
    api.ask(&stage, post("/v1/jobs"), "/v1/jobs", Some(submit)).await;
    let ask = stage.question("j1").await;
    let view = api.ask(&stage, get("/v1/jobs/{job}"), "/v1/jobs/j1", None).await;
    assert_eq!(view["questions"][0]["kind"], "plan_check", "{view}");
    answered(&stage, &mut api, &ask).await;
    let mut seen = Vec::new();
    let events = stage.get("/v1/jobs/j1/events").send().await.unwrap();
    assert!(Frames::of(events).until(&mut seen, is_end).await, "{seen:?}");
    for path in [
        "/openapi.json",
        "/v1/about",
        "/v1/jobs",
        "/v1/jobs/count",
        "/v1/usage",
        "/v1/jobs/{job}",
        "/v1/jobs/{job}/events",
        "/v1/jobs/{job}/records",
        "/v1/jobs/{job}/spans",
        "/v1/jobs/{job}/graph",
        "/errors/{code}",
        "/v1/jobs/{job}/files",
        "/v1/feed",
        "/v1/login",
        "/v1/inbox",
        "/v1/agents",
        "/v1/tools",
        "/v1/crew",
        "/v1/dead",
    ] {
        api.ask(&stage, get(path), &filled(path, "x"), None).await;
    }
    looked_up(&stage, &mut api, &ask, &view).await;
    let file = "/v1/jobs/{job}/files/{name}";
    api.ask(&stage, get(file), "/v1/jobs/j1/files/notes.md", None).await;
    let batches = "/v1/batches";
    let batch = json!({"filter": {"agent": "default"}, "signal": "cancel"});
    api.ask(&stage, post(batches), batches, Some(batch)).await;
    let fork = "/v1/jobs/{job}/forks";
    api.ask(&stage, post(fork), &filled(fork, ""), Some(json!({"at": 5, "id": "j2"}))).await;
    let signals = "/v1/jobs/{job}/signals";
    previewed(&stage, &mut api).await;
    api.ask(&stage, post(signals), "/v1/jobs/j2/signals", Some(json!({"signal": "cancel"}))).await;
    api.ask(&stage, post(signals), "/v1/jobs/j2/signals", Some(json!({"signal": "cancel"}))).await;
    let agent = "/v1/agents/{name}";
    let text = json!({"text": "extends: react\nstep: {max_turns: 7}"});
    api.ask(&stage, (Method::PUT, agent), "/v1/agents/mine", Some(text)).await;
    eventually("the stored agent", async || {
        match stage.get("/v1/agents/mine").send().await.unwrap().status() {
            StatusCode::OK => Ok(()),
            status => Err(status),
        }
    })
    .await;
    api.ask(&stage, get(agent), "/v1/agents/mine", None).await;
    let revisions = "/v1/agents/{name}/revisions";
    api.ask(&stage, get(revisions), "/v1/agents/mine/revisions", None).await;
    api.ask(&stage, (Method::DELETE, agent), "/v1/agents/mine", None).await;
    stored(&stage, &mut api).await;
    let execute = "/v1/plans:execute";
    let step =
        json!({"id": "s1", "description": "say it", "tool": "echo", "args": {"value": "hi"}});
    let plan = json!({"id": "p1", "plan": {"title": "say it", "steps": [step]}});
    api.ask(&stage, post(execute), execute, Some(plan)).await;
    let piece = "/v1/pieces/{sha256}";
    let sent = stage.request(Method::PUT, &filled(piece, "")).body("a piece").send().await.unwrap();
    api.check(&Method::PUT, piece, sent).await;
    spoken(&stage, &mut api).await;
    complete(&stage, &api).await;
}

/// Stores, shows and removes a workflow.
async fn stored(stage: &Stage, api: &mut Document) {
    let (all, one) = ("/v1/workflows", "/v1/workflows/{workflow}");
    let text = "workflow: greet\nstart: hello\nnodes: {hello: {type: model, prompt: Say hello.}}";
    let set = Some(json!({"text": text}));
    api.ask(stage, (Method::PUT, one), "/v1/workflows/greet", set).await;
    api.ask(stage, (Method::GET, all), all, None).await;
    api.ask(stage, (Method::GET, one), "/v1/workflows/greet", None).await;
    api.ask(stage, (Method::DELETE, one), "/v1/workflows/greet", None).await;
}

/// Asks in the other protocols.
async fn spoken(stage: &Stage, api: &mut Document) {
    let (get, post) = ((Method::GET, "/.well-known/agent-card.json"), |path| (Method::POST, path));
    let (agui, message) = ("/agui/{agent}", json!({"role": "user", "content": "two echoes"}));
    let run = json!({"threadId": "t1", "runId": "r1", "messages": [message]});
    api.ask(stage, post(agui), "/agui/default", Some(run)).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    api.ask(stage, post("/mcp"), "/mcp", Some(ping)).await;
    api.ask(stage, get, "/.well-known/agent-card.json", None).await;
    let example = &api.document["paths"]["/a2a"]["post"]["requestBody"]["content"];
    let mut call = example["application/json"]["example"].clone();
    for method in ["SendMessage", "SendStreamingMessage"] {
        call["method"] = json!(method);
        let sent = stage.request(Method::POST, "/a2a").header("a2a-version", "1.0").json(&call);
        api.check(&Method::POST, "/a2a", sent.send().await.unwrap()).await;
    }
}

/// The route that is for everybody with a token: which verb it needs depends on its request.
const FOR_THE_KNOWN: &str = "/mcp";

/// `true` for routes that show what their caller may only know as a reader, too.
fn also_reads(path: &str) -> bool {
    ["/v1/jobs/{job}/forks", "/v1/batches"].contains(&path)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_may_use_the_routes_of_its_verbs_and_no_others() {
    let roles = [Role::Submit, Role::Answer, Role::Operate, Role::Read];
    let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let people = roles.map(|role| {
        let name = role.as_str();
        let digest = proto::digest::of_bytes(format!("{name}-token").as_bytes());
        format!("[door.people.{name}]\nroles = [\"{name}\"]\ntoken_sha256 = \"{digest}\"\n")
    });
    let limits = "[gateway]\nwrites_per_second = 1000\nreads_per_second = 1000\n";
    std::fs::write(config.path(), format!("{limits}{}", people.concat())).unwrap();
    let path = config.path().display().to_string();
    let stage = Stage::with(|company| company.variable("CALLBOARD_CONFIG", &path)).await;
    let mut api = Document::of(&stage).await;
    for (method, path, operation) in api.routes() {
        let verbs = operation["x-verbs"].as_array().cloned().unwrap_or_default();
        let named =
            |verb: &Value| Verb::ALL.into_iter().find(|known| *verb == known.name()).unwrap();
        let verbs: Vec<Verb> = verbs.iter().map(named).collect();
        let is_open = verbs.iter().all(|verb| verb.spec().roles.is_empty());
        let callers = roles.into_iter().map(Some).chain([None]);
        for role in callers {
            let request = stage.request(method.clone(), &filled(&path, "unknown"));
            let content = operation["requestBody"]["content"].as_object();
            let request = match content.and_then(|content| content.iter().next()) {
                Some((kind, content)) if kind == "application/json" => {
                    let mut body = content["example"].clone();
                    if let Some(plan) = body.get("plan") {
                        // A plan that nobody may carry out stores nothing.
                        let title = plan["title"].clone();
                        body = json!({"plan": {"title": title, "steps": []}});
                    }
                    if body.get("threadId").is_some() {
                        // Each role has a thread of its own, without the interrupts of others.
                        body["threadId"] = json!(role.map_or("nobody", Role::as_str));
                    }
                    request.json(&body)
                }
                Some((_, content)) => request.body(content["example"].as_str().unwrap().to_owned()),
                None => request,
            };
            let request = match role {
                Some(role) => request.bearer_auth(format!("{}-token", role.as_str())),
                None => request,
            };
            // No other route reads this header.
            let request = request.header("a2a-version", "1.0");
            let response = request.send().await.unwrap();
            let status = response.status();
            api.check(&method, &path, response).await;
            let first = verbs.first().map_or(&[][..], |verb| verb.spec().roles);
            let expected = match role {
                None if path == FOR_THE_KNOWN => Some(StatusCode::UNAUTHORIZED),
                _ if is_open => None,
                None => Some(StatusCode::UNAUTHORIZED),
                Some(role) if first.contains(&role) && !also_reads(&path) => None,
                Some(_) => Some(StatusCode::FORBIDDEN),
            };
            let refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status);
            let got = refused.then_some(status);
            assert_eq!(got, expected, "{method} {path} as {role:?}: {status}");
        }
    }
    let (status, _) =
        taken(stage.get("/v1/jobs").bearer_auth("read-token").send().await.unwrap()).await;
    assert_eq!(status, StatusCode::OK);
}
