//! Tests of the MCP server with its official client, and with requests of the stateless era.

use broker::testing::wait::eventually;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::{Stage, agui::scripted};

const ERA: &str = "2026-07-28";

/// An installation in which Ann submits and answers, and Bob answers.
pub(super) async fn stage(config: &tempfile::NamedTempFile) -> Stage {
    let people =
        [("ann", r#""submit", "read", "answer", "operate""#), ("bob", r#""read", "answer""#)];
    let people = people.map(|(name, roles)| {
        let digest = proto::digest::of_bytes(format!("{name}-token").as_bytes());
        format!("[door.people.{name}]\nroles = [{roles}]\ntoken_sha256 = \"{digest}\"\n")
    });
    let limits = "[gateway]\nwrites_per_second = 1000\nreads_per_second = 1000\n";
    std::fs::write(config.path(), format!("{limits}{}", people.concat())).unwrap();
    let path = config.path().display().to_string();
    Stage::with(|company| company.variable("CALLBOARD_CONFIG", &path)).await
}

/// Sends a request of the stateless era, of a client that knows tasks.
async fn sent(stage: &Stage, token: &str, method: &str, params: Value) -> Response {
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    sent_by(stage, token, &tasks, method, params).await
}

/// Sends a request of the stateless era, of a client with these capabilities.
async fn sent_by(
    stage: &Stage,
    token: &str,
    capabilities: &Value,
    method: &str,
    mut params: Value,
) -> Response {
    let name = params.get("name").or(params.get("taskId")).and_then(Value::as_str);
    let name = name.unwrap_or_default().to_owned();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": ERA,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1.0.0"},
    });
    let request = stage.request(Method::POST, "/mcp").bearer_auth(token);
    let request = request.header("mcp-protocol-version", ERA).header("mcp-method", method);
    let request = if name.is_empty() { request } else { request.header("mcp-name", name) };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    request.json(&body).send().await.unwrap()
}

async fn asked(stage: &Stage, token: &str, method: &str, params: Value) -> Value {
    result(sent(stage, token, method, params).await).await
}

/// Returns the result of a request, or the whole reply with its error.
async fn result(response: Response) -> Value {
    let status = response.status();
    let text = response.text().await.unwrap();
    let reply: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status} {text}"));
    match reply.get("result") {
        Some(result) => result.clone(),
        None => reply,
    }
}

async fn task(stage: &Stage, is_it: impl Fn(&Value) -> bool) -> Value {
    eventually("a task", async || {
        let task = asked(stage, "ann-token", "tasks/get", json!({"taskId": "m2"})).await;
        if is_it(&task) { Ok(task) } else { Err(task.to_string()) }
    })
    .await
}

fn with_the_official_client(seen: &Value) {
    let tools = seen["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let all = "submit_job get_job list_jobs list_questions answer_question cancel_job";
    assert_eq!(names.join(" "), all);
    assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object"));
    assert_eq!(seen["server"]["name"], "callboard");
    assert_eq!(seen["submitted"]["state"], "input-required", "{seen}");
    assert_eq!(seen["submitted"]["created"], true);
    assert_eq!(seen["submitted"]["questions"][0]["is_approval"], true);
    assert_eq!((&seen["again"]["job"], &seen["again"]["created"]), (&json!("m1"), &json!(false)));
    assert_eq!(seen["kind"], "plan_check");
    assert_eq!(seen["approved"]["failed"], false, "{seen}");
    assert_eq!(seen["asked"]["questions"][0]["is_approval"], false, "{seen}");
    assert_eq!(seen["answered"]["failed"], false);
    assert_eq!(seen["ended"]["state"], "completed", "{seen}");
    assert_eq!(seen["child"], seen["ended"], "the program of a host shows the same");
    assert!(!seen["ended"]["answer"].as_str().unwrap().is_empty());
    assert_eq!(seen["listed"]["jobs"][0]["job"], "m1");
    for (call, code) in [
        ("other", "idempotency_conflict"),
        ("own", "forbidden"),
        ("cancelled", "job_ended"),
        ("missing", "not_found"),
        ("impatient", "invalid_request"),
    ] {
        let refused = &seen[call];
        assert_eq!(refused["error"]["code"], code, "{call}: {refused}");
        assert!(refused["failed"] == true && refused["error"]["hint"] != "", "{refused}");
    }
    assert_eq!(seen["stranger"], 401, "{seen}");
    let own = seen["own"]["error"]["message"].as_str().unwrap();
    assert!(own.contains("submitter"), "{own}");
}

/// Waits until a job asks for the approval of its plan, and returns the page of the inbox.
async fn plan(stage: &Stage, job: &str) -> Value {
    let plan = stage.get(&format!("/v1/inbox?job={job}")).bearer_auth("bob-token");
    eventually("a plan", async || {
        let inbox: Value = plan.try_clone().unwrap().send().await.unwrap().json().await.unwrap();
        inbox["questions"][0]["question"]["digest"].is_string().then_some(inbox).ok_or("none yet")
    })
    .await
}

async fn approved_by_bob(stage: &Stage, job: &str) {
    let inbox = plan(stage, job).await;
    let question = &inbox["questions"][0]["question"];
    let path = format!("/v1/jobs/{job}/questions/{}/answers", question["id"].as_str().unwrap());
    let approval = json!({"decision": "approve", "digest": question["digest"]});
    let approved = stage.request(Method::POST, &path).bearer_auth("bob-token").json(&approval);
    assert_eq!(approved.send().await.unwrap().status(), StatusCode::OK);
}

/// Works through a job as a task: another person approves its plan, and the client answers its
/// question.
async fn as_a_task(stage: &Stage) {
    let ann = "ann-token";
    let found = asked(stage, ann, "server/discover", json!({})).await;
    let versions = found["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(ERA)) && versions.contains(&json!("2025-11-25")), "{found}");
    let arguments = json!({"id": "m2", "goal": "two echoes"});
    let call = json!({"name": "submit_job", "arguments": arguments});
    let task_of = asked(stage, ann, "tools/call", call.clone()).await;
    assert_eq!((&task_of["resultType"], &task_of["taskId"]), (&json!("task"), &json!("m2")));
    // A repeated call finds its task.
    assert_eq!(asked(stage, ann, "tools/call", call).await["taskId"], "m2");
    let inbox = plan(stage, "m2").await;
    // The plan is not for the submitter.
    let waiting = task(stage, |task| task["statusMessage"].is_string()).await;
    assert_eq!(waiting["status"], "working", "{waiting}");
    let question = &inbox["questions"][0]["question"];
    let key = format!("m2:{}", question["id"].as_str().unwrap());
    let approve = json!({"action": "accept", "content": {"approved": true}});
    let own = json!({"taskId": "m2", "inputResponses": {key: approve}});
    let own = asked(stage, ann, "tasks/update", own).await;
    assert_eq!(own["error"]["data"]["code"], "forbidden", "{own}");
    approved_by_bob(stage, "m2").await;
    let asks = task(stage, |task| task["status"] == "input_required").await;
    let (key, request) = asks["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create", "{asks}");
    let wrong = json!({"taskId": "m2", "inputResponses": {key: {"action": "accept"}}});
    let wrong = asked(stage, ann, "tasks/update", wrong).await;
    assert_eq!(wrong["error"]["data"]["code"], "invalid_answer", "{wrong}");
    let accept = json!({"action": "accept", "content": {"answer": "Ann"}});
    let update = json!({"taskId": "m2", "inputResponses": {key: accept}});
    for _ in 0..2 {
        // A repeated answer changes nothing.
        let updated = asked(stage, ann, "tasks/update", update.clone()).await;
        assert_eq!(updated["resultType"], "complete", "{updated}");
    }
    let ended = task(stage, |task| task["status"] == "completed").await;
    assert_eq!(ended["result"]["structuredContent"]["state"], "completed", "{ended}");
    let cancelled = asked(stage, ann, "tasks/cancel", json!({"taskId": "m2"})).await;
    assert_eq!(cancelled["resultType"], "complete", "{cancelled}");
    let missing = asked(stage, ann, "tasks/get", json!({"taskId": "nothing"})).await;
    assert_eq!(missing["error"]["data"]["code"], "not_found", "{missing}");
}

/// A client of the stateless era that shows forms and knows no tasks.
async fn shown(stage: &Stage, token: &str, params: &Value) -> Value {
    let forms = json!({"elicitation": {"form": {}}});
    result(sent_by(stage, token, &forms, "tools/call", params.clone()).await).await
}

/// Adds the user's response, and the state of the round before, to a call.
fn repeated(call: &Value, round: &Value, response: Option<Value>) -> Value {
    let mut call = call.clone();
    call["requestState"] = round["requestState"].clone();
    if let Some(response) = response {
        let key = round["inputRequests"].as_object().unwrap().keys().next().unwrap();
        call["inputResponses"] = json!({key: response});
    }
    call
}

/// Works through a job with forms: another person approves its plan, and the user answers its question.
async fn as_forms(stage: &mut Stage) {
    let (ann, bob) = ("ann-token", "bob-token");
    let submit = json!({"name": "submit_job", "arguments": {"id": "m3", "goal": "two echoes", "wait_ms": 50_000}});
    let plan = shown(stage, ann, &submit).await;
    let status = &plan["structuredContent"];
    assert_eq!((&status["created"], &status["state"]), (&json!(true), &json!("input-required")));
    assert_eq!(status["questions"][0]["is_approval"], true, "an approval is no form: {plan}");
    approved_by_bob(stage, "m3").await;
    let get = json!({"name": "get_job", "arguments": {"job": "m3", "wait_ms": 50_000}});
    let round = shown(stage, ann, &get).await;
    assert_eq!(round["resultType"], "input_required", "{round}");
    let requests = round["inputRequests"].as_object().unwrap();
    let (_, request) = requests.iter().next().unwrap();
    assert_eq!((requests.len(), &request["params"]["message"]), (1, &json!("Whom?")));
    assert_eq!(shown(stage, ann, &submit).await["resultType"], "input_required");

    let accept = || Some(json!({"action": "accept", "content": {"answer": "Ann"}}));
    let altered = json!({"requestState": format!("{}x", round["requestState"].as_str().unwrap()), "inputRequests": round["inputRequests"]});
    let mut other = repeated(&get, &round, accept());
    other["arguments"]["wait_ms"] = json!(1);
    for (what, token, call) in [
        ("altered", ann, repeated(&get, &altered, accept())),
        ("foreign", bob, repeated(&get, &round, accept())),
        ("another call", ann, other),
        ("another tool", ann, repeated(&submit, &round, accept())),
    ] {
        let refused = shown(stage, token, &call).await;
        assert_eq!(refused["error"]["data"]["code"], "invalid_request", "{what}: {refused}");
        assert_eq!(refused["error"]["data"]["field"], "requestState", "{what}: {refused}");
    }
    let misfit =
        shown(stage, ann, &repeated(&get, &round, Some(json!({"action": "accept"})))).await;
    assert_eq!(misfit["isError"], true, "{misfit}");
    let closed =
        shown(stage, ann, &repeated(&get, &round, Some(json!({"action": "cancel"})))).await;
    assert_eq!(closed["structuredContent"]["state"], "input-required", "{closed}");
    let again = shown(stage, ann, &repeated(&get, &round, None)).await;
    assert_eq!(again["inputRequests"], round["inputRequests"], "{again}");

    // Another gateway takes the answer, and a repeated one changes nothing.
    stage.gateway.kill9();
    stage.gateway = stage.company.serve("another-gateway", "gateway");
    super::address(&stage.gateway).await;
    for _ in 0..2 {
        let ended = shown(stage, ann, &repeated(&get, &round, accept())).await;
        assert_eq!(ended["structuredContent"]["state"], "completed", "{ended}");
    }
}

/// Strangers learn from HTTP that they are strangers, and from a tool which role they lack.
async fn strangers_are_refused(stage: &Stage) {
    let submit = json!({"name": "submit_job", "arguments": {"goal": "two echoes"}});
    for (method, params) in
        [("server/discover", json!({})), ("tools/list", json!({})), ("tools/call", submit.clone())]
    {
        let refused = sent(stage, "wrong", method, params).await;
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "{method}");
        assert_eq!(refused.headers()["www-authenticate"], "Bearer", "{method}");
    }
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let nobody = stage.request(Method::POST, "/mcp").json(&ping).send().await.unwrap();
    assert_eq!(nobody.status(), StatusCode::UNAUTHORIZED);
    let bob = sent(stage, "bob-token", "tools/call", submit).await;
    assert_eq!(bob.status(), StatusCode::OK);
    assert!(bob.text().await.unwrap().contains("forbidden"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_works_through_a_job_and_another_person_approves_it() {
    let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let mut stage = stage(&config).await;
    let url = format!("http://{}/mcp", stage.address);
    let command = stage.company.command();
    let program = command.get_program().to_str().unwrap();
    let variables = command.get_envs().map(|(name, value)| {
        (name.to_str().unwrap().to_owned(), json!(value.unwrap_or_default().to_str().unwrap()))
    });
    let variables = Value::Object(variables.collect()).to_string();
    let arguments = [&*url, "ann-token", "bob-token", program, &variables];
    let (seen, ()) = tokio::join!(scripted("mcp.cjs", &arguments), as_a_task(&stage));
    with_the_official_client(&seen);
    strangers_are_refused(&stage).await;
    as_forms(&mut stage).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let post = || stage.request(Method::POST, "/mcp").bearer_auth("ann-token");
    let foreign = post().header("origin", "http://evil.example");
    assert_eq!(foreign.json(&ping).send().await.unwrap().status(), StatusCode::FORBIDDEN);
    let large =
        json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "x".repeat(1 << 20)}});
    let large = post().json(&large).send().await.unwrap();
    assert_eq!(large.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let future = post().header("mcp-protocol-version", "2099-01-01");
    assert_eq!(future.json(&ping).send().await.unwrap().status(), StatusCode::BAD_REQUEST);
}
