//! Signatures after Standard Webhooks 1.0.0 (`v1`: HMAC-SHA256). Pure: the time is an argument.
//!
//! <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>

use data_encoding::BASE64;
use proto::lang::Words;
use ring::hmac;
use runtime::config::Secret;
use secrecy::ExposeSecret;

use super::settings::SECRETS_MAX;
use crate::words::Text;

/// Header with the id of a message.
pub(crate) const ID: &str = "webhook-id";
/// Header with the time of a try, in seconds since 1970.
pub(crate) const TIMESTAMP: &str = "webhook-timestamp";
/// Header with the signatures, separated by spaces.
pub(crate) const SIGNATURE: &str = "webhook-signature";

/// Largest difference between a timestamp and now, in seconds.
const WINDOW_SECONDS: u64 = 5 * 60;
/// Sizes of a key in bytes, both included.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// Prefix of a secret.
const SECRET: &str = "whsec_";
/// Prefix of a signature with a shared key.
const VERSION: &str = "v1,";
/// Largest id of a message that is accepted, in bytes.
const ID_BYTES_MAX: usize = 256;
/// Largest number of signatures of one message that are tried.
const SIGNATURES_MAX: usize = 8;

/// The keys of a webhook: one, or the old and the new one while it changes.
#[derive(Clone, derive_more::Debug)]
#[debug("{} keys", _0.len())]
pub(crate) struct Keys(Vec<hmac::Key>);

/// The reason why a message is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// A header is missing or malformed.
    Headers,
    /// The message is too old, or from the future.
    Time,
    /// No signature is one of the keys'.
    Signature,
}

/// The headers of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signed<'a> {
    pub(crate) id: &'a str,
    pub(crate) timestamp: &'a str,
    pub(crate) signature: &'a str,
}

impl Keys {
    /// Reads the keys in secrets.
    pub(crate) fn of(secrets: &[Secret]) -> Result<Self, Words> {
        let keys = secrets.iter().take(SECRETS_MAX).map(|secret| {
            let text = secret.value().map_err(Clone::clone)?;
            key(text.expose_secret()).ok_or_else(|| Text::HookSecret.into())
        });
        Ok(Self(keys.collect::<Result<_, Words>>()?))
    }

    /// Returns the header with the signatures of a message.
    pub(crate) fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let content = content(id, &seconds.to_string(), body);
        let sign = |key| format!("{VERSION}{}", BASE64.encode(hmac::sign(key, &content).as_ref()));
        self.0.iter().map(sign).collect::<Vec<_>>().join(" ")
    }

    /// Checks a message that arrives at this time.
    pub(crate) fn check(&self, signed: Signed<'_>, body: &[u8], now: i64) -> Result<(), Wrong> {
        let Signed { id, timestamp, signature } = signed;
        if id.is_empty() || id.len() > ID_BYTES_MAX {
            return Err(Wrong::Headers);
        }
        let seconds: i64 = timestamp.parse().map_err(|_| Wrong::Headers)?;
        if seconds.abs_diff(now) > WINDOW_SECONDS {
            return Err(Wrong::Time);
        }
        let content = content(id, timestamp, body);
        let given = signature.split(' ').filter_map(|one| one.strip_prefix(VERSION));
        let is_right = given.take(SIGNATURES_MAX).any(|one| {
            let Ok(tag) = BASE64.decode(one.as_bytes()) else { return false };
            self.0.iter().any(|key| hmac::verify(key, &content, &tag).is_ok())
        });
        if is_right { Ok(()) } else { Err(Wrong::Signature) }
    }
}

fn key(secret: &str) -> Option<hmac::Key> {
    let bytes = BASE64.decode(secret.strip_prefix(SECRET)?.as_bytes()).ok()?;
    KEY_BYTES.contains(&bytes.len()).then(|| hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

fn content(id: &str, timestamp: &str, body: &[u8]) -> Vec<u8> {
    let mut content = format!("{id}.{timestamp}.").into_bytes();
    content.extend_from_slice(body);
    content
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// The vector of the standard's own libraries (Rust, Python, JavaScript: `test_sign`).
    const PUBLISHED: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID_OF_IT: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const AT: i64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE_OF_IT: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn keys(secrets: &[&str]) -> Keys {
        Keys(secrets.iter().map(|secret| key(secret).unwrap()).collect())
    }

    fn signed<'a>(timestamp: &'a str, signature: &'a str) -> Signed<'a> {
        Signed { id: ID_OF_IT, timestamp, signature }
    }

    #[test]
    fn the_published_vector_is_signed_and_accepted() {
        let keys = keys(&[PUBLISHED]);
        assert_eq!(keys.sign(ID_OF_IT, AT, BODY), SIGNATURE_OF_IT);
        let now = AT.to_string();
        assert_eq!(keys.check(signed(&now, SIGNATURE_OF_IT), BODY, AT), Ok(()));
    }

    #[test]
    fn while_a_secret_changes_both_sides_may_have_either() {
        let new = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let both = keys(&[new, PUBLISHED]);
        let now = AT.to_string();
        let header = both.sign(ID_OF_IT, AT, BODY);
        for one in [new, PUBLISHED] {
            assert_eq!(keys(&[one]).check(signed(&now, &header), BODY, AT), Ok(()));
            let old = keys(&[one]).sign(ID_OF_IT, AT, BODY);
            assert_eq!(both.check(signed(&now, &old), BODY, AT), Ok(()));
        }
    }

    #[rstest]
    #[case::too_old(AT + 301, SIGNATURE_OF_IT, BODY, Err(Wrong::Time))]
    #[case::of_the_future(AT - 301, SIGNATURE_OF_IT, BODY, Err(Wrong::Time))]
    #[case::at_the_edge(AT + 300, SIGNATURE_OF_IT, BODY, Ok(()))]
    #[case::another_body(AT, SIGNATURE_OF_IT, b"{}", Err(Wrong::Signature))]
    #[case::another_version(
        AT,
        "v1a,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        BODY,
        Err(Wrong::Signature)
    )]
    #[case::no_base64(AT, "v1,%", BODY, Err(Wrong::Signature))]
    #[case::nothing(AT, "", BODY, Err(Wrong::Signature))]
    fn a_message_is_fresh_and_signed(
        #[case] now: i64,
        #[case] signature: &str,
        #[case] body: &[u8],
        #[case] expected: Result<(), Wrong>,
    ) {
        let timestamp = AT.to_string();
        let keys = keys(&[PUBLISHED]);
        assert_eq!(keys.check(signed(&timestamp, signature), body, now), expected);
    }

    #[test]
    fn a_timestamp_is_a_number_and_a_key_has_the_standards_size() {
        let keys = keys(&[PUBLISHED]);
        assert_eq!(keys.check(signed("now", SIGNATURE_OF_IT), BODY, AT), Err(Wrong::Headers));
        for wrong in ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAA", "whsec_!", ""] {
            assert!(key(wrong).is_none(), "{wrong}");
        }
    }
}
