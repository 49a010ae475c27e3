//! The sign-in of a person at the issuer: authorization code with PKCE (RFC 7636). The browser keeps
//! the verifier, and the issuer binds the code to it, so the gateway stores nothing between the two
//! requests, and another browser cannot use the code.

use std::sync::Arc;

use data_encoding::BASE64;
use proto::{
    error::{Code, Failure},
    refusal::Text as Refusal,
};
use reqwest::header;
use schemars::JsonSchema;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use url::{Url, form_urlencoded};

use crate::issuer::{Issuer, Unreachable, read};

/// The client that signs people in.
#[derive(Debug, Clone)]
pub struct Login {
    issuer: Arc<Issuer>,
    client: String,
}

/// Where to send a browser, without what it adds itself: `redirect_uri`, `state` and
/// `code_challenge`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Offer {
    /// Address of the issuer's page.
    pub authorize: String,
    /// Host of the issuer, to be shown.
    pub host: String,
}

/// A code of the issuer that becomes a token.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The code in the redirect.
    pub code: String,
    /// The PKCE verifier to the challenge of the request.
    pub verifier: String,
    /// The redirect address of the request.
    pub redirect: String,
}

/// A token of the issuer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SignedIn {
    /// The token for `Authorization: Bearer`.
    pub token: String,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
}

impl Login {
    /// Takes the client of the settings; `None` without one.
    #[must_use]
    pub fn new(issuer: &Arc<Issuer>) -> Option<Self> {
        let client = issuer.settings().client_id.clone()?;
        Some(Self { issuer: Arc::clone(issuer), client })
    }

    /// Returns the address of the issuer's discovery document.
    #[must_use]
    pub fn discovery(&self) -> String {
        self.issuer.document()
    }

    /// Returns where people sign in.
    ///
    /// # Errors
    /// `unavailable` when the issuer cannot be reached.
    pub async fn offer(&self) -> Result<Offer, Failure> {
        let mut page = self
            .issuer
            .discover()
            .await
            .map_err(|error| unavailable(&error))?
            .authorization_endpoint;
        let host = page.host_str().unwrap_or_default().to_owned();
        page.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client)
            .append_pair("scope", &self.issuer.settings().scopes.join(" "))
            .append_pair("code_challenge_method", "S256");
        Ok(Offer { authorize: page.into(), host })
    }

    /// Redeems a code at the issuer. The token is not checked here: the front door checks it with
    /// every request.
    ///
    /// # Errors
    /// `unavailable` when the issuer cannot be reached, `forbidden` when it refuses the code.
    pub async fn redeem(&self, exchange: &Exchange) -> Result<SignedIn, Failure> {
        let endpoint =
            self.issuer.discover().await.map_err(|error| unavailable(&error))?.token_endpoint;
        let body = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "authorization_code")
            .append_pair("code", &exchange.code)
            .append_pair("code_verifier", &exchange.verifier)
            .append_pair("redirect_uri", &exchange.redirect)
            .append_pair("client_id", &self.client)
            .finish();
        let request = self.request(endpoint)?.body(body);
        let answer = read(request).await.map_err(|error| match error {
            Unreachable::Http(error) if error.status().is_some_and(|s| s.is_client_error()) => {
                tracing::warn!(%error, "the issuer refused a code");
                Failure::of(Code::Forbidden, Refusal::CodeRefused).at("code")
            }
            Unreachable::Http(_) | Unreachable::Document { .. } => unavailable(&error),
        })?;
        let tokens: Tokens = serde_json::from_slice(&answer).map_err(|_| {
            tracing::warn!("the issuer's answer to a code has no ID token");
            Failure::of(Code::Unavailable, Refusal::IssuerUnreachable)
        })?;
        Ok(SignedIn { token: tokens.id_token })
    }

    fn request(&self, endpoint: Url) -> Result<reqwest::RequestBuilder, Failure> {
        let form = "application/x-www-form-urlencoded";
        let request = self.issuer.http().post(endpoint).header(header::CONTENT_TYPE, form);
        let Some(secret) = &self.issuer.settings().client_secret else { return Ok(request) };
        let secret = secret.value().map_err(|why| Failure::composed(Code::Internal, why))?;
        // RFC 6749, 2.3.1: both parts are encoded as in a form.
        let encoded =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", encoded(&self.client), encoded(secret.expose_secret()));
        let mut value =
            header::HeaderValue::from_str(&format!("Basic {}", BASE64.encode(pair.as_bytes())))
                .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
        value.set_sensitive(true);
        Ok(request.header(header::AUTHORIZATION, value))
    }
}

fn unavailable(error: &Unreachable) -> Failure {
    tracing::warn!(%error, "the issuer cannot sign people in");
    Failure::of(Code::Unavailable, Refusal::IssuerUnreachable)
}
