//! OpenAI's chat completions, as OpenAI and the many servers that imitate it speak them.
//!
//! These servers deviate more than `genai` tolerates: streams without `[DONE]`, whole replies and
//! web pages in place of streams, token counts in several forms. This adapter reads what came.

mod body;
mod calls;
mod frame;
mod request;

use std::sync::Arc;

use async_stream::try_stream;
use futures::StreamExt;
use reqwest::{Client, Response};
use serde_json::Value;
use url::Url;

use self::{
    body::{Body, Piece},
    frame::Assembly,
};
use super::{
    failure,
    reply::{Event, Events},
};
use crate::words::Redactor;

pub(super) use self::request::body;

/// Largest error body that is read, in bytes.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// Sends a request and returns the events of its reply.
pub(super) fn events(
    http: Client,
    url: Url,
    request: Value,
    redactor: Arc<Redactor>,
    reply_bytes_max: usize,
) -> Events {
    try_stream! {
        let sent = http.post(url).json(&request).send().await;
        let response = sent.map_err(|error| failure::of_request(&error))?;
        if !response.status().is_success() {
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let body = beginning(response).await;
            Err(failure::from_http(status, &headers, &body, &redactor))?;
            return;
        }
        let mut body = Body::new(reply_bytes_max);
        let mut reply = Assembly::new(redactor);
        let mut bytes = response.bytes_stream();
        while !reply.is_done() {
            let piece = match bytes.next().await {
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
