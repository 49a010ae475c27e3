//! The reference servers of the protocol, of both eras.

use std::path::{Path, PathBuf};

use callboard_mcp_client::settings::Server;
use proto::tool::Effect;
use rstest::rstest;
use serde_json::json;

use crate::stage::{Stage, look};

/// Returns the path of something that this checkout installs.
fn installed(what: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found = std::process::Command::new(root.join("tools/install")).arg(what).output();
    let found = found.expect("tools/install is a script of this checkout");
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    PathBuf::from(String::from_utf8_lossy(&found.stdout).trim())
}

fn server(name: &str, more: &[&Path]) -> Server {
    let packages = installed("mcp-servers").join("node_modules/@modelcontextprotocol");
    let (node, script) = (installed("node"), packages.join(name).join("dist/index.js"));
    let args: Vec<&Path> = std::iter::once(script.as_path()).chain(more.iter().copied()).collect();
    toml::from_str(&format!("command = {}\nargs = {}\n", json!(node), json!(args))).unwrap()
}

#[rstest]
#[case("server-everything", "odd__echo")]
#[case("server-memory", "odd__create_entities")]
#[case("server-sequential-thinking", "odd__sequentialthinking")]
#[tokio::test]
async fn the_tools_of_a_reference_server_are_found(#[case] name: &str, #[case] tool: &str) {
    let probed = look(&server(name, &[])).await.unwrap();
    assert!(probed.refused.is_empty(), "{:?}", probed.refused);
    let names: Vec<_> = probed.tools.iter().map(|tool| tool.spec.name.as_str()).collect();
    assert!(names.contains(&tool), "{names:?}");
}

#[tokio::test]
async fn a_file_is_read_through_the_reference_server_of_files() {
    let files = tempfile::tempdir().unwrap();
    let path = files.path().canonicalize().unwrap();
    std::fs::write(path.join("note.txt"), "remember the milk").unwrap();
    let mut server = server("server-filesystem", &[&path]);
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
