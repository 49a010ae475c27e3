//! The check of a token: who it names, and what that person may do.

use std::sync::Once;

use jiff::Timestamp;
use jsonwebtoken::{
    Algorithm, DecodingKey, Header, Validation, decode, decode_header,
    errors::ErrorKind,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse},
};
use proto::door::Role;
use runtime::people::{PersonName, Vouched};
use serde_json::{Map, Value};

use crate::{
    crypto::RING,
    settings::{EVERYBODY, Oidc},
};

/// Largest token in bytes. Those of issuers have one or two thousand.
pub const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// Largest number of keys of an issuer; later ones do not count.
pub const KEYS_MAX: usize = 64;
/// Difference between the clocks of the issuer and of this machine that does no harm, in seconds.
const LEEWAY: u64 = 30;

/// Types of tokens in their header that say who somebody is. A token of another type, such as that
/// of a logout, must not be taken for one (RFC 8725, 3.11).
const TYPES: [&str; 3] = ["JWT", "at+jwt", "application/at+jwt"];

/// The public keys of an issuer.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<Key>);

#[derive(Clone, derive_more::Debug)]
struct Key {
    id: Option<String>,
    algorithm: Algorithm,
    #[debug(skip)]
    key: DecodingKey,
}

impl Keys {
    /// Takes the usable keys of a JSON Web Key Set (RFC 7517). Other kinds of keys are no mistake.
    /// `None` if it is no key set.
    #[must_use]
    pub fn parse(json: &[u8]) -> Option<Self> {
        let set: Value = serde_json::from_slice(json).ok()?;
        let keys = set.get("keys")?.as_array()?.iter().take(KEYS_MAX);
        Some(Self(keys.filter_map(key).collect()))
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Finds the key of a token: that of its `kid`, or the only one of its algorithm.
    fn of(&self, header: &Header) -> Option<&Key> {
        let mut fitting = self.0.iter().filter(|key| key.algorithm == header.alg);
        if header.kid.is_some() {
            return fitting.find(|key| key.id == header.kid);
        }
        let first = fitting.next();
        if fitting.next().is_some() { None } else { first }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "a later variant of the library is refused too")]
fn key(json: &Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(json.clone()).ok()?;
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => {
            Algorithm::ES256
        }
        AlgorithmParameters::OctetKeyPair(curve) if curve.curve == EllipticCurve::Ed25519 => {
            Algorithm::EdDSA
        }
        _ => return None,
    };
    let signs = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
    let named = json.get("alg").and_then(Value::as_str);
    let is_for_it = named.is_none_or(|name| name.parse() == Ok(algorithm));
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    (signs && is_for_it).then_some(Key { id: jwk.common.key_id, algorithm, key })
}

/// The reason why a token names nobody. For the log; callers learn only whether it has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It is no signed token.
    #[error("it is no signed JSON Web Token")]
    Malformed,
    /// It is of another type, or demands an extension.
    #[error("it is of a type that says nothing about a person")]
    Type,
    /// The issuer has no such key.
    #[error("the issuer has no key for it")]
    Key,
    /// The signature is not by the key.
    #[error("its signature is wrong")]
    Signature,
    /// It holds no longer.
    #[error("it has expired")]
    Expired,
    /// It does not hold yet.
    #[error("it does not hold yet")]
    Early,
    /// Another issuer made it.
    #[error("another issuer made it")]
    Issuer,
    /// It was made for another service.
    #[error("it was made for another audience")]
    Audience,
    /// A claim is missing that every token has.
    #[error("it lacks a claim that every token has: exp, iss or aud")]
    Claims,
    /// The claim of the person is missing or is no name.
    #[error("the claim of `oidc.person` is missing, or is not 1 to 64 visible ASCII characters")]
    Person,
}

/// `true` for a text that has the form of a signed token.
#[must_use]
pub fn is_signed(token: &str) -> bool {
    token.len() <= TOKEN_BYTES_MAX && token.starts_with("ey") && token.matches('.').count() == 2
}

/// Checks a token with the keys of its issuer. The time is that of this machine.
///
/// # Errors
/// The reason why it names nobody.
pub fn check(token: &str, keys: &Keys, settings: &Oidc) -> Result<Vouched, Wrong> {
    static PROVIDER: Once = Once::new();
    // No other code of this program installs one.
    PROVIDER.call_once(|| {
        let _ = RING.install_default();
    });
    let header = decode_header(token).map_err(|_| Wrong::Malformed)?;
    let is_known = header
        .typ
        .as_deref()
        .is_none_or(|typ| TYPES.iter().any(|known| typ.eq_ignore_ascii_case(known)));
    if !is_known || header.crit.is_some() || header.enc.is_some() || header.zip.is_some() {
        return Err(Wrong::Type);
    }
    let key = keys.of(&header).ok_or(Wrong::Key)?;
    let mut validation = Validation::new(key.algorithm);
    validation.set_audience(&settings.audience);
    validation.set_issuer(settings.issuer.as_slice());
    validation.set_required_spec_claims(&["exp", "iss", "aud"]);
    validation.validate_nbf = true;
    validation.leeway = LEEWAY;
    let decoded = decode::<Map<String, Value>>(token, &key.key, &validation);
    let claims = decoded.map_err(|error| wrong(error.kind()))?.claims;
    let name = claim(&claims, &settings.person).and_then(Value::as_str);
    let name = name.and_then(PersonName::of_claim).ok_or(Wrong::Person)?;
    let until = claims.get("exp").and_then(expiry).ok_or(Wrong::Claims)?;
    let roles = roles(claim(&claims, &settings.groups), settings);
    Ok(Vouched { name, roles, until })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "a later variant of the library is refused too")]
fn wrong(kind: &ErrorKind) -> Wrong {
    match kind {
        ErrorKind::InvalidSignature => Wrong::Signature,
        ErrorKind::ExpiredSignature => Wrong::Expired,
        ErrorKind::ImmatureSignature => Wrong::Early,
        ErrorKind::InvalidIssuer => Wrong::Issuer,
        ErrorKind::InvalidAudience => Wrong::Audience,
        ErrorKind::MissingRequiredClaim(_) => Wrong::Claims,
        ErrorKind::InvalidAlgorithm => Wrong::Key,
        _ => Wrong::Malformed,
    }
}

/// Returns the claim of a name. A name with dots is that of a claim, else the way into objects.
fn claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(found) = claims.get(name) {
        return Some(found);
    }
    let mut names = name.split('.');
    let first = claims.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))
}

#[expect(clippy::cast_possible_truncation, reason = "a cast saturates, and fractions do not count")]
fn expiry(value: &Value) -> Option<Timestamp> {
    let second = value.as_i64().or_else(|| value.as_f64().map(|second| second as i64))?;
    Some(Timestamp::from_second(second).unwrap_or(Timestamp::MAX))
}

fn roles(groups: Option<&Value>, settings: &Oidc) -> Vec<Role> {
    let groups: Vec<&str> = match groups {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => vec![],
    };
    let is_in = |group: &str| group == EVERYBODY || groups.contains(&group);
    let granted = settings.roles.iter().filter(|(group, _)| is_in(group));
    let mut roles: Vec<Role> = granted.flat_map(|(_, roles)| roles).copied().collect();
    roles.sort_unstable();
    roles.dedup();
    roles
}

#[cfg(test)]
mod tests;
