//! The eras of the protocol as servers see them: the requests that the client sends at each start of a
//! server, and the end of a server in the middle of a call.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use broker::testing::wait::eventually;
use callboard_mcp_client::settings::{Given, Server};
use proto::tool::{Effect, Fault};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

use crate::{
    reference::{node, python, server},
    stage::Stage,
};

/// Name of a variable of the environment by which tests find a server.
const MARK: &str = "CALLBOARD_TEST_MARK";
/// A script of bash that starts a program, and stores the program's input in a file. The files have
/// the numbers of the starts.
const RECORDER: &str = r#"exec "$@" < <(exec tee "$0/$(ls "$0" | wc -l)")"#;

/// The starts of a server: by the person who trusts it, for the first call, and after it was killed.
const STARTS: [usize; 3] = [BY_PERSON, 1, 2];
const BY_PERSON: usize = 0;
/// Key of the version in the metadata of a request.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Returns a command with which a server's input is stored in a directory.
fn recording(command: &[PathBuf], directory: &Path) -> Vec<PathBuf> {
    let before = ["bash".into(), "-c".into(), RECORDER.into(), directory.to_owned()];
    before.into_iter().chain(command.iter().cloned()).collect()
}

/// Marks a server with a directory.
fn marked(mut server: Server, directory: &Path) -> Server {
    let mark = directory.display().to_string();
    server.env.insert(MARK.to_owned(), Given::Plain(mark));
    server
}

/// Kills the server that is marked with a directory.
fn kill(directory: &Path) {
    let mark = format!("{MARK}={}", directory.display());
    let own = format!("{}", std::process::id());
    let is_marked = |process: &Path| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        let is_marked = environment.split(|b| *b == 0).any(|entry| entry == mark.as_bytes());
        // The parent is the second field after the name, which may have spaces.
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        is_marked && parent == Some(own.as_str())
    };
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let marked: Vec<PathBuf> = processes.filter(|process| is_marked(process)).collect();
    assert_eq!(marked.len(), 1, "one server runs: {marked:?}");
    let pid = marked[0].file_name().unwrap().to_str().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// Returns the messages that the client sent at one of the starts.
fn sent(directory: &Path, start: usize) -> Vec<Value> {
    let text = fs::read_to_string(directory.join(start.to_string())).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn methods(sent: &[Value]) -> Vec<&str> {
    sent.iter().filter_map(|message| message["method"].as_str()).collect()
}

/// Calls a tool until the call succeeds.
async fn succeed(stage: &Stage, tool: &str, args: Value) {
    eventually("a result", async || match stage.call_of(tool, args.clone()).await {
        Ok(result) if result.success => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}

/// A site with a page, and with another page that never comes.
async fn site() -> MockServer {
    let site = MockServer::start().await;
    let never = ResponseTemplate::new(200).set_delay(Duration::from_secs(3600));
    Mock::given(path("/page")).respond_with(ResponseTemplate::new(200)).mount(&site).await;
    Mock::given(path("/never")).respond_with(never).mount(&site).await;
    site
}

/// The reference server of fetch, with a tool of this effect that needs no approval.
fn fetch(effect: Effect, command: &[PathBuf]) -> Server {
    let mut server = server(command, &["--allow-private-ips".as_ref()]);
    let set = format!("set.fetch = {{ effect = '{}', approval = 'never' }}", effect.as_str());
    server.tools = toml::from_str(&set).unwrap();
    server
}

/// Kills the reference server of fetch while it waits for the page that never comes.
async fn killed_in_a_call(stage: &Stage, site: &MockServer, directory: &Path) -> Fault {
    let asked = eventually("the request for the page", async || {
        let requests = site.received_requests().await.unwrap_or_default();
        match requests.iter().any(|request| request.url.path() == "/never") {
            true => Ok(()),
            false => Err(format!("{} requests", requests.len())),
        }
    });
    let call = stage.call_of("odd__fetch", json!({"url": format!("{}/never", site.uri())}));
    let (ended, ()) = tokio::join!(call, async {
        asked.await;
        kill(directory);
    });
    ended.unwrap_err().fault
}

#[tokio::test]
async fn a_stateless_server_gets_its_version_with_every_request_and_never_a_handshake() {
    let (site, directory) = (site().await, tempfile::tempdir().unwrap());
    let command = recording(&python("mcp_server_fetch"), directory.path());
    let stage = Stage::of(marked(fetch(Effect::Pure, &command), directory.path())).await;
    let page = json!({"url": format!("{}/page", site.uri()), "raw": true});
    succeed(&stage, "odd__fetch", page.clone()).await;
    let fault = killed_in_a_call(&stage, &site, directory.path()).await;
    assert_eq!(fault, Fault::Internal);
    succeed(&stage, "odd__fetch", page).await;
    for start in STARTS {
        let sent = sent(directory.path(), start);
        let methods = methods(&sent);
        assert_eq!(methods[..2], ["server/discover", "tools/list"]);
        assert_eq!(methods.contains(&"tools/call"), start != BY_PERSON, "{methods:?}");
        assert!(!methods.contains(&"initialize"), "{methods:?}");
        let requests = sent.iter().filter(|message| message.get("id").is_some());
        let mut versions = requests.map(|it| &it["params"]["_meta"][VERSION]);
        assert!(versions.all(|version| version == "2026-07-28"), "{sent:?}");
    }
}

#[tokio::test]
async fn a_server_with_a_handshake_is_asked_for_its_era_once() {
    let directory = tempfile::tempdir().unwrap();
    let command = recording(&node("server-everything"), directory.path());
    let mut server = marked(server(&command, &[]), directory.path());
    server.trust_annotations = true;
    let (stage, args) = (Stage::of(server).await, json!({"message": "hello"}));
    succeed(&stage, "odd__echo", args.clone()).await;
    kill(directory.path());
    succeed(&stage, "odd__echo", args).await;
    let [by_person, first, second] = STARTS.map(|start| sent(directory.path(), start));
    // The person's process and the role `tools` know nothing of each other.
    for sent in [&by_person, &first] {
        let begins = ["server/discover", "initialize", "notifications/initialized", "tools/list"];
        assert_eq!(methods(sent)[..4], begins);
        assert_eq!(sent[1]["params"]["protocolVersion"], "2025-11-25");
    }
    let again = methods(&second);
    assert_eq!(again[..3], ["initialize", "notifications/initialized", "tools/list"]);
    assert!(again.contains(&"tools/call") && !again.contains(&"server/discover"), "{again:?}");
}

#[tokio::test]
async fn a_server_killed_in_a_call_with_an_effect_leaves_it_unknown() {
    let (site, directory) = (site().await, tempfile::tempdir().unwrap());
    let server = marked(fetch(Effect::Once, &python("mcp_server_fetch")), directory.path());
    let stage = Stage::of(server).await;
    assert_eq!(killed_in_a_call(&stage, &site, directory.path()).await, Fault::Unknown);
}
