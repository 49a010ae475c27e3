//! The inbox: a copy of every open question, for people to read.
//!
//! The job's log, not the inbox, defines whether a question is open. A stale entry is removed when
//! it is found, and a missing entry is restored by the redelivery of its question.

use broker::kv::{Bucket, INBOX_COMPLETE, Kv, KvError};
use bytes::Bytes;
use proto::{
    door::{InboxEntry, InboxPage},
    excerpt::ends,
    family::Parent,
    id::{AskId, JobId},
    interaction::{Question, QuestionKind},
    limits,
};
use serde_json::Value;

/// Largest entry in bytes: below the broker's limit, above what a person reads.
const ENTRY_BYTES_MAX: usize = 512 * 1024;
/// Characters of a goal in the inbox.
const GOAL_CHARS: usize = 200;

/// Returns the inbox key of a question.
#[must_use]
pub fn key(job: &JobId, ask: &AskId) -> String {
    broker::kv::inbox_key(job, ask)
}

/// Builds the entry of a question, shortened if it is too large. The job's log keeps the whole
/// question, and an approval binds that one.
#[must_use]
pub fn entry(
    job: &JobId,
    parent: Option<&Parent>,
    goal: &str,
    question: &Question,
    asked: jiff::Timestamp,
) -> (InboxEntry, Bytes) {
    let line = goal.trim().lines().next().unwrap_or_default();
    let goal = match line.char_indices().nth(GOAL_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    let schema = question.value_schema();
    let mut entry = InboxEntry {
        job: job.clone(),
        root: parent.map(|parent| parent.root.clone()),
        path: parent.map(|parent| parent.path.clone()),
        goal,
        asked,
        question: question.clone(),
        schema,
    };
    for chars in [2_000, 200, 20] {
        let bytes = write(&entry);
        if bytes.len() <= ENTRY_BYTES_MAX {
            return (entry, bytes);
        }
        shorten(&mut entry.question, chars);
    }
    let bytes = write(&entry);
    (entry, bytes)
}

fn write(entry: &InboxEntry) -> Bytes {
    Bytes::from(serde_json::to_vec(entry).expect("an entry holds JSON that was read before"))
}

fn shorten(question: &mut Question, chars: usize) {
    question.prompt = ends(&question.prompt, chars);
    match &mut question.kind {
        QuestionKind::PlanCheck { plan, .. } => {
            for step in &mut plan.steps {
                step.description = ends(&step.description, chars);
            }
        }
        QuestionKind::ToolApproval { args, .. } => {
            *args = Value::from(ends(&args.to_string(), chars.saturating_mul(10)));
        }
        QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. } => {}
    }
}

/// Returns open questions, oldest first, at most `limit` and as many as fit one reply. Without
/// `job` those of all jobs. If `job` has none of its own, those of its sub-agents.
///
/// # Errors
/// If the bucket cannot be read.
pub async fn page(kv: &dyn Kv, job: Option<&JobId>, limit: usize) -> Result<InboxPage, KvError> {
    let mut found = read(kv, job.map_or("", JobId::as_str)).await?;
    if let Some(job) = job.filter(|_| found.is_empty()) {
        found = read(kv, "").await?;
        found.retain(|(entry, _)| entry.root.as_ref() == Some(job));
    }
    found.sort_by(|(a, _), (b, _)| {
        (a.asked, &a.job, &a.question.id).cmp(&(b.asked, &b.job, &b.question.id))
    });
    let all = found.len();
    let mut room = limits::REPLY_BYTES_MAX;
    let fits = |(_, bytes): &(InboxEntry, usize)| {
        let left = room.checked_sub(*bytes);
        room = left.unwrap_or_default();
        left.is_some()
    };
    let questions: Vec<_> =
        found.into_iter().take(limit).take_while(fits).map(|(entry, _)| entry).collect();
    Ok(InboxPage { more: questions.len() < all, questions })
}

async fn read(kv: &dyn Kv, of: &str) -> Result<Vec<(InboxEntry, usize)>, KvError> {
    let stored = kv.list(Bucket::Inbox, of).await?;
    let mut found = Vec::with_capacity(stored.len());
    for value in stored.into_iter().filter(|value| value.key != INBOX_COMPLETE) {
        let read = match broker::kv::inbox_question(&value.key) {
            Some((job, ask)) => InboxEntry::read(&job, &ask, &value.value),
            None => Err("the key does not name a question".to_owned()),
        };
        match read {
            Ok(entry) => found.push((entry, value.value.len())),
            Err(error) => tracing::warn!(key = value.key, %error, "an entry cannot be read"),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proto::{
        id::{StepId, ToolName},
        plan::{Action, Plan, Step},
    };
    use serde_json::json;

    use super::*;

    fn check(kind: QuestionKind) -> (InboxEntry, usize) {
        let question = Question {
            id: AskId::new("q1").unwrap(),
            prompt: "?".into(),
            kind,
            step: None,
            deadline: None,
            default: None,
        };
        let job = JobId::new("j").unwrap();
        let (entry, bytes) = entry(&job, None, "first\nsecond", &question, Timestamp::UNIX_EPOCH);
        assert_eq!(entry.goal, "first");
        (entry, bytes.len())
    }

    #[test]
    fn a_question_of_any_size_fits_the_inbox() {
        let steps = (0..limits::PLAN_STEPS_MAX).map(|n| Step {
            id: StepId::new(format!("s{n}")).unwrap(),
            title: String::new(),
            description: "描".repeat(limits::DESCRIPTION_BYTES_MAX / 3),
            depends_on: Vec::new(),
            action: Action::Agent,
        });
        let plan = Plan { title: "t".into(), steps: steps.collect(), ..Plan::default() };
        let (entry, bytes) = check(QuestionKind::PlanCheck {
            plan,
            revision: 0,
            digest: "d".into(),
            completed: Vec::new(),
            finished: Vec::new(),
        });
        assert!(bytes <= ENTRY_BYTES_MAX, "{bytes}");
        let QuestionKind::PlanCheck { plan, digest, .. } = entry.question.kind else { panic!() };
        assert_eq!((plan.steps.len(), digest.as_str()), (limits::PLAN_STEPS_MAX, "d"));
        assert!(plan.steps[0].description.contains("characters cut"));

        let (entry, bytes) = check(QuestionKind::ToolApproval {
            tool: ToolName::new("t").unwrap(),
            version: "1".into(),
            args: json!({"body": "x".repeat(3_000_000)}),
            digest: "d".into(),
            asked_by: Vec::new(),
            seen: None,
            seen_seq: None,
        });
        assert!(bytes <= ENTRY_BYTES_MAX && entry.schema.is_none(), "{bytes}");
        let (small, _) = check(QuestionKind::Question);
        assert!(small.schema.is_some());
    }
}
