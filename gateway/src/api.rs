//! The routes. A request becomes a request to the front door, whose reply is the response.

mod agents;
mod asked;
pub(crate) mod body;
mod condition;
pub(crate) mod feed;
mod files;
mod filter;
mod installation;
pub(crate) mod jobs;
mod log;
mod login;
mod openapi;
mod plans;
mod questions;
mod route;
mod workflows;

use std::sync::LazyLock;

use axum::{
    Router,
    extract::{
        DefaultBodyLimit, MatchedPath, Path, RawPathParams, Request, State,
        rejection::RawPathParamsRejection,
    },
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use proto::{
    diff::{JobDiff, PlanDiff},
    door::{self, Verb},
    event::{EventId, EventType},
    graph::PlanGraph,
    id::{AgentName, JobId, Seq},
    limits,
    point::{Fork, Point},
    view::JobView,
    workflow::{WorkflowGraph, WorkflowName},
};
use serde_json::json;

use self::{
    asked::AskedQuestion,
    body::Answered,
    route::{JSON, Route, Spec},
};
use crate::{
    Desk, a2a, agui, answer_page,
    caller::{self, Caller},
    error_pages, framing, mcp, measured, pages,
    params::{Params, Switch},
    plan,
    problem::Problem,
    webhooks::incoming,
    words::Text,
};

/// The table of routes. An entry is all that a route needs: the router, the check of parameters and
/// the OpenAPI document read it, and a test tries each route as each role.
fn routes() -> Vec<Route> {
    let areas = [
        of_jobs(),
        of_logs_and_files(),
        of_questions(),
        of_agents(),
        of_workflows(),
        of_the_installation(),
        of_bridges(),
    ];
    areas.into_iter().flatten().collect()
}

const OK: StatusCode = StatusCode::OK;
const CREATED: StatusCode = StatusCode::CREATED;

fn of_jobs() -> Vec<Route> {
    vec![
        Route::get("/v1/jobs", jobs::list)
            .verb(Verb::List)
            .filtered()
            .param::<JobId>("after")
            .param::<u32>("limit")
            .replies::<door::Listed>(OK),
        Route::post("/v1/jobs", jobs::submit)
            .verb(Verb::Submit)
            .body::<door::Submit>(json!({"goal": "Summarise notes.md"}))
            .replies::<door::Submitted>(CREATED)
            .replies::<door::Submitted>(OK),
        Route::get("/v1/jobs/count", jobs::count)
            .verb(Verb::Count)
            .filtered()
            .replies::<door::Counted>(OK),
        Route::get("/v1/usage", jobs::usage)
            .verb(Verb::Usage)
            .filtered()
            .replies::<door::UsageReport>(OK),
        Route::get("/v1/jobs/{job}", jobs::job)
            .verb(Verb::Get)
            .param::<Point>("at")
            .replies::<JobView>(OK)
            .sends(StatusCode::NOT_MODIFIED, None),
        Route::post("/v1/jobs/{job}/signals", jobs::signal)
            .verb(Verb::Signal)
            .verb(Verb::Preview)
            .param::<Switch>(jobs::DRY_RUN)
            .conditional()
            .body::<door::SendSignal>(json!({"signal": "cancel"}))
            .replies_either::<door::Signaled, door::Previewed>(OK),
        Route::post("/v1/jobs/{job}/forks", jobs::fork)
            .verb(Verb::Submit)
            .body::<Fork>(json!({"at": 5}))
            .and::<JobId>("id")
            .verb(Verb::Preview)
            .param::<Switch>(jobs::DRY_RUN)
            .replies::<door::Submitted>(CREATED)
            .replies_either::<door::Submitted, door::Previewed>(OK),
        Route::post("/v1/batches", jobs::batch)
            .verb(Verb::Batch)
            .body::<door::Batch>(json!({"filter": {"agent": "default"}, "signal": "cancel"}))
            .replies::<door::Batched>(OK),
        Route::post("/v1/plans:execute", jobs::execute)
            .verb(Verb::Submit)
            .verb(Verb::Watch)
            .body::<door::Submit>(json!({"plan": {"title": "Say it", "steps": ["Say hello"]}}))
            .replies::<plan::Executed>(OK)
            .replies::<plan::Executed>(StatusCode::ACCEPTED)
            .replies::<plan::Executed>(StatusCode::INTERNAL_SERVER_ERROR),
    ]
}

fn of_logs_and_files() -> Vec<Route> {
    vec![
        Route::get("/v1/jobs/{job}/events", log::events)
            .verb(Verb::Watch)
            .param::<EventId>("after")
            .param::<Switch>("live")
            .params::<EventType>("types")
            .param::<u32>("limit")
            .sends(OK, Some("text/event-stream"))
            .replies::<log::Events>(OK),
        Route::get("/v1/jobs/{job}/records", log::records)
            .verb(Verb::Watch)
            .param::<Seq>("after")
            .param::<u32>("limit")
            .replies::<log::Records>(OK),
        Route::get("/v1/jobs/{job}/spans", log::spans).verb(Verb::Watch).replies::<log::Bars>(OK),
        Route::get("/v1/jobs/{job}/graph", plans::graph)
            .verb(Verb::Get)
            .verb(Verb::Graph)
            .param::<Point>("at")
            .param::<u32>("revision")
            .param::<Switch>("files")
            .replies_either::<PlanGraph, WorkflowGraph>(OK),
        Route::get("/v1/jobs/{job}/diff", plans::diff)
            .verb(Verb::Get)
            .param::<plans::Side>("a")
            .param::<plans::Side>("b")
            .param::<JobId>("with")
            .replies_either::<JobDiff, PlanDiff>(OK),
        Route::get("/v1/jobs/{job}/files", files::list).verb(Verb::Get).replies::<files::Files>(OK),
        Route::get("/v1/jobs/{job}/files/{name}", files::file_of)
            .verb(Verb::Download)
            .sends(OK, Some("application/octet-stream")),
        Route::put("/v1/pieces/{sha256}", files::piece)
            .verb(Verb::Upload)
            .bytes("application/octet-stream", "a piece")
            .replies::<door::Uploaded>(OK),
    ]
}

fn of_questions() -> Vec<Route> {
    vec![
        Route::get("/v1/inbox", questions::inbox)
            .verb(Verb::Inbox)
            .param::<JobId>("job")
            .param::<u32>("limit")
            .replies::<door::InboxPage>(OK),
        Route::get("/v1/jobs/{job}/questions/{ask}", questions::question)
            .verb(Verb::Watch)
            .replies::<AskedQuestion>(OK),
        Route::post("/v1/jobs/{job}/questions/{ask}/answers", questions::answer)
            .verb(Verb::Answer)
            .body::<door::GiveAnswer>(json!({"decision": "approve", "digest": "9f2b"}))
            .replies::<door::AnswerTaken>(OK),
        Route::post("/v1/jobs/{job}/questions/{ask}/links", questions::link)
            .verb(Verb::Link)
            .body::<door::Link>(json!({}))
            .replies::<questions::Made>(CREATED),
        Route::delete("/v1/jobs/{job}/questions/{ask}/links", questions::unlink)
            .verb(Verb::Unlink)
            .replies::<door::Unlinked>(OK),
        Route::get("/a/{handle}", answer_page::show)
            .verb(Verb::Redeem)
            .sends(OK, Some(HTML))
            .sends(StatusCode::NOT_FOUND, Some(HTML)),
        Route::post("/a/{handle}", answer_page::answer)
            .verb(Verb::Redeem)
            .bytes("application/x-www-form-urlencoded", "decision=approve")
            .sends(StatusCode::SEE_OTHER, None)
            .sends(StatusCode::NOT_FOUND, Some(HTML))
            .sends(StatusCode::CONFLICT, Some(HTML))
            .sends(StatusCode::UNPROCESSABLE_ENTITY, Some(HTML)),
    ]
}

fn of_agents() -> Vec<Route> {
    vec![
        Route::get("/v1/agents", agents::list)
            .verb(Verb::Agents)
            .param::<AgentName>("name")
            .replies::<door::AgentList>(OK),
        Route::get("/v1/agents/{name}", agents::show)
            .verb(Verb::Agents)
            .replies::<door::AgentList>(OK),
        Route::put("/v1/agents/{name}", agents::set)
            .verb(Verb::SetAgent)
            .param::<Switch>("check")
            .conditional()
            .body::<door::SetAgent>(json!({"text": "extends: react"}))
            .replies::<door::AgentChanged>(OK),
        Route::delete("/v1/agents/{name}", agents::drop)
            .verb(Verb::DropAgent)
            .conditional()
            .replies::<door::AgentChanged>(OK),
        Route::get("/v1/agents/{name}/revisions", agents::revisions)
            .verb(Verb::AgentRevisions)
            .param::<u64>("revision")
            .replies::<door::AgentHistory>(OK),
    ]
}

fn of_workflows() -> Vec<Route> {
    vec![
        Route::get("/v1/workflows", workflows::list)
            .verb(Verb::Workflows)
            .param::<WorkflowName>("name")
            .replies::<door::WorkflowList>(OK),
        Route::get("/v1/workflows/{workflow}", workflows::show)
            .verb(Verb::Workflows)
            .param::<u32>("version")
            .replies::<door::WorkflowList>(OK),
        Route::put("/v1/workflows/{workflow}", workflows::set)
            .verb(Verb::SetWorkflow)
            .param::<Switch>("check")
            .conditional()
            .body::<door::SetWorkflow>(json!({
                "text": "workflow: greet\nstart: hello\nnodes: {hello: {type: model, prompt: Say hello., reply: {type: object}}}",
            }))
            .replies::<door::WorkflowChanged>(OK),
        Route::delete("/v1/workflows/{workflow}", workflows::drop)
            .verb(Verb::DropWorkflow)
            .conditional()
            .replies::<door::WorkflowChanged>(OK),
    ]
}

fn of_the_installation() -> Vec<Route> {
    vec![
        Route::get("/openapi.json", openapi::openapi).sends(OK, Some(JSON)),
        Route::get("/errors/{code}", error_pages::show)
            .sends(OK, Some(HTML))
            .sends(StatusCode::NOT_FOUND, Some(HTML)),
        Route::get("/v1/about", installation::about).replies::<installation::About>(OK),
        Route::get("/v1/login", login::offer)
            .replies::<oidc::login::Offer>(OK)
            .sends(StatusCode::NO_CONTENT, None),
        Route::post("/v1/login", login::exchange)
            .body::<oidc::login::Exchange>(json!({
                "code": "9f2b",
                "verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
                "redirect": "https://jobs.example.com/signin",
            }))
            .replies::<oidc::login::SignedIn>(OK),
        Route::get("/v1/feed", feed::open).verb(Verb::Crew).sends(OK, Some("text/event-stream")),
        Route::get("/v1/tools", installation::tools).verb(Verb::Tools).replies::<door::Tools>(OK),
        Route::get("/v1/crew", installation::crew)
            .verb(Verb::Crew)
            .param::<Switch>("queues")
            .replies::<door::Crew>(OK),
        Route::get("/v1/dead", installation::dead)
            .verb(Verb::Dead)
            .param::<JobId>("job")
            .param::<u32>("limit")
            .replies::<door::DeadLetters>(OK),
    ]
}

/// The routes of other protocols.
fn of_bridges() -> Vec<Route> {
    let said = json!({"role": "user", "content": "Summarise notes.md"});
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let run = json!({"threadId": "trip", "runId": "r1", "messages": [said]});
    let part = json!({"text": "Summarise notes.md"});
    let message = json!({"messageId": "m1", "role": "ROLE_USER", "parts": [part]});
    let params = json!({"message": message, "configuration": {"returnImmediately": true}});
    let send = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    vec![
        // The first verb is that of a message without a task.
        Route::post("/a2a", a2a::call)
            .verb(Verb::Submit)
            .verb(Verb::Get)
            .verb(Verb::List)
            .verb(Verb::Watch)
            .verb(Verb::Answer)
            .verb(Verb::Signal)
            .up_to(body::FOREIGN_BYTES_MAX)
            .body::<serde_json::Value>(send)
            .sends(OK, Some(JSON))
            .sends(OK, Some("text/event-stream")),
        Route::get("/.well-known/agent-card.json", a2a::card)
            .sends(OK, Some(JSON))
            .sends(StatusCode::NOT_MODIFIED, None),
        Route::post("/agui/{agent}", agui::run)
            .verb(Verb::Submit)
            .verb(Verb::Watch)
            .up_to(body::FOREIGN_BYTES_MAX)
            .body::<agui::RunAgentInput>(run)
            .sends(OK, Some("text/event-stream")),
        // The verbs depend on the tool that is called.
        Route::post("/mcp", mcp::call)
            .up_to(body::FOREIGN_BYTES_MAX)
            .body::<serde_json::Value>(ping)
            .sends(OK, Some(JSON))
            .sends(StatusCode::ACCEPTED, None),
        // The signature lets the sender in, and the webhook's own token submits.
        Route::post("/v1/hooks/{name}", incoming::deliver)
            .bytes(JSON, "{}")
            .replies::<door::Submitted>(CREATED)
            .replies::<door::Submitted>(OK),
    ]
}

/// Builds the routes of the gateway.
pub(crate) fn router(desk: Desk) -> Router {
    let (mut api, mut others) = (Router::new(), Router::new());
    for Route { spec, methods } in routes() {
        match spec.path.strip_prefix(ROOT) {
            Some(path) => api = api.route(path, methods),
            None => others = others.route(spec.path, methods),
        }
    }
    let common = |router: Router<Desk>| {
        let router = router.layer(DefaultBodyLimit::max(limits::PIECE_BYTES_MAX));
        router
            .route_layer(middleware::from_fn_with_state(desk.clone(), checked))
            .route_layer(middleware::from_fn(measured::measured))
            .method_not_allowed_fallback(async |caller: Caller| {
                caller.wrong(StatusCode::METHOD_NOT_ALLOWED, Text::NoSuchMethod)
            })
    };
    let api = common(api)
        .fallback(async |caller: Caller| caller.wrong(StatusCode::NOT_FOUND, Text::NoSuchPath));
    common(others)
        .nest(ROOT, api)
        .route("/ui/{build}/{*name}", get(file))
        // Every other path is a page of the console, which reads the path itself.
        .fallback(page)
        .layer(middleware::from_fn(framing::ended))
        .with_state(desk)
}

/// Path below which the routes are that need a token.
const ROOT: &str = "/v1";

const HTML: &str = "text/html";

/// The descriptions of all routes.
static SPECS: LazyLock<Vec<Spec>> =
    LazyLock::new(|| routes().into_iter().map(|route| route.spec).collect());

/// Refuses parameters and conditions that the route does not have: to ignore one could do what its
/// sender did not want. Adds the headers of every reply.
async fn checked(
    State(desk): State<Desk>,
    caller: Caller,
    path: MatchedPath,
    places: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Answered {
    caller.counted(&desk, request.method()).await?;
    if places.is_err() {
        return Err(caller.wrong(StatusCode::BAD_REQUEST, Text::PathNotUtf8));
    }
    let known = SPECS.iter().find(|spec| spec.is(request.method(), path.as_str()));
    let parameters = known.map_or(&[][..], |spec| &spec.parameters);
    let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
    Params::of(&caller, request.uri(), &names)?;
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
        return pages::index(request.uri().path(), &headers);
    }
    let language = caller::language(&headers);
    Problem::request(StatusCode::METHOD_NOT_ALLOWED, Text::NoSuchMethod, language).into_response()
}

async fn file(Path((build, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    pages::file(&build, &name, &headers)
}
