//! Files of submissions.

use axum::{
    extract::{Path, Request, State},
    http::StatusCode,
};

use super::body::{self, Answered, reply};
use crate::{Desk, caller::Caller, words::Text};

pub(super) async fn piece(
    State(desk): State<Desk>,
    caller: Caller,
    Path(sha256): Path<String>,
    request: Request,
) -> Answered {
    let body = body::read(request, &desk).await?;
    if proto::digest::of_bytes(&body) != sha256.to_ascii_lowercase() {
        return Err(caller.wrong(StatusCode::UNPROCESSABLE_ENTITY, Text::OtherDigest));
    }
    reply(&caller, caller.client.upload(body).await)
}
