//! OpenID Connect: the front door accepts the tokens of an issuer beside those of `door.people`, and
//! the gateway signs people in there.
//!
//! The front door checks each token itself, with the issuer's public keys. So the gateway passes
//! tokens on unchanged and has no right to speak for anybody, and clients on NATS can use the same
//! tokens.
//!
//! [`token`] is pure: a token, the keys and the settings give a person or the reason of a refusal.
//! [`issuer`] fetches the keys.
//!
//! * OpenID Connect Core 1.0 and Discovery 1.0: <https://openid.net/specs/openid-connect-core-1_0.html>
//! * JSON Web Token best practices: <https://www.rfc-editor.org/rfc/rfc8725>

mod crypto;
pub mod issuer;
pub mod login;
pub mod settings;
pub mod token;

messages::texts!(oidc);

impl From<Text> for Words {
    fn from(text: Text) -> Self {
        Self::new(|language| text.text(language))
    }
}

use proto::lang::Words;

pub use self::{issuer::Issuer, login::Login, settings::Oidc};
