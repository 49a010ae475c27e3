//! One request at the proxy: a tunnel for https and sockets, or a message that is passed on.

use std::sync::{Arc, Mutex, MutexGuard};

use http_body_util::{BodyExt, Full, Limited, combinators::BoxBody};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::{Bytes, Incoming},
    client::conn::http1,
    header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue},
    upgrade::Upgraded,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};
use url::Url;

use super::{Rules, lock};
use crate::request::Barred;

type Fault = Box<dyn std::error::Error + Send + Sync>;
type Body = BoxBody<Bytes, Fault>;

/// Headers of one connection, which the next one does not get.
const HOP_BY_HOP: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Answers a request of the browser. The error ends the connection.
pub(super) async fn answer(
    request: Request<Incoming>,
    rules: Arc<Rules>,
    tunnels: Arc<Mutex<JoinSet<()>>>,
) -> Result<Response<Body>, Fault> {
    let Some(url) = target(&request) else {
        return Ok(text(StatusCode::BAD_REQUEST, "this is a proxy for http and https"));
    };
    let (hosts, connections) = rules.permitted();
    let connected = rules.guard.connect(&url, hosts.as_ref()).await;
    let stream = match connected {
        Ok(stream) => stream,
        Err(why) => {
            tracing::debug!(%why, "a page's request was refused");
            rules.note(&why);
            return Ok(refused(&why));
        }
    };
    if request.method() == Method::CONNECT {
        let tunnel = async move {
            if let Ok(upgraded) = hyper::upgrade::on(request).await {
                tunnel(upgraded, stream, rules.bytes_max).await;
            }
        };
        running(&tunnels).spawn(async move {
            // The token ends tunnels under rules that hold no longer.
            connections.run_until_cancelled(tunnel).await;
        });
        return Ok(Response::new(empty()));
    }
    let passed = pass(request, &url, stream, &rules, &tunnels);
    match connections.run_until_cancelled(passed).await {
        Some(Ok(response)) => Ok(response),
        Some(Err(why)) => {
            let host = url.host_str().unwrap_or_default().to_owned();
            Ok(refused(&Barred::Unreachable { host, why: why.to_string() }))
        }
        None => Err("the rules of the session changed".into()),
    }
}

/// Returns the tasks of a connection, without those that ended.
fn running(tunnels: &Mutex<JoinSet<()>>) -> MutexGuard<'_, JoinSet<()>> {
    let mut tunnels = lock(tunnels);
    while tunnels.try_join_next().is_some() {}
    tunnels
}

/// Returns the address of a request to a proxy; `None` for a request to a server.
fn target(request: &Request<Incoming>) -> Option<Url> {
    let uri = request.uri();
    let authority = uri.authority()?;
    if request.method() == Method::CONNECT {
        return Url::parse(&format!("https://{authority}/")).ok();
    }
    let url = Url::parse(&uri.to_string()).ok()?;
    (url.scheme() == "http").then_some(url)
}

/// Sends a request to its server, and returns the answer with a bounded body.
async fn pass(
    request: Request<Incoming>,
    url: &Url,
    stream: TcpStream,
    rules: &Rules,
    tunnels: &Mutex<JoinSet<()>>,
) -> Result<Response<Body>, Fault> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse::<Uri>()?;
    without_hops(&mut parts.headers);
    // The host is the one that was checked, whatever the header says.
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    parts.headers.insert(HOST, HeaderValue::try_from(host)?);
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let (_, connections) = rules.permitted();
    running(tunnels).spawn(async move {
        // The answer's body ends with an error if the connection does.
        let _ = connections.run_until_cancelled(connection).await;
    });
    let most = usize::try_from(rules.bytes_max).unwrap_or(usize::MAX);
    let request = Request::from_parts(parts, Limited::new(body, most));
    let (mut parts, body) = sender.send_request(request).await?.into_parts();
    without_hops(&mut parts.headers);
    Ok(Response::from_parts(parts, Limited::new(body, most).boxed()))
}

/// Removes the headers of one connection, and those that its `Connection` header names.
fn without_hops(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|value| value.split(',')).map(|name| name.trim().to_owned());
    for name in named.collect::<Vec<_>>() {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(*name);
    }
}

/// Carries bytes both ways until one side ends or the bound is reached.
async fn tunnel(upgraded: Upgraded, server: TcpStream, bytes_max: u64) {
    let (from_browser, mut to_browser) = tokio::io::split(TokioIo::new(upgraded));
    let (from_server, mut to_server) = server.into_split();
    let (mut from_browser, mut from_server) =
        (from_browser.take(bytes_max), from_server.take(bytes_max));
    let up = async {
        let copied = tokio::io::copy(&mut from_browser, &mut to_server).await;
        copied.and(to_server.shutdown().await)
    };
    let down = async {
        let copied = tokio::io::copy(&mut from_server, &mut to_browser).await;
        copied.and(to_browser.shutdown().await)
    };
    // Browsers close both directions at once, so the end of one is the end of both.
    tokio::select! {
        _ = down => {}
        _ = up => {}
    }
}

fn refused(why: &Barred) -> Response<Body> {
    let status = match why {
        Barred::Unreachable { .. } => StatusCode::BAD_GATEWAY,
        Barred::Host(_) | Barred::NotOfAgent(_) | Barred::Private { .. } | Barred::Port(..) => {
            StatusCode::FORBIDDEN
        }
    };
    text(status, &format!("Callboard refused this request: {why}"))
}

fn text(status: StatusCode, text: &str) -> Response<Body> {
    let body = Full::new(Bytes::from(format!("{text}\n"))).map_err(|never| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

fn empty() -> Body {
    Full::new(Bytes::new()).map_err(|never| match never {}).boxed()
}
