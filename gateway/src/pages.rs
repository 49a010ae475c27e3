//! The console's pages: files of this crate, compiled in, compressed once.
//!
//! Every file but the index is served below a path that names the build, so browsers keep it for
//! ever. The index names that path and is asked for each time.

use std::{collections::BTreeMap, io::Write as _, sync::LazyLock};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use proto::digest;
use rust_embed::RustEmbed;

/// The content security policy of every page. Only lit-html creates markup, and no page reaches
/// another host.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types lit-html",
);
const KEEP: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const ASK: HeaderValue = HeaderValue::from_static("no-cache");

/// The mark in the index that stands for the build.
const BUILD: &str = "/ui/BUILD/";

mod modules;
mod styles;
#[cfg(test)]
mod words;

#[derive(RustEmbed)]
#[folder = "web/"]
#[exclude = "tests/*"]
#[exclude = "*.json"]
#[exclude = "*.d.ts"]
struct Web;

/// A file, as it is and compressed.
struct Page {
    kind: &'static str,
    plain: Bytes,
    gzipped: Bytes,
}

/// The console of this build.
struct Console {
    build: String,
    /// The index of each page, by its module; the index of other paths has an empty key.
    indexes: BTreeMap<String, Page>,
    files: BTreeMap<String, Page>,
}

static CONSOLE: LazyLock<Console> = LazyLock::new(Console::load);

impl Console {
    fn load() -> Self {
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for name in Web::iter() {
            let found = Web::get(&name).map(|file| file.data.into_owned());
            files.extend(found.map(|data| (name.into_owned(), data)));
        }
        let sums: Vec<String> = files.values().map(|data| digest::of_bytes(data)).collect();
        let build: String = digest::of_bytes(sums.concat().as_bytes()).chars().take(12).collect();
        let index = files.remove("index.html").unwrap_or_default();
        let root = format!("/ui/{build}/");
        let index = styles::joined(&String::from_utf8_lossy(&index), &mut files);
        let index = index.replace(BUILD, &root);
        let pages = files.keys().filter(|name| name.starts_with("pages/"));
        let pages = pages.cloned().chain([String::new()]);
        let indexes = pages.map(|page| {
            let text = modules::preloaded(&index, &root, &page, &files);
            (page, Page::new("text/html; charset=utf-8", text.into()))
        });
        let indexes = indexes.collect();
        let files = files.into_iter().filter_map(|(name, data)| {
            let page = Page::new(kind(&name)?, data);
            Some((name, page))
        });
        Self { build, indexes, files: files.collect() }
    }
}

impl Page {
    fn new(kind: &'static str, plain: Vec<u8>) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let written = encoder.write_all(&plain).and_then(|()| encoder.finish());
        let gzipped = written.expect("a vector takes every byte");
        Self { kind, plain: plain.into(), gzipped: gzipped.into() }
    }

    fn response(&self, headers: &HeaderMap, cache: HeaderValue) -> Response {
        let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
        let takes_gzip = accepted.is_some_and(|value| value.contains("gzip"));
        let body = if takes_gzip { &self.gzipped } else { &self.plain };
        let mut response = Response::new(Body::from(body.clone()));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        headers.insert(header::CACHE_CONTROL, cache);
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        if takes_gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        guard(headers);
        response
    }
}

/// Adds the headers of every page.
fn guard(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let opener = header::HeaderName::from_static("cross-origin-opener-policy");
    headers.insert(opener, HeaderValue::from_static("same-origin"));
}

/// Returns the index for a path of the console, which names the modules of the page there.
pub(crate) fn index(path: &str, headers: &HeaderMap) -> Response {
    let Console { indexes, .. } = &*CONSOLE;
    match indexes.get(&modules::of_path(path)).or_else(|| indexes.get("")) {
        Some(index) => index.response(headers, ASK),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Returns a file of this build. A file of another build is gone, so that a page of an old build
/// loads no mixture.
pub(crate) fn file(build: &str, name: &str, headers: &HeaderMap) -> Response {
    match CONSOLE.files.get(name).filter(|_| build == CONSOLE.build) {
        Some(page) => page.response(headers, KEEP),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Returns the content type of a file; `None` for a file that is not served.
fn kind(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "webmanifest" => "application/json",
        _ => return None,
    })
}
