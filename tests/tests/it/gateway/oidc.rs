//! Tests of tokens and of the sign-in with a real issuer: oidc-provider, pinned by a lock file.

use std::collections::BTreeMap;

use callboard_tests::issuer::{self, Issuer};
use data_encoding::BASE64URL_NOPAD;
use jiff::Timestamp;
use reqwest::{Client as Http, Method, StatusCode, Url, header, redirect::Policy};
use serde_json::{Value, json};

use super::{Stage, openapi::Document, taken};

/// The redirect address of the console. Nobody listens there: the test reads the code itself.
const REDIRECT: &str = "http://127.0.0.1:1/signin";
/// The verifier and its challenge, of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Signs in at an issuer as a browser does, and returns the code in the last redirect.
async fn code(offer: &str) -> String {
    let http = Http::builder().no_proxy().redirect(Policy::none()).build().unwrap();
    let mut page = Url::parse(offer).unwrap();
    page.query_pairs_mut()
        .append_pair("redirect_uri", REDIRECT)
        .append_pair("state", "s")
        .append_pair("code_challenge", CHALLENGE);
    let mut cookies: BTreeMap<String, String> = BTreeMap::new();
    for _ in 0..8 {
        let jar: Vec<String> = cookies.iter().map(|(name, it)| format!("{name}={it}")).collect();
        let request = http.get(page.clone()).header(header::COOKIE, jar.join("; "));
        let response = request.send().await.unwrap();
        for cookie in response.headers().get_all(header::SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            cookies.insert(name.to_owned(), value.to_owned());
        }
        let to = response.headers().get(header::LOCATION).cloned();
        let Some(to) = to else { panic!("{}", response.text().await.unwrap()) };
        page = page.join(to.to_str().unwrap()).unwrap();
        if page.as_str().starts_with(REDIRECT) {
            let mut query = page.query_pairs();
            return query.find(|(name, _)| name == "code").expect("a code").1.into_owned();
        }
    }
    panic!("the sign-in does not end: {page}");
}

/// Returns the claims of a token, without a check.
fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64URL_NOPAD.decode(part.as_bytes()).unwrap()).unwrap()
}

/// Returns the token with other claims, under the old signature.
fn forged(token: &str, change: &Value) -> String {
    let parts: Vec<&str> = token.split('.').collect();
    let mut claims = claims(token);
    for (name, value) in change.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let part = BASE64URL_NOPAD.encode(claims.to_string().as_bytes());
    format!("{}.{part}.{}", parts[0], parts[2])
}

/// Signs in at the gateway, and returns the token.
async fn signed_in(stage: &Stage) -> String {
    let mut api = Document::of(stage).await;
    let offer = api.ask(stage, (Method::GET, "/v1/login"), "/v1/login", None).await;
    assert_eq!(offer["host"], "127.0.0.1", "{offer}");
    let code = code(offer["authorize"].as_str().unwrap()).await;
    let exchange = json!({"code": code, "verifier": VERIFIER, "redirect": REDIRECT});
    let post = (Method::POST, "/v1/login");
    let answer = api.ask(stage, post.clone(), "/v1/login", Some(exchange.clone())).await;
    let token = answer["token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    let again = api.ask(stage, post, "/v1/login", Some(exchange)).await;
    assert_eq!(again["code"], "forbidden", "a code serves once: {again}");
    token
}

async fn a_link_ends_with_its_token(stage: &Stage, token: &str) {
    let ask = broker::testing::wait::eventually("a question", async || {
        let asked = stage.get("/v1/jobs/j1").bearer_auth(token).send().await.unwrap();
        let (_, view) = taken(asked).await;
        view["questions"][0]["id"].as_str().map(str::to_owned).ok_or(view)
    })
    .await;
    let links = format!("/v1/jobs/j1/questions/{ask}/links");
    let made = stage.request(Method::POST, &links).bearer_auth(token).json(&json!({}));
    let (status, link) = taken(made.send().await.unwrap()).await;
    assert_eq!(status, StatusCode::CREATED, "{link}");
    assert_eq!(link["by"], "ann");
    let expires: Timestamp = link["expires"].as_str().unwrap().parse().unwrap();
    assert_eq!(expires.as_second(), claims(token)["exp"].as_i64().unwrap());
    let page = stage.get(link["path"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(page.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_at_an_issuer_and_has_the_roles_of_the_groups() {
    let mut issuer = Issuer::start(REDIRECT).await;
    let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let bob = format!(
        "[door.people.bob]\nroles = [\"read\"]\ntoken_sha256 = \"{}\"\n",
        proto::digest::of_bytes(b"bob-token")
    );
    std::fs::write(config.path(), format!("{bob}{}", issuer.settings())).unwrap();
    let path = config.path().display().to_string();
    let mut stage = Stage::with(|company| {
        company.variable("CALLBOARD_CONFIG", &path);
        company.variable(issuer::SECRET, "a-secret");
    })
    .await;
    let token = signed_in(&stage).await;

    let submit = async |token: &str| {
        let body = json!({"id": "j1", "goal": "two echoes", "confirm": true});
        let request = stage.request(Method::POST, "/v1/jobs").json(&body).bearer_auth(token);
        taken(request.send().await.unwrap()).await
    };
    for wrong in [
        forged(&token, &json!({"sub": "eve"})),
        forged(&token, &json!({"exp": 4_000_000_000_u64})),
        format!("{}.", token.rsplit_once('.').unwrap().0),
        token.replace('.', ""),
    ] {
        assert_eq!(submit(&wrong).await.0, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    assert_eq!(submit("bob-token").await.0, StatusCode::FORBIDDEN);
    let (status, submitted) = submit(&token).await;
    assert_eq!(status, StatusCode::CREATED, "{submitted}");

    let get =
        async |path: &str| taken(stage.get(path).bearer_auth(&token).send().await.unwrap()).await;
    let (_, records) = get("/v1/jobs/j1/records").await;
    assert!(records.to_string().contains("\"ann\""), "the submitter is recorded: {records}");
    let cancel = stage.request(Method::POST, "/v1/jobs/j1/signals").bearer_auth(&token);
    let (status, refused) =
        taken(cancel.json(&json!({"signal": "cancel"})).send().await.unwrap()).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{refused}");
    assert!(refused["detail"].as_str().unwrap().contains("ann does not have the role operate"));

    // Clients on NATS use the same token, and the doctor asks the issuer.
    let run = |args: &[&str]| {
        let mut command = stage.company.command();
        let ran = command.args(args).env("CALLBOARD_TOKEN", &token).output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    assert_eq!(run(&["-o", "ids", "jobs", "ls"]).trim(), "j1");
    let examined = run(&["doctor"]);
    assert!(examined.contains("keys for tokens: 1"), "{examined}");

    a_link_ends_with_its_token(&stage, &token).await;

    // The front door has the keys; one that starts without the issuer cannot check the token.
    issuer.kill().await;
    assert_eq!(get("/v1/jobs").await.0, StatusCode::OK);
    stage.others.kill9();
    let roles = "supervisor,planner,executor,tools,interaction,door";
    stage.others = stage.company.serve("others-again", roles);
    let (status, problem) = broker::testing::wait::eventually("the front door", async || {
        let asked = stage.get("/v1/jobs").bearer_auth(&token).send().await.unwrap();
        let (status, problem) = taken(asked).await;
        match problem["detail"].as_str() {
            Some(why) if why.contains("the issuer of tokens") => Ok((status, problem)),
            _ => Err((status, problem)),
        }
    })
    .await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{problem}");
    let bob = stage.get("/v1/jobs").bearer_auth("bob-token").send().await.unwrap();
    assert_eq!(bob.status(), StatusCode::OK, "people of the configuration need no issuer");
    for process in [&stage.gateway, &stage.others] {
        let logged = process.logged();
        assert!(!logged.contains(&token) && !logged.contains("a-secret"), "{logged}");
    }
}
