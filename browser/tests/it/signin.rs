//! People sign in at an issuer of tokens, in a real browser.

use callboard_browser::Look;
use callboard_tests::issuer::{self, Issuer};

use crate::stage::{SCRIPT, Stage};

/// Returns an address that is free now: the issuer must know it before the gateway has it.
fn free() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_at_the_issuer_and_returns_to_the_page() {
    let host = free();
    let issuer = Issuer::start(&format!("http://{host}/signin")).await;
    let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(config.path(), issuer.settings()).unwrap();
    let path = config.path().display().to_string();
    let stage = Stage::with(SCRIPT, |company| {
        company.set("GATEWAY__LISTEN", &host);
        company.variable("CALLBOARD_CONFIG", &path);
        company.variable(issuer::SECRET, "a-secret");
    });
    let Some(stage) = stage.await else { return };
    let page = stage.page(&Look::default(), "/inbox").await;
    page.click("button.primary", "Sign in at 127.0.0.1").await;
    let back = "location.pathname === '/inbox' && location.search === ''";
    let _: bool = page.until("the page after the sign-in", back).await;
    page.find("h1", "Inbox").await;
    page.click(".rail a", "New job").await;
    page.fill("textarea.goal", "Say two things").await;
    page.click("button.primary", "Submit").await;
    page.find(".card.ask .plan-title", "two echoes").await;
    let job: String = page.value("location.pathname.split('/')[2]").await;
    let read = format!(
        "fetch('/v1/jobs/{job}/records', {{headers: {{Authorization: 'Bearer ' + \
         sessionStorage.getItem('callboard.token')}}}}).then((reply) => reply.text())"
    );
    let records: String = page.value(&read).await;
    assert!(records.contains("\"by\":\"ann\""), "the issuer's person submitted the job");
}
