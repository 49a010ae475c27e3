//! What pages cannot reach, and what jobs do not share.

use browser_tools::{Barred, Refusal, Remark, Request, Until};
use proto::agent::Hosts;
use rstest::rstest;

use crate::{
    site::{Forbidden, Site},
    stage::{Stage, text},
};

const HOST: &str = "shop.test";

/// A page that tries every way to a server, and tells when all of them have ended.
fn attempts(to: &str) -> String {
    format!(
        r#"<p id=done>trying</p><script>
const to = "{to}";
const ended = (make) => new Promise((done) => {{ setTimeout(done, 8000); make(done); }});
const element = (name, set) => ended((done) => {{
  const it = document.createElement(name);
  it.onload = it.onerror = done;
  Object.assign(it, set);
  document.body.append(it);
}});
const rtc = ended((done) => {{
  const it = new RTCPeerConnection({{ iceServers: [
    {{ urls: "stun:" + to }},
    {{ urls: "turn:" + to + "?transport=tcp", username: "a", credential: "b" }},
  ] }});
  it.createDataChannel("x");
  it.onicegatheringstatechange = () => it.iceGatheringState === "complete" && done();
  it.createOffer().then((offer) => it.setLocalDescription(offer));
}});
navigator.sendBeacon("http://" + to + "/beacon", "x");
Promise.allSettled([
  rtc,
  fetch("http://" + to + "/fetch", {{ mode: "no-cors" }}),
  ended((done) => {{ new WebSocket("ws://" + to + "/socket").onclose = done; }}),
  ended((done) => {{ new WebSocket("wss://" + to + "/socket").onclose = done; }}),
  ended((done) => {{ new EventSource("http://" + to + "/events").onerror = done; }}),
  element("img", {{ src: "http://" + to + "/image" }}),
  element("img", {{ src: "https://" + to + "/image" }}),
  element("iframe", {{ src: "http://" + to + "/frame" }}),
  element("script", {{ src: "http://" + to + "/script" }}),
  element("link", {{ rel: "stylesheet", href: "http://" + to + "/style" }}),
  element("link", {{ rel: "prefetch", href: "http://" + to + "/prefetch" }}),
]).then(() => {{ document.getElementById("done").textContent = "all tried"; }});
</script><link rel=preconnect href="http://{to}"><link rel=dns-prefetch href="//{to}">"#
    )
}

#[rstest]
#[case::an_address("127.0.0.1")]
#[case::a_name("evil.test")]
#[case::this_machine("localhost")]
#[tokio::test]
async fn no_page_reaches_a_host_that_is_not_allowed(#[case] host: &str) {
    let (site, forbidden) = (Site::start().await, Forbidden::start().await);
    let to = format!("{host}:{}", forbidden.port);
    let stage = Stage::new(&[HOST]);
    let job = stage.job("a");
    job.open(&site.page(HOST, &attempts(&to))).await;
    let tried = Until::Text("all tried".to_owned());
    job.ask(Request::Wait { until: tried }).await.unwrap();
    let redirect = Request::Open { url: site.at(HOST, &format!("/go/http://{to}/")) };
    assert_eq!(job.refused(redirect).await, Refusal::Barred(Barred::Host(host.to_owned())));
    let open = Request::Open { url: format!("http://{to}/") };
    assert_eq!(job.refused(open).await, Refusal::Barred(Barred::Host(host.to_owned())));
    stage.browser.stop().await;
    assert_eq!(forbidden.hits(), 0);
}

#[tokio::test]
async fn the_attempts_reach_a_host_that_is_allowed() {
    let (site, server) = (Site::start().await, Forbidden::start().await);
    let to = format!("evil.test:{}", server.port);
    let stage = Stage::new(&["*.test"]);
    let job = stage.job("a");
    job.open(&site.page(HOST, &attempts(&to))).await;
    let tried = Until::Text("all tried".to_owned());
    job.ask(Request::Wait { until: tried }).await.unwrap();
    stage.browser.stop().await;
    assert!(server.hits() > 5, "{}", server.hits());
}

#[tokio::test]
async fn the_hosts_of_a_job_hold_for_its_pages_alone() {
    let (site, forbidden) = (Site::start().await, Forbidden::start().await);
    let stage = Stage::new(&["*.test"]);
    let mut job = stage.job("a");
    job.hosts = Some(Hosts::new(vec![HOST.to_owned()]));
    let image = format!("<img src=http://evil.test:{}/image><p>There", forbidden.port);
    let page = job.open(&site.page(HOST, &image)).await;
    let why = Barred::NotOfAgent("evil.test".to_owned());
    assert_eq!(page.notes, [Remark::Barred { why }]);
    assert_eq!(forbidden.hits(), 0);
    let other = stage.job("b");
    let page = other.open(&site.at("evil.test", "/about")).await;
    assert!(text(&page).contains("We sell pens"));
    // Narrower hosts hold at once.
    job.hosts = Some(Hosts::new(vec!["none.test".to_owned()]));
    let refused = job.refused(Request::Open { url: site.at(HOST, "/") }).await;
    assert_eq!(refused, Refusal::Barred(Barred::NotOfAgent(HOST.to_owned())));
    stage.browser.stop().await;
}

#[rstest]
#[case("file:///etc/passwd")]
#[case("chrome://version")]
#[case("view-source:http://shop.test")]
#[case("data:text/html,x")]
#[case("javascript:alert(1)")]
#[tokio::test]
async fn other_schemes_are_refused(#[case] url: &str) {
    let stage = Stage::new(&[HOST]);
    let refused = stage.job("a").refused(Request::Open { url: url.to_owned() }).await;
    assert!(matches!(refused, Refusal::Scheme(_)), "{refused:?}");
}

#[tokio::test]
async fn a_page_leads_to_no_other_scheme() {
    let (site, stage) = (Site::start().await, Stage::new(&[HOST]));
    let job = stage.job("a");
    for url in ["file:///etc/passwd", "chrome://version", "data:text/html,<p>inside", "about:about"]
    {
        let html = format!("<a href='{url}'>Go</a><p>Here");
        let page = job.open(&site.page(HOST, &html)).await;
        let page = job.click(&page, "link \"Go\"", "Go").await;
        assert!(text(&page).is_empty() || text(&page).contains("Here"), "{url}: {}", text(&page));
        assert!(!page.url.starts_with("file"), "{url}: {}", page.url);
    }
    stage.browser.stop().await;
}

#[tokio::test]
async fn jobs_share_no_cookies() {
    let (site, stage) = (Site::start().await, Stage::new(&[HOST]));
    let (one, two) = (stage.job("one"), stage.job("two"));
    one.open(&site.at(HOST, "/set")).await;
    let own = one.open(&site.at(HOST, "/cookie")).await;
    assert!(text(&own).contains("You are who=ann"), "{}", text(&own));
    let other = two.open(&site.at(HOST, "/cookie")).await;
    assert!(text(&other).contains("You are nobody"), "{}", text(&other));
    stage.browser.close(&one.id).await;
    let again = one.open(&site.at(HOST, "/cookie")).await;
    assert!(text(&again).contains("You are nobody"), "{}", text(&again));
    stage.browser.stop().await;
}
