//! The records that begin and end jobs.

use crate::{
    decision::Decision,
    fact::{Fact, Signal},
    headline::Headline,
    job::JobState,
    record::Record,
};

/// The meaning of a record for the life of its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Milestone {
    /// The submission: the first record of the job. The headline is absent if the body is stored
    /// apart or cannot be read.
    Submitted(Option<Box<Headline>>),
    /// A signal that may open an ended job again.
    MayReopen,
    /// The end. The state is absent if the body is stored apart or cannot be read.
    Ended(Option<JobState>),
}

impl Milestone {
    /// Returns the milestone that a record is.
    #[must_use]
    pub fn of(record: &Record) -> Option<Self> {
        match record.kind.as_str() {
            "submitted" => Some(Self::Submitted(Headline::of_record(record).map(Box::new))),
            "signaled" => match record.fact() {
                Some(Fact::Signaled(signaled)) => may_reopen(&signaled.signal),
                _ => true,
            }
            .then_some(Self::MayReopen),
            "finish" => Some(Self::Ended(match record.decision() {
                Some(Decision::Finish(finish)) => Some(finish.outcome.state()),
                _ => None,
            })),
            _ => None,
        }
    }
}

const fn may_reopen(signal: &Signal) -> bool {
    match signal {
        Signal::RollBack { .. } | Signal::Retry => true,
        Signal::Cancel
        | Signal::Pause
        | Signal::Resume
        | Signal::Steer { .. }
        | Signal::Snapshot { .. }
        | Signal::Event { .. }
        | Signal::EditGraph { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_begin_and_end_jobs_are_milestones() {
        let rollback = r#"{"signal":{"roll_back":{"to":3,"seen":9}}}"#;
        for (kind, body, expected) in [
            ("submitted", "{}", Some(Milestone::Submitted(None))),
            ("signaled", rollback, Some(Milestone::MayReopen)),
            ("signaled", "{}", Some(Milestone::MayReopen)),
            ("signaled", r#"{"signal":"cancel"}"#, None),
            ("finish", "{}", Some(Milestone::Ended(None))),
            ("called", "{}", None),
        ] {
            let record = format!(r#"{{"v":1,"kind":"{kind}","id":"1","by":"x","body":{body}}}"#);
            let record = Record::from_slice(record.as_bytes()).unwrap();
            assert_eq!(Milestone::of(&record), expected, "{kind} {body}");
        }
    }
}
