//! Open questions and their answers.

use axum::{extract::Path, http::Uri};
use proto::door::{GiveAnswer, Inbox};

use super::body::{Answered, Body, reply};
use crate::{caller::Caller, params::Params};

pub(super) async fn answer(
    caller: Caller,
    Path((job, ask)): Path<(String, String)>,
    body: Body,
) -> Answered {
    let answer: GiveAnswer = body.with(&caller, &[("job", &job), ("ask", &ask)])?;
    reply(&caller, caller.client.call(&answer).await)
}

pub(super) async fn inbox(caller: Caller, uri: Uri) -> Answered {
    let params = Params::read(&caller, &uri);
    let inbox = Inbox { job: params.one("job")?, limit: params.one("limit")? };
    reply(&caller, caller.client.call(&inbox).await)
}
