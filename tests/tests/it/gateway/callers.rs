//! Tests of who may ask for what.

use std::collections::BTreeMap;

use reqwest::Method;
use rstest::rstest;
use serde_json::json;

use super::{Frames, Stage};

/// A page of another site in a person's browser.
#[rstest]
#[case::of_another_site("sec-fetch-site", "cross-site", 403)]
#[case::of_another_origin("origin", "http://evil.example", 403)]
#[case::of_a_sandbox("origin", "null", 403)]
#[case::by_a_rebound_name("host", "evil.example", 421)]
#[case::with_a_form("content-type", "text/plain", 415)]
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_page_changes_nothing(
    #[case] name: &str,
    #[case] value: &str,
    #[case] status: u16,
) {
    let stage = Stage::start().await;
    let request = stage.request(Method::POST, "/v1/jobs").body("{\"goal\": \"steal\"}");
    let request = match name {
        "content-type" => request,
        _ => request.header("content-type", "application/json"),
    };
    let response = request.header(name, value).send().await.unwrap();
    assert_eq!(response.status().as_u16(), status);
    assert_eq!(stage.read("/v1/jobs").await["jobs"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_has_the_rights_of_the_token_and_no_others() {
    let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    // The SHA-256 of `reader-token` and `writer-token`.
    let people = ["reader", "writer"].map(|name| {
        let digest = proto::digest::of_bytes(format!("{name}-token").as_bytes());
        let roles = if name == "reader" { "\"read\"" } else { "\"read\", \"submit\"" };
        format!("[door.people.{name}]\nroles = [{roles}]\ntoken_sha256 = \"{digest}\"\n")
    });
    std::fs::write(config.path(), people.concat()).unwrap();
    let path = config.path().display().to_string();
    let stage = Stage::with(|company| company.variable("CALLBOARD_CONFIG", &path)).await;
    let status = async |method: Method, path: &str, token: Option<&str>| {
        let request = stage.request(method.clone(), path);
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let body = json!({"goal": "two echoes"});
        let request = if method == Method::POST { request.json(&body) } else { request };
        request.send().await.unwrap().status().as_u16()
    };
    let expected: BTreeMap<(&str, Option<&str>), u16> = [
        (("GET", None), 401),
        (("GET", Some("wrong-token")), 401),
        (("GET", Some("reader-token")), 200),
        (("GET", Some("writer-token")), 200),
        (("POST", None), 401),
        (("POST", Some("reader-token")), 403),
        (("POST", Some("writer-token")), 201),
    ]
    .into();
    for ((method, token), expected) in expected {
        let got = status(method.parse().unwrap(), "/v1/jobs", token).await;
        assert_eq!(got, expected, "{method} with {token:?}");
    }
    let about = async |token: &str| -> serde_json::Value {
        let request = stage.request(Method::GET, "/v1/about").bearer_auth(token);
        request.send().await.unwrap().json().await.unwrap()
    };
    let reader = about("reader-token").await;
    assert_eq!((&reader["by"], &reader["roles"]), (&json!("reader"), &json!(["read"])));
    let may = |about: &serde_json::Value, verb: &str| {
        about["may"].as_array().unwrap().iter().any(|may| may == verb)
    };
    assert!(may(&reader, "list") && !may(&reader, "submit"), "{reader}");
    assert!(may(&about("writer-token").await, "submit"));
    assert_eq!(about("wrong-token").await["may"], json!([]));
    assert!(!stage.gateway.logged().contains("-token"), "a token is in the log");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_a_watched_job_needs_a_right_of_its_own() {
    let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let people =
        [("reader", "\"read\", \"submit\""), ("writer", "\"submit\"")].map(|(name, roles)| {
            let digest = proto::digest::of_bytes(format!("{name}-token").as_bytes());
            format!("[door.people.{name}]\nroles = [{roles}]\ntoken_sha256 = \"{digest}\"\n")
        });
    std::fs::write(config.path(), people.concat()).unwrap();
    let path = config.path().display().to_string();
    let stage = Stage::with(|company| company.variable("CALLBOARD_CONFIG", &path)).await;
    let submitted = stage.request(Method::POST, "/v1/jobs").bearer_auth("reader-token");
    let goal = json!({"id": "j1", "goal": "two echoes", "confirm": true});
    assert_eq!(submitted.json(&goal).send().await.unwrap().status(), 201);
    let open = async |token: &str| {
        let request = stage.get("/v1/jobs/j1/events").header("accept", "text/event-stream");
        request.bearer_auth(token).send().await.unwrap()
    };
    let mut watched = Frames::of(open("reader-token").await);
    assert!(watched.until(&mut Vec::new(), |frame| frame.name == "view").await);
    for (token, status) in [("writer-token", 403), ("wrong-token", 401), ("reader-token", 200)] {
        assert_eq!(open(token).await.status().as_u16(), status, "{token}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_sends_too_much_is_told_to_wait() {
    let stage = Stage::with(|company| company.set("GATEWAY__WRITES_PER_SECOND", "1")).await;
    let send = || stage.request(Method::POST, "/v1/jobs").json(&json!({"goal": " "})).send();
    let answers = futures::future::join_all((0..60).map(|_| send())).await;
    let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status() == 429).collect();
    assert!(!refused.is_empty() && refused.len() < 60, "{}", refused.len());
    assert!(refused.iter().all(|answer| answer.headers().contains_key("retry-after")));
    assert_eq!(stage.get("/v1/jobs").send().await.unwrap().status(), 200, "reads are apart");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_makes_up_tokens_takes_nothing_from_the_owner_of_one() {
    let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let digest = proto::digest::of_bytes(b"writer-token");
    let people =
        format!("[door.people.writer]\nroles = [\"submit\"]\ntoken_sha256 = \"{digest}\"\n");
    std::fs::write(config.path(), people).unwrap();
    let path = config.path().display().to_string();
    let set = |company: &mut callboard_tests::company::Company| {
        company.variable("CALLBOARD_CONFIG", &path);
        company.set("GATEWAY__WRITES_PER_SECOND", "1");
    };
    let stage = Stage::with(set).await;
    let submit = || {
        let submit = stage.request(Method::POST, "/v1/jobs").bearer_auth("writer-token");
        submit.json(&json!({"goal": "two echoes"})).send()
    };
    assert_eq!(submit().await.unwrap().status(), 201);
    for path in ["/v1/jobs", "/a2a", "/agui/default", "/mcp"] {
        let made_up = (0..20).map(|n| {
            let request = stage.request(Method::POST, path).bearer_auth(format!("made-up-{n}"));
            request.json(&json!({"goal": "steal"})).send()
        });
        let answers = futures::future::join_all(made_up).await;
        let refused = answers.into_iter().filter(|it| it.as_ref().unwrap().status() == 429).count();
        assert!(refused >= 10, "{path}: {refused}");
    }
    for _ in 0..3 {
        assert_eq!(submit().await.unwrap().status(), 201);
    }
}
