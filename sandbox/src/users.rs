//! Users for commands of a worker that is root: no two commands have the same at a time.

use std::{
    collections::BTreeSet,
    ops::RangeInclusive,
    sync::{Arc, Mutex, PoisonError},
};

/// The ids of users that nobody else has, one for each command that runs.
#[derive(Debug)]
pub struct Users {
    free: Mutex<BTreeSet<u32>>,
}

impl Users {
    /// Takes a range of ids of users and of their groups.
    #[must_use]
    pub fn of(ids: RangeInclusive<u32>) -> Self {
        Self { free: Mutex::new(ids.collect()) }
    }

    pub(crate) fn take(this: &Arc<Self>) -> Option<User> {
        let id = this.free.lock().unwrap_or_else(PoisonError::into_inner).pop_first()?;
        Some(User { id, of: Arc::clone(this) })
    }
}

/// A user that a command has until this is dropped.
#[derive(Debug)]
pub struct User {
    id: u32,
    of: Arc<Users>,
}

impl User {
    /// The id of the user and of its group.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.of.free.lock().unwrap_or_else(PoisonError::into_inner).insert(self.id);
    }
}
