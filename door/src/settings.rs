//! The settings of the front door.

use std::{collections::BTreeMap, path::PathBuf};

use proto::lang::Words;
use runtime::{
    config::{Check, MANY, Section, wide},
    people::{Person, PersonName},
};
use serde::Deserialize;

messages::texts!(callers);

/// Settings of the front door.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Door {
    /// The users of the front door, by name. Empty: everybody may do everything.
    pub people: BTreeMap<PersonName, Person>,
    /// The maximum number of requests that one process serves at once.
    pub max_in_flight: usize,
    /// The maximum number of submissions of one user per minute. Unlimited when absent.
    pub submits_per_minute: Option<u32>,
    /// A directory of agents, one YAML file each. `None` adds no agents.
    pub agents_dir: Option<PathBuf>,
}

impl Section for Door {
    const NAME: &'static str = "door";
    const DEFAULTS: &'static str = include_str!("settings.toml");
    const MASKED: &'static [&'static str] = &["token_sha256"];

    fn check(&self, check: &mut Check) {
        check.bounds(&[("door.max_in_flight", wide(self.max_in_flight), 1, MANY)]);
        if let Some(submits) = self.submits_per_minute {
            check.bounds(&[("door.submits_per_minute", submits.into(), 1, MANY)]);
        }
        let mut seen = BTreeMap::new();
        for (name, person) in &self.people {
            let key = format!("door.people.{}", name.as_str());
            let hash = &person.token_sha256;
            let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            if hash.len() != 64 || !hash.bytes().all(hex) {
                check.wrong(format!("{key}.token_sha256"), words(Text::TokenHash));
            } else if let Some(other) = seen.insert(hash, name.as_str()) {
                check.wrong(
                    format!("{key}.token_sha256"),
                    words(Text::TokenTaken { other: &other }),
                );
            }
            if person.roles.is_empty() {
                check.wrong(format!("{key}.roles"), words(Text::NoRoles));
            }
        }
    }
}

fn words(text: Text<'_>) -> Words {
    Words::new(|language| text.text(language))
}
