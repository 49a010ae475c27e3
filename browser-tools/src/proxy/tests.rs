//! Tests of the proxy with plain connections.

use std::net::IpAddr;

use async_trait::async_trait;
use broker::testing::wait::soon;
use rstest::rstest;
use runtime::egress::Lookup;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tool_actors::settings::Http;

use super::*;

/// A resolver that gives every name the same addresses.
struct Fixed(Vec<IpAddr>);

#[async_trait]
impl Lookup for Fixed {
    async fn lookup(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(self.0.clone())
    }
}

fn guard(http: Http, addresses: &[&str]) -> Arc<Guard> {
    let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Arc::new(Guard::new(http, Arc::new(Fixed(addresses))))
}

fn private() -> Http {
    Http { allow_private: true, ..Http::default() }
}

/// A server that answers each connection with these bytes after it has read something.
async fn server(answer: &'static [u8]) -> (u16, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut read = [0; 4096];
                while stream.read(&mut read).await.is_ok_and(|read| read > 0) {
                    if stream.write_all(answer).await.is_err() {
                        break;
                    }
                }
            });
        }
    };
    (port, AbortOnDropHandle::new(tokio::spawn(serve)))
}

async fn connect(proxy: &Proxy, request: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let read = soon("an answer of the proxy", stream.read_u8()).await;
        head.push(read.unwrap());
    }
    (stream, String::from_utf8(head).unwrap())
}

async fn status(proxy: &Proxy, request: &str) -> String {
    let (_, head) = connect(proxy, request).await;
    head.split(' ').nth(1).unwrap().to_owned()
}

#[rstest]
#[case::loopback("127.0.0.1")]
#[case::another_notation("0x7f.1")]
#[case::as_a_number("2130706433")]
#[case::mapped("[::ffff:127.0.0.1]")]
#[case::of_version_six("[::1]")]
#[case::by_name("localhost")]
#[case::of_the_cloud("169.254.169.254")]
#[case::behind_a_name("rebind.example")]
#[tokio::test]
async fn no_private_address_is_reached(#[case] host: &str) {
    let addresses = ["93.184.216.34", "10.0.0.1"];
    let proxy = Proxy::start(guard(Http::default(), &addresses), None, 1).await.unwrap();
    let tunnel = format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n");
    assert_eq!(status(&proxy, &tunnel).await, "403");
    assert!(matches!(proxy.take_barred().as_slice(), [Barred::Private { .. }]));
    let plain = format!("GET http://{host}/ HTTP/1.1\r\nHost: public.example\r\n\r\n");
    assert_eq!(status(&proxy, &plain).await, "403");
}

#[tokio::test]
async fn lists_of_hosts_and_ports_of_other_protocols_are_refused() {
    let http = Http { allow_hosts: vec!["*.example".to_owned()], ..private() };
    let hosts = Hosts::new(vec!["a.example".to_owned()]);
    let proxy = Proxy::start(guard(http, &["127.0.0.1"]), Some(&hosts), 1).await.unwrap();
    for (authority, why) in [
        ("a.other:443", Barred::Host("a.other".to_owned())),
        ("b.example:443", Barred::NotOfAgent("b.example".to_owned())),
        ("a.example:25", Barred::Port("a.example".to_owned(), 25)),
    ] {
        let tunnel = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        assert_eq!(status(&proxy, &tunnel).await, "403", "{authority}");
        assert_eq!(proxy.take_barred(), [why]);
    }
}

#[tokio::test]
async fn a_message_is_passed_on_without_the_headers_of_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let proxy = Proxy::start(guard(private(), &["127.0.0.1"]), None, 1 << 20).await.unwrap();
    let request = format!(
        "GET http://a.example:{port}/x?y HTTP/1.1\r\nHost: other.example\r\nConnection: X-Hop\r\n\
         X-Hop: 1\r\nProxy-Connection: keep-alive\r\nX-Stays: 1\r\n\r\n"
    );
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut read = vec![0; 4096];
        let length = stream.read(&mut read).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
        String::from_utf8_lossy(&read[..length]).to_lowercase()
    };
    let (seen, status) = tokio::join!(serve, status(&proxy, &request));
    assert_eq!(status, "200");
    assert!(seen.starts_with("get /x?y http/1.1\r\n"), "{seen}");
    assert!(seen.contains(&format!("host: a.example:{port}\r\n")), "{seen}");
    assert!(seen.contains("x-stays") && !seen.contains("hop") && !seen.contains("proxy"), "{seen}");
}

#[tokio::test]
async fn a_request_that_is_not_for_a_proxy_is_refused() {
    let proxy = Proxy::start(guard(private(), &["127.0.0.1"]), None, 1).await.unwrap();
    for request in
        ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET ftp://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n"]
    {
        assert_eq!(status(&proxy, request).await, "400", "{request}");
    }
}

#[tokio::test]
async fn a_tunnel_has_a_bound_and_ends_with_its_rules() {
    let (port, _server) = server(b"0123456789").await;
    let proxy = Proxy::start(guard(private(), &["127.0.0.1"]), None, 15).await.unwrap();
    let tunnel = format!("CONNECT a.example:{port} HTTP/1.1\r\nHost: a\r\n\r\n");
    let (mut stream, head) = connect(&proxy, &tunnel).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    stream.write_all(b"x").await.unwrap();
    let mut first = [0; 10];
    soon("the first answer", stream.read_exact(&mut first)).await.unwrap();
    stream.write_all(b"x").await.unwrap();
    let mut rest = Vec::new();
    // The end may be one of the whole connection.
    let _ = soon("the end of the tunnel", stream.read_to_end(&mut rest)).await;
    assert!(rest.len() <= 5, "{rest:?}");
    let (mut stream, _) = connect(&proxy, &tunnel).await;
    proxy.permit(Some(&Hosts::new(vec!["b.example".to_owned()])));
    let _ = soon("the end of the tunnel", stream.read_to_end(&mut rest)).await;
    assert_eq!(status(&proxy, &tunnel).await, "403");
}
