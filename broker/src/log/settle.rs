//! Determination of the outcome of a guarded write.
//!
//! Only an acknowledgement from the broker is conclusive. A timeout, an error and even a conflict
//! reply are not: a leader that was just replaced may report a conflict for a record it stored. The
//! record at the guarded position is the only truth. So every other reply is settled by reading the
//! log and looking for the record's own id. A write that is absent is sent again with the same id:
//! the guard on its position lets at most one attempt through.
//!
//! It must never report a conflict for a record that is stored, and never report another writer's
//! record as stored.

use std::time::Duration;

use async_trait::async_trait;
use proto::id::Seq;
use tokio::time::Instant;

use super::{CasOutcome, LogError};

/// The broker's reply to a write.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// The record is stored at this position.
    Stored(Seq),
    /// Another record is at the expected position. May be wrong.
    Conflict,
    /// The write was sent and its outcome is unknown: no reply in time, or an inconclusive one.
    Unknown(String),
    /// Certainly not stored; the same write may succeed later.
    NotNow(LogError),
    /// Certainly not stored, and never will be.
    Refused(LogError),
}

/// The record at the position that a write was guarded by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Occupant {
    /// Its position in the stream.
    pub seq: Seq,
    /// The record's id; `None` if it is unreadable.
    pub id: Option<String>,
}

/// A write of one record.
#[async_trait]
pub(crate) trait Write: Send + Sync {
    /// Sends the write once. Every attempt carries the same record id, by which readers recognize
    /// copies.
    async fn publish(&self) -> Reply;
    /// Reads the last record on the write's subject from the leader, and returns its position if it
    /// is this one.
    async fn stored(&self) -> Result<Option<Seq>, LogError>;
}

/// A write that succeeds only if a position is still unchanged.
#[async_trait]
pub(crate) trait GuardedWrite: Write {
    /// The id of the record to write.
    fn id(&self) -> &str;
    /// Reads the *first* record under the guard's filter after the expected position, from the
    /// leader. Not the last: others may already have appended after ours.
    async fn occupant(&self) -> Result<Option<Occupant>, LogError>;
}

/// Retry policy of a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetryBounds {
    /// Pause before the second attempt; doubles with each one, up to `wait_max`.
    pub wait_first: Duration,
    /// Longest pause between two attempts.
    pub wait_max: Duration,
    /// Time since the first attempt after which a failed one is not repeated.
    pub total: Duration,
    /// Time of unacknowledged attempts, while reads are answered, after which the broker counts as
    /// overloaded.
    pub overloaded_after: Option<Duration>,
}

impl Default for RetryBounds {
    /// Outlasts the election of a new leader, which was measured to take up to 8 s.
    fn default() -> Self {
        Self {
            wait_first: Duration::from_millis(50),
            wait_max: Duration::from_millis(500),
            total: Duration::from_secs(12),
            overloaded_after: None,
        }
    }
}

/// Number of retries of a conflict when no record is found at the position. A leader that was just
/// replaced may reject a record that the new one is about to store. A position beyond the end of
/// the log (the job was purged meanwhile) is rejected for ever.
const EMPTY_CONFLICTS_MAX: u32 = 3;

/// Sends a guarded write until its outcome is known.
///
/// # Errors
/// [`LogError::Unknown`] if an attempt may have been stored and no record was found at the
/// position, or [`LogError::Unwritable`] if reads were answered all the time; the broker's own error
/// if certainly no attempt was stored.
pub(crate) async fn settle(
    write: &impl GuardedWrite,
    patience: RetryBounds,
) -> Result<CasOutcome, LogError> {
    let start = Instant::now();
    let mut wait = patience.wait_first;
    let mut empty_conflicts = 0;
    // `true` if an attempt may be stored, or may still arrive.
    let mut in_doubt = false;
    // Start of the first of the last attempts that were not acknowledged while reads were answered.
    let mut silent_since: Option<Instant> = None;
    loop {
        let sent = Instant::now();
        let reply = write.publish().await;
        let conflict = matches!(reply, Reply::Conflict);
        let is_silent = matches!(reply, Reply::Unknown(_));
        let error = match reply {
            Reply::Stored(seq) => return Ok(CasOutcome::Stored(seq)),
            Reply::Conflict => LogError::Unknown("the position is said to be taken".to_owned()),
            Reply::Unknown(why) => {
                in_doubt = true;
                LogError::Unknown(why)
            }
            Reply::Refused(error) | Reply::NotNow(error @ LogError::Full(_)) if !in_doubt => {
                return Err(error);
            }
            Reply::Refused(error) | Reply::NotNow(error) => error,
        };
        if conflict || in_doubt {
            match write.occupant().await {
                Ok(Some(Occupant { seq, id })) => {
                    let ours = id.as_deref() == Some(write.id());
                    return Ok(if ours { CasOutcome::Stored(seq) } else { CasOutcome::Conflict });
                }
                Ok(None) if conflict => {
                    empty_conflicts += 1;
                    if empty_conflicts > EMPTY_CONFLICTS_MAX {
                        return Ok(CasOutcome::Conflict);
                    }
                }
                Ok(None) if is_silent => {
                    let since = *silent_since.get_or_insert(sent);
                    if patience.overloaded_after.is_some_and(|limit| is_over(since, limit)) {
                        return Err(LogError::Unwritable(error.to_string()));
                    }
                }
                Ok(None) => silent_since = None,
                Err(_) => {
                    in_doubt = true;
                    silent_since = None;
                }
            }
        }
        if start.elapsed() >= patience.total {
            return Err(if in_doubt { LogError::Unknown(error.to_string()) } else { error });
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(patience.wait_max);
    }
}

/// `true` if most of the limit has passed: the rest is kept for the reply to the caller.
fn is_over(since: Instant, limit: Duration) -> bool {
    since.elapsed() >= limit.mul_f64(0.8)
}

/// Sends an unguarded write until it is stored. It may be stored twice if an attempt without a reply
/// arrives late, or if another record followed it on its subject.
///
/// # Errors
/// [`LogError::Unknown`] if an attempt may have been stored, otherwise the broker's own error.
pub(crate) async fn insist(write: &impl Write, patience: RetryBounds) -> Result<Seq, LogError> {
    let start = Instant::now();
    let mut wait = patience.wait_first;
    let mut in_doubt = false;
    loop {
        let error = match write.publish().await {
            Reply::Stored(seq) => return Ok(seq),
            Reply::Refused(error) | Reply::NotNow(error @ LogError::Full(_)) if !in_doubt => {
                return Err(error);
            }
            Reply::Refused(error) | Reply::NotNow(error) => error,
            Reply::Conflict => {
                in_doubt = true;
                LogError::Unknown(
                    "the broker speaks of a conflict where nothing was expected".into(),
                )
            }
            Reply::Unknown(why) => {
                in_doubt = true;
                LogError::Unknown(why)
            }
        };
        let is_last = start.elapsed() >= patience.total;
        if !is_last {
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(patience.wait_max);
        }
        // Every reader of the job would read a second copy.
        if in_doubt && let Ok(Some(seq)) = write.stored().await {
            return Ok(seq);
        }
        if is_last {
            return Err(if in_doubt { LogError::Unknown(error.to_string()) } else { error });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use rstest::rstest;

    use super::*;

    /// Scripted replies and occupants, taken in turn; the last of each repeats.
    #[derive(Debug)]
    struct Script {
        replies: Mutex<Vec<Reply>>,
        occupants: Mutex<Vec<Result<Option<Occupant>, LogError>>>,
        sent: Mutex<usize>,
    }

    fn turn<T: Clone>(script: &Mutex<Vec<T>>) -> T {
        let mut script = script.lock().unwrap();
        if script.len() > 1 { script.remove(0) } else { script[0].clone() }
    }

    #[async_trait]
    impl Write for Script {
        async fn publish(&self) -> Reply {
            *self.sent.lock().unwrap() += 1;
            turn(&self.replies)
        }
        async fn stored(&self) -> Result<Option<Seq>, LogError> {
            let occupant = turn(&self.occupants)?;
            Ok(occupant.filter(|one| one.id.as_deref() == Some("mine")).map(|one| one.seq))
        }
    }

    #[async_trait]
    impl GuardedWrite for Script {
        fn id(&self) -> &str {
            "mine"
        }
        async fn occupant(&self) -> Result<Option<Occupant>, LogError> {
            turn(&self.occupants)
        }
    }

    fn at(seq: u64, id: &str) -> Result<Option<Occupant>, LogError> {
        Ok(Some(Occupant { seq: Seq(seq), id: Some(id.to_owned()) }))
    }

    fn away() -> LogError {
        LogError::Unavailable("away".into())
    }

    fn full() -> LogError {
        LogError::Full("full".into())
    }

    const STORED: Reply = Reply::Stored(Seq(9));

    fn lost() -> Reply {
        Reply::Unknown("no reply".into())
    }

    #[rstest]
    #[case::an_acknowledgement_is_believed(vec![STORED], vec![Ok(None)], "Ok(Stored(Seq(9)))", 1)]
    #[case::a_conflict_that_lies_is_found_out(vec![Reply::Conflict], vec![at(7, "mine")], "Ok(Stored(Seq(7)))", 1)]
    #[case::a_conflict_is_believed_when_another_is_there(vec![Reply::Conflict], vec![at(7, "other")], "Ok(Conflict)", 1)]
    #[case::a_lost_reply_is_found_out(vec![lost()], vec![at(7, "mine")], "Ok(Stored(Seq(7)))", 1)]
    #[case::a_lost_write_is_sent_again(vec![lost(), STORED], vec![Ok(None)], "Ok(Stored(Seq(9)))", 2)]
    #[case::a_late_write_is_found_by_the_second_try(vec![lost(), Reply::Conflict], vec![Ok(None), at(7, "mine")], "Ok(Stored(Seq(7)))", 2)]
    #[case::a_position_beyond_the_log_is_a_conflict(vec![Reply::Conflict], vec![Ok(None)], "Ok(Conflict)", 4)]
    #[case::a_conflict_before_the_record_shows_is_tried_again(vec![Reply::Conflict], vec![Ok(None), at(7, "mine")], "Ok(Stored(Seq(7)))", 2)]
    #[case::full_is_full(vec![Reply::NotNow(full())], vec![Ok(None)], "Err(Full(\"full\"))", 1)]
    #[case::full_after_a_lost_write_is_read(vec![lost(), Reply::NotNow(full())], vec![Ok(None), at(7, "mine")], "Ok(Stored(Seq(7)))", 2)]
    #[case::unreachable_is_waited_for(vec![Reply::NotNow(away()), STORED], vec![Ok(None)], "Ok(Stored(Seq(9)))", 2)]
    #[case::a_read_that_fails_is_repeated(vec![Reply::Conflict], vec![Err(away()), at(7, "other")], "Ok(Conflict)", 2)]
    #[tokio::test(start_paused = true)]
    async fn every_reply_is_settled(
        #[case] replies: Vec<Reply>,
        #[case] occupants: Vec<Result<Option<Occupant>, LogError>>,
        #[case] expected: &str,
        #[case] sent: usize,
    ) {
        let script = Script {
            replies: Mutex::new(replies),
            occupants: Mutex::new(occupants),
            sent: Mutex::default(),
        };
        let got = settle(&script, RetryBounds::default()).await;
        assert_eq!(format!("{got:?}"), expected);
        assert_eq!(*script.sent.lock().unwrap(), sent);
    }

    #[tokio::test(start_paused = true)]
    async fn a_broker_that_answers_reads_alone_is_overloaded() {
        let limit = Duration::from_secs(5);
        let patience = RetryBounds { overloaded_after: Some(limit), ..RetryBounds::default() };
        let start = Instant::now();
        let script = Script {
            replies: Mutex::new(vec![lost()]),
            occupants: Mutex::new(vec![Ok(None)]),
            sent: Mutex::default(),
        };
        let error = settle(&script, patience).await.unwrap_err();
        assert!(matches!(error, LogError::Unwritable(_)), "{error}");
        assert!(start.elapsed() <= limit);
    }

    #[rstest]
    #[case::until_it_is_acknowledged(vec![lost(), Reply::NotNow(full()), STORED], vec![Ok(None)], 9, 3)]
    #[case::unless_its_reply_was_lost(vec![lost()], vec![at(7, "mine")], 7, 1)]
    #[case::beside_other_records(vec![lost(), STORED], vec![at(7, "other")], 9, 2)]
    #[case::until_a_read_finds_it(vec![lost()], vec![Err(away()), Ok(None), at(7, "mine")], 7, 3)]
    #[case::without_a_read_if_nothing_was_sent(vec![Reply::NotNow(away()), STORED], vec![at(7, "mine")], 9, 2)]
    #[tokio::test(start_paused = true)]
    async fn an_unguarded_write_is_sent_again(
        #[case] replies: Vec<Reply>,
        #[case] occupants: Vec<Result<Option<Occupant>, LogError>>,
        #[case] seq: u64,
        #[case] sent: usize,
    ) {
        let script = Script {
            replies: Mutex::new(replies),
            occupants: Mutex::new(occupants),
            sent: Mutex::default(),
        };
        assert_eq!(insist(&script, RetryBounds::default()).await.unwrap(), Seq(seq));
        assert_eq!(*script.sent.lock().unwrap(), sent);
    }

    #[rstest]
    #[case::nothing_is_known(lost(), Ok(None), true)]
    #[case::never_sent(Reply::NotNow(away()), Ok(None), false)]
    #[case::a_conflict_that_cannot_be_read(Reply::Conflict, Err(away()), true)]
    #[tokio::test(start_paused = true)]
    async fn patience_ends(
        #[case] reply: Reply,
        #[case] occupant: Result<Option<Occupant>, LogError>,
        #[case] unknown: bool,
    ) {
        let script = Script {
            replies: Mutex::new(vec![reply]),
            occupants: Mutex::new(vec![occupant]),
            sent: Mutex::default(),
        };
        let error = settle(&script, RetryBounds::default()).await.unwrap_err();
        assert_eq!(matches!(error, LogError::Unknown(_)), unknown, "{error}");
        assert!(*script.sent.lock().unwrap() > 10);
    }
}
