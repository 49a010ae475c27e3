//! A record of another job, read back. The record itself is vocabulary of facts, which hold it, so it
//! knows nothing of what reads it.

use super::ForkedRecord;
use crate::{
    record::{Record, Unreadable},
    subject::Family,
};

impl ForkedRecord {
    /// Where it stood.
    ///
    /// # Errors
    /// When there is no such family.
    pub fn family(&self) -> Result<Family, Unreadable> {
        let why = || Unreadable::Malformed(format!("{:?} is no family", self.family));
        Family::from_words(&self.family).ok_or_else(why)
    }

    /// The record.
    ///
    /// # Errors
    /// When it is not a JSON object of the record's form.
    pub fn record(&self) -> Result<Record, Unreadable> {
        Record::from_slice(self.record.to_string().as_bytes())
    }
}
