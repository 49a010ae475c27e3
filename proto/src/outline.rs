//! An outline: the intended items of an agent, in words, beside or without a plan. Planners that
//! decide one action at a time have an outline, and so has an executor that plans inside its own
//! loop. No decision follows from an outline: users see it, and prompts remind the model of it.
//!
//! Items are never removed. An item that is no longer needed is marked `skipped`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{id::StepId, lang::Language, limits};

messages::texts!(outline);

/// An intended item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Id of the item, unique within the outline.
    pub id: StepId,
    /// Title, in one line.
    pub title: String,
    /// Status of the item.
    #[serde(default)]
    pub status: ItemStatus,
    /// Further text, such as the result or the cause of a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The status of an item.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum ItemStatus {
    /// The agent has not started the item.
    #[default]
    Pending,
    /// The agent is working on the item.
    InProgress,
    /// The item is done.
    Done,
    /// The item cannot continue for now.
    Blocked,
    /// The item is no longer needed.
    Skipped,
}

impl ItemStatus {
    /// All statuses.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the word in records and for models.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns whether work on the item remains.
    #[must_use]
    pub fn is_open(self) -> bool {
        match self {
            Self::Pending | Self::InProgress => true,
            Self::Done | Self::Blocked | Self::Skipped => false,
        }
    }
}

/// Returns the item in progress and its number, from 1.
#[must_use]
pub fn in_progress(items: &[Item]) -> Option<(usize, &Item)> {
    (1..).zip(items).find(|(_, item)| item.status == ItemStatus::InProgress)
}

/// A change of an outline, as a model requests it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum OutlineChange {
    /// Replaces the whole list, which must include every existing item.
    Set {
        /// Items, in order.
        items: Vec<Item>,
    },
    /// Changes the status of items: of all, or of none when one is invalid.
    Update {
        /// Changes of single items.
        updates: Vec<ItemUpdate>,
    },
}

/// The change of one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ItemUpdate {
    /// Item to change.
    pub id: StepId,
    /// New status of the item.
    pub status: ItemStatus,
    /// New note; the old one stays when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The refusal of a change, in words that the model can act upon. A refused change has no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub enum OutlineError {
    /// The list of items, or of updates, is empty.
    Empty,
    /// The list has more items than [`limits::PLAN_STEPS_MAX`].
    TooMany(usize),
    /// Two items have the same id.
    Duplicate(StepId),
    /// An item has no title.
    NoTitle(StepId),
    /// A text exceeds its bound.
    TooLong(StepId),
    /// The new list leaves out an existing item.
    Removed(StepId),
    /// No item has the id.
    Unknown {
        /// Requested id.
        unknown: StepId,
        /// Ids of the existing items.
        known: String,
    },
}

impl OutlineError {
    /// Returns the error as a text in `language`.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let text = match self {
            Self::Empty => Text::Empty,
            Self::TooMany(count) => Text::TooMany { count, max: &limits::PLAN_STEPS_MAX },
            Self::Duplicate(id) => Text::Duplicate { id },
            Self::NoTitle(id) => Text::NoTitle { id },
            Self::TooLong(id) => Text::TooLong { id, max: &limits::TITLE_BYTES_MAX },
            Self::Removed(id) => Text::Removed { id },
            Self::Unknown { unknown, known } => Text::Unknown { unknown, known },
        };
        text.text(language)
    }
}

/// Returns the items after a change.
///
/// # Errors
/// Returns the first error of the change.
pub fn apply(items: &[Item], change: &OutlineChange) -> Result<Vec<Item>, OutlineError> {
    match change {
        OutlineChange::Set { items: wanted } => {
            check(wanted)?;
            let ids: BTreeSet<_> = wanted.iter().map(|item| &item.id).collect();
            match items.iter().find(|item| !ids.contains(&item.id)) {
                Some(gone) => Err(OutlineError::Removed(gone.id.clone())),
                None => Ok(wanted.clone()),
            }
        }
        OutlineChange::Update { updates } => {
            if updates.is_empty() {
                return Err(OutlineError::Empty);
            }
            let mut changed = items.to_vec();
            for update in updates {
                let Some(item) = changed.iter_mut().find(|item| item.id == update.id) else {
                    let known: Vec<_> = items.iter().map(|item| item.id.as_str()).collect();
                    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                    return Err(OutlineError::Unknown { unknown: update.id.clone(), known });
                };
                item.status = update.status;
                item.note = update.note.clone().or(item.note.take());
            }
            check(&changed)?;
            Ok(changed)
        }
    }
}

fn check(items: &[Item]) -> Result<(), OutlineError> {
    if items.is_empty() {
        return Err(OutlineError::Empty);
    }
    if items.len() > limits::PLAN_STEPS_MAX {
        return Err(OutlineError::TooMany(items.len()));
    }
    let mut ids = BTreeSet::new();
    for item in items {
        if !ids.insert(&item.id) {
            return Err(OutlineError::Duplicate(item.id.clone()));
        }
        if item.title.trim().is_empty() {
            return Err(OutlineError::NoTitle(item.id.clone()));
        }
        let note = item.note.as_ref().map_or(0, String::len);
        if item.title.len().max(note) > limits::TITLE_BYTES_MAX {
            return Err(OutlineError::TooLong(item.id.clone()));
        }
    }
    Ok(())
}

/// Creates pending items of a list of texts, with the numbers from 1 as ids.
#[must_use]
pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Item> {
    texts
        .into_iter()
        .take(limits::PLAN_STEPS_MAX)
        .enumerate()
        .map(|(n, text)| Item {
            id: StepId::new((n + 1).to_string()).expect("a number is an id"),
            title: crate::excerpt::line(text, limits::TITLE_BYTES_MAX),
            status: ItemStatus::Pending,
            note: None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(ids: &str) -> Vec<Item> {
        let item = |id: &str| Item {
            id: StepId::new(id).unwrap(),
            title: format!("do {id}"),
            status: ItemStatus::Pending,
            note: None,
        };
        ids.split_whitespace().map(item).collect()
    }

    fn update(id: &str, status: ItemStatus) -> ItemUpdate {
        ItemUpdate { id: StepId::new(id).unwrap(), status, note: None }
    }

    #[test]
    fn an_update_changes_all_it_names_or_nothing() {
        let before = items("a b c");
        let updates = vec![update("a", ItemStatus::Done), update("c", ItemStatus::Skipped)];
        let after = apply(&before, &OutlineChange::Update { updates }).unwrap();
        let statuses: Vec<_> = after.iter().map(|item| item.status.as_str()).collect();
        assert_eq!(statuses, ["done", "pending", "skipped"]);
        let updates = vec![update("a", ItemStatus::Done), update("z", ItemStatus::Done)];
        let error = apply(&before, &OutlineChange::Update { updates }).unwrap_err();
        assert_eq!(error.to_string(), "there is no item z; the items are: a, b, c");
    }

    #[test]
    fn items_are_never_taken_away() {
        let set = |ids| OutlineChange::Set { items: items(ids) };
        assert_eq!(apply(&[], &set("a b")).unwrap(), items("a b"));
        assert_eq!(apply(&items("a b"), &set("b x a")).unwrap(), items("b x a"));
        assert_eq!(
            apply(&items("a b"), &set("a x")).unwrap_err().to_string(),
            "items cannot be removed; keep b and mark it skipped if it is not needed"
        );
        assert_eq!(apply(&[], &set("")), Err(OutlineError::Empty));
        assert!(apply(&[], &set("a a")).is_err());
    }

    #[test]
    fn texts_become_items_of_one_line() {
        let long = "字".repeat(1000);
        let items = of_texts(["one\ntwo", long.as_str()]);
        assert_eq!((items[0].id.as_str(), items[0].title.as_str()), ("1", "one"));
        assert!(items[1].title.len() <= limits::TITLE_BYTES_MAX);
    }
}
