//! The routes. A request becomes a request to the front door, whose reply is the response.

use std::time::Duration;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest, MatchedPath, Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post, put},
};
use client::WatchOptions;
use futures::StreamExt;
use proto::{
    door::{
        Count, Dead, Get, GetCrew, GetTools, GiveAnswer, Inbox, List, SendSignal, Submit, Verb,
        Watched,
    },
    error::{Code, Failure},
    event::EventId,
    id::{JobId, Seq},
    limits,
    point::Point,
    refusal::Text as Refusal,
    strict,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use crate::{
    Desk, agents,
    caller::{self, Caller},
    feed, files, jobs, measured, pages,
    params::Params,
    plan,
    problem::Problem,
    stream,
    words::Text,
};

/// Header with the id of a submission.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Header with the last event of a broken stream.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Largest number of records of a page, and the number without a limit.
const RECORDS_MAX: usize = 1_000;
/// Size of the records after which a page ends.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Time in which the body of a request arrives.
const BODY_WITHIN: Duration = Duration::from_secs(10);

/// The parameters of each route that reads and has some.
const PARAMETERS: &[(&str, &[&str])] = &[
    ("/v1/jobs", &["state", "conversation", "after", "limit"]),
    ("/v1/jobs/{job}", &["at"]),
    ("/v1/jobs/{job}/events", &["after", "live"]),
    ("/v1/jobs/{job}/records", &["after", "limit"]),
    ("/v1/agents", &["name"]),
    ("/v1/agents/{name}/revisions", &["revision"]),
    ("/v1/inbox", &["job", "limit"]),
    ("/v1/dead", &["job", "limit"]),
];

/// Builds the routes of the gateway.
pub(crate) fn router(desk: Desk) -> Router {
    let api = Router::new()
        .route("/about", get(about))
        .route("/jobs", get(list).post(submit))
        .route("/jobs/count", get(count))
        .route("/jobs/{job}", get(job))
        .route("/jobs/{job}/events", get(events))
        .route("/jobs/{job}/records", get(records))
        .route("/jobs/{job}/spans", get(jobs::spans))
        .route("/jobs/{job}/files", get(files::list))
        .route("/jobs/{job}/files/{name}", get(files::file_of))
        .route("/jobs/{job}/signals", post(signal))
        .route("/jobs/{job}/forks", post(fork))
        .route("/jobs/{job}/questions/{ask}/answers", post(answer))
        .route("/plans:execute", post(execute))
        .route("/feed", get(feed::open))
        .route("/inbox", get(inbox))
        .route("/agents", get(agents::list))
        .route("/agents/{name}", get(agents::show).put(agents::set).delete(agents::drop))
        .route("/agents/{name}/revisions", get(agents::revisions))
        .route("/tools", get(tools))
        .route("/crew", get(crew))
        .route("/dead", get(dead))
        .route("/pieces/{sha256}", put(piece))
        .layer(DefaultBodyLimit::max(limits::PIECE_BYTES_MAX))
        .route_layer(middleware::from_fn_with_state(desk.clone(), checked))
        .route_layer(middleware::from_fn(measured::measured))
        .fallback(async |caller: Caller| caller.wrong(StatusCode::NOT_FOUND, Text::NoSuchPath))
        .method_not_allowed_fallback(async |caller: Caller| {
            caller.wrong(StatusCode::METHOD_NOT_ALLOWED, Text::NoSuchMethod)
        });
    Router::new()
        .nest("/v1", api)
        .route("/ui/{build}/{*name}", get(file))
        // Every other path is a page of the console, which reads the path itself.
        .fallback(page)
        .with_state(desk)
}

/// Refuses parameters and conditions that the route does not have: to ignore one could do what its
/// sender did not want. Adds the headers of every reply.
async fn checked(caller: Caller, path: MatchedPath, request: Request, next: Next) -> Answered {
    let known = if request.method().is_safe() {
        let mut known = PARAMETERS.iter().filter(|(route, _)| *route == path.as_str());
        known.next().map_or::<&[&str], _>(&[], |(_, names)| *names)
    } else {
        agents::parameters(request.method(), path.as_str())
    };
    Params::of(&caller, request.uri(), known)?;
    let honours = agents::honours_if_match(request.method(), path.as_str());
    if request.headers().contains_key(header::IF_MATCH) && !honours {
        return Err(caller.wrong(StatusCode::BAD_REQUEST, Text::IfMatch));
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    Ok(response)
}

async fn page(headers: HeaderMap, request: Request) -> Response {
    if request.method().is_safe() {
        return pages::index(&headers);
    }
    let language = caller::language(&headers);
    Problem::request(StatusCode::METHOD_NOT_ALLOWED, Text::NoSuchMethod, language).into_response()
}

async fn file(Path((build, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    pages::file(&build, &name, &headers)
}

/// A JSON body of a request, not yet of a known form.
pub(crate) struct Body(Value);

impl FromRequest<Desk> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, desk: &Desk) -> Result<Self, Problem> {
        let language = caller::language(request.headers());
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_json = kind.is_some_and(|kind| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/json")
        });
        if !is_json {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Problem::request(status, Text::JsonExpected, language));
        }
        let bytes = body(request, desk).await?;
        let parsed = strict::value_from_slice(&bytes);
        parsed.map(Self).map_err(|refused| Problem::new(refused.into(), language))
    }
}

/// Reads the body of a request, which is bounded in size and time.
async fn body(request: Request, desk: &Desk) -> Result<Bytes, Problem> {
    let language = caller::language(request.headers());
    let read = tokio::time::timeout(BODY_WITHIN, Bytes::from_request(request, desk)).await;
    let wrong = |status| Problem::request(status, Text::BodyUnread, language);
    let read = read.map_err(|_| wrong(StatusCode::REQUEST_TIMEOUT))?;
    read.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Problem::new(strict::Refused::TooLarge(limits::PIECE_BYTES_MAX).into(), language)
        }
        status => wrong(status),
    })
}

impl Body {
    /// Adds the fields that the path has, and reads the request.
    pub(crate) fn with<T: DeserializeOwned>(
        mut self,
        caller: &Caller,
        fields: &[(&str, &str)],
    ) -> Result<T, Problem> {
        if let Some(object) = self.0.as_object_mut() {
            for (name, value) in fields {
                if object.insert((*name).to_owned(), json!(value)).is_some() {
                    return Err(caller.wrong_field(name, &Text::InThePath.into()));
                }
            }
        }
        strict::request_from_value(self.0).map_err(|refused| caller.refused(refused.into()))
    }
}

/// A name in a path.
pub(crate) fn named<T: std::str::FromStr>(caller: &Caller, name: &str) -> Result<T, Problem>
where
    Failure: From<T::Err>,
{
    name.parse().map_err(|error: T::Err| caller.refused(error.into()))
}

/// The response to a request, or its refusal.
pub(crate) type Answered = Result<Response, Problem>;

async fn about(State(desk): State<Desk>, caller: Caller) -> Json<Value> {
    let verbs: Vec<&str> = Verb::ALL.iter().map(|verb| verb.name()).collect();
    Json(
        json!({"version": desk.version, "language": caller.language, "verbs": verbs, "pulse": true}),
    )
}

async fn list(caller: Caller, uri: Uri) -> Answered {
    let params = Params::read(&caller, &uri);
    let list = List {
        states: params.all("state")?,
        limit: params.one("limit")?,
        conversation: params.one("conversation")?,
        after: params.one("after")?,
    };
    reply(&caller, caller.client.call(&list).await)
}

async fn count(caller: Caller) -> Answered {
    reply(&caller, caller.client.call(&Count {}).await)
}

async fn submit(caller: Caller, headers: HeaderMap, body: Body) -> Answered {
    let submit = identified(&caller, &headers, body)?;
    submitted(&caller, submit).await
}

async fn execute(
    State(desk): State<Desk>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let mut submit = identified(&caller, &headers, body)?;
    if submit.plan.is_none() {
        return Err(caller.wrong_field("plan", &Text::PlanExpected.into()));
    }
    plan::name(&mut submit);
    let refused = |failure| caller.refused(failure);
    let submitted = caller.client.submit(submit).await.map_err(refused)?;
    let executed = plan::executed(&caller.client, &submitted.job);
    match desk.shutdown.run_until_cancelled(executed).await {
        Some(executed) => executed.map_err(refused),
        None => Err(refused(Failure::of(Code::Unavailable, Refusal::ShuttingDown))),
    }
}

/// Reads a submission, whose id may be in a header.
fn identified(caller: &Caller, headers: &HeaderMap, body: Body) -> Result<Submit, Problem> {
    let mut submit: Submit = body.with(caller, &[])?;
    if let Some(key) = headers.get(IDEMPOTENCY_KEY) {
        let key: JobId = named(caller, key.to_str().unwrap_or_default())?;
        if submit.id.as_ref().is_some_and(|id| *id != key) {
            return Err(caller.wrong_field("id", &Text::TwoIds.into()));
        }
        submit.id = Some(key);
    }
    Ok(submit)
}

async fn fork(caller: Caller, Path(job): Path<String>, headers: HeaderMap, body: Body) -> Answered {
    let Body(Value::Object(mut fork)) = body else {
        return Err(caller.wrong(StatusCode::BAD_REQUEST, Text::JsonExpected));
    };
    let id = fork.remove("id");
    let mut submit =
        json!({"fork": Body(Value::Object(fork)).with::<Value>(&caller, &[("job", &job)])?});
    if let (Some(id), Some(submit)) = (id, submit.as_object_mut()) {
        submit.insert("id".to_owned(), id);
    }
    let submit = identified(&caller, &headers, Body(submit))?;
    submitted(&caller, submit).await
}

async fn submitted(caller: &Caller, submit: Submit) -> Answered {
    let submitted = caller.client.submit(submit).await.map_err(|e| caller.refused(e))?;
    let status = if submitted.created { StatusCode::CREATED } else { StatusCode::OK };
    let place = [(header::LOCATION, format!("/v1/jobs/{}", submitted.job))];
    Ok((status, place, Json(submitted)).into_response())
}

async fn job(caller: Caller, Path(job): Path<String>, uri: Uri, headers: HeaderMap) -> Answered {
    let at: Option<Point> = Params::read(&caller, &uri).one("at")?;
    let get = Get { job: named(&caller, &job)?, at };
    let view = caller.client.call(&get).await.map_err(|failure| caller.refused(failure))?;
    // Reasons for which a job does not move change without a record, and a shard that was restored
    // from a backup has other records at its positions.
    let why = serde_json::to_string(&(view.updated, &view.why)).unwrap_or_default();
    let tag = format!("\"{}-{:.8}\"", view.seq, proto::digest::of_bytes(why.as_bytes()));
    let tags = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, "no-cache".to_owned())];
    let mut asked = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|it| it.to_str().ok());
    let is_same = |one: &str| one == "*" || one.trim_start_matches("W/") == tag;
    if asked.any(|asked| asked.split(',').map(str::trim).any(is_same)) {
        return Ok((StatusCode::NOT_MODIFIED, tags).into_response());
    }
    Ok((tags, Json(view)).into_response())
}

async fn events(
    State(desk): State<Desk>,
    caller: Caller,
    Path(job): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Answered {
    let job: JobId = named(&caller, &job)?;
    let params = Params::read(&caller, &uri);
    let last = match headers.get(LAST_EVENT_ID).map(|id| id.to_str().unwrap_or_default()) {
        None | Some("") => None,
        Some(id) => {
            let wrong = |_| caller.wrong_field("Last-Event-ID", &Text::NoEventId.into());
            Some(id.parse::<EventId>().map_err(wrong)?)
        }
    };
    let start =
        stream::Start { after: last.or(params.one("after")?), live: params.is_set("live")? };
    let opened = stream::response(&caller.client, &job, start, desk.shutdown).await;
    opened.map_err(|failure| caller.refused(failure))
}

/// A page of records.
#[derive(Serialize)]
struct Records {
    records: Vec<Box<RawValue>>,
    more: bool,
}

async fn records(caller: Caller, Path(job): Path<String>, uri: Uri) -> Answered {
    let job: JobId = named(&caller, &job)?;
    let params = Params::read(&caller, &uri);
    let after = params.one::<u64>("after")?.map_or(Seq(0), Seq);
    let limit = params.one::<usize>("limit")?.unwrap_or(RECORDS_MAX);
    if !(1..=RECORDS_MAX).contains(&limit) {
        return Err(caller.wrong_field("limit", &Text::Limit { max: &RECORDS_MAX }.into()));
    }
    let options =
        WatchOptions { give_up_after: stream::BEGIN_WITHIN, ..WatchOptions::records(after) };
    let mut items = caller.client.watch(&job, options).boxed();
    let (mut page, mut bytes) = (Records { records: Vec::new(), more: false }, 0);
    while let Some(item) = items.next().await {
        match item.map_err(|failure| caller.refused(failure))? {
            record @ Watched::Record { .. } => {
                if page.records.len() == limit || bytes > PAGE_BYTES_MAX {
                    page.more = true;
                    break;
                }
                let record = to_raw_value(&record).map_err(|error| {
                    caller.refused(Failure::new(Code::Internal, error.to_string()))
                })?;
                bytes += record.get().len();
                page.records.push(record);
            }
            // All stored records have been sent.
            Watched::View { .. } | Watched::End { .. } => break,
            Watched::Event { .. } | Watched::Live { .. } | Watched::Heartbeat => {}
        }
    }
    Ok(Json(page).into_response())
}

async fn signal(caller: Caller, Path(job): Path<String>, body: Body) -> Answered {
    let signal: SendSignal = body.with(&caller, &[("job", &job)])?;
    reply(&caller, caller.client.call(&signal).await)
}

async fn answer(caller: Caller, Path((job, ask)): Path<(String, String)>, body: Body) -> Answered {
    let answer: GiveAnswer = body.with(&caller, &[("job", &job), ("ask", &ask)])?;
    reply(&caller, caller.client.call(&answer).await)
}

async fn inbox(caller: Caller, uri: Uri) -> Answered {
    let params = Params::read(&caller, &uri);
    let inbox = Inbox { job: params.one("job")?, limit: params.one("limit")? };
    reply(&caller, caller.client.call(&inbox).await)
}

async fn tools(caller: Caller) -> Answered {
    reply(&caller, caller.client.call(&GetTools {}).await)
}

async fn crew(caller: Caller) -> Answered {
    reply(&caller, caller.client.call(&GetCrew {}).await)
}

async fn dead(caller: Caller, uri: Uri) -> Answered {
    let params = Params::read(&caller, &uri);
    let dead = Dead { job: params.one("job")?, limit: params.one("limit")? };
    reply(&caller, caller.client.call(&dead).await)
}

async fn piece(
    State(desk): State<Desk>,
    caller: Caller,
    Path(sha256): Path<String>,
    request: Request,
) -> Answered {
    let body = body(request, &desk).await?;
    if proto::digest::of_bytes(&body) != sha256.to_ascii_lowercase() {
        return Err(caller.wrong(StatusCode::UNPROCESSABLE_ENTITY, Text::OtherDigest));
    }
    reply(&caller, caller.client.upload(body).await)
}

/// Returns the reply of the front door as the response.
pub(crate) fn reply<T: Serialize>(caller: &Caller, replied: Result<T, Failure>) -> Answered {
    let reply = replied.map_err(|failure| caller.refused(failure))?;
    Ok(Json(reply).into_response())
}
