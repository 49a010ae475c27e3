//! A test that `callboard script-model FILE` serves a script over HTTP.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
};

use callboard_tests::callboard;

#[test]
fn a_script_is_served_over_http() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("my-script.yaml"), "else: { text: \"All is well.\" }\n")
        .unwrap();
    let mut server = Command::new(callboard())
        .args(["script-model", "my-script.yaml", "--listen", "127.0.0.1:0"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(server.stdout.take().unwrap());
    let address = loop {
        said.clear();
        assert!(lines.read_line(&mut said).unwrap() > 0, "it never said where it listens");
        if let Some((_, rest)) = said.split_once("http://") {
            let address = rest.split(['/', ' ', '\n']).next().unwrap();
            break address.to_owned();
        }
    };
    let body = r#"{"model":"any","messages":[{"role":"user","content":"hello"}]}"#;
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: model\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("All is well."), "{answer}");
}
