//! The routes of operations on many jobs.

use axum::{Router, routing::post};
use proto::door::Batch;

use crate::{
    Desk,
    api::{Answered, Body, reply},
    caller::Caller,
};

/// Builds the routes.
pub(crate) fn routes() -> Router<Desk> {
    Router::new().route("/batches", post(batch))
}

async fn batch(caller: Caller, body: Body) -> Answered {
    let batch: Batch = body.with(&caller, &[])?;
    reply(&caller, caller.client.call(&batch).await)
}
