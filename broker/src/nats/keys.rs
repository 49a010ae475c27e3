//! User keys of the broker (nkeys): creation and validation.
//!
//! A seed is a user's identity. It is never printed, logged or put into an error.

use nkeys::{KeyPair, KeyPairType};
use secrecy::{ExposeSecret, SecretString};

/// A new user of the broker.
#[derive(Debug)]
pub struct User {
    /// The secret seed (`SU…`).
    pub seed: SecretString,
    /// The public key (`U…`).
    pub public: String,
}

/// The text is not a user's seed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not the seed of a user: one line that begins with SU")]
pub struct InvalidSeed;

impl User {
    /// Generates a user.
    ///
    /// # Errors
    /// If the library cannot encode a new seed, which would be a bug in it.
    pub fn new() -> Result<Self, InvalidSeed> {
        let keys = KeyPair::new_user();
        let seed = SecretString::from(keys.seed().map_err(|_| InvalidSeed)?);
        Ok(Self { seed, public: keys.public_key() })
    }

    /// Derives the user from a seed.
    ///
    /// # Errors
    /// If the text is not a user's seed; the error does not contain it.
    pub fn of(seed: &SecretString) -> Result<Self, InvalidSeed> {
        let keys = KeyPair::from_seed(seed.expose_secret().trim()).map_err(|_| InvalidSeed)?;
        match keys.key_pair_type() {
            KeyPairType::User => Ok(Self { seed: seed.clone(), public: keys.public_key() }),
            KeyPairType::Server
            | KeyPairType::Cluster
            | KeyPairType::Operator
            | KeyPairType::Account
            | KeyPairType::Module
            | KeyPairType::Service
            | KeyPairType::Curve => Err(InvalidSeed),
        }
    }
}

/// Checks that a text is a user's seed.
///
/// # Errors
/// If the text is not a user's seed; the error does not contain it.
pub fn check_user(seed: &SecretString) -> Result<(), InvalidSeed> {
    User::of(seed).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_its_user_and_nothing_else_does() {
        let made = User::new().unwrap();
        assert!(made.seed.expose_secret().starts_with("SU") && made.public.starts_with('U'));
        assert_eq!(User::of(&made.seed).unwrap().public, made.public);
        let account = KeyPair::new_account().seed().unwrap();
        for bad in ["", "SU", made.public.as_str(), account.as_str()] {
            assert_eq!(check_user(&SecretString::from(bad)), Err(InvalidSeed), "{bad}");
        }
    }
}
