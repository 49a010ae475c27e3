//! An outline: what an agent intends to do, in words, beside or without a plan that is carried out.
//! Planners that decide one action at a time have one, and so does an executor that plans inside its
//! own loop. Nothing follows from it: it is shown, and the model is reminded of it.
//!
//! Items are never taken away: what is not done any more is marked `skipped`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{id::StepId, lang::Language, limits};

messages::texts!(outline);

/// Something that is intended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Unique within the outline.
    pub id: StepId,
    /// What it is, in a line.
    pub title: String,
    /// Where it stands.
    #[serde(default)]
    pub status: ItemStatus,
    /// More words: a result, or why it is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Where an item stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Done,
    /// It cannot go on for now.
    Blocked,
    /// It is not going to be done.
    Skipped,
}

impl ItemStatus {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::InProgress, Self::Done, Self::Blocked, Self::Skipped];

    /// The word in records and for models.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Skipped => "skipped",
        }
    }

    /// Whether something is still to be done.
    #[must_use]
    pub fn is_open(self) -> bool {
        match self {
            Self::Pending | Self::InProgress => true,
            Self::Done | Self::Blocked | Self::Skipped => false,
        }
    }
}

/// A change of an outline, as a model asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum OutlineChange {
    /// The whole list, with every item that is there already.
    Set {
        /// The items, in order.
        items: Vec<Item>,
    },
    /// Items that stand otherwise now. All of them, or none.
    Update {
        /// Which, and how.
        updates: Vec<ItemUpdate>,
    },
}

/// How an item stands now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemUpdate {
    /// The item.
    pub id: StepId,
    /// Where it stands.
    pub status: ItemStatus,
    /// More words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Why a change is refused, in words the model can act upon. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub enum OutlineError {
    /// A list without items.
    Empty,
    /// More than [`limits::PLAN_STEPS_MAX`].
    TooMany(usize),
    /// Two items with one id.
    Duplicate(StepId),
    /// An item without a title.
    NoTitle(StepId),
    /// A text beyond its bound.
    TooLong(StepId),
    /// An item that the new list leaves out.
    Removed(StepId),
    /// An item that does not exist.
    Unknown {
        /// What was named.
        unknown: StepId,
        /// What there is.
        known: String,
    },
}

impl OutlineError {
    /// The same, in a language.
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

/// The items after a change.
///
/// # Errors
/// The first thing that is wrong with it; then nothing is changed.
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

/// Items of a list of texts, numbered from 1, none of them begun.
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
            "items are never taken away; keep b and mark it skipped if it is not needed"
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
