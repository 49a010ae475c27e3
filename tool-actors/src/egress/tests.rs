//! Refusals and limits of the HTTP client, on real sockets of this machine.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use rstest::rstest;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{header_exists, path},
};

use super::*;
use crate::settings::Http;

/// Returns one list of addresses per lookup, and counts the lookups.
#[derive(Default)]
struct Names {
    answers: Vec<Vec<&'static str>>,
    asked: AtomicUsize,
}

#[async_trait]
impl Lookup for Names {
    async fn lookup(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answers.get(asked).ok_or_else(|| io::Error::other("no such name"))?;
        Ok(answer.iter().map(|ip| ip.parse().unwrap()).collect())
    }
}

fn egress(config: Http) -> Egress {
    Egress::new(config, Arc::new(SystemLookup)).unwrap()
}

fn open() -> Http {
    Http { allow_private: true, timeout_ms: 5_000, ..Http::default() }
}

async fn get(egress: &Egress, url: impl Into<String>) -> Result<Fetched, EgressError> {
    egress
        .get(Get { url: url.into(), headers: HeaderMap::new(), max_bytes: 1000, hosts: None })
        .await
}

#[rstest]
#[tokio::test]
async fn a_private_address_is_refused_however_it_is_written(
    #[values(
        "http://127.1/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://017700000001/",
        "http://127.0.0.1.:81/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::1]/",
        "http://[::]/",
        "http://localhost/",
        "http://localhost./",
        "http://LOCALHOST:8080/",
        "http://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/",
        "http://100.64.0.1/",
        "http://[fd00::1]/",
        "http://[fe80::1]/",
        "http://0/",
        "http://[64:ff9b::7f00:1]/",
        "http://\u{ff11}\u{ff12}\u{ff17}.0.0.1/"
    )]
    url: &str,
) {
    let error = get(&egress(Http::default()), url).await.unwrap_err();
    assert!(matches!(error, EgressError::Private { .. }), "{url}: {error}");
}

#[rstest]
#[case("file:///etc/passwd", "scheme")]
#[case("ftp://example.com/", "scheme")]
#[case("gopher://127.0.0.1/", "scheme")]
#[case("http://a@b/", "user")]
#[case("http://127.0.0.1:80@example.com/", "user")]
#[case("http://example.com:25/", "port 25")]
#[case("https://example.com:22/", "port 22")]
#[case("http://[::1]:6000/", "port 6000")]
#[case("//example.com", "URL")]
#[case("http://", "URL")]
#[case("", "URL")]
#[tokio::test]
async fn what_is_no_plain_url_is_refused(#[case] url: &str, #[case] word: &str) {
    let error = get(&egress(open()), url).await.unwrap_err();
    assert!(error.to_string().contains(word), "{url}: {error}");
    assert!(!error.is_transient());
}

#[tokio::test]
async fn an_agent_reaches_its_own_hosts_alone_by_redirects_too() {
    let server = MockServer::start().await;
    let (here, port) = (server.uri(), server.address().port());
    let away = format!("http://localhost:{port}/there");
    let redirect = ResponseTemplate::new(302).insert_header("location", away.as_str());
    Mock::given(path("/away")).respond_with(redirect).mount(&server).await;
    Mock::given(path("/there")).respond_with(ResponseTemplate::new(200)).mount(&server).await;
    let egress = egress(open());
    let hosts = |host: &str| Some(proto::agent::Hosts::new(vec![host.to_owned()]));
    let get = async |url: &str, hosts| {
        let (url, headers) = (url.to_owned(), HeaderMap::new());
        egress.get(Get { url, headers, max_bytes: 1000, hosts }).await
    };
    let there = format!("{here}/there");
    assert_eq!(get(&there, hosts("127.0.0.1")).await.unwrap().status, 200);
    let refused = EgressError::NotOfAgent("127.0.0.1".to_owned());
    assert_eq!(get(&there, hosts("localhost")).await.unwrap_err(), refused);
    let refused = EgressError::NotOfAgent("localhost".to_owned());
    assert_eq!(get(&format!("{here}/away"), hosts("127.0.0.1")).await.unwrap_err(), refused);
    let body = b"{}".to_vec();
    let post =
        Post { url: there, headers: HeaderMap::new(), body, max_bytes: 9, hosts: hosts("x.test") };
    assert!(matches!(egress.post(post).await, Err(EgressError::NotOfAgent(_))));
}

/// Sends interim responses for as long as the client reads them.
async fn flood(listener: TcpListener) -> io::Error {
    let (mut stream, _) = listener.accept().await.unwrap();
    let _request = stream.read(&mut [0; 4096]).await.unwrap();
    let interim = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1000);
    loop {
        if let Err(error) = stream.write_all(interim.as_bytes()).await {
            return error;
        }
    }
}

#[rstest]
#[tokio::test]
async fn a_flood_of_interim_responses_ends_with_its_request(#[values(false, true)] posts: bool) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let ended = tokio::spawn(flood(listener));
    let egress = egress(Http { timeout_ms: 300, ..open() });
    let error = if posts {
        let (headers, body) = (HeaderMap::new(), b"{}".to_vec());
        egress.post(Post { url, headers, body, max_bytes: 10, hosts: None }).await.unwrap_err()
    } else {
        get(&egress, url).await.unwrap_err()
    };
    let told = if posts { "nothing within 300ms" } else { "within 300ms" };
    assert!(error.to_string().contains(told), "{error}");
    // The server's write fails only when the connection is closed.
    broker::testing::wait::soon("the end of the connection", ended).await.unwrap();
}

/// Notes the thread that looks a name up.
#[derive(Default)]
struct Threads(std::sync::Mutex<Vec<std::thread::ThreadId>>);

#[async_trait]
impl Lookup for Threads {
    async fn lookup(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        self.0.lock().unwrap().push(std::thread::current().id());
        Ok(vec!["127.0.0.1".parse().unwrap()])
    }
}

#[tokio::test]
async fn no_request_runs_on_a_thread_of_other_tasks() {
    let server = MockServer::start().await;
    Mock::given(path("/")).respond_with(ResponseTemplate::new(200)).mount(&server).await;
    let threads = Arc::new(Threads::default());
    let lookup: Arc<dyn Lookup> = Arc::clone(&threads) as _;
    let egress = Egress::new(open(), lookup).unwrap();
    let url = format!("http://name.test:{}/", server.address().port());
    assert_eq!(get(&egress, url).await.unwrap().status, 200);
    let looked_up = threads.0.lock().unwrap().clone();
    assert_eq!(looked_up.len(), 1);
    assert_ne!(looked_up[0], std::thread::current().id());
}

#[tokio::test]
async fn a_name_with_one_private_address_is_refused() {
    let names = Names { answers: vec![vec!["8.8.8.8", "10.0.0.1"]], ..Names::default() };
    let egress = Egress::new(Http::default(), Arc::new(names)).unwrap();
    let error = get(&egress, "http://127.evil.test/").await.unwrap_err();
    let address = "10.0.0.1".parse().unwrap();
    assert_eq!(error, EgressError::Private { host: "127.evil.test".into(), address });
}

#[tokio::test]
async fn a_name_is_resolved_once_and_connected_to_where_it_was_checked() {
    let server = MockServer::start().await;
    Mock::given(path("/")).respond_with(ResponseTemplate::new(200)).mount(&server).await;
    // The second lookup would return an unreachable address.
    let answers = vec![vec!["127.0.0.1"], vec!["203.0.113.1"]];
    let names = Arc::new(Names { answers, ..Names::default() });
    let lookup: Arc<dyn Lookup> = Arc::clone(&names) as _;
    let egress = Egress::new(open(), lookup).unwrap();
    let port = server.address().port();
    let fetched = get(&egress, format!("http://rebinding.test:{port}/")).await.unwrap();
    assert_eq!((fetched.status, names.asked.load(Ordering::SeqCst)), (200, 1));
}

#[tokio::test]
async fn only_listed_hosts_are_reached_when_a_list_is_given() {
    let allow_hosts = vec!["example.com".to_owned(), "*.example.org".to_owned()];
    let config = Http { allow_hosts, ..open() };
    for (host, allowed) in [
        ("example.com", true),
        ("EXAMPLE.com.", true),
        ("a.example.com", false),
        ("a.example.org", true),
        ("example.org", false),
        ("badexample.org", false),
        ("example.com.evil.test", false),
    ] {
        assert_eq!(config.allows_host(host), allowed, "{host}");
    }
    let error = get(&egress(config), "http://127.0.0.1/").await.unwrap_err();
    assert_eq!(error, EgressError::Host("127.0.0.1".into()));
}

async fn redirecting(to: String) -> MockServer {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(302).insert_header("location", to.as_str());
    Mock::given(path("/")).respond_with(answer).mount(&server).await;
    Mock::given(path("/end"))
        .respond_with(ResponseTemplate::new(200).set_body_string("here"))
        .mount(&server)
        .await;
    server
}

#[rstest]
#[case("/", EgressError::Redirects)]
#[case("file:///etc/passwd", EgressError::Scheme("file".into()))]
#[case("http://localhost/", EgressError::Host("localhost".into()))]
#[case("http://me:pw@127.0.0.1/", EgressError::UserInfo)]
#[tokio::test]
async fn every_hop_is_checked_and_hops_are_counted(
    #[case] to: String,
    #[case] expected: EgressError,
) {
    let server = redirecting(to).await;
    let config = Http { allow_hosts: vec!["127.0.0.1".into()], ..open() };
    assert_eq!(get(&egress(config), server.uri()).await.unwrap_err(), expected);
}

#[tokio::test]
async fn credentials_stay_with_their_origin() {
    let other = MockServer::start().await;
    Mock::given(path("/end")).respond_with(ResponseTemplate::new(200)).mount(&other).await;
    let same = redirecting("/end".into()).await;
    let cross = redirecting(format!("{}/end", other.uri())).await;
    Mock::given(header_exists("authorization"))
        .respond_with(ResponseTemplate::new(500))
        .mount(&other)
        .await;
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer secret"));
    let egress = egress(open());
    for url in [same.uri(), cross.uri()] {
        let fetched =
            egress.get(Get { url, headers: headers.clone(), max_bytes: 10, hosts: None }).await;
        assert_eq!(fetched.unwrap().status, 200);
    }
    let sent = |requests: Vec<wiremock::Request>| {
        requests.iter().map(|r| r.headers.contains_key("authorization")).collect::<Vec<_>>()
    };
    assert_eq!(sent(same.received_requests().await.unwrap()), [true, true]);
    assert_eq!(sent(cross.received_requests().await.unwrap()), [true]);
    assert_eq!(sent(other.received_requests().await.unwrap()), [false]);
}

#[test]
fn a_redirect_from_https_to_http_is_refused() {
    let from = url::Url::parse("https://example.com/").unwrap();
    let location = HeaderValue::from_static("http://example.com/");
    let next = client::redirect(&from, reqwest::StatusCode::FOUND, Some(&location));
    assert_eq!(next.unwrap_err(), EgressError::Downgrade);
}

#[tokio::test]
async fn a_body_is_cut_at_its_limit_and_says_so() {
    let server = MockServer::start().await;
    for (at, size) in [("/small", 1000), ("/large", 1001)] {
        let answer = ResponseTemplate::new(200).set_body_bytes(vec![b'x'; size]);
        Mock::given(path(at)).respond_with(answer).mount(&server).await;
    }
    let egress = egress(open());
    for (at, truncated) in [("/small", false), ("/large", true)] {
        let fetched = get(&egress, server.uri() + at).await.unwrap();
        assert_eq!((fetched.body.len(), fetched.truncated), (1000, truncated));
    }
}

#[tokio::test]
async fn a_compressed_body_is_refused() {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200).insert_header("content-encoding", "gzip");
    Mock::given(path("/"))
        .respond_with(answer.set_body_bytes(vec![0x1f, 0x8b]))
        .mount(&server)
        .await;
    let error = get(&egress(open()), server.uri()).await.unwrap_err();
    assert_eq!(error, EgressError::Encoded("gzip".into()));
}

/// A server that writes these bytes and then either a byte now and then, or nothing.
async fn raw(bytes: &'static [u8], dribble: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.read(&mut [0; 4096]).await;
        let _ = socket.write_all(bytes).await;
        let mut ticks = tokio::time::interval(Duration::from_millis(50));
        while dribble && socket.write_all(b"x").await.is_ok() {
            ticks.tick().await;
        }
    });
    format!("http://{address}/")
}

#[tokio::test]
async fn a_server_that_dribbles_is_left_when_the_time_is_over() {
    let config = Http { timeout_ms: 300, ..open() };
    let url = raw(b"HTTP/1.1 200 OK\r\n\r\n", true).await;
    let error = egress(config)
        .get(Get { url, headers: HeaderMap::new(), max_bytes: 1_000_000, hosts: None })
        .await
        .unwrap_err();
    assert_eq!(error, EgressError::Timeout(Duration::from_millis(300)));
}

#[tokio::test]
async fn a_body_shorter_than_it_says_is_an_error_that_may_pass() {
    let url = raw(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc", false).await;
    let error = get(&egress(open()), url).await.unwrap_err();
    assert!(matches!(error, EgressError::Failed(_)) && error.is_transient(), "{error}");
}
