//! The caller of a request: the token, the language, and the checks that keep foreign web pages out.
//!
//! A web page can have a browser send requests to any address. No cookie has a meaning here, so such
//! a request carries nobody's rights. It could still use an installation without people, whose front
//! door accepts everybody, and a host name that resolves to this address (DNS rebinding) could read
//! the responses. So the `Host` must be known, and a request that changes something must not come
//! from another site.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, Method, StatusCode, header, request::Parts, uri::Authority},
};
use client::Client;
use proto::{
    digest,
    door::GetCrew,
    error::{Code, Failure},
    lang::{Language, Words},
    refusal::{Reason, Text as Refusal},
    trace::TraceContext,
};
use runtime::http::Peer;

use crate::{Desk, answer_page, limited::Token, measured::Traced, problem::Problem, words::Text};

/// Names of parameters that would put a token into logs and histories.
const TOKEN_PARAMETERS: [&str; 3] = ["token", "access_token", "api_key"];

/// Time in which the front door says whether it knows a token.
const ASK_WITHIN: Duration = Duration::from_secs(2);

/// Header with the caller's span.
const TRACEPARENT: header::HeaderName = header::HeaderName::from_static("traceparent");

/// The host names by which this gateway may be called, besides addresses and `localhost`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts(Arc<[String]>);

impl Hosts {
    pub(crate) fn new(names: &[String]) -> Self {
        Self(names.iter().map(|name| name.to_ascii_lowercase()).collect())
    }

    /// `true` for a `Host` header of this gateway. An address cannot be rebound.
    fn know(&self, host: &str) -> bool {
        let name = name_of(host);
        let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
        address.is_ok() || name.eq_ignore_ascii_case("localhost") || self.name(host)
    }

    /// `true` for a host of this gateway that is named in the settings. A proxy may replace the
    /// `Host` of a request, but not its `Origin`.
    fn name(&self, host: &str) -> bool {
        let name = name_of(host);
        self.0.iter().any(|known| name.eq_ignore_ascii_case(known))
    }
}

/// The sender of a request.
#[derive(Debug)]
pub(crate) struct Caller {
    /// A client of the front door that acts for the caller.
    pub(crate) client: Client,
    /// Language of messages.
    pub(crate) language: Language,
    /// Key of the caller's limits.
    pub(crate) key: String,
    /// Digest of the token; empty without one.
    subject: String,
    /// Name and port by which the caller reaches the gateway.
    pub(crate) host: String,
    has_token: bool,
}

impl Caller {
    /// Returns what tells the caller from others: the same for the same token, and empty without one.
    pub(crate) fn subject(&self) -> &str {
        &self.subject
    }

    /// Counts the request. Refuses it if it is one too many.
    pub(crate) async fn counted(&self, desk: &Desk, method: &Method) -> Result<(), Problem> {
        let (limits, key, subject) = (&desk.limits, &self.key, &self.subject);
        let is_admitted = match self.has_token && key != subject {
            true => limits.admit_new(subject, key, method, self.token(desk)).await,
            false => limits.admit(key, method),
        };
        if is_admitted {
            return Ok(());
        }
        let (reads, writes) = (&desk.rates.0, &desk.rates.1);
        Err(self.overloads(Text::TooManyRequests { reads, writes }))
    }

    /// Asks the front door about the caller's token. Where it admits everybody, a token names nobody.
    async fn token(&self, desk: &Desk) -> Token {
        let asked = tokio::time::timeout(ASK_WITHIN, self.client.call(&GetCrew::default())).await;
        let names_somebody = match asked {
            Ok(Ok(_)) => true,
            Ok(Err(failure)) => failure.code == Code::Forbidden && !self.is_unknown(&failure),
            Err(_) => false,
        };
        if !names_somebody {
            return Token::Unknown;
        }
        let anybody = desk.client.clone().with_token(None);
        let asked = tokio::time::timeout(ASK_WITHIN, anybody.call(&GetCrew::default())).await;
        match asked {
            Ok(Err(failure)) if failure.code == Code::Forbidden => Token::Known,
            Ok(Ok(_)) => Token::Needless,
            Ok(Err(_)) | Err(_) => Token::Unknown,
        }
    }

    /// Refuses a caller whom the front door does not know. Roles do not matter: a request of any verb
    /// shows whether it knows the caller, and this one costs least.
    pub(crate) async fn must_be_known(&self) -> Result<(), Problem> {
        match self.client.call(&GetCrew::default()).await {
            Err(failure) if self.is_unknown(&failure) => Err(self.refused(failure)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Returns the response to a refusal of the front door.
    pub(crate) fn refused(&self, failure: Failure) -> Problem {
        let is_unknown = self.is_unknown(&failure);
        let problem = Problem::new(failure, self.language);
        if is_unknown { problem.with_status(StatusCode::UNAUTHORIZED) } else { problem }
    }

    /// `true` for the refusal of a caller who has no token, or one that names nobody.
    fn is_unknown(&self, failure: &Failure) -> bool {
        let unknown = [Refusal::UnknownToken, Refusal::TokenExpired].map(Reason::from);
        let names_nobody = failure.reason.as_deref().is_some_and(|reason| unknown.contains(reason));
        failure.code == Code::Forbidden && (!self.has_token || names_nobody)
    }

    /// Returns the response to a caller that asks for too much.
    pub(crate) fn overloads(&self, why: Text<'_>) -> Problem {
        self.refused(Failure::composed(Code::Overloaded, &why.into()))
    }

    /// Returns the response to a request that HTTP alone makes wrong.
    pub(crate) fn wrong(&self, status: StatusCode, why: Text<'_>) -> Problem {
        Problem::request(status, why, self.language)
    }

    /// Returns the response to a wrong field.
    pub(crate) fn wrong_field(&self, field: &str, why: &Words) -> Problem {
        let failure = Failure::composed(Code::InvalidRequest, why).at(field);
        let message = format!("{field}: {}", failure.message);
        self.refused(Failure { message, ..failure })
    }
}

impl FromRequestParts<Desk> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Problem> {
        let headers = &parts.headers;
        let language = language(headers);
        let refuse = |status, why| Err(Problem::request(status, why, language));
        let Some(host) = host(parts).filter(|host| desk.hosts.know(host)) else {
            return refuse(StatusCode::MISDIRECTED_REQUEST, Text::UnknownHost);
        };
        // The path of an answer page is the secret that its form needs, and its browser tells no
        // origin.
        let is_page = parts.uri.path().starts_with(answer_page::ROOT);
        let may = is_page || is_read(&parts.method) || is_same_site(parts, &desk.hosts);
        if !may {
            return refuse(StatusCode::FORBIDDEN, Text::AnotherSite);
        }
        if headers.contains_key(header::CONTENT_ENCODING) {
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, Text::Compressed);
        }
        let query = parts.uri.query().unwrap_or_default();
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        if pairs.any(|(name, _)| TOKEN_PARAMETERS.contains(&&*name)) {
            return refuse(StatusCode::UNAUTHORIZED, Text::TokenInQuery);
        }
        let token = match headers.get(header::AUTHORIZATION) {
            None => None,
            Some(_) => match one(headers, header::AUTHORIZATION).and_then(bearer) {
                Some(token) => Some(token.to_owned()),
                None => return refuse(StatusCode::UNAUTHORIZED, Text::BearerExpected),
            },
        };
        let has_token = token.is_some();
        let peer = parts.extensions.get::<Peer>().map(|peer| peer.0);
        let digest = token.as_ref().map(|token| digest::of_bytes(token.as_bytes()));
        let key = desk.limits.key(digest.as_deref(), peer);
        let subject = digest.unwrap_or_default();
        let client = desk.client.clone().with_token(token);
        let traced = parts.extensions.get::<Traced>().map(|traced| traced.0);
        let client = match traced.or_else(|| trace(headers)) {
            Some(trace) => client.with_trace(trace),
            None => client,
        };
        let host = host.to_owned();
        Ok(Self { client, language, key, subject, host, has_token })
    }
}

/// Returns the caller's span. A malformed one is no reason to refuse: a new trace begins.
pub(crate) fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    one(headers, TRACEPARENT).and_then(|trace| TraceContext::parse(trace).ok())
}

/// Returns the name by which the gateway was called: `Host`, or `:authority` in HTTP/2.
fn host(parts: &Parts) -> Option<&str> {
    match parts.headers.contains_key(header::HOST) {
        true => one(&parts.headers, header::HOST),
        false => parts.uri.authority().map(Authority::as_str),
    }
}

/// Returns a header that occurs once.
fn one(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    value.to_str().ok()
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn is_read(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

/// `true` unless a browser says that a page of another site sends the request.
fn is_same_site(parts: &Parts, hosts: &Hosts) -> bool {
    let headers = &parts.headers;
    let fetched = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    let is_own_page = fetched.is_none_or(|site| site == b"same-origin" || site == b"none");
    let host = host(parts);
    let is_own_origin = match headers.get(header::ORIGIN) {
        None => true,
        Some(_) => one(headers, header::ORIGIN)
            .and_then(|origin| origin.split_once("://"))
            .is_some_and(|(_, named)| host == Some(named) || hosts.name(named)),
    };
    is_own_page && is_own_origin
}

/// Returns the first supported language that the caller accepts.
pub(crate) fn language(headers: &HeaderMap) -> Language {
    let accepted = one(headers, header::ACCEPT_LANGUAGE).unwrap_or_default();
    let mut named = accepted.split(',').map(str::trim);
    named
        .find_map(|tag| match tag.get(..2)?.to_ascii_lowercase().as_str() {
            "zh" => Some(Language::Zh),
            "en" => Some(Language::En),
            _ => None,
        })
        .unwrap_or(Language::En)
}

/// Returns the name in a `Host` header, without the port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        Some(_) | None => host,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let lines = lines.iter();
        lines.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn parts(uri: &str, lines: &[(&'static str, &str)]) -> Parts {
        let mut request = axum::http::Request::builder().uri(uri);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[rstest]
    #[case("127.0.0.1:8600", true)]
    #[case("localhost:8600", true)]
    #[case("[::1]:8600", true)]
    #[case("10.0.0.7", true)]
    #[case("Jobs.Example.com:443", true)]
    #[case("evil.example", false)]
    #[case("localhost.evil.example", false)]
    #[case("", false)]
    fn a_host_is_an_address_or_a_known_name(#[case] host: &str, #[case] known: bool) {
        assert_eq!(Hosts::new(&["jobs.example.com".to_owned()]).know(host), known);
    }

    #[rstest]
    #[case::a_program(&[("host", "a:1")], true)]
    #[case::our_page(&[("host", "a:1"), ("origin", "http://a:1"), ("sec-fetch-site", "same-origin")], true)]
    #[case::typed_by_a_person(&[("host", "a:1"), ("sec-fetch-site", "none")], true)]
    #[case::another_site(&[("host", "a:1"), ("sec-fetch-site", "cross-site")], false)]
    #[case::a_sibling_host(&[("host", "a:1"), ("sec-fetch-site", "same-site")], false)]
    #[case::our_page_behind_a_proxy(&[("host", "a:1"), ("origin", "https://jobs.example.com")], true)]
    #[case::another_origin(&[("host", "a:1"), ("origin", "http://b:1")], false)]
    #[case::another_port(&[("host", "a:1"), ("origin", "http://a:2")], false)]
    #[case::a_sandboxed_page(&[("host", "a:1"), ("origin", "null")], false)]
    fn only_our_own_pages_change_something(
        #[case] lines: &[(&'static str, &str)],
        #[case] may: bool,
    ) {
        let hosts = Hosts::new(&["jobs.example.com".to_owned()]);
        assert_eq!(is_same_site(&parts("/", lines), &hosts), may);
    }

    #[rstest]
    #[case("/", &[("host", "a:1")], Some("a:1"))]
    #[case("https://b:2/", &[], Some("b:2"))]
    #[case("https://b:2/", &[("host", "a:1")], Some("a:1"))]
    #[case("/", &[("host", "a:1"), ("host", "b:2")], None)]
    #[case("/", &[], None)]
    fn a_request_names_its_host_once(
        #[case] uri: &str,
        #[case] lines: &[(&'static str, &str)],
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(host(&parts(uri, lines)), expected);
    }

    #[rstest]
    #[case("zh-CN,zh;q=0.9,en;q=0.8", Language::Zh)]
    #[case("fr, en-GB", Language::En)]
    #[case("fr", Language::En)]
    #[case("", Language::En)]
    fn the_first_supported_language_counts(#[case] accepted: &str, #[case] expected: Language) {
        assert_eq!(language(&headers(&[("accept-language", accepted)])), expected);
    }

    #[rstest]
    #[case("Bearer abc", Some("abc"))]
    #[case("bearer  abc ", Some("abc"))]
    #[case("Basic abc", None)]
    #[case("Bearer ", None)]
    #[case("abc", None)]
    fn a_token_is_a_bearer(#[case] value: &str, #[case] token: Option<&str>) {
        assert_eq!(bearer(value), token);
    }
}
