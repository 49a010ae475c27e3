//! What a model does with pages.

use browser_tools::{Place, Refusal, Remark, Request, TabAct, Until};

use crate::{
    site::Site,
    stage::{Stage, target, text},
};

const HOST: &str = "shop.test";

#[tokio::test]
async fn a_form_is_filled_and_its_result_is_read() {
    let (site, stage) = (Site::start().await, Stage::new(&[HOST]));
    let job = stage.job("a");
    let page = job.open(&site.at(HOST, "/")).await;
    assert_eq!(page.title, "Shop");
    println!("{}", text(&page));
    let name = target(&page, "textbox \"Name\"", "Name");
    let page = job
        .ask(Request::Type { target: name, text: "Ann".to_owned(), submit: false })
        .await
        .unwrap();
    assert!(text(&page).contains("[value=\"Ann\"]"), "{}", text(&page));
    let day = target(&page, "date \"Day\"", "Day");
    let wrong = Request::Type { target: day.clone(), text: "soon".to_owned(), submit: false };
    assert_eq!(job.refused(wrong).await, Refusal::NotValue);
    let right = Request::Type { target: day, text: "2026-12-31".to_owned(), submit: false };
    let page = job.ask(right).await.unwrap();
    let size = target(&page, "combobox \"Size\"", "Size");
    let none = Request::Select { target: size.clone(), values: vec!["XL".to_owned()] };
    assert_eq!(job.refused(none).await, Refusal::NoOption("XL".to_owned()));
    let page =
        job.ask(Request::Select { target: size, values: vec!["M".to_owned()] }).await.unwrap();
    let page = job.click(&page, "button \"Buy\"", "Buy").await;
    assert!(text(&page).contains("Thanks Ann, size M, on 2026-12-31"), "{}", text(&page));
    let page = job.ask(Request::Back).await.unwrap();
    assert_eq!(page.title, "Shop");
    let name = target(&page, "textbox \"Name\"", "Name");
    let submit = Request::Type { target: name, text: "Bob".to_owned(), submit: true };
    let page = job.ask(submit).await.unwrap();
    assert!(text(&page).contains("Thanks Bob"), "{}", text(&page));
    stage.browser.stop().await;
}

#[tokio::test]
async fn an_action_needs_the_last_snapshot_and_the_right_name() {
    let (site, stage) = (Site::start().await, Stage::new(&[HOST]));
    let job = stage.job("a");
    let first = job.open(&site.at(HOST, "/")).await;
    let buy = target(&first, "button \"Buy\"", "Buy");
    let second = job.look().await;
    let old = job.refused(Request::Click { target: buy }).await;
    let (given, last) = (first.snapshot.unwrap().number, second.snapshot.as_ref().unwrap().number);
    assert_eq!(old, Refusal::OldSnapshot { given, last });
    let wrong = job.refused(Request::Click { target: target(&second, "\"Buy\"", "Sell") }).await;
    assert!(matches!(wrong, Refusal::OtherName { ref name, .. } if name == "Buy"), "{wrong:?}");
    let closed = Request::Click { target: target(&second, "button \"Closed\"", "Closed") };
    assert_eq!(job.refused(closed).await, Refusal::Disabled);
    let under = Request::Click { target: target(&second, "button \"Under\"", "Under") };
    assert!(matches!(job.refused(under).await, Refusal::Covered(_)));
    let mut nowhere = target(&second, "\"Buy\"", "Buy");
    nowhere.at.element = 9_999;
    assert_eq!(job.refused(Request::Click { target: nowhere }).await, Refusal::NoElement(9_999));
    stage.browser.stop().await;
}

#[tokio::test]
async fn a_page_that_changed_by_itself_is_not_acted_upon() {
    let (site, stage) = (Site::start().await, Stage::new(&[HOST]));
    let job = stage.job("a");
    let html = "<button onclick=1>One</button><script>fetch('/held').then(() => { \
                document.querySelector('button').textContent = 'Two'; document.title = 'two'; \
                })</script>";
    let page = job.open(&site.page(HOST, html)).await;
    let one = target(&page, "button \"One\"", "One");
    site.release();
    // The title is no part of the snapshot, so a look for it leaves the snapshot as it is.
    while job.ask(Request::Tabs { act: TabAct::List }).await.unwrap().title != "two" {}
    assert_eq!(job.refused(Request::Click { target: one }).await, Refusal::Changed);
    let page = job.look().await;
    let two = target(&page, "button \"Two\"", "Two");
    // Another document refuses the whole snapshot.
    let page = job.open(&site.at(HOST, "/about")).await;
    let at = Place { snapshot: page.snapshot.unwrap().number, element: 1 };
    assert_ne!(two.at.snapshot, at.snapshot);
    stage.browser.stop().await;
}

#[tokio::test]
async fn dialogs_and_downloads_and_new_tabs_are_told() {
    let (site, stage) = (Site::start().await, Stage::new(&[HOST]));
    let job = stage.job("a");
    let page = job.open(&site.at(HOST, "/")).await;
    let page = job.click(&page, "button \"Warn\"", "Warn").await;
    assert_eq!(page.notes, [Remark::Dialog { message: "Are you sure?".to_owned() }]);
    let page = job.click(&page, "link \"Report\"", "Report").await;
    assert_eq!(page.notes, [Remark::Download { name: "report.pdf".to_owned() }]);
    let page = job.click(&page, "link \"News\"", "News").await;
    assert_eq!(page.notes, [Remark::Opened { tab: 2 }]);
    assert_eq!((page.title.as_str(), page.tabs.len()), ("About", 2));
    assert!(text(&page).contains("We sell pens"));
    let page = job.ask(Request::Tabs { act: TabAct::Select(1) }).await.unwrap();
    assert_eq!(page.title, "Shop");
    let page = job.ask(Request::Tabs { act: TabAct::Close(2) }).await.unwrap();
    assert_eq!(page.tabs.len(), 1);
    let refused = job.refused(Request::Tabs { act: TabAct::Close(2) }).await;
    assert_eq!(refused, Refusal::NoTab(2));
    let download = Request::Open { url: site.at(HOST, "/file") };
    assert_eq!(job.refused(download).await, Refusal::Download);
    stage.browser.stop().await;
}

#[tokio::test]
async fn a_session_has_a_bound_of_tabs() {
    let site = Site::start().await;
    let settings = tool_actors::browser::Browser { tabs: 2, ..crate::stage::settings() };
    let stage = Stage::with(&[HOST], &settings);
    let job = stage.job("a");
    let html = "<button onclick=\"for (const x of [1, 2, 3]) window.open('about:blank')\">Open";
    let page = job.open(&site.page(HOST, html)).await;
    let page = job.click(&page, "button \"Open\"", "Open").await;
    assert!(page.notes.contains(&Remark::TooManyTabs { max: 2 }), "{:?}", page.notes);
    assert_eq!(page.tabs.len(), 2);
    stage.browser.stop().await;
}

#[tokio::test]
async fn a_wait_ends_with_the_text() {
    let (site, stage) = (Site::start().await, Stage::new(&[HOST]));
    let job = stage.job("a");
    let page = job.open(&site.at(HOST, "/")).await;
    let _ = job.click(&page, "button \"Later\"", "Later").await;
    let late = Until::Text("It is late".to_owned());
    let page = job.ask(Request::Wait { until: late }).await.unwrap();
    assert!(text(&page).contains("It is late"));
    let early = Until::Gone("Early".to_owned());
    job.ask(Request::Wait { until: early }).await.unwrap();
    stage.browser.stop().await;
}

#[tokio::test]
async fn frames_of_the_same_and_of_another_site_are_read_and_used() {
    let (site, stage) = (Site::start().await, Stage::new(&["*.test"]));
    let job = stage.job("a");
    let inner = |host: &str| site.page(host, "<button onclick=\"this.textContent='Hit'\">Inner");
    let html = format!(
        "<p style='height:300px'>Outer</p><iframe title=near src=\"{}\"></iframe>\
         <iframe title=far src=\"{}\"></iframe>",
        inner(HOST),
        inner("other.test")
    );
    let mut page = job.open(&site.page(HOST, &html)).await;
    for frame in ["near", "far"] {
        let lines = text(&page);
        let begin = lines.find(&format!("iframe \"{frame}\"")).unwrap_or_else(|| panic!("{lines}"));
        assert!(lines[begin..].contains("button \"Inner\""), "{frame}: {lines}");
        let clicked = job.click(&page, "button \"Inner\"", "Inner").await;
        let lines = text(&clicked);
        let begin = lines.find(&format!("iframe \"{frame}\"")).unwrap();
        assert!(lines[begin..].contains("button \"Hit\""), "{frame}: {lines}");
        page = clicked;
    }
    stage.browser.stop().await;
}

#[tokio::test]
async fn a_part_of_a_page_is_shown_and_a_picture_is_taken() {
    let (site, stage) = (Site::start().await, Stage::new(&[HOST]));
    let job = stage.job("a");
    let html = "<nav aria-label=Main><a href=/a>A</a><ul><li><a href=/b>B</a></ul></nav><p>Rest";
    let page = job.open(&site.page(HOST, html)).await;
    let root = Some(target(&page, "navigation", "Main").at);
    let part = job.ask(Request::Snapshot { root, depth: Some(1) }).await.unwrap();
    let snapshot = part.snapshot.unwrap();
    assert!(snapshot.text.contains("link \"A\"") && !snapshot.text.contains("Rest"));
    assert!(snapshot.omitted > 0 && !snapshot.text.contains("link \"B\""), "{snapshot:?}");
    for full in [false, true] {
        let shot = job.ask(Request::Screenshot { full }).await.unwrap();
        assert!(shot.picture.unwrap().jpeg.starts_with(&[0xff, 0xd8, 0xff]));
    }
    stage.browser.stop().await;
}
