//! Tests of links to answer pages, on a real installation.

use broker::testing::wait::eventually;
use callboard_tests::{company::Company, scripts::EVERY_KIND};
use reqwest::{Method, StatusCode, header, redirect::Policy};
use serde_json::{Value, json};

use super::{Stage, taken};

/// Returns the digest of the question in the form of a page.
pub(super) fn hidden(html: &str) -> String {
    let (_, rest) = html.split_once("name=\"of\" value=\"").expect(html);
    rest.split('"').next().unwrap().to_owned()
}

/// An installation with a job that asks, and its links.
struct Asked {
    stage: Stage,
    ask: String,
}

impl Asked {
    async fn start() -> Self {
        let mut stage = Stage::start().await;
        let http = reqwest::Client::builder().no_proxy().redirect(Policy::none());
        stage.http = http.build().unwrap();
        let submit = json!({"id": "j1", "goal": "two echoes", "confirm": true});
        let (status, reply) = stage.post("/v1/jobs", &submit).await;
        assert_eq!(status, StatusCode::CREATED, "{reply}");
        let ask = stage.question("j1").await;
        Self { stage, ask }
    }

    fn links(&self) -> String {
        format!("/v1/jobs/j1/questions/{}/links", self.ask)
    }

    async fn link(&self, by: &str) -> String {
        let (status, made) = self.stage.post(&self.links(), &json!({"by": by})).await;
        assert_eq!((status, &made["by"]), (StatusCode::CREATED, &json!(by)), "{made}");
        made["path"].as_str().unwrap().to_owned()
    }

    async fn open(&self, page: &str) -> (StatusCode, String) {
        let response = self.stage.get(page).send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    }

    async fn send(&self, page: &str, form: String) -> (StatusCode, String) {
        // As a browser sends it from a page without a referrer.
        let request = self.stage.request(Method::POST, page).body(form);
        let request = request.header("origin", "null").header("sec-fetch-site", "same-origin");
        let kind = "application/x-www-form-urlencoded";
        let response = request.header(header::CONTENT_TYPE, kind).send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    }

    /// Waits for a question that is not the last one.
    async fn next(&self) -> String {
        eventually("the next question", async || {
            let view = self.view().await;
            let ask = view["questions"][0]["id"].as_str();
            ask.filter(|ask| *ask != self.ask).map(str::to_owned).ok_or(view)
        })
        .await
    }

    async fn view(&self) -> Value {
        self.stage.read("/v1/jobs/j1").await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_answers_by_a_link_and_the_log_names_the_person() {
    let asked = Asked::start().await;
    let (page, other) = (asked.link("ann").await, asked.link("bob").await);
    // Scanners of mail look, and some press the button.
    for method in [Method::GET, Method::HEAD, Method::GET] {
        let response = asked.stage.request(method, &page).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let headers = response.headers();
        assert_eq!(headers[header::CACHE_CONTROL], "no-store");
        assert_eq!(headers[header::REFERRER_POLICY], "no-referrer");
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("script-src 'none'") && policy.contains("default-src 'none'"));
    }
    let (_, html) = asked.open(&page).await;
    assert!(html.contains("two echoes") && html.contains("ann") && !html.contains("<script"));
    assert!(html.len() <= 12 * 1024, "{}", html.len());
    let of = hidden(&html);
    let (status, _) = asked.send(&page, format!("of={of}")).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "nothing was chosen");
    let (status, html) = asked.send(&page, "of=other&decision=approve".to_owned()).await;
    assert_eq!(status, StatusCode::CONFLICT, "{html}");
    assert!(html.contains("has changed"), "{html}");
    assert_eq!(asked.view().await["questions"].as_array().unwrap().len(), 1);

    let (status, _) = asked.send(&page, format!("of={of}&decision=approve")).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let (status, html) = asked.open(&page).await;
    assert_eq!(status, StatusCode::OK);
    assert!(html.contains("ann answered: approved") && !html.contains("<form"), "{html}");
    let (_, html) = asked.send(&other, format!("of={of}&decision=reject")).await;
    assert!(html.contains("ann answered: approved"), "{html}");
    let view = asked.view().await;
    let past = &view["past_questions"][0];
    assert_eq!((&past["by"], &past["decision"]), (&json!("ann"), &json!("approve")), "{view}");
    let secret = page.strip_prefix("/a/").unwrap();
    let logged = [asked.stage.gateway.logged(), asked.stage.others.logged()].concat();
    assert!(!logged.contains(secret), "the secret of a link is in a log");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_or_invented_link_shows_and_changes_nothing() {
    let asked = Asked::start().await;
    let page = asked.link("ann").await;
    let of = hidden(&asked.open(&page).await.1);
    let base = format!("http://{}", asked.stage.address);
    let mut link = asked.stage.company.command();
    let made = link.args(["inbox", "link", "j1", "--by", "bob", "--gateway", &base, "-o", "json"]);
    let made: Value = serde_json::from_slice(&made.output().unwrap().stdout).unwrap();
    let second = made["page"].as_str().unwrap().strip_prefix(&base).unwrap();
    assert!(asked.open(second).await.1.contains("bob"), "{made}");
    let revoked = asked.stage.company.command().args(["inbox", "unlink", "j1"]).output().unwrap();
    let said = String::from_utf8(revoked.stdout).unwrap();
    assert_eq!(said.trim(), format!("2 links to {} revoked", asked.ask));
    let revoked = asked.stage.request(Method::DELETE, &asked.links()).send().await.unwrap();
    assert_eq!(taken(revoked).await, (StatusCode::OK, json!({"revoked": 0})));
    for page in [page.as_str(), second, "/a/0123456789abcdef0123456789abcdef", "/a/x"] {
        let (status, html) = asked.open(page).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(html.contains("does not work") && !html.contains("two echoes"), "{html}");
        let (status, _) = asked.send(page, format!("of={of}&decision=approve")).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
    let zh = asked.stage.get("/a/x").header(header::ACCEPT_LANGUAGE, "zh").send().await.unwrap();
    assert!(zh.text().await.unwrap().contains("此链接无效"));
    assert_eq!(asked.view().await["questions"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_question_is_answered_by_a_link_until_its_person_loses_the_role() {
    let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let ann = |roles: &str| {
        let digest = proto::digest::of_bytes(b"ann-token");
        let ann = format!("[door.people.ann]\nroles = [{roles}]\ntoken_sha256 = \"{digest}\"\n");
        std::fs::write(config.path(), ann).unwrap();
    };
    ann(r#""submit", "answer", "read""#);
    let path = config.path().display().to_string();
    let set = |company: &mut Company| company.variable("CALLBOARD_CONFIG", &path);
    let mut stage = Stage::of(EVERY_KIND, set).await;
    stage.http = reqwest::Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .default_headers(
            [(header::AUTHORIZATION, "Bearer ann-token".parse().unwrap())].into_iter().collect(),
        )
        .build()
        .unwrap();
    let submit = json!({"id": "j1", "goal": "ask", "confirm": false});
    assert_eq!(stage.post("/v1/jobs", &submit).await.0, StatusCode::CREATED);
    let mut asked = Asked { stage, ask: String::new() };

    asked.ask = asked.next().await;
    let page = asked.link("ann").await;
    let of = hidden(&asked.open(&page).await.1);
    let (status, html) = asked.send(&page, format!("of={of}&decision=respond&value=pink")).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{html}");
    let chosen = format!("of={of}&decision=respond&value=red&value=green");
    assert_eq!(asked.send(&page, chosen).await.0, StatusCode::SEE_OTHER);

    asked.ask = asked.next().await;
    let page = asked.link("ann").await;
    let of = hidden(&asked.open(&page).await.1);
    let days = |days: &str| format!("of={of}&decision=respond&field0=Oslo&field1={days}");
    for wrong in ["many", "12"] {
        let (status, html) = asked.send(&page, days(wrong)).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{wrong}: {html}");
        assert!(html.contains("Days"), "{html}");
    }
    assert_eq!(asked.send(&page, days("3")).await.0, StatusCode::SEE_OTHER);

    asked.ask = asked.next().await;
    let page = asked.link("ann").await;
    let (_, html) = asked.open(&page).await;
    assert!(html.contains(r"a\u{200b}b"), "invisible characters show: {html}");
    let of = hidden(&html);
    let view = asked.view().await;
    let digest = view["questions"][0]["digest"].as_str().unwrap_or_else(|| panic!("{view}"));
    assert!(html.contains(digest), "the page shows what the approval binds: {html}");
    for wrong in ["", "&typed=0000z"] {
        let (status, html) = asked.send(&page, format!("of={of}&decision=approve{wrong}")).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{html}");
    }
    // A process that starts with fewer rights for the person honours the link no more.
    ann(r#""submit", "read""#);
    let restart = |asked: &mut Asked| {
        asked.stage.others.kill9();
        asked.stage.others.restart(&asked.stage.company);
    };
    restart(&mut asked);
    let approve = format!("of={of}&decision=approve&typed={}", &digest[..4]);
    eventually("a link without a right", async || match asked.send(&page, approve.clone()).await {
        (StatusCode::NOT_FOUND, _) => Ok(()),
        other => Err(other),
    })
    .await;
    ann(r#""submit", "answer", "read""#);
    restart(&mut asked);
    eventually("a link that works again", async || {
        match asked.send(&page, approve.clone()).await {
            (StatusCode::SEE_OTHER, _) => Ok(()),
            other => Err(other),
        }
    })
    .await;

    let view = eventually("the end of the job", async || {
        let view = asked.view().await;
        if view["state"] == "completed" { Ok(view) } else { Err(view) }
    })
    .await;
    let past = view["past_questions"].as_array().unwrap();
    assert!(past.len() == 3 && past.iter().all(|past| past["by"] == "ann"), "{view}");
    let said = view["past_questions"].to_string();
    assert!(said.contains("green") && said.contains("Oslo"), "{said}");
}
