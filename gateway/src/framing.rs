//! The end of requests over HTTP/1, whose bodies share their connection with what follows.
//!
//! A refusal may be sent before the body has arrived. If the connection were closed then, the
//! operating system would take the refusal from a sender that still writes, so the rest of a body is
//! read up to a bound, or the response says that the connection ends. A body without a length may
//! have two ends, one for the gateway and one for a proxy before it; no request follows it.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, BodyDataStream, Bytes, HttpBody},
    extract::Request,
    http::{HeaderValue, StatusCode, Version, header},
    middleware::Next,
    response::Response,
};
use futures::{Stream, StreamExt};
use tokio::sync::oneshot;

/// Largest part of a body that is read after its refusal.
const REST_BYTES_MAX: usize = 1024 * 1024;
/// Time in which that part arrives.
const REST_WITHIN: Duration = Duration::from_secs(5);

/// Reads the rest of a body that the route has not read, or ends the connection.
pub(crate) async fn ended(request: Request, next: Next) -> Response {
    if request.version() > Version::HTTP_11 || request.body().is_end_stream() {
        return next.run(request).await;
    }
    let headers = request.headers();
    let is_open = headers.contains_key(header::TRANSFER_ENCODING);
    let is_asked_for = headers.contains_key(header::EXPECT);
    let (back, mut lent) = oneshot::channel();
    let request = request.map(|body| Body::from_stream(Lent::of(body, back)));
    let mut response = next.run(request).await;
    let is_read = match lent.try_recv() {
        // The sender waits for the permission to send the body.
        Ok(Rest { is_begun: false, .. }) if is_asked_for => false,
        Ok(_) if response.status() == StatusCode::REQUEST_TIMEOUT => false,
        Ok(Rest { body, .. }) => {
            matches!(tokio::time::timeout(REST_WITHIN, read(body)).await, Ok(true))
        }
        // It was read to its end, or its route still reads it.
        Err(_) => true,
    };
    if is_open || !is_read {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Reads a body to its end. Returns `false` if that is too far away.
async fn read(mut body: BodyDataStream) -> bool {
    let mut bytes = 0;
    while let Some(chunk) = body.next().await {
        let Ok(chunk) = chunk else { return false };
        bytes += chunk.len();
        if bytes > REST_BYTES_MAX {
            return false;
        }
    }
    true
}

/// A body that a route has not read to its end.
struct Rest {
    body: BodyDataStream,
    /// `true` if the route began to read it.
    is_begun: bool,
}

/// A body for a route, which comes back when the route drops it before its end.
struct Lent {
    rest: Option<Rest>,
    back: Option<oneshot::Sender<Rest>>,
}

impl Lent {
    fn of(body: Body, back: oneshot::Sender<Rest>) -> Self {
        let rest = Rest { body: body.into_data_stream(), is_begun: false };
        Self { rest: Some(rest), back: Some(back) }
    }
}

impl Stream for Lent {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(rest) = &mut self.rest else { return Poll::Ready(None) };
        rest.is_begun = true;
        let polled = rest.body.poll_next_unpin(context);
        if let Poll::Ready(None | Some(Err(_))) = polled {
            self.rest = None;
        }
        polled
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(rest), Some(back)) = (self.rest.take(), self.back.take()) {
            // The response has begun already.
            let _ = back.send(rest);
        }
    }
}
