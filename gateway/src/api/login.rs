//! Sign-in at the issuer of tokens. The caller has no token yet.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use oidc::{Login, login::Exchange};
use proto::error::Failure;

use super::body::{Answered, Body, reply};
use crate::{Desk, caller::Caller, problem::Problem, words::Text};

pub(super) async fn offer(State(desk): State<Desk>, caller: Caller) -> Answered {
    let Some(login) = &desk.login else {
        // No mistake: the console asks every installation.
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    answer(&caller, login.offer().await)
}

pub(super) async fn exchange(State(desk): State<Desk>, caller: Caller, body: Body) -> Answered {
    let login = here(&desk, &caller)?;
    let exchange: Exchange = body.with(&caller, &[])?;
    answer(&caller, login.redeem(&exchange).await)
}

fn here<'a>(desk: &'a Desk, caller: &Caller) -> Result<&'a Login, Problem> {
    desk.login.as_ref().ok_or_else(|| caller.wrong(StatusCode::NOT_FOUND, Text::NoLogin))
}

fn answer<T: serde::Serialize>(
    caller: &Caller,
    answered: Result<T, Failure>,
) -> Result<Response, Problem> {
    reply(caller, answered)
}
