//! The console for callers with few roles: what they may not do is hidden or off, with the role that
//! they lack.

use callboard_browser::{Look, Page};

use crate::stage::{SCRIPT, Stage};

/// Signs in with a token.
async fn sign_in(stage: &Stage, token: &str) -> Page {
    let page = stage.page(&Look::default(), "/signin").await;
    page.fill("input[type=password]", token).await;
    page.click("button", "Sign in").await;
    let _: bool = page.until("the console", "location.pathname !== '/signin'").await;
    page
}

/// The pages of the navigation.
async fn pages(page: &Page) -> Vec<String> {
    page.value("[...document.querySelectorAll('.nav-list a')].map((a) => a.pathname)").await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_caller_may_not_do_is_off_and_names_the_role() {
    let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    // The SHA-256 of `reader-token`, and so on.
    let people = [
        (
            "reader",
            r#"["read"]"#,
            "ba5005a40cf5212e4ac0190104cc127edab013294bb71279a975b27a80982d45",
        ),
        (
            "answerer",
            r#"["answer"]"#,
            "30e9ca7f97beef429d0d6f83409d2a106b086144f7c976a179351ad2d2701626",
        ),
        (
            "writer",
            r#"["read", "submit", "operate", "answer"]"#,
            "3590c0a59f72ce02700194a05f228a725c1f135a6dcb3ded9b2d86ab6a6f52cb",
        ),
    ];
    let people = people.map(|(name, roles, digest)| {
        format!("[door.people.{name}]\nroles = {roles}\ntoken_sha256 = \"{digest}\"\n")
    });
    std::fs::write(config.path(), people.concat()).unwrap();
    let path = config.path().display().to_string();
    let set = |company: &mut callboard_tests::company::Company| {
        company.variable("CALLBOARD_CONFIG", &path);
    };
    let Some(stage) = Stage::with(SCRIPT, set).await else { return };

    let writer = sign_in(&stage, "writer-token").await;
    writer.click(".page-head a", "New job").await;
    writer.fill("textarea.goal", "Say two things").await;
    writer.click("button.primary", "Submit").await;
    writer.find(".card.ask button.primary", "Confirm").await;

    let reader = sign_in(&stage, "reader-token").await;
    reader.find(".job-row", "Say two things").await;
    reader.lose(".page-head a", "New job").await;
    reader.lose(".rail a.new", "").await;
    reader.lose(".act-on", "").await;
    assert_eq!(pages(&reader).await.len(), 9);
    reader.click(".job-row", "Say two things").await;
    reader.find(".card.ask .denied", "You need the role “answer”").await;
    let off = "[...document.querySelectorAll('.card.ask .question-foot > button')].every((b) => b.disabled)";
    assert!(reader.value::<bool>(off).await);
    reader.press("p").await;
    reader.find("dialog .denied", "You need the role “operate”").await;
    let off = "document.querySelector('dialog footer button:last-child').disabled";
    assert!(reader.value::<bool>(off).await);
    for (path, place) in [("/chat", ".composer"), ("/tools", ".two-main"), ("/agents", ".two-main")]
    {
        reader.open(&stage.url(path)).await;
        reader.find(&format!("{place} .denied"), "You need the role").await;
    }
    reader.find(".two-list .item", "").await;
    reader.lose(".two-list button", "New agent").await;

    let answerer = sign_in(&stage, "answerer-token").await;
    let only = "document.querySelectorAll('.nav-list a').length === 1";
    let _: bool = answerer.until("only the inbox", only).await;
    assert_eq!(pages(&answerer).await, ["/inbox"]);
    answerer.click(".nav-list a", "Inbox").await;
    answerer.find(".inbox-main button.primary", "Confirm").await;
    for page in [&writer, &reader, &answerer] {
        page.is_clean(&stage.host).await;
    }
}
