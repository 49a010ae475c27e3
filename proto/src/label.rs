//! Labels of jobs: keys with values, by which people and programs group jobs. No rule of the job
//! machine reads them.

use std::{collections::BTreeMap, str::FromStr, sync::Arc};

use derive_more::{AsRef, Display};
use serde::{Deserialize, Serialize};

use crate::{escape, limits};

/// A text that is no label, or too many labels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLabel {
    /// The key is malformed.
    #[error(
        "the key of a label must be 1 to {max} of the characters a-z 0-9 . _ / -, got {0:?}",
        max = limits::LABEL_CHARS_MAX
    )]
    Key(String),
    /// The value is too long, or holds characters that cannot be seen.
    #[error(
        "the value of a label must be at most {max} visible characters, got {0:?}",
        max = limits::LABEL_CHARS_MAX
    )]
    Value(String),
    /// A job has fewer labels.
    #[error("{0} labels are too many; at most {max} are allowed", max = limits::LABELS_MAX)]
    TooMany(usize),
    /// Two values of one key.
    #[error("the label {0} has two values")]
    Twice(LabelKey),
    /// The text has no `=`.
    #[error("a label is written KEY=VALUE, got {0:?}")]
    NoPair(String),
}

/// The key of a label.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    AsRef,
    Display,
    schemars::JsonSchema,
)]
#[serde(try_from = "String")]
pub struct LabelKey(#[as_ref(str)] Arc<str>);

impl LabelKey {
    /// Checks a key.
    ///
    /// # Errors
    /// Fails when the key is empty, too long, or has a character that is not allowed.
    pub fn new(key: impl AsRef<str>) -> Result<Self, InvalidLabel> {
        let key = key.as_ref();
        let is_allowed = |b: u8| {
            b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'/' | b'-')
        };
        let fits = (1..=limits::LABEL_CHARS_MAX).contains(&key.len());
        if fits && key.bytes().all(is_allowed) {
            Ok(Self(key.into()))
        } else {
            Err(InvalidLabel::Key(shown(key)))
        }
    }
}

impl TryFrom<String> for LabelKey {
    type Error = InvalidLabel;
    fn try_from(key: String) -> Result<Self, InvalidLabel> {
        Self::new(key)
    }
}

/// The value of a label: one line of visible text, or nothing.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    AsRef,
    Display,
    schemars::JsonSchema,
)]
#[serde(try_from = "String")]
pub struct LabelValue(#[as_ref(str)] Arc<str>);

impl LabelValue {
    /// Checks a value.
    ///
    /// # Errors
    /// Fails when the value is too long or has a character that cannot be seen.
    pub fn new(value: impl AsRef<str>) -> Result<Self, InvalidLabel> {
        let value = value.as_ref();
        let fits = value.chars().count() <= limits::LABEL_CHARS_MAX;
        if fits && !value.chars().any(escape::is_deceptive) {
            Ok(Self(value.into()))
        } else {
            Err(InvalidLabel::Value(shown(value)))
        }
    }
}

impl TryFrom<String> for LabelValue {
    type Error = InvalidLabel;
    fn try_from(value: String) -> Result<Self, InvalidLabel> {
        Self::new(value)
    }
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

/// One label, written `KEY=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq, Display)]
#[display("{key}={value}")]
pub struct Label {
    /// Key of the label.
    pub key: LabelKey,
    /// Value of the label.
    pub value: LabelValue,
}

impl FromStr for Label {
    type Err = InvalidLabel;

    fn from_str(text: &str) -> Result<Self, InvalidLabel> {
        let (key, value) = text.split_once('=').ok_or_else(|| InvalidLabel::NoPair(shown(text)))?;
        Ok(Self { key: LabelKey::new(key)?, value: LabelValue::new(value)? })
    }
}

/// The labels of a job, at most [`limits::LABELS_MAX`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "BTreeMap<LabelKey, LabelValue>")]
pub struct Labels(BTreeMap<LabelKey, LabelValue>);

impl Labels {
    /// Collects labels.
    ///
    /// # Errors
    /// Fails when a key has two values, or when there are too many labels.
    pub fn of(labels: impl IntoIterator<Item = Label>) -> Result<Self, InvalidLabel> {
        let mut all = BTreeMap::new();
        for Label { key, value } in labels {
            if all.insert(key.clone(), value.clone()).is_some_and(|before| before != value) {
                return Err(InvalidLabel::Twice(key));
            }
        }
        Self::try_from(all)
    }

    /// Returns `true` without any label.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the labels, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = Label> {
        self.0.iter().map(|(key, value)| Label { key: key.clone(), value: value.clone() })
    }

    /// Returns `true` if these labels include all of `wanted`.
    #[must_use]
    pub fn include(&self, wanted: &Self) -> bool {
        wanted.0.iter().all(|(key, value)| self.0.get(key) == Some(value))
    }
}

impl TryFrom<BTreeMap<LabelKey, LabelValue>> for Labels {
    type Error = InvalidLabel;
    fn try_from(all: BTreeMap<LabelKey, LabelValue>) -> Result<Self, InvalidLabel> {
        match all.len() {
            0..=limits::LABELS_MAX => Ok(Self(all)),
            count => Err(InvalidLabel::TooMany(count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(all: &[&str]) -> Result<Labels, InvalidLabel> {
        let all: Result<Vec<Label>, _> = all.iter().map(|one| one.parse()).collect();
        Labels::of(all?)
    }

    #[test]
    fn a_label_is_a_key_and_a_value() {
        let long = "v".repeat(limits::LABEL_CHARS_MAX);
        for good in ["team=billing", "example.org/a-b_c=值", "k=", "k=a=b", &format!("k={long}")] {
            let label: Label = good.parse().unwrap();
            assert_eq!(label.to_string(), good);
        }
        let key = "k".repeat(limits::LABEL_CHARS_MAX + 1);
        for bad in ["team", "=v", "Team=v", "a b=v", "k=a\nb", "k=a\u{200b}", &format!("{key}=v")] {
            assert!(bad.parse::<Label>().is_err(), "{bad}");
        }
        assert!(format!("k={long}v").parse::<Label>().is_err());
    }

    #[test]
    fn a_job_has_few_labels_with_one_value_each() {
        let one = |n: usize| format!("k{n}=v");
        let most: Vec<_> = (0..limits::LABELS_MAX).map(one).collect();
        let most: Vec<_> = most.iter().map(String::as_str).collect();
        assert!(labels(&most).is_ok());
        let more = [most, vec!["more=v"]].concat();
        assert_eq!(labels(&more), Err(InvalidLabel::TooMany(limits::LABELS_MAX + 1)));
        let twice = Err(InvalidLabel::Twice(LabelKey::new("k").unwrap()));
        assert_eq!(labels(&["k=a", "k=b"]), twice);
        assert!(labels(&["k=a", "k=a"]).is_ok());
    }

    #[test]
    fn labels_travel_as_a_map_that_is_checked() {
        let all = labels(&["team=billing", "env=prod"]).unwrap();
        let json = serde_json::to_value(&all).unwrap();
        assert_eq!(json, serde_json::json!({"env": "prod", "team": "billing"}));
        assert_eq!(serde_json::from_value::<Labels>(json).unwrap(), all);
        for bad in [serde_json::json!({"Env": "prod"}), serde_json::json!({"env": "a\tb"})] {
            assert!(serde_json::from_value::<Labels>(bad).is_err());
        }
    }

    #[test]
    fn labels_include_some_of_themselves() {
        let all = labels(&["team=billing", "env=prod"]).unwrap();
        for (wanted, is_included) in [
            (&[][..], true),
            (&["env=prod"], true),
            (&["env=prod", "team=billing"], true),
            (&["env=test"], false),
            (&["env=prod", "zone=1"], false),
        ] {
            assert_eq!(all.include(&labels(wanted).unwrap()), is_included, "{wanted:?}");
        }
    }
}
