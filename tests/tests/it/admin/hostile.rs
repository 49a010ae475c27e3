//! Tests of hostile or broken clients: they get a refusal or no answer, and other clients are not
//! affected.

use broker::testing::wait::soon;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    http::{ask, get, send},
    stage,
};

#[tokio::test(flavor = "multi_thread")]
async fn hostile_requests_are_refused_and_do_no_harm() {
    let (_company, mut process, address) = stage("info").await;
    let host = format!("Host: {address}\r\n");
    let put = |headers: &str, body: &str| {
        format!("PUT /log HTTP/1.1\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let huge = "x".repeat(100_000);
    let many: String = (0..200).map(|n| format!("X-{n}: 1\r\n")).collect();
    for (what, request, status) in [
        ("a huge header", format!("GET / HTTP/1.1\r\n{host}X: {huge}\r\n\r\n"), Some(431)),
        ("many headers", format!("GET / HTTP/1.1\r\n{host}{many}\r\n"), Some(431)),
        ("a huge path", format!("GET /{huge} HTTP/1.1\r\n{host}\r\n"), Some(431)),
        ("no HTTP", "\u{0}\u{1}\u{2}\r\n\r\n".to_owned(), Some(400)),
        ("another method", format!("DELETE /log HTTP/1.1\r\n{host}\r\n"), Some(405)),
        ("POST", format!("POST /livez HTTP/1.1\r\n{host}Content-Length: 0\r\n\r\n"), Some(405)),
        ("OPTIONS", format!("OPTIONS /log HTTP/1.1\r\n{host}\r\n"), Some(405)),
        ("traversal", format!("GET /../../etc/passwd HTTP/1.1\r\n{host}\r\n"), Some(404)),
        ("encoded", format!("GET /%2e%2e/%2fetc%2fpasswd HTTP/1.1\r\n{host}\r\n"), Some(404)),
        ("another name", put("Host: evil.example\r\n", "trace"), Some(403)),
        ("a page", put(&format!("{host}Origin: http://evil.example\r\n"), "trace"), Some(403)),
        ("a long level", put(&host, &"a=info,".repeat(1_000)), Some(413)),
        ("no level", put(&host, "\u{0}\u{1b}[2J"), Some(400)),
        ("two times", "PUT /log?for=1m&for=2m HTTP/1.1\r\n".to_owned() + &host + "\r\n", Some(400)),
        ("no host", "PUT /log HTTP/1.1\r\nContent-Length: 5\r\n\r\ntrace".to_owned(), Some(403)),
    ] {
        let answer = send(&address, request.as_bytes()).await;
        assert_eq!(answer.as_ref().map(|a| a.status), status, "{what}: {answer:?}");
    }
    let head = ask(&address, "HEAD", "/metrics", "").await.unwrap();
    assert!(head.status == 200 && head.body.is_empty(), "{head:?}");
    assert!(head.head.to_ascii_lowercase().contains("text/plain; version=0.0.4"), "{head:?}");
    assert_eq!(get(&address, "/log").await.body, "info\n", "nobody has changed it");
    assert!(process.is_running());
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_send_slowly_are_cut_off_and_others_are_answered() {
    let (_company, _process, address) = stage("info").await;
    let mut slow = Vec::new();
    for n in 0..80 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        // Half of the clients never end their head; the others never send the announced body.
        let request: &[u8] = if n % 2 == 0 {
            b"GET / HTTP/1.1\r\nX-Slow: "
        } else {
            b"PUT /log HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\ninfo"
        };
        stream.write_all(request).await.unwrap();
        slow.push(stream);
    }
    // There are more clients than places, so this request waits until the first is cut off.
    assert_eq!(get(&address, "/livez").await.status, 200);
    let mut rest = Vec::new();
    for stream in &mut slow {
        let _ = soon("a client that is cut off", stream.read_to_end(&mut rest)).await;
    }
}
