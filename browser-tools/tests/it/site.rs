//! Servers for the browser: a small site, and one that counts what reaches it.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Form, Router,
    extract::Path,
    http::{HeaderMap, header},
    response::{Html, IntoResponse, Redirect},
    routing::get,
};
use serde_json::Value;
use tokio::{
    net::{TcpListener, UdpSocket},
    sync::Notify,
};
use tokio_util::task::AbortOnDropHandle;

const SHOP: &str = r#"<!doctype html><html lang=en><title>Shop</title><h1>Our shop</h1>
<form action=/order method=post>
<label>Name <input name=name></label>
<label>Size <select name=size><option>S</option><option>M</option></select></label>
<label>Day <input name=day type=date></label>
<button>Buy</button></form>
<a href=/about>About us</a> <a href=/about target=_blank>News</a>
<button type=button onclick="alert('Are you sure?')">Warn</button>
<button type=button onclick="document.querySelector('h1').textContent = 'Changed'">Change</button>
<button type=button onclick="this.textContent = 'Sold'">Stock</button>
<button type=button onclick="setTimeout(() => document.querySelector('p').textContent = 'It is late', 50)">Later</button>
<p>Early</p><a href=/file>Report</a>
<div style="position:relative"><button id=under>Under</button>
<div style="position:absolute;inset:0;background:#fff">Over</div></div>
<button disabled>Closed</button></html>"#;

/// A running site. It ends when it is dropped.
pub(crate) struct Site {
    address: SocketAddr,
    held: Arc<Notify>,
    _server: AbortOnDropHandle<()>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let held = Arc::new(Notify::new());
        let release = Arc::clone(&held);
        let wait = move || {
            let release = Arc::clone(&release);
            async move {
                release.notified().await;
                "now"
            }
        };
        let app = Router::new()
            .route("/held", get(wait))
            .route("/", get(|| async { Html(SHOP) }))
            .route("/order", axum::routing::post(order))
            .route("/about", get(|| async { Html("<title>About</title><p>We sell pens</p>") }))
            .route("/file", get(file))
            .route("/cookie", get(cookie))
            .route("/set", get(|| async { ([(header::SET_COOKIE, "who=ann")], "set") }))
            .route("/echo/{*html}", get(|Path(html): Path<String>| async { Html(html) }))
            .route("/go/{*url}", get(|Path(url): Path<String>| async move { Redirect::to(&url) }));
        let server = async move { axum::serve(listener, app).await.unwrap() };
        Self { address, held, _server: AbortOnDropHandle::new(tokio::spawn(server)) }
    }

    /// Answers a request of `/held`.
    pub(crate) fn release(&self) {
        self.held.notify_one();
    }

    /// Returns an address of the site under a name.
    pub(crate) fn at(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.address.port())
    }

    /// Returns the address of a page with this content.
    pub(crate) fn page(&self, host: &str, html: &str) -> String {
        let mut url: url::Url = self.at(host, "/").parse().unwrap();
        url.path_segments_mut().unwrap().extend(["echo", html]);
        url.to_string()
    }
}

async fn order(Form(order): Form<Value>) -> Html<String> {
    let field = |name: &str| order[name].as_str().unwrap_or_default().to_owned();
    let (name, size, day) = (field("name"), field("size"), field("day"));
    Html(format!("<title>Order</title><h1>Thanks {name}, size {size}, on {day}</h1>"))
}

async fn file() -> impl IntoResponse {
    ([(header::CONTENT_DISPOSITION, "attachment; filename=report.pdf")], "%PDF")
}

async fn cookie(headers: HeaderMap) -> Html<String> {
    let cookie = headers.get(header::COOKIE).map_or("nobody", |value| value.to_str().unwrap());
    Html(format!("<p>You are {cookie}</p>"))
}

/// A server that nobody may reach. It counts connections and datagrams.
pub(crate) struct Forbidden {
    pub(crate) port: u16,
    hits: Arc<AtomicUsize>,
    _servers: [AbortOnDropHandle<()>; 2],
}

impl Forbidden {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let datagrams = UdpSocket::bind(("127.0.0.1", port)).await.unwrap();
        let hits = Arc::new(AtomicUsize::new(0));
        let (first, second) = (Arc::clone(&hits), Arc::clone(&hits));
        let connections = async move {
            while listener.accept().await.is_ok() {
                first.fetch_add(1, Ordering::SeqCst);
            }
        };
        let packets = async move {
            while datagrams.recv(&mut [0; 2048]).await.is_ok() {
                second.fetch_add(1, Ordering::SeqCst);
            }
        };
        let servers = [tokio::spawn(connections), tokio::spawn(packets)];
        Self { port, hits, _servers: servers.map(AbortOnDropHandle::new) }
    }

    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
}
