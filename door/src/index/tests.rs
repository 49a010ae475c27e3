//! Tests of the index.

use rstest::rstest;

use super::*;

const SUBMITTED: milestone::Milestone = milestone::Milestone::Submitted(None);
const REOPENED: milestone::Milestone = milestone::Milestone::MayReopen;
const COMPLETED: milestone::Milestone = milestone::Milestone::Ended(Some(JobState::Completed));
const FAILED: milestone::Milestone = milestone::Milestone::Ended(Some(JobState::Failed));
const UNREAD: milestone::Milestone = milestone::Milestone::Ended(None);

fn job(name: &str) -> JobId {
    JobId::new(name).unwrap()
}

/// Builds the index of these milestones of one shard.
fn index(milestones: &[(&str, u64, milestone::Milestone)]) -> Jobs {
    let mut jobs = Jobs::default();
    for (name, at, kind) in milestones {
        let (at, kind) = (*at, kind.clone());
        let time = Timestamp::from_second(i64::try_from(at).unwrap()).unwrap();
        jobs.take(Shard(0), Milestone { job: job(name), seq: Seq(at), time, kind });
    }
    jobs
}

fn names(jobs: Option<Vec<Selected>>) -> String {
    let names: Vec<String> = jobs.unwrap().iter().map(|one| one.job.to_string()).collect();
    names.join(" ")
}

#[rstest]
#[case::open(&[("a", 1, SUBMITTED)], "", "a")]
#[case::ended(&[("a", 1, SUBMITTED), ("a", 2, COMPLETED)], "a", "")]
#[case::otherwise_ended(&[("a", 1, SUBMITTED), ("a", 2, FAILED)], "", "")]
#[case::an_end_that_cannot_be_read(&[("a", 1, SUBMITTED), ("a", 2, UNREAD)], "a", "a")]
#[case::perhaps_rolled_back(&[("a", 1, SUBMITTED), ("a", 2, COMPLETED), ("a", 3, REOPENED)], "a", "a")]
#[case::an_end_after_a_rollback(&[("a", 1, SUBMITTED), ("a", 2, REOPENED), ("a", 3, FAILED)], "a", "a")]
#[case::an_end_read_first(&[("a", 2, COMPLETED), ("a", 1, SUBMITTED)], "a", "")]
#[case::submitted_again_after_a_purge(&[("a", 1, SUBMITTED), ("a", 2, COMPLETED), ("a", 3, SUBMITTED)], "", "a")]
#[case::the_newest_first(&[("a", 1, SUBMITTED), ("b", 2, SUBMITTED), ("a", 3, COMPLETED), ("b", 4, COMPLETED)], "b a", "")]
fn a_job_is_selected_by_its_milestones(
    #[case] milestones: &[(&str, u64, milestone::Milestone)],
    #[case] completed: &str,
    #[case] open: &str,
) {
    let jobs = index(milestones);
    let filter = Filter::of_states([JobState::Completed]);
    assert_eq!(names(jobs.select(Selection::Matching(&filter), None, 9)), completed);
    assert_eq!(names(jobs.select(Selection::Open, None, 9)), open);
}

#[test]
fn jobs_are_counted_by_their_ends_and_those_in_doubt_are_named() {
    let jobs = index(&[
        ("open", 1, SUBMITTED),
        ("done", 2, SUBMITTED),
        ("broken", 3, SUBMITTED),
        ("back", 4, SUBMITTED),
        ("unread", 5, SUBMITTED),
        ("done", 6, COMPLETED),
        ("broken", 7, FAILED),
        ("back", 8, COMPLETED),
        ("back", 9, REOPENED),
        ("unread", 10, UNREAD),
        ("early", 11, REOPENED),
    ]);
    let Numbers { certain, mut doubtful } = jobs.count(&Filter::default());
    assert_eq!(certain, Counted { open: 1, completed: 1, failed: 1, canceled: 0 });
    doubtful.sort();
    assert_eq!(doubtful, [job("back"), job("unread")]);
}

#[tokio::test(start_paused = true)]
async fn counts_read_the_index_again_because_no_record_tells_of_a_purge() {
    let mut jobs = index(&[("purged", 1, SUBMITTED)]);
    (jobs.is_whole, jobs.read_at) = (true, Some(Instant::now()));
    jobs.drop_if_old();
    assert!(jobs.is_whole);
    tokio::time::advance(FRESH_FOR).await;
    jobs.drop_if_old();
    assert!(!jobs.is_whole);
    assert_eq!(jobs.count(&Filter::default()).certain, Counted::default());
}

#[test]
fn a_list_goes_on_behind_its_cursor_and_forgets_purged_jobs() {
    let mut jobs = index(&[("a", 1, SUBMITTED), ("b", 2, SUBMITTED), ("c", 3, SUBMITTED)]);
    assert_eq!(names(jobs.select(Selection::Open, None, 2)), "c b");
    assert_eq!(names(jobs.select(Selection::Open, Some(&job("b")), 2)), "a");
    assert!(jobs.select(Selection::Open, Some(&job("x")), 2).is_none(), "an unknown cursor");
    jobs.forget(&[job("b")]);
    assert_eq!(names(jobs.select(Selection::Open, None, 9)), "c a");
}

/// Builds an index with headlines: the name of each job, its JSON and its end.
fn with_headlines(jobs: &[(&str, serde_json::Value, Option<JobState>)]) -> Jobs {
    let mut all = Jobs::default();
    for (at, (name, submitted, end)) in (1_u64..).zip(jobs) {
        let milestone = |seq, kind| Milestone {
            job: job(name),
            seq: Seq(seq),
            time: Timestamp::from_second(i64::try_from(at).unwrap()).unwrap(),
            kind,
        };
        let record = serde_json::json!({"v": 1, "kind": "submitted", "id": "1", "by": "x", "body": submitted});
        let record = proto::record::Record::from_slice(record.to_string().as_bytes()).unwrap();
        let submitted = milestone::Milestone::of(&record).unwrap();
        all.take(Shard(0), milestone(at, submitted));
        if end.is_some() {
            all.take(Shard(0), milestone(100 + at, milestone::Milestone::Ended(*end)));
        }
    }
    all
}

#[rstest]
#[case::agent(r#"{"agent":"a1"}"#, "open late done", 2, "")]
#[case::label(r#"{"labels":{"team":"x"}}"#, "open late", 1, "")]
#[case::text(r#"{"text":"PAY"}"#, "open late done", 2, "")]
#[case::since(r#"{"agent":"a1","since":"1970-01-01T00:00:03Z"}"#, "open", 1, "")]
#[case::until(r#"{"agent":"a1","until":"1970-01-01T00:00:03Z"}"#, "late done", 1, "")]
#[case::state(r#"{"agent":"a1","states":["completed"]}"#, "late done", 1, "")]
#[case::an_open_state(r#"{"agent":"a1","states":["working"]}"#, "open", 0, "open")]
#[case::an_update(
    r#"{"agent":"a1","updated_since":"1970-01-01T00:00:03Z"}"#,
    "open late done",
    0,
    "done open"
)]
#[case::none(r#"{"agent":"a3"}"#, "late", 0, "")]
fn the_index_selects_and_counts_by_headlines(
    #[case] filter: &str,
    #[case] selected: &str,
    #[case] certain: u64,
    #[case] doubtful: &str,
) {
    use serde_json::json;
    let submitted = |goal, agent, team| json!({"goal": goal, "agent": {"name": agent}, "labels": {"team": team}});
    let jobs = with_headlines(&[
        ("done", submitted("Pay the rent", "a1", "y"), Some(JobState::Completed)),
        ("late", json!({"sha256": "a body that is stored apart"}), Some(JobState::Completed)),
        ("other", submitted("Sing", "a2", "y"), Some(JobState::Failed)),
        ("open", submitted("Pay later", "a1", "x"), None),
    ]);
    let filter: Filter = serde_json::from_str(filter).unwrap();
    let found = names(jobs.select(Selection::Matching(&filter), None, 9));
    assert_eq!(found, selected);
    let Numbers { certain: counted, doubtful: mut rest } = jobs.count(&filter);
    assert_eq!(counted.total(), certain);
    rest.retain(|it| *it != job("late"));
    rest.sort();
    let rest: Vec<String> = rest.iter().map(JobId::to_string).collect();
    assert_eq!(rest.join(" "), doubtful);
}
