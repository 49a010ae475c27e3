//! The reference servers of the protocol: those for Node.js, of the era of sessions, and those for
//! Python, of the stateless era.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use callboard_mcp_client::settings::{Given, Server};
use proto::tool::{Approval, Effect};
use rstest::rstest;
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

use crate::stage::{Stage, installed, look};

/// The command of a reference server for Node.js.
pub(crate) fn node(name: &str) -> Vec<PathBuf> {
    let packages = installed("mcp-servers").join("node_modules/@modelcontextprotocol");
    vec![installed("node"), packages.join(name).join("dist/index.js")]
}

/// The command of a reference server for Python.
pub(crate) fn python(module: &str) -> Vec<PathBuf> {
    vec![installed("mcp-servers-python"), "-m".into(), module.into()]
}

/// Returns the settings of a server with a command and further arguments.
pub(crate) fn server(command: &[PathBuf], more: &[&Path]) -> Server {
    let (program, args) = command.split_first().expect("a command has a program");
    let args: Vec<&Path> = args.iter().map(PathBuf::as_path).chain(more.iter().copied()).collect();
    toml::from_str(&format!("command = {}\nargs = {}\n", json!(program), json!(args))).unwrap()
}

#[rstest]
#[case("server-everything", "odd__echo")]
#[case("server-memory", "odd__create_entities")]
#[case("server-sequential-thinking", "odd__sequentialthinking")]
#[tokio::test]
async fn the_tools_of_a_reference_server_are_found(#[case] name: &str, #[case] tool: &str) {
    let probed = look(&server(&node(name), &[])).await.unwrap();
    assert!(probed.refused.is_empty(), "{:?}", probed.refused);
    let names: Vec<_> = probed.tools.iter().map(|tool| tool.spec.name.as_str()).collect();
    assert!(names.contains(&tool), "{names:?}");
}

#[tokio::test]
async fn a_file_is_read_through_the_reference_server_of_files() {
    let files = tempfile::tempdir().unwrap();
    let path = files.path().canonicalize().unwrap();
    std::fs::write(path.join("note.txt"), "remember the milk").unwrap();
    let mut server = server(&node("server-filesystem"), &[&path]);
    server.trust_annotations = true;
    server.tools.allow = Some(vec!["read_text_file".to_owned()]);
    let stage = Stage::of(server).await;
    let spec = stage.tools.specs().remove(0);
    assert_eq!((spec.name.as_str(), spec.effect), ("odd__read_text_file", Effect::Pure));
    let result = stage.call(json!({"path": path.join("note.txt")})).await.unwrap();
    assert!(result.success, "{result:?}");
    assert_eq!(result.data, Some(json!({"content": "remember the milk"})));
    let outside = stage.call(json!({"path": "/etc/passwd"})).await.unwrap();
    assert!(!outside.success, "{outside:?}");
}

#[tokio::test]
async fn a_time_is_converted_by_the_reference_server_of_time() {
    let mut server = server(&python("mcp_server_time"), &[]);
    server.trust_annotations = true;
    let stage = Stage::of(server).await;
    let names: Vec<_> = stage.tools.specs().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["odd__convert_time", "odd__get_current_time"].map(|it| it.parse().unwrap()));
    let spec = stage.spec("odd__convert_time");
    assert_eq!((spec.effect, spec.approval), (Effect::Pure, Approval::Never));
    assert!(spec.version.starts_with("mcp-"), "{}", spec.version);
    // Neither zone changes its clocks.
    let args =
        json!({"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Shanghai"});
    let converted = stage.call_of("odd__convert_time", args).await.unwrap();
    let data = converted.data.unwrap();
    assert_eq!(data["time_difference"], "+8.0h", "{data}");
    let target = data["target"]["datetime"].as_str().unwrap();
    assert!(target.ends_with("T20:30:00+08:00"), "{data}");
    let args = json!({"source_timezone": "Nowhere", "time": "12:30", "target_timezone": "UTC"});
    let refused = stage.call_of("odd__convert_time", args).await.unwrap();
    assert!(!refused.success && refused.error.unwrap().contains("Nowhere"));
}

#[tokio::test]
async fn a_commit_is_made_and_seen_through_the_reference_server_of_git() {
    let files = tempfile::tempdir().unwrap();
    let made = Command::new("git").args(["init", "--quiet"]).arg(files.path()).status();
    assert!(made.unwrap().success());
    std::fs::write(files.path().join("note.txt"), "remember the milk").unwrap();
    let command = python("mcp_server_git");
    let mut server = server(&command, &["--repository".as_ref(), files.path()]);
    let names = ["AUTHOR", "COMMITTER"].map(|who| [("NAME", who), ("EMAIL", who)]);
    for (what, who) in names.into_iter().flatten() {
        server.env.insert(format!("GIT_{who}_{what}"), Given::Plain("tester".to_owned()));
    }
    server.env.insert("PATH".to_owned(), Given::Plain(std::env::var("PATH").unwrap()));
    server.trust_annotations = true;
    let stage = Stage::of(server).await;
    let classes = ["git_status", "git_add", "git_commit", "git_reset"].map(|tool| {
        let spec = stage.spec(&format!("odd__{tool}"));
        (spec.effect, spec.approval)
    });
    assert_eq!(
        classes,
        [
            (Effect::Pure, Approval::Never),
            (Effect::Idempotent, Approval::Never),
            (Effect::Once, Approval::Never),
            (Effect::Idempotent, Approval::Always),
        ]
    );
    let text = async |tool: &str, more: Value| {
        let mut args = json!({"repo_path": files.path()});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let result = stage.call_of(&format!("odd__{tool}"), args).await.unwrap();
        assert!(result.success, "{result:?}");
        result.data.unwrap().as_str().unwrap().to_owned()
    };
    let status = text("git_status", json!({})).await;
    assert!(status.contains("Untracked files") && status.contains("note.txt"), "{status}");
    text("git_add", json!({"files": ["note.txt"]})).await;
    text("git_commit", json!({"message": "Remember the milk"})).await;
    let log = text("git_log", json!({"max_count": 1})).await;
    assert!(log.contains("Remember the milk") && log.contains("tester"), "{log}");
    assert!(text("git_status", json!({})).await.contains("working tree clean"));
    let outside = stage.call_of("odd__git_status", json!({"repo_path": "/"})).await.unwrap();
    assert!(!outside.success, "{outside:?}");
}

#[tokio::test]
async fn a_page_is_fetched_by_the_reference_server_of_fetch() {
    let site = MockServer::start().await;
    let page = ResponseTemplate::new(200).set_body_raw("<h1>Milk</h1><p>Fresh.</p>", "text/html");
    Mock::given(path("/page")).respond_with(page).mount(&site).await;
    let mut server = server(&python("mcp_server_fetch"), &["--allow-private-ips".as_ref()]);
    server.trust_annotations = true;
    let stage = Stage::of(server).await;
    let spec = stage.spec("odd__fetch");
    assert_eq!((spec.effect, spec.approval), (Effect::Pure, Approval::Never));
    let page = json!({"url": format!("{}/page", site.uri()), "raw": true});
    let fetched = stage.call(page).await.unwrap();
    assert!(fetched.success, "{fetched:?}");
    assert!(fetched.data.unwrap().as_str().unwrap().contains("Fresh."));
    // A port that nobody listens on.
    let gone = stage.call(json!({"url": "http://127.0.0.1:1/page"})).await.unwrap();
    assert!(!gone.success && gone.error.as_ref().unwrap().contains("127.0.0.1:1"), "{gone:?}");
}
