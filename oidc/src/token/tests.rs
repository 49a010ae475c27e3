//! Tests of tokens: of every claim and header that could be forged, with keys made here.

use data_encoding::BASE64URL_NOPAD;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};
use rstest::rstest;
use runtime::config::Section;
use serde_json::json;

use super::*;

const ISSUER: &str = "https://login.example.com";

/// An issuer with a key of each kind that ring can make.
struct Office {
    ed: Ed25519KeyPair,
    ec: EcdsaKeyPair,
}

impl Office {
    fn new() -> Self {
        let random = SystemRandom::new();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let ec = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self {
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
            ec: EcdsaKeyPair::from_pkcs8(algorithm, ec.as_ref(), &random).unwrap(),
        }
    }

    fn keys(&self) -> Keys {
        let point = self.ec.public_key().as_ref();
        let text = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        let set = json!({"keys": [
            {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": text(self.ed.public_key().as_ref())},
            {"kty": "EC", "crv": "P-256", "kid": "ec", "use": "sig", "alg": "ES256",
             "x": text(&point[1..33]), "y": text(&point[33..])},
            {"kty": "EC", "crv": "P-256", "kid": "secret", "use": "enc",
             "x": text(&point[1..33]), "y": text(&point[33..])},
            {"kty": "oct", "kid": "shared", "k": "c2VjcmV0"},
            {"kty": "of a later time", "kid": "later"},
            7,
        ]});
        Keys::parse(set.to_string().as_bytes()).unwrap()
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = if header["alg"] == "ES256" {
            let signed = self.ec.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
            signed.as_ref().to_vec()
        } else {
            self.ed.sign(message.as_bytes()).as_ref().to_vec()
        };
        format!("{message}.{}", BASE64URL_NOPAD.encode(&signature))
    }
}

fn settings() -> Oidc {
    let roles = [
        ("operators", vec![Role::Operate, Role::Read]),
        ("clerks", vec![Role::Submit, Role::Read]),
        (EVERYBODY, vec![Role::Read]),
    ];
    Oidc {
        issuer: Some(ISSUER.to_owned()),
        audience: vec!["callboard".to_owned(), "other".to_owned()],
        roles: roles.map(|(group, roles)| (group.to_owned(), roles)).into(),
        ..Oidc::defaults()
    }
}

fn now() -> i64 {
    Timestamp::now().as_second()
}

fn claims() -> Value {
    json!({"iss": ISSUER, "aud": "callboard", "sub": "ann", "exp": now() + 600})
}

/// Adds fields to a JSON object, and removes those that are null.
fn with(mut value: Value, changes: &Value) -> Value {
    let fields = value.as_object_mut().unwrap();
    for (name, change) in changes.as_object().unwrap() {
        fields.insert(name.clone(), change.clone());
    }
    fields.retain(|_, value| !value.is_null());
    value
}

#[rstest]
#[case::by_key_id(json!({"alg": "EdDSA", "kid": "ed", "typ": "JWT"}))]
#[case::by_the_only_key(json!({"alg": "EdDSA"}))]
#[case::another_algorithm(json!({"alg": "ES256", "kid": "ec", "typ": "at+jwt"}))]
fn a_signed_token_names_a_person(#[case] header: Value) {
    let office = Office::new();
    let person = check(&office.token(&header, &claims()), &office.keys(), &settings()).unwrap();
    assert_eq!(person.name.as_str(), "ann");
    assert_eq!(person.roles, [Role::Read]);
    assert!((now() + 590..now() + 610).contains(&person.until.as_second()));
}

#[rstest]
#[case::no_signature(json!({"alg": "none"}), Wrong::Malformed)]
#[case::signed_with_the_public_key(json!({"alg": "HS256", "kid": "ed"}), Wrong::Key)]
#[case::a_shared_secret(json!({"alg": "HS256", "kid": "shared"}), Wrong::Key)]
#[case::the_key_of_another_algorithm(json!({"alg": "ES256", "kid": "ed"}), Wrong::Key)]
#[case::a_key_for_encryption(json!({"alg": "ES256", "kid": "secret"}), Wrong::Key)]
#[case::an_unknown_key(json!({"alg": "EdDSA", "kid": "new"}), Wrong::Key)]
#[case::a_logout(json!({"alg": "EdDSA", "kid": "ed", "typ": "logout+jwt"}), Wrong::Type)]
#[case::an_extension(json!({"alg": "EdDSA", "kid": "ed", "crit": ["b64"], "b64": false}), Wrong::Type)]
#[case::a_key_of_its_own(json!({"alg": "EdDSA", "kid": "x", "jku": "https://evil.example"}), Wrong::Key)]
fn a_header_cannot_choose_how_it_is_checked(#[case] header: Value, #[case] expected: Wrong) {
    let office = Office::new();
    let token = office.token(&header, &claims());
    assert_eq!(check(&token, &office.keys(), &settings()), Err(expected));
}

#[rstest]
#[case(json!({"exp": 1}), Wrong::Expired)]
#[case(json!({"exp": null}), Wrong::Claims)]
#[case(json!({"nbf": 4_000_000_000_u64}), Wrong::Early)]
#[case(json!({"iss": "https://login.example.com/"}), Wrong::Issuer)]
#[case(json!({"iss": null}), Wrong::Claims)]
#[case(json!({"aud": "payroll"}), Wrong::Audience)]
#[case(json!({"aud": ["payroll", "mail"]}), Wrong::Audience)]
#[case(json!({"aud": null}), Wrong::Claims)]
#[case(json!({"sub": null}), Wrong::Person)]
#[case(json!({"sub": 7}), Wrong::Person)]
#[case(json!({"sub": ""}), Wrong::Person)]
#[case(json!({"sub": "ann smith"}), Wrong::Person)]
#[case(json!({"sub": "ann\u{202e}"}), Wrong::Person)]
#[case(json!({"sub": "x".repeat(65)}), Wrong::Person)]
fn a_claim_that_does_not_hold_names_nobody(#[case] change: Value, #[case] expected: Wrong) {
    let office = Office::new();
    let header = json!({"alg": "EdDSA", "kid": "ed"});
    let token = office.token(&header, &with(claims(), &change));
    assert_eq!(check(&token, &office.keys(), &settings()), Err(expected));
}

#[test]
fn a_changed_byte_breaks_the_signature() {
    let office = Office::new();
    let token = office.token(&json!({"alg": "EdDSA", "kid": "ed"}), &claims());
    let other = office
        .token(&json!({"alg": "EdDSA", "kid": "ed"}), &with(claims(), &json!({"sub": "bob"})));
    let (message, _) = other.rsplit_once('.').unwrap();
    let (_, signature) = token.rsplit_once('.').unwrap();
    let forged = format!("{message}.{signature}");
    assert_eq!(check(&forged, &office.keys(), &settings()), Err(Wrong::Signature));
    let strangers = Office::new().keys();
    assert_eq!(check(&token, &strangers, &settings()), Err(Wrong::Signature));
}

#[rstest]
#[case(json!({"groups": "operators"}), "groups", vec![Role::Operate, Role::Read])]
#[case(json!({"groups": ["clerks", "operators"]}), "groups", vec![Role::Submit, Role::Operate, Role::Read])]
#[case(json!({"realm_access": {"roles": ["clerks"]}}), "realm_access.roles", vec![Role::Submit, Role::Read])]
#[case(json!({"https://a.example/groups": ["clerks"]}), "https://a.example/groups", vec![Role::Submit, Role::Read])]
#[case(json!({"groups": {"operators": true}}), "groups", vec![Role::Read])]
#[case(json!({"groups": ["Operators", "*", 7]}), "groups", vec![Role::Read])]
fn groups_give_roles(#[case] change: Value, #[case] groups: &str, #[case] expected: Vec<Role>) {
    let office = Office::new();
    let settings = Oidc { groups: groups.to_owned(), ..settings() };
    let token = office.token(&json!({"alg": "EdDSA", "kid": "ed"}), &with(claims(), &change));
    assert_eq!(check(&token, &office.keys(), &settings).unwrap().roles, expected);
}

#[rstest]
#[case("{\"keys\": {}}", None)]
#[case("<html>", None)]
#[case("{\"keys\": []}", Some(0))]
fn what_is_no_key_set_is_refused(#[case] text: &str, #[case] keys: Option<usize>) {
    assert_eq!(Keys::parse(text.as_bytes()).map(|keys| keys.count()), keys);
}
