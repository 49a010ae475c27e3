//! Sign-in at the issuer of tokens. The caller has no token yet.

use axum::{extract::State, http::StatusCode, response::IntoResponse};
use oidc::login::Exchange;

use super::body::{Answered, Body, reply};
use crate::{Desk, caller::Caller, words::Text};

pub(super) async fn offer(State(desk): State<Desk>, caller: Caller) -> Answered {
    match &desk.login {
        Some(login) => reply(&caller, login.offer().await),
        // The console asks every installation.
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

pub(super) async fn exchange(State(desk): State<Desk>, caller: Caller, body: Body) -> Answered {
    let Some(login) = &desk.login else {
        return Err(caller.wrong(StatusCode::NOT_FOUND, Text::NoLogin));
    };
    let exchange: Exchange = body.with(&caller, &[])?;
    reply(&caller, login.redeem(&exchange).await)
}
