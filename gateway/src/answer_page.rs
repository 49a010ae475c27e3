//! The page on which a person answers a question by a link. It has no script: what is shown is all
//! that there is, and no injected text can answer.
//!
//! Showing the page changes nothing, because scanners of mail open links. Nothing is preselected,
//! because some of them press buttons.

mod given;
mod shown;
mod words;

use askama::Template;
use axum::{
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use proto::{
    door::{Redeem, Redeemed},
    error::{Code, Failure},
    escape,
    interaction::Answer,
    lang::Language,
};

use self::{shown::Shown, words::Text};
use crate::{Desk, caller, scriptless};

/// Beginning of the path of every answer page; the link's secret follows.
pub(crate) const ROOT: &str = "/a/";

/// `GET /a/{handle}`.
pub(crate) async fn show(
    State(desk): State<Desk>,
    Path(handle): Path<String>,
    headers: HeaderMap,
) -> Response {
    let language = caller::language(&headers);
    look(&desk, &handle, language, None).await
}

/// `POST /a/{handle}`.
pub(crate) async fn answer(
    State(desk): State<Desk>,
    Path(handle): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let language = caller::language(&headers);
    let redeemed = match redeem(&desk, &handle, None).await {
        Ok(redeemed) => redeemed,
        Err(failure) => return refused(&failure, language),
    };
    let Some(question) = &redeemed.question else { return page(&redeemed, language, None) };
    let fields = given::Fields::of(&body);
    if fields.digest() != redeemed.digest {
        let note = Text::Changed.text(language);
        return page(&redeemed, language, Some((StatusCode::CONFLICT, note)));
    }
    let answer = match fields.answer(question, redeemed.once) {
        Ok(answer) => answer,
        Err(why) => {
            let note = (StatusCode::UNPROCESSABLE_ENTITY, why.text(language));
            return page(&redeemed, language, Some(note));
        }
    };
    match redeem(&desk, &handle, Some(answer)).await {
        // A reload shows the answer, and sends nothing again.
        Ok(_) => {
            let place = format!("{ROOT}{handle}");
            guarded((StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response())
        }
        Err(failure) => unanswered(&desk, &handle, &redeemed, &failure, language).await,
    }
}

/// Shows why an answer was not taken: the question as it is now, or the mistake.
async fn unanswered(
    desk: &Desk,
    handle: &str,
    redeemed: &Redeemed,
    failure: &Failure,
    language: Language,
) -> Response {
    if [Code::AlreadyAnswered, Code::Closed].contains(&failure.code) {
        look(desk, handle, language, None).await
    } else if failure.code == Code::Stale {
        let note = (StatusCode::CONFLICT, Text::Changed.text(language));
        look(desk, handle, language, Some(note)).await
    } else if failure.code == Code::InvalidAnswer {
        let why = failure.message_in(language);
        let note = format!("{}: {}", Text::Failed.text(language), escape::line(&why));
        page(redeemed, language, Some((StatusCode::UNPROCESSABLE_ENTITY, note)))
    } else {
        refused(failure, language)
    }
}

async fn look(
    desk: &Desk,
    handle: &str,
    language: Language,
    note: Option<(StatusCode, String)>,
) -> Response {
    match redeem(desk, handle, None).await {
        Ok(redeemed) => page(&redeemed, language, note),
        Err(failure) => refused(&failure, language),
    }
}

async fn redeem(desk: &Desk, handle: &str, answer: Option<Answer>) -> Result<Redeemed, Failure> {
    let request = Redeem { handle: handle.to_owned(), answer };
    desk.client.call(&request).await
}

/// Shows a question, or its end.
fn page(redeemed: &Redeemed, language: Language, note: Option<(StatusCode, String)>) -> Response {
    let (status, note) = match note {
        Some((status, note)) => (status, Some(note)),
        None => (StatusCode::OK, None),
    };
    rendered(status, &Shown::of(redeemed, language, note))
}

/// Shows that a link does not work. Only a fault that passes by itself is told apart.
fn refused(failure: &Failure, language: Language) -> Response {
    let passes = [Code::Unavailable, Code::Timeout, Code::Overloaded].contains(&failure.code);
    let (status, why) = if passes {
        (StatusCode::SERVICE_UNAVAILABLE, Text::Unavailable)
    } else {
        (StatusCode::NOT_FOUND, Text::GoneWhy)
    };
    let title = Text::Gone.text(language);
    rendered(status, &Shown::plain(language, title, vec![why.text(language)]))
}

fn rendered(status: StatusCode, shown: &Shown) -> Response {
    match shown.render() {
        Ok(html) => {
            let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
            guarded((status, kind, html).into_response())
        }
        Err(error) => {
            tracing::error!(%error, "an answer page cannot be written");
            guarded(StatusCode::INTERNAL_SERVER_ERROR.into_response())
        }
    }
}

/// Adds the headers of every answer page: its address is a secret, and its content a person's.
fn guarded(response: Response) -> Response {
    let mut response = scriptless::guarded(response);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-language"));
    let robots = header::HeaderName::from_static("x-robots-tag");
    headers.insert(robots, HeaderValue::from_static("noindex"));
    response
}

#[cfg(test)]
mod tests;
