//! The routes of one job that show more than the front door's replies.

use axum::{Json, extract::Path, response::IntoResponse};
use proto::id::JobId;
use serde_json::json;

use crate::{
    api::{Answered, named},
    caller::Caller,
};

/// `GET /v1/jobs/{job}/spans`.
pub(crate) async fn spans(caller: Caller, Path(job): Path<String>) -> Answered {
    let job: JobId = named(&caller, &job)?;
    let spans = caller.client.spans(&job).await.map_err(|failure| caller.refused(failure))?;
    Ok(Json(json!({"spans": spans})).into_response())
}
