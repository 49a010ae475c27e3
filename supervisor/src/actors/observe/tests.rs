//! Tests of the census while jobs move.

use std::{collections::BTreeMap, iter};

use jiff::{SignedDuration, Timestamp};
use proto::{
    agent::Agent,
    decision::Decision,
    fact::{Asked, AskedKind, Fact, PlanReply, Planned, Submitted},
    id::{Attempt, JobId, Seq, Shard},
    lang::Language,
    message::Usage,
    record::Known,
    subject::Family,
};

use machine::{At, Job, JobStatus};
use runtime::telemetry::new_trace;

use crate::activation::{CountedStatus, Intake};

use super::{
    ActivationSpan, ActivationTimer, Census, Labels, ShardFigures, Tally, figures::Figures,
    walk::Walk,
};

fn at(seq: u64) -> At {
    let time = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(i64::try_from(seq).unwrap());
    At { seq: Seq(seq), time }
}

fn take(job: &mut Job, seq: u64, fact: Fact) {
    job.apply(at(seq), &Family::In(fact.source()), Ok(&Known::Fact(Box::new(fact))));
}

fn decide(job: &mut Job, seq: u64) {
    let decision = job.decide().unwrap().decision;
    let family = Family::Do(decision.kind(), decision.pool());
    job.apply(at(seq), &family, Ok(&Known::Decision(Box::new(decision))));
}

/// Returns a submitted job that no supervisor has activated.
fn submitted(first: u64) -> Job {
    let mut job = Job::new(JobId::new(format!("j{first}")).unwrap());
    let fact = Submitted {
        goal: "g".into(),
        agent: Agent::default(),
        language: Language::En,
        language_detected: false,
        digest: "d".into(),
        by: None,
        conversation: None,
        parent: None,
        agents: Default::default(),
        forked: None,
        plan: None,
        workflow: None,
        files: Vec::new(),
        labels: proto::label::Labels::default(),
        rules: proto::rules::Rules::NOW,
    };
    take(&mut job, first, Fact::Submitted(fact));
    job
}

/// Returns a job whose first decision is stored.
fn planning(first: u64) -> Job {
    let mut job = submitted(first);
    decide(&mut job, first + 100);
    job
}

/// Returns a job that waits for the answer to a question stored at `asked`.
fn waiting(first: u64, asked: u64) -> Job {
    let mut job = planning(first);
    let kind = AskedKind::Query;
    let question = Asked { prompt: "Which?".into(), kind, default: None };
    let Some(Decision::Plan(plan)) = submitted(1).decide().map(|next| next.decision) else {
        panic!("a job begins with a plan")
    };
    let planned = Planned {
        work: plan.work,
        attempt: Attempt::FIRST,
        reply: PlanReply::Question { question },
        usage: Usage::default(),
        detected: None,
        outline: Vec::new(),
        reasoning: String::new(),
        answered: None,
    };
    take(&mut job, first + 200, Fact::Planned(planned));
    decide(&mut job, asked);
    job
}

/// Returns the counts without zeros.
fn counted(figures: &Figures) -> BTreeMap<String, i64> {
    let name = |(_, state, status): &(_, &str, &str)| format!("{state} {status}");
    figures.jobs.iter().filter(|(_, n)| **n != 0).map(|(group, n)| (name(group), *n)).collect()
}

fn expect(figures: &Figures, expected: &[(&str, i64)]) {
    let expected: BTreeMap<_, _> = expected.iter().map(|(k, n)| ((*k).to_owned(), *n)).collect();
    assert_eq!(counted(figures), expected);
}

fn labels() -> Labels {
    Labels::default()
}

/// Reports an activation of a job, with its status before.
fn moved(walk: &mut Walk, before: Option<&Job>, now: &Job) {
    let before: Option<JobStatus> = before.and_then(Job::standing);
    walk.moved(now, before.as_ref(), &now.standing().unwrap(), &labels());
}

#[test]
fn a_job_that_moves_while_its_page_is_read_is_counted_where_it_stands() {
    for read_first in [true, false] {
        let mut walk = Walk::new();
        walk.turn(Seq(20), Seq(10), &labels());
        let (before, now) = (planning(15), waiting(15, 300));
        if read_first {
            walk.passed(&before);
        }
        moved(&mut walk, Some(&before), &now);
        if !read_first {
            // The job was read before it moved, and the walk reports it afterwards.
            walk.passed(&before);
        }
        let figures = walk.finish(&labels());
        expect(&figures, &[("input-required parked", 1)]);
        assert_eq!((figures.questions, figures.oldest()), (1, Some(at(300).time)));
    }
}

#[test]
fn a_job_that_was_read_ahead_of_its_look_is_counted_once() {
    let mut walk = Walk::new();
    walk.turn(Seq(20), Seq(10), &labels());
    let (before, now) = (planning(15), waiting(15, 300));
    walk.passed(&now);
    walk.turn(Seq(9), Seq(5), &labels());
    // The decision was stored and read; only now its activation is counted.
    moved(&mut walk, Some(&before), &now);
    walk.turn(Seq(4), Seq(1), &labels());
    expect(&walk.finish(&labels()), &[("input-required parked", 1)]);
}

#[test]
fn jobs_that_are_submitted_during_a_walk_are_counted_once_each() {
    let mut walk = Walk::new();
    // One job is submitted before the first page is requested, and one before it arrives.
    let (old, within, newer) = (planning(2), planning(15), planning(21));
    for job in [&old, &within, &newer] {
        moved(&mut walk, None, job);
    }
    walk.turn(Seq(20), Seq(10), &labels());
    walk.passed(&within);
    moved(&mut walk, None, &planning(22));
    walk.turn(Seq(9), Seq(1), &labels());
    moved(&mut walk, None, &planning(23));
    walk.passed(&old);
    expect(&walk.finish(&labels()), &[("working planning", 5)]);
}

#[test]
fn a_job_that_the_walk_read_before_anybody_looked_at_it_is_counted_once() {
    let mut walk = Walk::new();
    walk.turn(Seq(20), Seq(10), &labels());
    walk.passed(&submitted(15));
    let mut figures = walk.finish(&labels());
    expect(&figures, &[("submitted ", 1)]);
    let now = planning(15);
    figures.moves(now.id(), now.first(), None, &now.standing().unwrap(), &labels());
    expect(&figures, &[("working planning", 1)]);
    let newer = planning(21);
    let before = submitted(21).standing();
    figures.moves(
        newer.id(),
        newer.first(),
        before.as_ref(),
        &newer.standing().unwrap(),
        &labels(),
    );
    expect(&figures, &[("working planning", 2)]);
}

#[test]
fn a_question_that_is_answered_is_old_no_more_whatever_time_was_read_for_it() {
    let mut figures = Figures::default();
    let (here, read) = (waiting(1, 300), waiting(1, 301));
    let (here, read) = (here.standing().unwrap(), read.standing().unwrap());
    let job = JobId::new("j1").unwrap();
    figures.stands(&job, &here, &labels());
    assert_eq!(figures.oldest(), Some(at(300).time));
    let over = planning(1).standing().unwrap();
    figures.moves(&job, Seq(1), Some(&read), &over, &labels());
    assert_eq!((figures.questions, figures.oldest()), (0, None));
}

#[test]
fn a_change_of_an_activation_that_was_given_up_is_counted_with_the_next_one() {
    let (census, labels, root) = (Census::open(Shard(7), labels()), labels(), new_trace());
    let place = ShardFigures { census: &census, labels: &labels };
    let mut tally = Tally::default();
    let begin = |job: &Job, before: &Job, tally: &mut Tally| -> ActivationSpan {
        let intake = Intake { before: Some(CountedStatus::of(before)), ignored: Vec::new() };
        let timer = ActivationTimer::start(iter::empty(), tally);
        timer.folded(job, root, iter::empty(), &intake, tally)
    };
    let (first, then) = (planning(1), waiting(1, 300));
    begin(&first, &Job::new(first.id().clone()), &mut tally).end(&first, place, &mut tally);
    census.figures(|figures| expect(figures, &[("working planning", 1)]));
    // A fact is folded, and the activation is given up.
    drop(begin(&then, &first, &mut tally));
    // The next activation reads the log, which holds that fact.
    begin(&then, &then, &mut tally).end(&then, place, &mut tally);
    census.figures(|figures| expect(figures, &[("input-required parked", 1)]));
}
