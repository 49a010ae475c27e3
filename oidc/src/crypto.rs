//! The signatures of tokens, by ring. jsonwebtoken leaves them to its user; its own providers bring
//! a second library of cryptography, or one with a known weakness (RUSTSEC-2023-0071).
//!
//! Only the algorithms that issuers use and that ring has are here: RS256, ES256 and EdDSA. There is
//! no secret that a token could be signed with, so no public key can be mistaken for one.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind, EncodingKey,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{Error, ErrorKind},
    signature::{self, Verifier},
};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};

/// The provider for jsonwebtoken.
pub(crate) static RING: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

#[expect(clippy::wildcard_enum_match_arm, reason = "a later variant of the library is refused too")]
fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    let kind = match algorithm {
        Algorithm::RS256 => Kind::Rsa,
        Algorithm::ES256 => Kind::P256,
        Algorithm::EdDSA => Kind::Ed25519,
        _ => return Err(ErrorKind::UnsupportedAlgorithm.into()),
    };
    if key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(Signature { kind, key: key.clone() }))
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Rsa,
    P256,
    Ed25519,
}

struct Signature {
    kind: Kind,
    key: DecodingKey,
}

impl JwtVerifier for Signature {
    fn algorithm(&self) -> Algorithm {
        match self.kind {
            Kind::Rsa => Algorithm::RS256,
            Kind::P256 => Algorithm::ES256,
            Kind::Ed25519 => Algorithm::EdDSA,
        }
    }
}

impl Verifier<Vec<u8>> for Signature {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let checked = match (self.kind, self.key.kind()) {
            (Kind::Rsa, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (Kind::P256, DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            (Kind::Ed25519, DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature)
            }
            (Kind::Rsa, DecodingKeyKind::SecretOrDer(_))
            | (Kind::P256 | Kind::Ed25519, DecodingKeyKind::RsaModulusExponent { .. }) => {
                Err(ring::error::Unspecified)
            }
        };
        checked.map_err(|_| signature::Error::new())
    }
}
