//! The parser of copied records. It is apart from [`ForkedRecord`], because facts hold that type
//! and this module needs the facts.

use super::ForkedRecord;
use crate::{
    record::{Record, Unreadable},
    subject::Family,
};

impl ForkedRecord {
    /// Returns the parsed family of the record's subject.
    ///
    /// # Errors
    /// Fails when the family is malformed.
    pub fn family(&self) -> Result<Family, Unreadable> {
        let why = || Unreadable::Malformed(format!("{:?} is no family", self.family));
        Family::from_words(&self.family).ok_or_else(why)
    }

    /// Parses the envelope of the record.
    ///
    /// # Errors
    /// Fails when the JSON does not have the record's form.
    pub fn record(&self) -> Result<Record, Unreadable> {
        Record::from_slice(self.record.to_string().as_bytes())
    }
}
