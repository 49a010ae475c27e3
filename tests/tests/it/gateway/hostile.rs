//! Tests of hostile or broken clients of the gateway: they get a refusal or lose their connection, and
//! others are answered.

use broker::testing::wait::{eventually, soon};
use callboard_tests::company::Company;
use reqwest::{StatusCode, header};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{SCRIPT, Stage, taken};
use crate::admin::http::send;

/// A request, and the status of its refusal.
type Case = (&'static str, String, u16);

/// Requests that HTTP itself forbids, or that are too large.
fn malformed(host: &str) -> Vec<Case> {
    let huge = "x".repeat(64 * 1024);
    let many: String = (0..200).map(|n| format!("X-{n}: 1\r\n")).collect();
    let get = |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\n{host}{more}\r\n");
    vec![
        ("a huge header", get("/v1/jobs", &format!("X: {huge}\r\n")), 431),
        ("many headers", get("/v1/jobs", &many), 431),
        ("a huge path", get(&format!("/v1/jobs/{huge}"), ""), 431),
        ("a huge query", get(&format!("/v1/jobs?q={huge}"), ""), 431),
        ("no HTTP", "\u{0}\u{1}\u{2}\r\n\r\n".to_owned(), 400),
        ("two lengths", get("/v1/jobs", "Content-Length: 1\r\nContent-Length: 2\r\n"), 400),
        ("a signed length", get("/v1/jobs", "Content-Length: +5\r\n"), 400),
        ("another coding", get("/v1/jobs", "Transfer-Encoding: chunked, identity\r\n"), 400),
        ("a space before the colon", get("/v1/jobs", "Transfer-Encoding : chunked\r\n"), 400),
        ("no host", "GET /v1/jobs HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(), 421),
        ("two hosts", get("/v1/jobs", "Host: localhost\r\n"), 421),
        ("a forged event", get("/v1/jobs/j/events", "Last-Event-ID: ../../x\r\n"), 400),
        (
            "a huge event",
            get("/v1/jobs/j/events", &format!("Last-Event-ID: {}\r\n", "9".repeat(9_000))),
            400,
        ),
        ("a token in the address", get("/v1/jobs?access_token=secret", ""), 401),
        ("no bearer", get("/v1/jobs", "Authorization: Basic YTpi\r\n"), 401),
        (
            "two tokens",
            get("/v1/jobs", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"),
            401,
        ),
        ("a negative limit", get("/v1/jobs?limit=-1", ""), 400),
        ("a huge limit", get("/v1/jobs?limit=1000000000", ""), 400),
        ("a forged cursor", get("/v1/jobs?after=..%2F..", ""), 400),
    ]
}

/// Paths that lead out of their place, or that are no text.
fn paths(host: &str) -> Vec<Case> {
    [
        ("/v1/../../etc/passwd", 404),
        ("/v1/%2e%2e/%2e%2e/etc/passwd", 404),
        ("/v1//jobs", 404),
        ("/v1/%00", 404),
        ("/v1/jobs/%2e%2e", 400),
        ("/v1/jobs/a%2Fb", 400),
        ("/v1/jobs/%00", 400),
        ("/v1/jobs/%ff", 400),
        ("/v1/jobs/j/questions/%2e%2e%2f", 400),
        ("/v1/jobs/j/files/%2e%2e%2f%2e%2e%2fetc%2fpasswd", 400),
        ("/v1/agents/%2e%2e%2f", 400),
        ("/errors/%2e%2e%2fREADME", 404),
        ("/ui/x/%2e%2e%2f%2e%2e%2fCargo.toml", 404),
        ("/a/%2e%2e%2f", 404),
    ]
    .map(|(path, status)| (path, format!("GET {path} HTTP/1.1\r\n{host}\r\n"), status))
    .to_vec()
}

/// Requests of pages of other sites, and of bodies that are not what they say.
fn foreign(host: &str) -> Vec<Case> {
    let goal = "{\"goal\": \"steal\"}";
    let zipped = "\u{1f}\u{8b}\u{8}\u{0}".to_owned() + &"\u{0}".repeat(400);
    let post = |headers: &str, body: &str| {
        let length = body.len();
        format!("POST /v1/jobs HTTP/1.1\r\n{host}Content-Length: {length}\r\n{headers}\r\n{body}")
    };
    let json = "Content-Type: application/json\r\n";
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let parts = "Content-Type: multipart/form-data; boundary=x\r\n";
    let asks = "Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n";
    let rebound = "Host: evil.example\r\nConnection: close\r\n";
    vec![
        ("a preflight", format!("OPTIONS /v1/jobs HTTP/1.1\r\n{host}{asks}\r\n"), 403),
        ("a sandboxed page", post(&format!("{json}Origin: null\r\n"), goal), 403),
        ("another page", post(&format!("{json}Origin: http://evil.example\r\n"), goal), 403),
        ("another port", post(&format!("{json}Origin: http://127.0.0.1:1\r\n"), goal), 403),
        ("another site", post(&format!("{json}Sec-Fetch-Site: cross-site\r\n"), goal), 403),
        ("a rebound name", format!("GET /v1/jobs HTTP/1.1\r\n{rebound}\r\n"), 421),
        ("a form", post(form, "goal=steal"), 415),
        ("text", post("Content-Type: text/plain\r\n", goal), 415),
        ("no type", post("", goal), 415),
        ("many parts", post(parts, &"--x\r\n\r\n\r\n".repeat(20_000)), 415),
        ("a compressed body", post(&format!("{json}Content-Encoding: gzip\r\n"), &zipped), 415),
        ("another type than it says", post(json, &zipped), 400),
        ("a deep body", post(json, &"[".repeat(100_000)), 400),
        ("TRACE", format!("TRACE /v1/jobs HTTP/1.1\r\n{host}\r\n"), 405),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_requests_are_refused_and_do_no_harm() {
    let mut stage = Stage::start().await;
    let address = stage.address.clone();
    let host = format!("Host: {address}\r\nConnection: close\r\n");
    for (what, request, status) in [malformed(&host), paths(&host), foreign(&host)].concat() {
        let answer = send(&address, request.as_bytes()).await;
        let answer = answer.unwrap_or_else(|| panic!("{what}: no answer"));
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        let head = answer.head.to_ascii_lowercase();
        assert!(!head.contains("access-control-"), "{what}: {answer:?}");
        let is_of_the_api = request.contains(" /v1/") && answer.status != 431;
        if is_of_the_api && !answer.body.is_empty() {
            assert!(head.contains("application/problem+json"), "{what}: {answer:?}");
        }
    }
    let upgrade = "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let origin = "Origin: http://evil.example\r\n";
    let socket = format!("GET /v1/jobs HTTP/1.1\r\n{host}{upgrade}{origin}\r\n");
    assert_eq!(send(&address, socket.as_bytes()).await.unwrap().status, 200, "it stays HTTP");
    for path in ["/metrics", "/livez", "/log", "/debug/pprof"] {
        let answer = stage.get(path).send().await.unwrap();
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/html; charset=utf-8", "{path}");
        assert!(!answer.text().await.unwrap().contains("callboard_"), "{path}");
    }
    assert_eq!(stage.read("/v1/jobs").await["jobs"], json!([]));
    assert!(stage.gateway.is_running());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_hides_in_the_body_of_another() {
    let stage = Stage::start().await;
    let host = format!("Host: {}\r\n", stage.address);
    let body = "{\"goal\": \"steal\"}";
    let length = body.len();
    let json = "Content-Type: application/json\r\n";
    let hidden =
        format!("POST /v1/jobs HTTP/1.1\r\n{host}{json}Content-Length: {length}\r\n\r\n{body}");
    let whole = format!("0\r\n\r\n{hidden}");
    let size = format!("Content-Length: {}\r\n", whole.len());
    let chunked = "Transfer-Encoding: chunked\r\n";
    let huge = "x".repeat(100_000);
    for (what, headers, body) in [
        ("a length before chunks", format!("{size}{chunked}"), whole.clone()),
        ("a length after chunks", format!("{chunked}{size}"), whole.clone()),
        ("chunks alone", chunked.to_owned(), whole.clone()),
        ("a chunk without end", chunked.to_owned(), format!("FFFFFFFFFFFFFFFFF\r\n{hidden}")),
        ("a huge extension", chunked.to_owned(), format!("1;{huge}\r\n{{\r\n{whole}")),
    ] {
        let request = format!("POST /v1/jobs HTTP/1.1\r\n{host}{json}{headers}\r\n{body}");
        // It returns when the connection has ended.
        let answer = send(&stage.address, request.as_bytes()).await;
        if let Some(answer) = answer {
            assert!(answer.status >= 400, "{what}: {answer:?}");
            assert!(!answer.body.contains("HTTP/1.1 "), "{what}: {answer:?}");
        }
    }
    assert_eq!(stage.read("/v1/jobs").await["jobs"], json!([]), "nothing was submitted");
}

/// Reads one response with a `Content-Length`.
async fn response(stream: &mut TcpStream) -> (String, String) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        let read = soon("a head", stream.read(&mut byte)).await.expect("a connection");
        assert_eq!(read, 1, "the connection ended: {}", String::from_utf8_lossy(&head));
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.split_once("content-length: ").expect("a length").1;
    let mut body = vec![0; length.split("\r\n").next().unwrap().parse().unwrap()];
    soon("a body", stream.read_exact(&mut body)).await.unwrap();
    (head, String::from_utf8(body).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_before_the_end_of_a_body_arrives_and_the_connection_serves_on() {
    let stage = Stage::start().await;
    let host = format!("Host: {}\r\n", stage.address);
    let head = format!("POST /v1/hooks/none HTTP/1.1\r\n{host}Content-Length: 700000\r\n\r\n");
    let mut stream = TcpStream::connect(&stage.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&[b'x'; 600_000]).await.unwrap();
    // The request is refused for its path already, and the rest comes after others were answered.
    for _ in 0..5 {
        assert_eq!(stage.get("/v1/jobs").send().await.unwrap().status(), StatusCode::OK);
    }
    stream.write_all(&[b'x'; 100_000]).await.unwrap();
    let (refusal, _) = response(&mut stream).await;
    assert!(
        refusal.starts_with("http/1.1 404") && !refusal.contains("connection: close"),
        "{refusal}"
    );
    let next = format!("GET /v1/about HTTP/1.1\r\n{host}\r\n");
    stream.write_all(next.as_bytes()).await.unwrap();
    assert!(response(&mut stream).await.0.starts_with("http/1.1 200"));

    // Nobody waits for a body without end, and a sender that asks first need not send it.
    let endless = head.replace("700000", "99999999999");
    let expecting = head.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    for (head, sent) in [(endless, 1_048_577), (expecting, 0)] {
        let mut stream = TcpStream::connect(&stage.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'x'; sent]).await.unwrap();
        let (refusal, _) = response(&mut stream).await;
        assert!(
            refusal.starts_with("http/1.1 404") && refusal.contains("connection: close"),
            "{refusal}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_stall_are_cut_off_and_others_are_answered() {
    let stage = Stage::start().await;
    let host = format!("Host: {}\r\n", stage.address);
    let json = "Content-Type: application/json\r\n";
    let mut stalled = Vec::new();
    for n in 0..300 {
        let mut stream = TcpStream::connect(&stage.address).await.unwrap();
        let request = match n % 3 {
            // No head, a head without an end, and a body that never comes.
            0 => String::new(),
            1 => format!("GET /v1/jobs HTTP/1.1\r\n{host}X-Slow: "),
            _ => format!("POST /v1/jobs HTTP/1.1\r\n{host}{json}Content-Length: 900\r\n\r\n{{"),
        };
        stream.write_all(request.as_bytes()).await.unwrap();
        stalled.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(stage.get("/v1/jobs").send().await.unwrap().status(), StatusCode::OK);
    }
    for stream in &mut stalled {
        let mut answer = Vec::new();
        let _ = soon("a client that is cut off", stream.read_to_end(&mut answer)).await;
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&answer));
    }
    assert_eq!(stage.get("/v1/jobs").send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_can_be_framed_and_the_pages_of_errors_have_no_script() {
    let stage = Stage::start().await;
    for path in ["/", "/jobs/j1", "/errors/stale", "/errors/none", "/a/none"] {
        let page = stage.get(path).send().await.unwrap();
        let policy = page.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        if path.starts_with("/errors/") {
            assert!(policy.contains("script-src 'none'"), "{path}: {policy}");
        }
    }
    let refused = stage.get("/v1/jobs/none").send().await.unwrap();
    let (_, problem) = taken(refused).await;
    let page = stage.get(problem["type"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(page.status(), StatusCode::OK);
    let page = page.text().await.unwrap();
    assert!(
        page.contains("<h1><code>not_found</code></h1>") && !page.contains("<script"),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_without_a_broker_says_when_to_come_back() {
    let mut stage = Stage::start().await;
    stage.company.nats.kill9();
    let answer = stage.get("/v1/jobs").send().await.unwrap();
    let status = answer.status();
    let away = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];
    assert!(away.contains(&status), "{status}");
    assert!(answer.headers().contains_key(header::RETRY_AFTER), "{status}");
    assert_eq!(stage.read("/v1/about").await["version"], Value::from(env!("CARGO_PKG_VERSION")));
    stage.company.nats.restart().await;
    eventually("an answer", async || match stage.get("/v1/jobs").send().await.unwrap().status() {
        StatusCode::OK => Ok(()),
        other => Err(other),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_others_reach_does_not_start_without_tls_and_people() {
    let mut company = Company::start(SCRIPT).await;
    for (setting, value, key) in [
        ("GATEWAY__LISTEN", "0.0.0.0:0", "gateway.listen"),
        ("GATEWAY__BEHIND_PROXY", "true", "door.people"),
    ] {
        company.set("GATEWAY__LISTEN", "127.0.0.1:0");
        company.set(setting, value);
        let mut gateway = company.serve(key, "gateway");
        let ended = tokio::task::spawn_blocking(move || (gateway.wait(), gateway.logged()));
        let (code, said) = soon("a refusal to start", ended).await.unwrap();
        assert!(code == Some(2) && said.contains(key), "{code:?}: {said}");
    }
}
