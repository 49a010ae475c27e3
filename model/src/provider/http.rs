//! One attempt over HTTP: sends a request and reads the events of its reply.
//!
//! Servers deviate from their protocols: whole replies, errors with status 200 and web pages in
//! place of streams, streams without their end mark. What came is read for every protocol alike.

use std::{sync::Arc, time::Duration};

use async_stream::try_stream;
use futures::StreamExt;
use reqwest::{Client, Response};
use tokio::time::Instant;

use super::{
    assembly::Assembly,
    body::{Body, Piece},
    calls::Calls,
    failure,
    reply::{Event, Events},
    request::Prepared,
};
use crate::{config::ProviderKind, words::Redactor};

/// Largest error body that is read, in bytes.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// Longest wait for what follows the end of a reply: token counts and the end mark. Some servers keep
/// the connection open after it.
const LATE_COUNTS: Duration = Duration::from_secs(2);

/// Sends a request and returns the events of its reply.
pub(super) fn events(
    http: &Client,
    kind: ProviderKind,
    request: &Prepared,
    redactor: Arc<Redactor>,
    reply_bytes_max: usize,
) -> Events {
    let calls = Calls::after(&request.request.messages);
    let request = http.post(request.url.clone()).json(&request.body);
    try_stream! {
        let sent = request.send().await;
        let response = sent.map_err(|error| failure::of_request(&error))?;
        if !response.status().is_success() {
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let body = beginning(response).await;
            Err(failure::from_http(status, &headers, &body, &redactor))?;
            return;
        }
        let mut body = Body::new(kind == ProviderKind::Ollama, reply_bytes_max);
        let mut reply = Assembly::new(kind, calls, redactor);
        let (mut bytes, mut late) = (response.bytes_stream(), None);
        while !reply.is_done() {
            let next = if reply.is_finished() {
                let until = *late.get_or_insert_with(|| Instant::now() + LATE_COUNTS);
                tokio::time::timeout_at(until, bytes.next()).await.unwrap_or_default()
            } else {
                bytes.next().await
            };
            let piece = match next {
                Some(Ok(more)) => body.push(&more)?,
                // The end of the reply has been read; only its end mark is lost.
                Some(Err(_)) if reply.is_finished() => break,
                Some(Err(error)) => Err(failure::of_request(&error))?,
                None => body.rest()?,
            };
            match piece {
                Piece::Frames(frames) => frames.iter().try_for_each(|frame| reply.take(frame))?,
                Piece::Whole(whole) => reply.take_whole(&whole)?,
                Piece::End => break,
            }
            for event in reply.ready() {
                yield event;
            }
        }
        yield Event::End(reply.end()?);
    }
    .boxed()
}

/// Reads the beginning of an error's body.
async fn beginning(response: Response) -> String {
    let mut body = Vec::new();
    let mut bytes = response.bytes_stream();
    while let Some(Ok(more)) = bytes.next().await {
        body.extend_from_slice(&more);
        if body.len() >= ERROR_BYTES_MAX {
            body.truncate(ERROR_BYTES_MAX);
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}
