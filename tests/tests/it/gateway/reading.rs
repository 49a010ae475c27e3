//! Tests of what a job was and is: pages of events, single questions, graphs, differences, and
//! signals that count only for what their sender saw.

use broker::testing::wait::eventually;
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};

use super::{Frames, Stage, is_end, taken};

/// Carries a job out to its end. Returns the ids of its two questions.
async fn carried_out(stage: &Stage, job: &str) -> [String; 2] {
    let goal = json!({"id": job, "goal": "two echoes", "confirm": true});
    assert_eq!(stage.post("/v1/jobs", &goal).await.0, StatusCode::CREATED);
    let plan = stage.question(job).await;
    let open = stage.read(&format!("/v1/jobs/{job}/questions/{plan}")).await;
    assert_eq!((&open["state"], &open["question"]["kind"]), (&json!("open"), &json!("plan_check")));
    let approve = json!({"decision": "approve", "by": "ann"});
    let (status, reply) = stage.answer(job, &plan, &approve).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let whom = stage.question(job).await;
    let (status, reply) = stage.answer(job, &whom, &json!({"value": "Ann", "by": "bob"})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let mut seen = Vec::new();
    let events = stage.get(&format!("/v1/jobs/{job}/events")).send().await.unwrap();
    assert!(Frames::of(events).until(&mut seen, is_end).await, "{seen:?}");
    [plan, whom]
}

/// Reads a page of events.
async fn page(stage: &Stage, query: &str) -> (StatusCode, Value) {
    let request = stage.get(&format!("/v1/jobs/j1/events?{query}"));
    taken(request.header(header::ACCEPT, "application/json").send().await.unwrap()).await
}

fn ids(page: &Value) -> Vec<String> {
    let events = page["events"].as_array().unwrap().iter();
    events.map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

async fn streamed(stage: &Stage, query: &str) -> Vec<(String, String)> {
    let mut seen = Vec::new();
    let response = stage.get(&format!("/v1/jobs/j1/events?{query}")).send().await.unwrap();
    assert!(Frames::of(response).until(&mut seen, is_end).await, "{seen:?}");
    let events = seen.into_iter().filter(|frame| frame.name == "event");
    events
        .map(|frame| {
            let event: Value = serde_json::from_str(&frame.data).unwrap();
            (frame.id, event["type"].as_str().unwrap().to_owned())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_events_of_a_job_are_read_as_a_stream_or_in_pages_and_by_type() {
    let stage = Stage::start().await;
    carried_out(&stage, "j1").await;
    let all = streamed(&stage, "").await;
    let (mut paged, mut after) = (Vec::new(), "0".to_owned());
    loop {
        let (status, got) = page(&stage, &format!("limit=7&after={after}")).await;
        assert_eq!(status, StatusCode::OK, "{got}");
        paged.extend(ids(&got));
        assert!(ids(&got).len() <= 7, "{got}");
        if got["more"] == false {
            break;
        }
        paged.last().unwrap().clone_into(&mut after);
    }
    assert_eq!(paged, all.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>());

    let wanted = |kind: &str| kind == "plan" || kind == "step";
    let some: Vec<String> =
        all.iter().filter(|(_, kind)| wanted(kind)).map(|(id, _)| id.clone()).collect();
    assert!(!some.is_empty() && some.len() < all.len());
    let (_, got) = page(&stage, "types=plan&types=step").await;
    assert_eq!((ids(&got), &got["more"]), (some.clone(), &json!(false)));
    let stream: Vec<String> =
        streamed(&stage, "types=plan&types=step").await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(stream, some);
    let resumed = stage.get("/v1/jobs/j1/events?types=plan&types=step");
    let resumed = resumed.header("last-event-id", &some[0]).send().await.unwrap();
    let mut seen = Vec::new();
    assert!(Frames::of(resumed).until(&mut seen, is_end).await, "{seen:?}");
    let first = seen.iter().find(|frame| frame.name == "event").unwrap();
    assert_eq!(first.id, some[1]);

    for (query, field) in [("live=1", "live"), ("limit=0", "limit"), ("types=none", "types")] {
        let (status, problem) = page(&stage, query).await;
        assert_eq!((status, &problem["field"]), (StatusCode::BAD_REQUEST, &json!(field)));
    }
    let limited = stage.get("/v1/jobs/j1/events?limit=3").send().await.unwrap();
    let (status, problem) = taken(limited).await;
    assert_eq!((status, &problem["field"]), (StatusCode::BAD_REQUEST, &json!("limit")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_says_who_answered_it_and_plans_are_graphs_that_can_be_compared() {
    let stage = Stage::start().await;
    let [plan, whom] = carried_out(&stage, "j1").await;
    let question = |ask: &str| format!("/v1/jobs/j1/questions/{ask}");
    let (approved, told) = (stage.read(&question(&plan)).await, stage.read(&question(&whom)).await);
    for (ended, by) in [(&approved, "ann"), (&told, "bob")] {
        assert_eq!((&ended["state"], &ended["by"]), (&json!("answered"), &json!(by)), "{ended}");
        assert!(ended["asked"].as_str() < ended["ended"].as_str(), "{ended}");
    }
    assert_eq!(
        (&approved["answer"]["decision"], &told["answer"]["value"]),
        (&json!("approve"), &json!("Ann"))
    );

    let graph = stage.read("/v1/jobs/j1/graph").await;
    assert_eq!(graph["layers"], json!([["first"], ["ask"], ["last"]]), "{graph}");
    assert_eq!(
        graph["edges"],
        json!([{"from": "first", "to": "ask"}, {"from": "ask", "to": "last"}])
    );
    assert_eq!(
        (&graph["nodes"][0]["tool"], &graph["nodes"][2]["state"]),
        (&json!("echo"), &json!("completed"))
    );
    let first = stage.read("/v1/jobs/j1/graph?revision=0").await;
    assert_eq!((&first["revision"], &first["layers"]), (&json!(0), &graph["layers"]));

    let records = stage.read("/v1/jobs/j1/records").await;
    let submitted = &records["records"][0]["seq"];
    let diff = stage.read(&format!("/v1/jobs/j1/diff?a={submitted}")).await;
    assert_eq!((&diff["from"]["seq"], &diff["to"]["state"]), (submitted, &json!("completed")));
    assert_eq!(diff["plan"].as_array().unwrap().len(), 3, "{diff}");
    let plans = stage.read("/v1/jobs/j1/diff?a=revision:0&b=revision:0").await;
    assert_eq!(plans, json!({"from": 0, "to": 0, "plan": []}));

    for (path, status, field) in [
        ("questions/q99".to_owned(), 404, "ask"),
        ("graph?revision=7".to_owned(), 404, "revision"),
        (format!("graph?at={submitted}"), 404, "at"),
        ("diff".to_owned(), 400, "a"),
        ("diff?a=revision:0".to_owned(), 400, "b"),
        ("diff?a=revision:0&b=revision:9".to_owned(), 404, "b"),
        ("diff?a=999999".to_owned(), 404, "a"),
    ] {
        let (got, problem) =
            taken(stage.get(&format!("/v1/jobs/j1/{path}")).send().await.unwrap()).await;
        assert_eq!((got.as_u16(), &problem["field"]), (status, &json!(field)), "{path}: {problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_counts_only_for_the_job_that_its_sender_saw() {
    let stage = Stage::start().await;
    let goal = json!({"id": "j1", "goal": "two echoes", "confirm": true});
    assert_eq!(stage.post("/v1/jobs", &goal).await.0, StatusCode::CREATED);
    stage.question("j1").await;
    let signals = "/v1/jobs/j1/signals";
    let send = async |tag: &str, query: &str, body: Value| {
        let request = stage.request(Method::POST, &format!("{signals}{query}")).json(&body);
        taken(request.header(header::IF_MATCH, tag).send().await.unwrap()).await
    };
    // A record may follow between the look and the signal; then the sender looks again.
    let tag = eventually("a pause", async || {
        let seen = stage.get("/v1/jobs/j1").send().await.unwrap();
        let tag = seen.headers()[header::ETAG].to_str().unwrap().to_owned();
        match send(&tag, "", json!({"signal": "pause"})).await {
            (StatusCode::OK, _) => Ok(tag),
            (status, problem) => Err(format!("{status}: {problem}")),
        }
    })
    .await;
    let (status, problem) = send(&tag, "", json!({"signal": "cancel"})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::PRECONDITION_FAILED, &json!("stale")));
    let (status, previewed) = send(&tag, "?dry_run=1", json!({"signal": "cancel"})).await;
    assert_eq!((status, &previewed["refused"]["code"]), (StatusCode::OK, &json!("stale")));
    let old = json!({"signal": "cancel", "expected_seq": 1});
    let (status, problem) = stage.post(signals, &old).await;
    assert_eq!((status, &problem["field"]), (StatusCode::CONFLICT, &json!("expected_seq")));
    for wrong in ["*", "W/\"1-x\"", "\"1\", \"2\"", "\"x\"", "1"] {
        let (status, problem) = send(wrong, "", json!({"signal": "cancel"})).await;
        assert_eq!((status, &problem["field"]), (StatusCode::BAD_REQUEST, &json!("If-Match")));
    }
    assert_eq!(stage.read("/v1/jobs/j1").await["sub_status"], "paused", "no signal was sent");
    let reply = eventually("a cancel", async || {
        let now = stage.read("/v1/jobs/j1").await["seq"].clone();
        match send(&format!("\"{now}\""), "", json!({"signal": "cancel"})).await {
            (StatusCode::OK, reply) => Ok(reply),
            (status, problem) => Err(format!("{status}: {problem}")),
        }
    })
    .await;
    assert_eq!(reply["state"], "canceled", "{reply}");
}
