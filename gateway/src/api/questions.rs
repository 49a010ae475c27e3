//! Questions, their answers, and links to answer pages.

use axum::{
    Json,
    extract::Path,
    http::{StatusCode, Uri, header},
    response::IntoResponse,
};
use client::WatchOptions;
use futures::StreamExt;
use proto::{
    door::{GiveAnswer, Inbox, Link, Linked, Unlink, Watched},
    error::{Code, Failure},
    event::EventId,
    id::{AskId, JobId},
    refusal::Text as Refusal,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    asked::AskedQuestion,
    body::{Answered, Body, named, reply},
    log::stored,
};
use crate::{answer_page, caller::Caller, params::Params};

pub(super) async fn answer(
    caller: Caller,
    Path((job, ask)): Path<(String, String)>,
    body: Body,
) -> Answered {
    let answer: GiveAnswer = body.with(&caller, &[("job", &job), ("ask", &ask)])?;
    reply(&caller, caller.client.call(&answer).await)
}

/// `GET /v1/jobs/{job}/questions/{ask}`.
pub(super) async fn question(caller: Caller, Path((job, ask)): Path<(String, String)>) -> Answered {
    let (job, ask): (JobId, AskId) = (named(&caller, &job)?, named(&caller, &ask)?);
    let refused = |failure| caller.refused(failure);
    let all = stored(WatchOptions::events(EventId::START));
    let mut items = caller.client.watch(&job, all).boxed();
    let mut asked = None;
    while let Some(item) = items.next().await {
        match item.map_err(refused)? {
            Watched::Event { event } => AskedQuestion::take(&mut asked, &ask, *event),
            Watched::View { .. }
            | Watched::End { .. }
            | Watched::Record { .. }
            | Watched::Live { .. }
            | Watched::Heartbeat => {}
        }
    }
    let unknown = || {
        let why = Refusal::NoQuestion { job: &job, ask: &ask };
        refused(Failure::of(Code::NotFound, why).at("ask"))
    };
    Ok(Json(asked.ok_or_else(unknown)?).into_response())
}

pub(super) async fn inbox(caller: Caller, uri: Uri) -> Answered {
    let params = Params::read(&caller, &uri);
    let inbox = Inbox { job: params.one("job")?, limit: params.one("limit")? };
    reply(&caller, caller.client.call(&inbox).await)
}

/// A new link.
#[derive(Serialize, JsonSchema)]
pub(super) struct Made {
    /// Path of the answer page at this gateway.
    path: String,
    #[serde(flatten)]
    link: Linked,
}

pub(super) async fn link(
    caller: Caller,
    Path((job, ask)): Path<(String, String)>,
    body: Body,
) -> Answered {
    let link: Link = body.with(&caller, &[("job", &job), ("ask", &ask)])?;
    let link = caller.client.call(&link).await.map_err(|failure| caller.refused(failure))?;
    let path = format!("{}{}", answer_page::ROOT, link.handle);
    let place = [(header::LOCATION, path.clone())];
    Ok((StatusCode::CREATED, place, Json(Made { path, link })).into_response())
}

pub(super) async fn unlink(caller: Caller, Path((job, ask)): Path<(String, String)>) -> Answered {
    let unlink = Unlink { job: named(&caller, &job)?, ask: named(&caller, &ask)? };
    reply(&caller, caller.client.call(&unlink).await)
}
