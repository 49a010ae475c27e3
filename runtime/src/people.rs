//! The users of the front door, and the check of their rights.
//!
//! An installation whose configuration lists users, or names an issuer of tokens, identifies every
//! caller by a token and refuses all others. Otherwise it is open to everybody who reaches the
//! broker. The token alone identifies a caller, never the body of a request. Tokens are never
//! stored, logged or sent back.

use std::{collections::BTreeMap, fmt, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use proto::{
    digest,
    door::Role,
    error::{Code, Failure},
    id::ID_MAX,
    lang::Language,
    limits,
    refusal::Text as Refusal,
};
use serde::Deserialize;

use crate::config::words::Text;

/// A user of the front door.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Person {
    /// The SHA-256 of the user's token, in lower-case hex.
    pub token_sha256: String,
    /// The user's rights; never empty.
    pub roles: Vec<Role>,
}

/// The name of a user of the front door: 1 to 64 characters of A-Z a-z 0-9 _ - @ in the
/// configuration, and any visible ASCII characters from an issuer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct PersonName(String);

impl PersonName {
    /// Returns the name as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PersonName {
    /// Takes the name that an issuer gives a person: 1 to 64 visible ASCII characters.
    #[must_use]
    pub fn of_claim(name: &str) -> Option<Self> {
        let is_name =
            (1..=ID_MAX).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic());
        is_name.then(|| Self(name.to_owned()))
    }
}

impl TryFrom<String> for PersonName {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-@".contains(&b);
        if name.is_empty() || name.len() > ID_MAX || !name.bytes().all(plain) {
            return Err(Text::PersonName.text(Language::En));
        }
        Ok(Self(name))
    }
}

/// A service that knows people by tokens which it has signed.
#[async_trait]
pub trait Issuer: fmt::Debug + Send + Sync {
    /// Returns the person whom a token names.
    ///
    /// # Errors
    /// `forbidden` when the issuer did not sign the token or it has expired, `unavailable` when it
    /// cannot be checked.
    async fn person(&self, token: &str) -> Result<Vouched, Failure>;
}

/// A person of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vouched {
    /// The name of the person.
    pub name: PersonName,
    /// The rights of the person.
    pub roles: Vec<Role>,
    /// The end of the token.
    pub until: Timestamp,
}

/// The users of an installation.
#[derive(Debug, Clone, Default)]
pub struct People {
    known: Vec<Known>,
    issuer: Option<Arc<dyn Issuer>>,
}

#[derive(Debug, Clone)]
struct Known {
    name: PersonName,
    token_sha256: String,
    roles: Vec<Role>,
}

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// An unidentified caller of an open installation.
    Anyone,
    /// The owner of a token in the configuration.
    Known(PersonName),
    /// The owner of a token of the issuer, until it ends.
    Vouched(PersonName, Timestamp),
}

impl People {
    /// Takes the users from the configuration, and an issuer of further ones.
    #[must_use]
    pub fn new(people: &BTreeMap<PersonName, Person>, issuer: Option<Arc<dyn Issuer>>) -> Self {
        let known = people.iter().map(|(name, person)| Known {
            name: name.clone(),
            token_sha256: person.token_sha256.clone(),
            roles: person.roles.clone(),
        });
        Self { known: known.collect(), issuer }
    }

    /// Returns whether the installation is open, so that everybody may do everything.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.known.is_empty() && self.issuer.is_none()
    }

    /// Admits a caller who has at least one of `roles`. Without roles, the request carries its own
    /// credential, which its service checks.
    ///
    /// # Errors
    /// `forbidden` when the token is missing or unknown, or its owner has none of the roles;
    /// `unavailable` when the issuer's keys cannot be had.
    pub async fn admit(&self, token: Option<&str>, roles: &[Role]) -> Result<Caller, Failure> {
        if roles.is_empty() {
            return Ok(Caller::Anyone);
        }
        let (caller, has) = self.identify(token).await?;
        if roles.iter().any(|role| has.contains(role)) {
            return Ok(caller);
        }
        let name = caller.key();
        tracing::warn!(person = name, "a request without the role for it was refused");
        let why = Refusal::NoRole { name: &name, roles: &wording(roles) };
        Err(Failure::of(Code::Forbidden, why))
    }

    /// Returns the caller with a token, and the caller's roles: all of them in an open installation.
    ///
    /// # Errors
    /// `forbidden` when the token is missing or unknown; `unavailable` when the issuer's keys cannot
    /// be had.
    pub async fn identify(&self, token: Option<&str>) -> Result<(Caller, Vec<Role>), Failure> {
        if self.is_open() {
            return Ok((Caller::Anyone, Role::ALL.to_vec()));
        }
        let Some(token) = token else {
            return Err(Failure::of(Code::Forbidden, Refusal::NoToken));
        };
        if let Some(person) = self.owner(token) {
            return Ok((Caller::Known(person.name.clone()), person.roles.clone()));
        }
        let person = self.vouched(token).await?;
        Ok((Caller::Vouched(person.name, person.until), person.roles))
    }

    /// Finds the owner of a token in the configuration. Every hash is compared, so that the time
    /// reveals nothing about the known tokens.
    fn owner(&self, token: &str) -> Option<&Known> {
        let hash = digest::of_bytes(token.as_bytes());
        let mut found = None;
        for person in &self.known {
            if same(&person.token_sha256, &hash) {
                found = Some(person);
            }
        }
        found
    }

    /// Asks the issuer. A person of the issuer must not be taken for one in the configuration.
    async fn vouched(&self, token: &str) -> Result<Vouched, Failure> {
        let unknown = || Failure::of(Code::Forbidden, Refusal::UnknownToken);
        let Some(issuer) = &self.issuer else {
            tracing::warn!("a request with an unknown token was refused");
            return Err(unknown());
        };
        let person = issuer.person(token).await?;
        if self.known.iter().any(|known| known.name == person.name) {
            let name = person.name.as_str();
            tracing::warn!(person = name, "the issuer names a person of `door.people`: refused");
            return Err(unknown());
        }
        Ok(person)
    }

    /// Checks that a person whom an earlier request named still has one of `roles`.
    ///
    /// # Errors
    /// `forbidden` when the person is not known any more, or has none of the roles.
    pub fn still(&self, name: &str, roles: &[Role]) -> Result<(), Failure> {
        let mut known = self.known.iter().filter(|person| person.name.as_str() == name);
        let may = known.any(|person| roles.iter().any(|role| person.roles.contains(role)));
        if may || self.is_open() {
            return Ok(());
        }
        let wanted = wording(roles);
        Err(Failure::of(Code::Forbidden, Refusal::NoRole { name: &name, roles: &wanted }))
    }
}

impl Caller {
    /// Returns the name to record for a request: the owner of the token or, in an open
    /// installation, the name in the request.
    ///
    /// # Errors
    /// `invalid_request` when the name in the request is not 1 to 64 bytes of visible text.
    pub fn recorded(&self, told: Option<&str>) -> Result<Option<String>, Failure> {
        match self {
            Self::Known(name) | Self::Vouched(name, _) => Ok(Some(name.as_str().to_owned())),
            Self::Anyone => told.map(plain).transpose(),
        }
    }

    /// Returns the key for rate limits of this caller; empty for unidentified callers.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Known(name) | Self::Vouched(name, _) => name.as_str(),
            Self::Anyone => "",
        }
    }

    /// Returns the end of the issuer's token, the only proof that this person has these rights.
    #[must_use]
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Vouched(_, until) => Some(*until),
            Self::Known(_) | Self::Anyone => None,
        }
    }
}

fn plain(name: &str) -> Result<String, Failure> {
    let hidden = name.chars().any(proto::escape::is_deceptive);
    if name.trim().is_empty() || name.len() > limits::CALLER_BYTES_MAX || hidden {
        let why = Refusal::By { max: &limits::CALLER_BYTES_MAX };
        return Err(Failure::about(Code::InvalidRequest, "by", why));
    }
    Ok(name.trim().to_owned())
}

fn wording(roles: &[Role]) -> String {
    roles.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(" or ")
}

/// Compares two texts without stopping at the first difference.
fn same(a: &str, b: &str) -> bool {
    let difference = a.bytes().zip(b.bytes()).fold(0, |sum, (x, y)| sum | (x ^ y));
    a.len() == b.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people() -> People {
        let person = |token: &str, roles: &[Role]| Person {
            token_sha256: digest::of_bytes(token.as_bytes()),
            roles: roles.to_vec(),
        };
        let name = |name: &str| PersonName::try_from(name.to_owned()).unwrap();
        let people = BTreeMap::from([
            (name("ann"), person("ann's token", &[Role::Submit, Role::Answer])),
            (name("bob"), person("bob's token", &[Role::Read])),
        ]);
        People::new(&people, None)
    }

    async fn check(token: Option<&str>, roles: &[Role], expected: &str) {
        let got = match people().admit(token, roles).await {
            Ok(caller) => caller.key().to_owned(),
            Err(failure) => format!("{failure}"),
        };
        assert_eq!(got, expected);
    }

    #[tokio::test]
    async fn a_token_says_who_asks_and_the_role_says_what_they_may() {
        check(Some("ann's token"), &[Role::Submit], "ann").await;
        check(Some("bob's token"), &[Role::Answer, Role::Read], "bob").await;
        check(
            Some("bob's token"),
            &[Role::Answer],
            "bob does not have the role answer [forbidden]",
        )
        .await;
        check(Some("ann's token "), &[Role::Submit], "the token is unknown [forbidden]").await;
        check(Some(""), &[Role::Submit], "the token is unknown [forbidden]").await;
        check(
            None,
            &[Role::Read],
            "this server requires a token, and the request has none [forbidden]",
        )
        .await;
    }

    #[tokio::test]
    async fn a_token_has_the_roles_of_its_owner_and_an_open_installation_gives_everybody_all() {
        let roles = async |people: People, token| people.identify(token).await.map(|it| it.1);
        let ann = roles(people(), Some("ann's token")).await;
        assert_eq!(ann, Ok(vec![Role::Submit, Role::Answer]));
        assert!(roles(people(), None).await.is_err());
        assert_eq!(roles(People::default(), None).await, Ok(Role::ALL.to_vec()));
    }

    #[tokio::test]
    async fn a_person_who_lost_a_role_may_no_longer_what_it_allowed() {
        let still = |name: &str, role| people().still(name, &[role]).is_ok();
        assert!(still("ann", Role::Answer));
        assert!(!still("ann", Role::Operate));
        assert!(!still("eve", Role::Answer));
        assert!(People::default().still("eve", &[Role::Answer]).is_ok());
        check(None, &[], "").await;
    }

    #[tokio::test]
    async fn an_open_installation_records_who_it_is_told_and_a_closed_one_who_it_knows() {
        let open = People::default();
        assert!(open.is_open());
        assert_eq!(open.admit(None, &[Role::Submit]).await, Ok(Caller::Anyone));
        assert_eq!(Caller::Anyone.recorded(Some(" eve ")), Ok(Some("eve".to_owned())));
        assert_eq!(Caller::Anyone.recorded(None), Ok(None));
        for bad in ["", "  ", "a\u{202e}b", "a\nb", &"x".repeat(65)] {
            let failure = Caller::Anyone.recorded(Some(bad)).unwrap_err();
            assert_eq!(failure.field.as_deref(), Some("by"), "{bad:?}");
        }
        let known = people().admit(Some("ann's token"), &[Role::Submit]).await.unwrap();
        assert_eq!(known.recorded(Some("eve")), Ok(Some("ann".to_owned())));
    }

    #[derive(Debug)]
    struct Office;

    #[async_trait]
    impl Issuer for Office {
        async fn person(&self, token: &str) -> Result<Vouched, Failure> {
            let name = PersonName::of_claim(token).unwrap();
            Ok(Vouched { name, roles: vec![Role::Read], until: Timestamp::UNIX_EPOCH })
        }
    }

    #[tokio::test]
    async fn an_issuer_names_further_people_but_none_of_the_configuration() {
        let people = People { issuer: Some(Arc::new(Office)), ..people() };
        let admit = async |token, role| match people.admit(Some(token), &[role]).await {
            Ok(caller) => format!("{} {:?}", caller.key(), caller.until().is_some()),
            Err(failure) => format!("{failure}"),
        };
        assert_eq!(admit("carl@example.com", Role::Read).await, "carl@example.com true");
        let refused = "carl@example.com does not have the role answer [forbidden]";
        assert_eq!(admit("carl@example.com", Role::Answer).await, refused);
        assert_eq!(admit("ann", Role::Read).await, "the token is unknown [forbidden]");
        assert_eq!(admit("bob's token", Role::Read).await, "bob false");
        let only = People::new(&BTreeMap::new(), Some(Arc::new(Office)));
        assert!(!only.is_open());
        assert!(only.admit(None, &[Role::Read]).await.is_err());
    }
}
