//! Tests of subjects.

use super::*;

fn subjects() -> Subjects {
    Subjects::new("cb", 8).unwrap()
}

#[test]
fn what_is_built_is_parsed_again() {
    let s = subjects();
    let job = JobId::new("demo").unwrap();
    let pool = Pool::new("builtin").unwrap();
    let timer = TimerName::new("retry-1").unwrap();
    let called = Source::Call(pool.clone());
    for (subject, family) in [
        (s.fact(&job, &Source::People), Family::In(Source::People)),
        (s.fact(&job, &called), Family::In(called.clone())),
        (s.decision(&job, DecisionKind::Call, &pool), Family::Do(DecisionKind::Call, pool.clone())),
        (s.timer(&job, &timer), Family::At(timer)),
    ] {
        let place = s.parse(&subject).unwrap();
        assert_eq!(place, RecordSubject { shard: Shard(6), job: job.clone(), family }, "{subject}");
    }
    assert_eq!(s.stopped(&s.stop(&job)), Some(job));
}

#[test]
fn whatever_the_filter_of_decisions_matches_has_a_job() {
    let among = |subject| subjects().among_decisions(subject).map(|job| job.to_string());
    for subject in
        ["cb.6.demo.do.call.builtin", "cb.6.demo.do.x", "cb.6.demo.do.Call.a.b", "cb.6.demo.do.*"]
    {
        assert_eq!(among(subject).as_deref(), Some("demo"), "{subject}");
    }
    for subject in
        ["cb.5.demo.do.call.a", "cb.6.demo.in.door", "cb.6.demo.do", "cb.6.*.do.call.a", "x.6", ""]
    {
        assert_eq!(among(subject), None, "{subject}");
    }
}

#[test]
fn foreign_subjects_are_refused() {
    let s = subjects();
    for bad in [
        "cb.6.demo.in.Boss",
        "cb.6.demo.in.door.x",
        "cb.6.demo.do.call",
        "cb.6.demo.do.*.builtin",
        "cb.6.demo.do.dance.>",
        "cb.5.demo.in.door",
        "cb.+6.demo.in.door",
        "cb.06.demo.in.door",
        "cb.6.*.in.door",
        "other.6.demo.in.door",
        "cb.6.demo.live",
        "cb",
        "",
    ] {
        assert!(s.parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_stop_is_heard_on_the_subject_of_its_job_alone() {
    let job = JobId::new("demo").unwrap();
    assert_eq!(subjects().stopped("cb.stop.6.demo"), Some(job));
    for foreign in ["cb.stop.5.demo", "cb.stop.06.demo", "cb.stop.6.x.demo", "cb.stop.6.*"] {
        assert_eq!(subjects().stopped(foreign), None, "{foreign}");
    }
}

#[test]
fn the_subjects_of_hosts_begin_with_the_kind_of_their_sessions() {
    let (s, kind) = (subjects(), SessionKind::Browser);
    let host = WorkerId::new("w1").unwrap();
    assert_eq!([s.hosts(kind), s.host(kind, &host)], ["cb.host.browser", "cb.host.browser.w1"]);
    assert!(s.parse(&s.host(kind, &host)).is_err());
}

#[test]
fn what_a_newer_callboard_wrote_has_its_place() {
    for (subject, family) in [
        ("cb.6.demo.in.boss", Family::UnknownIn("boss".into())),
        ("cb.6.demo.do.dance.builtin", Family::UnknownDo("dance".into())),
    ] {
        assert_eq!(subjects().parse(subject).unwrap().family, family, "{subject}");
    }
}

#[test]
fn an_installation_needs_a_plain_prefix_and_some_shards() {
    assert!(Subjects::new("cb.x", 8).is_err());
    assert!(Subjects::new("", 8).is_err());
    assert!(Subjects::new("cb", 0).is_err());
    assert!(Subjects::new("cb", 257).is_err());
}

#[test]
fn outboxes_filter_what_families_say() {
    let s = subjects();
    let job = JobId::new("demo").unwrap();
    let builtin = Pool::new("builtin").unwrap();
    let fits = |filter: &String, subject: &str| {
        let (mut filter, mut subject) = (filter.split('.'), subject.split('.'));
        filter.by_ref().zip(subject.by_ref()).all(|(f, s)| f == "*" || f == s)
            && filter.next().is_none()
            && subject.next().is_none()
    };
    let (hook, tasks) = (HookName::new("audit").unwrap(), HookName::tasks());
    for (subject, is_posted) in [
        (s.fact(&job, &Source::People), true),
        (s.fact(&job, &Source::Clock), true),
        (s.fact(&job, &Source::Door), false),
        (s.fact(&job, &Source::Call(builtin.clone())), false),
        (s.decision(&job, DecisionKind::Ask, &pools::people()), true),
        (s.decision(&job, DecisionKind::Note, &pools::people()), true),
        (s.decision(&job, DecisionKind::Note, &pools::nobody()), false),
        (s.decision(&job, DecisionKind::Finish, &pools::nobody()), true),
        (s.decision(&job, DecisionKind::Call, &builtin), false),
    ] {
        // The outbox of notifications also has what sub-agents tell.
        let is_told = is_posted || subject == s.fact(&job, &Source::Door);
        for (hook, is_posted) in [(&hook, is_posted), (&tasks, is_told)] {
            let filters = s.posted_in(Shard(6), hook);
            assert_eq!(filters.iter().any(|filter| fits(filter, &subject)), is_posted, "{subject}");
            assert_eq!(s.parse(&subject).unwrap().family.is_posted(hook), is_posted, "{subject}");
        }
    }
    assert_eq!(s.hook_of(&s.outbox_consumer(&hook)), Some(hook));
    assert_eq!(s.hook_of("facts"), None);
}
