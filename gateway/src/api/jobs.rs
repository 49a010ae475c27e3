//! Jobs: submissions, lists, states and signals.

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use proto::{
    door::{Batch, Count, Get, GetUsage, List, Preview, SendSignal, Submit, Submitted},
    error::{Code, Failure},
    id::{JobId, Seq},
    point::{Fork, Point},
    refusal::Text as Refusal,
};
use serde_json::{Value, json};

use super::{
    body::{Answered, Body, named, reply},
    condition::{self, reply_if},
    filter,
};
use crate::{Desk, caller::Caller, params::Params, plan, problem::Problem, words::Text};

/// Name of the switch with which nothing is changed.
pub(super) const DRY_RUN: &str = "dry_run";

/// Header with the id of a submission.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

pub(super) async fn list(caller: Caller, uri: Uri) -> Answered {
    let params = Params::read(&caller, &uri);
    let filter = filter::read(&params)?;
    let list = List { filter, limit: params.one("limit")?, after: params.one("after")? };
    reply(&caller, caller.client.call(&list).await)
}

pub(super) async fn count(caller: Caller, uri: Uri) -> Answered {
    let filter = filter::read(&Params::read(&caller, &uri))?;
    reply(&caller, caller.client.call(&Count { filter }).await)
}

pub(super) async fn usage(caller: Caller, uri: Uri) -> Answered {
    let filter = filter::read(&Params::read(&caller, &uri))?;
    reply(&caller, caller.client.call(&GetUsage { filter }).await)
}

pub(super) async fn batch(caller: Caller, body: Body) -> Answered {
    let batch: Batch = body.with(&caller, &[])?;
    reply(&caller, caller.client.call(&batch).await)
}

pub(super) async fn submit(caller: Caller, headers: HeaderMap, body: Body) -> Answered {
    let submit = identified(&caller, &headers, body)?;
    submitted(&caller, submit).await
}

pub(super) async fn execute(
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

pub(super) async fn fork(
    caller: Caller,
    Path(job): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let Body(Value::Object(mut fork)) = body else {
        return Err(caller.wrong(StatusCode::BAD_REQUEST, Text::JsonExpected));
    };
    let id = fork.remove("id");
    if Params::read(&caller, &uri).is_set(DRY_RUN)? {
        let fork: Fork = Body(Value::Object(fork)).with(&caller, &[("job", &job)])?;
        return preview(&caller, Preview::Fork(fork)).await;
    }
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
    Ok(created(submitted))
}

/// Returns the response to a submission, with the place of the job.
pub(crate) fn created(submitted: Submitted) -> Response {
    let status = if submitted.created { StatusCode::CREATED } else { StatusCode::OK };
    let place = [(header::LOCATION, format!("/v1/jobs/{}", submitted.job))];
    (status, place, Json(submitted)).into_response()
}

pub(super) async fn job(
    caller: Caller,
    Path(job): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Answered {
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

pub(super) async fn signal(
    caller: Caller,
    Path(job): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let mut signal: SendSignal = body.with(&caller, &[("job", &job)])?;
    let seen = condition::tag(&caller, &headers, seq_of, Text::JobTag)?;
    signal.expected_seq = seen.or(signal.expected_seq);
    if Params::read(&caller, &uri).is_set(DRY_RUN)? {
        return preview(&caller, Preview::Signal(signal)).await;
    }
    reply_if(&caller, seen.is_some(), caller.client.call(&signal).await)
}

/// Returns the last record in the tag of a job. The reasons that the tag tells too may have changed:
/// a signal is about what happened.
fn seq_of(tag: &str) -> Option<Seq> {
    let (seq, _) = tag.split_once('-').unwrap_or((tag, ""));
    seq.parse().ok().map(Seq)
}

/// Says in the caller's language what a request would do.
async fn preview(caller: &Caller, request: Preview) -> Answered {
    let previewed = caller.client.call(&request).await;
    reply(caller, previewed.map(|previewed| previewed.in_language(caller.language)))
}
