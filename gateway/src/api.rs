//! The routes. A request becomes a request to the front door, whose reply is the response.

mod agents;
mod body;
pub(crate) mod feed;
mod files;
mod filter;
mod installation;
mod jobs;
mod log;
mod questions;
mod route;

use std::sync::LazyLock;

use axum::{
    Router,
    extract::{DefaultBodyLimit, MatchedPath, Path, Request},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use proto::{door::Verb, limits};

use self::{
    body::Answered,
    route::{Route, Spec},
};
use crate::{
    Desk,
    caller::{self, Caller},
    measured, pages,
    params::Params,
    problem::Problem,
    words::Text,
};

/// The table of routes. An entry is all that a route needs.
fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/about", installation::about),
        Route::get("/v1/jobs", jobs::list).verb(Verb::List).query(&filter::OF_LIST),
        Route::post("/v1/jobs", jobs::submit).verb(Verb::Submit),
        Route::get("/v1/jobs/count", jobs::count).verb(Verb::Count).query(&filter::NAMES),
        Route::get("/v1/jobs/{job}", jobs::job).verb(Verb::Get).query(&["at"]),
        Route::get("/v1/jobs/{job}/events", log::events)
            .verb(Verb::Watch)
            .query(&["after", "live"]),
        Route::get("/v1/jobs/{job}/records", log::records)
            .verb(Verb::Watch)
            .query(&["after", "limit"]),
        Route::get("/v1/jobs/{job}/spans", log::spans).verb(Verb::Watch),
        Route::get("/v1/jobs/{job}/files", files::list).verb(Verb::Get),
        Route::get("/v1/jobs/{job}/files/{name}", files::file_of).verb(Verb::Download),
        Route::post("/v1/jobs/{job}/signals", jobs::signal).verb(Verb::Signal),
        Route::post("/v1/jobs/{job}/forks", jobs::fork).verb(Verb::Submit),
        Route::post("/v1/jobs/{job}/questions/{ask}/answers", questions::answer).verb(Verb::Answer),
        Route::post("/v1/batches", jobs::batch).verb(Verb::Batch),
        Route::post("/v1/plans:execute", jobs::execute).verb(Verb::Submit).verb(Verb::Watch),
        Route::get("/v1/feed", feed::open).verb(Verb::Count).verb(Verb::Inbox).verb(Verb::Crew),
        Route::get("/v1/inbox", questions::inbox).verb(Verb::Inbox).query(&["job", "limit"]),
        Route::get("/v1/agents", agents::list).verb(Verb::Agents).query(&["name"]),
        Route::get("/v1/agents/{name}", agents::show).verb(Verb::Agents),
        Route::put("/v1/agents/{name}", agents::set)
            .verb(Verb::SetAgent)
            .query(&["check"])
            .conditional(),
        Route::delete("/v1/agents/{name}", agents::drop).verb(Verb::DropAgent).conditional(),
        Route::get("/v1/agents/{name}/revisions", agents::revisions)
            .verb(Verb::AgentRevisions)
            .query(&["revision"]),
        Route::get("/v1/tools", installation::tools).verb(Verb::Tools),
        Route::get("/v1/crew", installation::crew).verb(Verb::Crew),
        Route::get("/v1/dead", installation::dead).verb(Verb::Dead).query(&["job", "limit"]),
        Route::put("/v1/pieces/{sha256}", files::piece).verb(Verb::Upload),
    ]
}

/// Builds the routes of the gateway.
pub(crate) fn router(desk: Desk) -> Router {
    let mut api = Router::new();
    for Route { spec, methods } in routes() {
        let path = spec.path.strip_prefix(ROOT).unwrap_or(spec.path);
        api = api.route(path, methods);
    }
    let api = api
        .layer(DefaultBodyLimit::max(limits::PIECE_BYTES_MAX))
        .route_layer(middleware::from_fn_with_state(desk.clone(), checked))
        .route_layer(middleware::from_fn(measured::measured))
        .fallback(async |caller: Caller| caller.wrong(StatusCode::NOT_FOUND, Text::NoSuchPath))
        .method_not_allowed_fallback(async |caller: Caller| {
            caller.wrong(StatusCode::METHOD_NOT_ALLOWED, Text::NoSuchMethod)
        });
    Router::new()
        .nest(ROOT, api)
        .route("/ui/{build}/{*name}", get(file))
        // Every other path is a page of the console, which reads the path itself.
        .fallback(page)
        .with_state(desk)
}

/// The beginning of every path of the table.
const ROOT: &str = "/v1";

/// The descriptions of all routes.
static SPECS: LazyLock<Vec<Spec>> =
    LazyLock::new(|| routes().into_iter().map(|route| route.spec).collect());

/// Refuses parameters and conditions that the route does not have: to ignore one could do what its
/// sender did not want. Adds the headers of every reply.
async fn checked(caller: Caller, path: MatchedPath, request: Request, next: Next) -> Answered {
    let known = SPECS.iter().find(|spec| spec.is(request.method(), path.as_str()));
    Params::of(&caller, request.uri(), known.map_or(&[], |spec| spec.query))?;
    let is_conditional = known.is_some_and(|spec| spec.is_conditional);
    if request.headers().contains_key(header::IF_MATCH) && !is_conditional {
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
