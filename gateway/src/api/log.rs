//! The log of a job: its events as a stream or in pages, its records in pages, and its bars in time.

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, Uri, header},
    response::IntoResponse,
};
use client::{WatchOptions, spans::Span};
use futures::StreamExt;
use proto::{
    door::Watched,
    error::{Code, Failure},
    event::{Event, EventId, EventType},
    id::{JobId, Seq},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{
    body::{Answered, named},
    route::JSON,
};
use crate::{
    Desk,
    caller::Caller,
    params::Params,
    problem::Problem,
    stream::{self, Wanted},
    words::Text,
};

/// Header with the last event of a broken stream.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Largest number of records or events of a page, and the number without a limit.
const ITEMS_MAX: usize = 1_000;
/// Size of the items after which a page ends.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// `GET /v1/jobs/{job}/events`: a stream, or a page where only JSON is accepted.
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
    let after = last.or(params.one("after")?);
    let wanted = Wanted::of(params.all("types")?);
    let is_live = params.is_set("live")?;
    if takes_json_only(&headers) {
        if is_live {
            return Err(caller.wrong_field("live", &Text::PageWithoutLive.into()));
        }
        let limit = limit(&caller, &params)?;
        return events_page(&caller, &job, after.unwrap_or_default(), (&wanted, limit)).await;
    }
    if params.one::<usize>("limit")?.is_some() {
        return Err(caller.wrong_field("limit", &Text::StreamWithoutLimit.into()));
    }
    let start = stream::Start { after, live: is_live, wanted };
    let Some(place) = desk.limits.open(&caller.key) else {
        return Err(caller.overloads(Text::TooManyStreams { max: &desk.limits.streams_max() }));
    };
    let opened = stream::response(&desk, &caller.client, &job, start, place).await;
    opened.map_err(|failure| caller.refused(failure))
}

/// `true` if the caller takes JSON and no stream.
fn takes_json_only(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|kinds| kinds.to_str().ok());
    let kinds = accepted.flat_map(|kinds| kinds.split(','));
    let kinds = kinds.map(|kind| kind.split(';').next().unwrap_or_default().trim());
    let kinds: Vec<&str> = kinds.collect();
    kinds.contains(&JSON) && !kinds.contains(&"text/event-stream")
}

/// Reads the largest number of items of a page.
fn limit(caller: &Caller, params: &Params<'_>) -> Result<usize, Problem> {
    let limit = params.one::<usize>("limit")?.unwrap_or(ITEMS_MAX);
    if (1..=ITEMS_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(caller.wrong_field("limit", &Text::Limit { max: &ITEMS_MAX }.into()))
}

/// The options of a watch of what is stored.
pub(super) fn stored(from: WatchOptions) -> WatchOptions {
    WatchOptions { stored: true, give_up_after: stream::BEGIN_WITHIN, ..from }
}

/// A page that is being filled.
struct Page {
    items: Vec<Box<RawValue>>,
    bytes: usize,
    limit: usize,
    /// `true` if there are further items.
    more: bool,
}

impl Page {
    fn of(limit: usize) -> Self {
        Self { items: Vec::new(), bytes: 0, limit, more: false }
    }

    /// Adds an item. Returns `false` if the page has no room for it.
    fn add(&mut self, item: &impl Serialize) -> Result<bool, Failure> {
        if self.items.len() == self.limit || self.bytes > PAGE_BYTES_MAX {
            self.more = true;
            return Ok(false);
        }
        let item = to_raw_value(item);
        let item = item.map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
        self.bytes += item.get().len();
        self.items.push(item);
        Ok(true)
    }
}

/// A page of events.
#[derive(Serialize, JsonSchema)]
pub(super) struct Events {
    #[schemars(with = "Vec<Event>")]
    events: Vec<Box<RawValue>>,
    /// `true` if there are further events.
    more: bool,
}

async fn events_page(
    caller: &Caller,
    job: &JobId,
    after: EventId,
    (wanted, limit): (&Wanted, usize),
) -> Answered {
    let refused = |failure| caller.refused(failure);
    let mut items = caller.client.watch(job, stored(WatchOptions::events(after))).boxed();
    let mut page = Page::of(limit);
    while let Some(item) = items.next().await {
        match item.map_err(refused)? {
            Watched::Event { event } => {
                if wanted.has(EventType::from(&event.happened))
                    && !page.add(&event).map_err(refused)?
                {
                    break;
                }
            }
            Watched::View { .. }
            | Watched::End { .. }
            | Watched::Record { .. }
            | Watched::Live { .. }
            | Watched::Heartbeat => {}
        }
    }
    let events = Events { events: page.items, more: page.more };
    Ok(([(header::VARY, "accept")], Json(events)).into_response())
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
    let mut page = Page::of(limit(&caller, &params)?);
    let refused = |failure| caller.refused(failure);
    let mut items = caller.client.watch(&job, stored(WatchOptions::records(after))).boxed();
    while let Some(item) = items.next().await {
        match item.map_err(refused)? {
            record @ Watched::Record { .. } => {
                if !page.add(&record).map_err(refused)? {
                    break;
                }
            }
            Watched::View { .. }
            | Watched::End { .. }
            | Watched::Event { .. }
            | Watched::Live { .. }
            | Watched::Heartbeat => {}
        }
    }
    Ok(Json(Records { records: page.items, more: page.more }).into_response())
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
