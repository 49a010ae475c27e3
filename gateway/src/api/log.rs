//! The log of a job: its events as a stream, its records in pages, and its bars in time.

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, Uri},
    response::IntoResponse,
};
use client::{WatchOptions, spans::Span};
use futures::StreamExt;
use proto::{
    door::Watched,
    error::{Code, Failure},
    event::EventId,
    id::{JobId, Seq},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::body::{Answered, named};
use crate::{Desk, caller::Caller, params::Params, stream, words::Text};

/// Header with the last event of a broken stream.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Largest number of records of a page, and the number without a limit.
const RECORDS_MAX: usize = 1_000;
/// Size of the records after which a page ends.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;

pub(super) async fn events(
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
    let Some(place) = desk.limits.open(&caller.key) else {
        return Err(caller.overloads(Text::TooManyStreams { max: &desk.limits.streams_max() }));
    };
    let opened = stream::response(&caller.client, &job, start, desk.shutdown, place).await;
    opened.map_err(|failure| caller.refused(failure))
}

/// A page of records.
#[derive(Serialize, JsonSchema)]
pub(super) struct Records {
    #[schemars(with = "Vec<Watched>")]
    records: Vec<Box<RawValue>>,
    /// `true` if there are further records.
    more: bool,
}

pub(super) async fn records(caller: Caller, Path(job): Path<String>, uri: Uri) -> Answered {
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

/// The bars of a job in time.
#[derive(Serialize, JsonSchema)]
pub(super) struct Bars {
    #[schemars(with = "Vec<serde_json::Value>")]
    spans: Vec<Span>,
}

/// `GET /v1/jobs/{job}/spans`.
pub(super) async fn spans(caller: Caller, Path(job): Path<String>) -> Answered {
    let job: JobId = named(&caller, &job)?;
    let spans = caller.client.spans(&job).await.map_err(|failure| caller.refused(failure))?;
    Ok(Json(Bars { spans }).into_response())
}
