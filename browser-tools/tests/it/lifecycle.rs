//! Chromium's start, its crash and its end.

use browser_tools::{AskError, Refusal, Remark, Request, StartError, create};
use rustix::process::{Pid, Signal, kill_process};
use tool_actors::browser::Confinement;

use crate::{
    site::Site,
    stage::{Stage, settings, text},
};

const HOST: &str = "shop.test";

/// Returns a field of `/proc/<id>/stat` after the name of the process.
fn stat(id: u32, field: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(field).map(str::to_owned)
}

fn all() -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    all.filter_map(|it| it.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the running process of Chromium that this test started; its id is that of its group.
fn browser_process() -> u32 {
    let own = std::process::id().to_string();
    let is_child =
        |id: &u32| stat(*id, 1).as_ref() == Some(&own) && stat(*id, 0).as_deref() != Some("Z");
    all().into_iter().find(is_child).unwrap()
}

/// Returns the processes of a group. A zombie is one that its parent, which is not ours, has not
/// noticed yet.
fn group(id: u32) -> Vec<u32> {
    let is_member = |process: &u32| {
        stat(*process, 2) == Some(id.to_string()) && stat(*process, 0).as_deref() != Some("Z")
    };
    all().into_iter().filter(is_member).collect()
}

#[tokio::test]
async fn a_crash_loses_sessions_and_the_next_page_opens() {
    let (site, stage) = (Site::start().await, Stage::new(&[HOST]));
    let (job, other) = (stage.job("a"), stage.job("b"));
    job.open(&site.at(HOST, "/")).await;
    other.open(&site.at(HOST, "/")).await;
    let id = Pid::from_raw(i32::try_from(browser_process()).unwrap()).unwrap();
    kill_process(id, Signal::KILL).unwrap();
    // The end of the process may be noticed within the first request.
    let lost = job.ask(Request::Snapshot { root: None, depth: None }).await;
    assert!(matches!(lost, Err(AskError::Lost { .. })), "{lost:?}");
    let page = job.open(&site.at(HOST, "/about")).await;
    assert!(text(&page).contains("We sell pens"));
    assert_eq!(page.notes, []);
    let page = other.open(&site.at(HOST, "/about")).await;
    assert_eq!(page.notes, [Remark::Restarted]);
    stage.browser.stop().await;
}

#[tokio::test]
async fn a_stop_leaves_no_process_and_no_profile() {
    let (site, stage) = (Site::start().await, Stage::new(&[HOST]));
    let job = stage.job("a");
    job.open(&site.at(HOST, "/")).await;
    let browser = browser_process();
    let profile = std::fs::read_link(format!("/proc/{browser}/cwd")).unwrap();
    assert!(group(browser).len() > 1 && profile.is_dir());
    stage.browser.stop().await;
    assert!(group(browser).is_empty(), "{:?}", group(browser));
    assert!(!profile.exists());
    let late = job.ask(Request::Open { url: site.at(HOST, "/") }).await;
    assert_eq!(late, Err(AskError::NoHost));
}

#[tokio::test]
async fn a_browser_that_is_dropped_ends() {
    let (site, stage) = (Site::start().await, Stage::new(&[HOST]));
    stage.job("a").open(&site.at(HOST, "/")).await;
    let browser = browser_process();
    let profile = std::fs::read_link(format!("/proc/{browser}/cwd")).unwrap();
    drop(stage);
    let is_gone = async || group(browser).is_empty() && !profile.exists();
    broker::testing::wait::until("an end of the browser", is_gone).await;
}

#[tokio::test]
async fn a_host_has_a_bound_of_sessions_and_closes_unused_ones() {
    let site = Site::start().await;
    let settings = tool_actors::browser::Browser { sessions: 1, idle_minutes: 0, ..settings() };
    let stage = Stage::with(&[HOST], &settings);
    let (one, two) = (stage.job("one"), stage.job("two"));
    let nothing = two.refused(Request::Back).await;
    assert_eq!(nothing, Refusal::NoPage);
    one.open(&site.at(HOST, "/")).await;
    let full = two.refused(Request::Open { url: site.at(HOST, "/") }).await;
    assert_eq!(full, Refusal::Full);
    let browser = browser_process();
    stage.browser.close_idle().await;
    assert!(group(browser).is_empty(), "{:?}", group(browser));
    two.open(&site.at(HOST, "/")).await;
    stage.browser.stop().await;
}

#[test]
fn a_missing_program_and_root_without_a_container_are_named() {
    let http = tool_actors::settings::Http::default();
    let lookup = || std::sync::Arc::new(runtime::egress::SystemLookup);
    let program = Some("no-such-chromium".to_owned());
    let missing = tool_actors::browser::Browser { program, ..settings() };
    let error = create(&missing, &http, lookup()).unwrap_err();
    assert_eq!(error, StartError::NoProgram("no-such-chromium".to_owned()));
    let sandboxed =
        tool_actors::browser::Browser { sandbox: Confinement::Namespaces, ..settings() };
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(create(&sandboxed, &http, lookup()).err().is_some(), is_root);
}
