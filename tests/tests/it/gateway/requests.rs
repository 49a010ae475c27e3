//! Tests of requests and their refusals.

use broker::testing::wait::soon;
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};

use super::{Frames, Stage, is_end, taken};

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_submitted_answered_and_read_over_http() {
    let stage = Stage::start().await;
    let goal = json!({"goal": "two echoes", "confirm": true, "labels": {"team": "billing", "env": "prod"}});
    let submit = |goal: &Value| {
        stage.request(Method::POST, "/v1/jobs").header("idempotency-key", "j1").json(goal)
    };
    let created = submit(&goal).send().await.unwrap();
    assert_eq!(created.headers()[header::LOCATION], "/v1/jobs/j1");
    let (status, reply) = taken(created).await;
    assert_eq!((status, &reply["created"]), (StatusCode::CREATED, &json!(true)), "{reply}");
    let (status, reply) = taken(submit(&goal).send().await.unwrap()).await;
    assert_eq!((status, &reply["created"]), (StatusCode::OK, &json!(false)), "{reply}");
    let other = json!({"goal": "something else"});
    let (status, problem) = taken(submit(&other).send().await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("idempotency_conflict")));

    let ask = stage.question("j1").await;
    let inbox = stage.read("/v1/inbox").await;
    assert_eq!(inbox["questions"][0]["question"]["id"], json!(ask), "{inbox}");
    let (status, reply) = stage.answer("j1", &ask, &json!({"decision": "approve"})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let (status, problem) = stage.answer("j1", &ask, &json!({"decision": "reject"})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("already_answered")));
    assert_eq!(problem["winner"]["decision"], "approve", "{problem}");

    let ask = stage.question("j1").await;
    let view = stage.get("/v1/jobs/j1").send().await.unwrap();
    let tag = view.headers()[header::ETAG].clone();
    let again = stage.get("/v1/jobs/j1").header(header::IF_NONE_MATCH, &tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let (status, reply) = stage.answer("j1", &ask, &json!({"value": "Ann"})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");

    let mut seen = Vec::new();
    let events = stage.get("/v1/jobs/j1/events").send().await.unwrap();
    assert_eq!(events.headers()[header::CONTENT_TYPE], "text/event-stream");
    assert!(Frames::of(events).until(&mut seen, is_end).await, "{seen:?}");
    let view = stage.read("/v1/jobs/j1").await;
    assert_eq!(view["state"], "completed", "{view}");
    let changed =
        stage.get("/v1/jobs/j1").header(header::IF_NONE_MATCH, &tag).send().await.unwrap();
    assert_eq!(changed.status(), StatusCode::OK);
    let listed = stage.read("/v1/jobs?state=completed&state=failed&limit=5").await;
    assert_eq!(listed["jobs"][0]["job"], "j1", "{listed}");
    assert_eq!(stage.read("/v1/jobs/count").await["completed"], 1);
    assert_eq!(listed["jobs"][0]["labels"], goal["labels"], "{listed}");
    let found =
        "label=team%3Dbilling&label=env%3Dprod&q=ECHOES&agent=default&since=2026-01-01T00:00:00Z";
    for (query, count) in [(found, 1), ("label=team%3Dsales", 0), ("q=three", 0), ("parent=j1", 0)]
    {
        let listed = stage.read(&format!("/v1/jobs?{query}")).await;
        let counted = stage.read(&format!("/v1/jobs/count?{query}")).await;
        let listed = listed["jobs"].as_array().unwrap().len();
        assert_eq!((listed, &counted["completed"]), (count, &json!(count)), "{query}");
    }
    let records = stage.read("/v1/jobs/j1/records?limit=3").await;
    let (page, more) = (records["records"].as_array().unwrap(), &records["more"]);
    assert_eq!((page.len(), more), (3, &json!(true)), "{records}");
    let last = &page[2]["seq"];
    let rest = stage.read(&format!("/v1/jobs/j1/records?after={last}")).await;
    let rest = (rest["records"].as_array().unwrap().len(), &rest["more"]).0;
    assert_eq!(json!(rest + 3), view["records"]);

    let spans = stage.read("/v1/jobs/j1/spans").await;
    let spans = spans["spans"].as_array().unwrap();
    let kinds = |kind: &str| spans.iter().filter(|span| span["kind"] == kind).count();
    let counts = ["job", "step", "turn", "call", "waiting"].map(kinds);
    assert_eq!(counts, [1, 3, 3, 2, 2], "{spans:?}");
    assert!(spans.iter().all(|span| span["end"].is_string()), "{spans:?}");

    let cancel = json!({"signal": "cancel"});
    let (status, problem) = stage.post("/v1/jobs/j1/signals", &cancel).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("job_ended")));
    let (status, fork) = stage.post("/v1/jobs/j1/forks", &json!({"id": "j2", "at": 5})).await;
    assert_eq!((status, &fork["job"]), (StatusCode::CREATED, &json!("j2")), "{fork}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_a_client_is_carried_out_or_refused() {
    let stage = Stage::start().await;
    let step = |tool: &str| json!({"id": "s1", "description": "say it", "tool": tool, "args": {"value": "hi"}});
    let plan = |tool: &str, id: &str| json!({"id": id, "plan": {"title": "say it", "steps": [step(tool)]}});
    let execute = "/v1/plans:execute";
    for _ in 0..2 {
        let (status, reply) = stage.post(execute, &plan("echo", "p1")).await;
        assert_eq!((status, &reply["success"]), (StatusCode::OK, &json!(true)), "{reply}");
        assert_eq!(reply["logs"][0]["state"], "completed", "{reply}");
    }
    assert_eq!(stage.read("/v1/jobs/p1").await["goal"], "say it");
    let (status, problem) = stage.post(execute, &plan("no_such_tool", "p2")).await;
    assert_eq!(
        (status, &problem["field"]),
        (StatusCode::BAD_REQUEST, &json!("plan.steps[0].tool"))
    );
    let (status, problem) = stage.post(execute, &json!({"goal": "say it"})).await;
    assert_eq!((status, &problem["field"]), (StatusCode::BAD_REQUEST, &json!("plan")), "{problem}");
    let missing = json!({"id": "s1", "description": "read", "tool": "read_file", "args": {"path": "none.md"}});
    let failing = json!({"id": "p3", "plan": {"title": "read", "steps": [missing]}});
    let (status, reply) = stage.post(execute, &failing).await;
    assert_eq!((status, &reply["success"]), (StatusCode::INTERNAL_SERVER_ERROR, &json!(false)));
    assert!(!reply["error"].as_str().unwrap().is_empty(), "{reply}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_changed_only_by_who_saw_its_last_revision() {
    let stage = Stage::start().await;
    let put = async |text: &str, condition: Option<&str>, query: &str| {
        let path = format!("/v1/agents/mine{query}");
        let mut request = stage.request(Method::PUT, &path).json(&json!({"text": text}));
        if let Some(condition) = condition {
            request = request.header(header::IF_MATCH, condition);
        }
        taken(request.send().await.unwrap()).await
    };
    let (status, checked) = put("about: one", None, "?check=1").await;
    assert_eq!((status, checked.get("revision")), (StatusCode::OK, None), "{checked}");
    assert_eq!(stage.get("/v1/agents/mine").send().await.unwrap().status(), 404);
    let (status, first) = put("about: one", Some("\"0\""), "").await;
    assert_eq!(status, StatusCode::OK, "{first}");
    let shown = stage.get("/v1/agents/mine").send().await.unwrap();
    let tag = shown.headers()[header::ETAG].to_str().unwrap().to_owned();
    assert_eq!(tag, format!("\"{}\"", first["revision"]));
    let (status, second) = put("about: two", Some(&tag), "").await;
    assert_eq!(status, StatusCode::OK, "{second}");
    let (status, problem) = put("about: three", Some(&tag), "").await;
    assert_eq!((status, &problem["code"]), (StatusCode::PRECONDITION_FAILED, &json!("stale")));
    for wrong in ["*", "W/\"1\"", "\"1\", \"2\"", "\"x\"", "1"] {
        let (status, problem) = put("about: three", Some(wrong), "").await;
        let field = &problem["field"];
        assert_eq!((status, field), (StatusCode::BAD_REQUEST, &json!("If-Match")), "{wrong}");
    }
    let delete = stage.request(Method::DELETE, "/v1/agents/mine?check=1").send().await.unwrap();
    let (status, problem) = taken(delete).await;
    assert_eq!((status, &problem["field"]), (StatusCode::BAD_REQUEST, &json!("check")));
    let delete = stage.request(Method::DELETE, "/v1/agents/mine").header(header::IF_MATCH, &tag);
    let (status, _) = taken(delete.send().await.unwrap()).await;
    assert_eq!(status, StatusCode::PRECONDITION_FAILED);

    let all = stage.read("/v1/agents/mine/revisions").await;
    assert_eq!(
        (&all["current"], all["revisions"].as_array().unwrap().len()),
        (&second["revision"], 2)
    );
    let old = format!("/v1/agents/mine/revisions?revision={}", first["revision"]);
    assert_eq!(stage.read(&old).await["revisions"][0]["text"], "about: one");
    let unknown = stage.get("/v1/jobs/x").header(header::IF_MATCH, "\"1\"").send().await.unwrap();
    assert_eq!(unknown.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_job_is_saved_and_never_shown() {
    let stage = Stage::start().await;
    let name = "<b>\"; 会议.html";
    let page = "<script>alert(1)</script>";
    let large = vec![7_u8; 700_000];
    let mut pieces = Vec::new();
    for piece in large.chunks(512 * 1024) {
        let digest = proto::digest::of_bytes(piece);
        let put = stage.request(Method::PUT, &format!("/v1/pieces/{digest}")).body(piece.to_vec());
        let (status, stored) = taken(put.send().await.unwrap()).await;
        assert_eq!(status, StatusCode::OK, "{stored}");
        pieces.push(stored["piece"].clone());
    }
    let files = json!([
        {"name": name, "media_type": "text/html", "content": {"text": page}},
        {"name": "large", "content": {"pieces": pieces}},
        {"name": "empty", "content": {"text": ""}},
        {"name": "away", "content": {"url": "https://example.com/x?key=secret"}},
    ]);
    let submit = json!({"id": "f1", "goal": "read them", "files": files, "confirm": true});
    let (status, reply) = stage.post("/v1/jobs", &submit).await;
    assert_eq!(status, StatusCode::CREATED, "{reply}");
    let listed = stage.read("/v1/jobs/f1/files").await;
    assert_eq!(listed["files"].as_array().unwrap().len(), 4, "{listed}");
    let get = async |name: &str| {
        let mut url = reqwest::Url::parse(&format!("http://{}", stage.address)).unwrap();
        url.path_segments_mut().unwrap().extend(["v1", "jobs", "f1", "files", name]);
        stage.http.get(url).send().await.unwrap()
    };
    let got = get(name).await;
    assert_eq!(got.status(), StatusCode::OK);
    let header = |name| got.headers()[name].to_str().unwrap();
    assert_eq!(header(header::CONTENT_TYPE), "application/octet-stream");
    assert_eq!(header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
    assert!(header(header::CONTENT_SECURITY_POLICY).starts_with("sandbox"));
    let disposition = header(header::CONTENT_DISPOSITION);
    assert!(disposition.starts_with("attachment; filename=\"_b___ __.html\"; "), "{disposition}");
    assert_eq!(got.text().await.unwrap(), page);
    assert_eq!(get("large").await.bytes().await.unwrap(), large);
    assert_eq!(get("empty").await.bytes().await.unwrap(), Vec::new());
    for (name, status, said) in [
        ("nothing", 404, "has no file nothing"),
        ("away", 400, "https://example.com/x"),
        ("a\u{202e}b", 400, "name of a file"),
    ] {
        let (got, problem) = taken(get(name).await).await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(got == status && detail.contains(said), "{problem}");
        assert!(!detail.contains("secret"), "{problem}");
    }
}

/// A wrong request, and its refusal: the status, the code and the field.
type Wrong = (&'static str, &'static str, &'static str, u16, &'static str, &'static str);

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_request_is_refused_by_its_field() {
    let stage = Stage::start().await;
    let wrong: &[Wrong] = &[
        ("POST", "/v1/jobs", "{\"goal\": \" \"}", 400, "invalid_request", "goal"),
        ("POST", "/v1/jobs", "{\"goal\": \"a\", \"gaol\": 1}", 400, "invalid_request", "gaol"),
        ("POST", "/v1/jobs", "{\"goal\": \"a\", \"goal\": \"b\"}", 400, "invalid_request", ""),
        ("POST", "/v1/jobs", "[]", 400, "invalid_request", ""),
        ("POST", "/v1/jobs", "", 400, "invalid_request", ""),
        (
            "POST",
            "/v1/jobs",
            "{\"goal\": \"a\", \"agent\": \"nobody\"}",
            404,
            "unknown_agent",
            "agent",
        ),
        ("GET", "/v1/jobs?state=done", "", 400, "invalid_request", "state"),
        ("GET", "/v1/jobs?limit=0", "", 400, "invalid_request", "limit"),
        ("GET", "/v1/jobs?limit=1&limit=2", "", 400, "invalid_request", "limit"),
        ("GET", "/v1/jobs?stat=working", "", 400, "invalid_request", "stat"),
        ("GET", "/v1/jobs?token=secret", "", 401, "invalid_request", ""),
        ("GET", "/v1/jobs/nothing", "", 404, "not_found", "job"),
        ("GET", "/v1/jobs/not%20an%20id", "", 400, "invalid_id", ""),
        ("GET", "/v1/jobs/nothing/events", "", 404, "not_found", "job"),
        ("GET", "/v1/jobs/nothing/events?after=x", "", 400, "invalid_request", "after"),
        (
            "POST",
            "/v1/jobs/x/signals",
            "{\"signal\": \"cancel\", \"job\": \"y\"}",
            400,
            "invalid_request",
            "job",
        ),
        (
            "POST",
            "/v1/jobs/x/signals",
            "{\"signal\": \"explode\"}",
            400,
            "invalid_request",
            "signal",
        ),
        (
            "POST",
            "/v1/jobs/x/signals?dry=1",
            "{\"signal\": \"cancel\"}",
            400,
            "invalid_request",
            "dry",
        ),
        ("GET", "/v1/jobs/count?limit=5", "", 400, "invalid_request", "limit"),
        ("GET", "/v1/jobs?label=team", "", 400, "invalid_request", "label"),
        ("GET", "/v1/jobs?label=k%3Da&label=k%3Db", "", 400, "invalid_request", "label"),
        ("GET", "/v1/jobs?since=yesterday", "", 400, "invalid_request", "since"),
        ("GET", "/v1/jobs?q=", "", 400, "invalid_request", "q"),
        ("PUT", "/v1/pieces/00", "{}", 422, "invalid_request", ""),
        ("GET", "/v1/nothing", "", 404, "invalid_request", ""),
        ("DELETE", "/v1/jobs", "", 405, "invalid_request", ""),
    ];
    for (method, path, body, status, code, field) in wrong {
        let request = stage.request(method.parse().unwrap(), path);
        let request = request.header(header::CONTENT_TYPE, "application/json").body(*body);
        let response = request.send().await.unwrap();
        let kind = response.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
        let (got, problem) = taken(response).await;
        let said = format!("{method} {path} {body}: {problem}");
        assert_eq!((got.as_u16(), &problem["code"]), (*status, &json!(code)), "{said}");
        assert_eq!(problem["field"].as_str().unwrap_or_default(), *field, "{said}");
        assert!(kind.starts_with("application/problem+json"), "{said}");
        assert!(!problem["detail"].as_str().unwrap().is_empty(), "{said}");
        assert!(!problem["hint"].as_str().unwrap().is_empty(), "{said}");
    }
    let asked = stage.get("/v1/jobs/nothing").header(header::ACCEPT_LANGUAGE, "zh-CN");
    let (_, problem) = taken(asked.send().await.unwrap()).await;
    assert!(problem["detail"].as_str().unwrap().contains("没有"), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_never_ends_does_not_keep_its_connection() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let stage = Stage::start().await;
    let mut connection = tokio::net::TcpStream::connect(&stage.address).await.unwrap();
    let head = format!(
        "POST /v1/jobs HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n\r\n{{",
        stage.address
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 64];
    let read = soon("an answer", connection.read(&mut answer)).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}
