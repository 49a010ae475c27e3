//! The properties that hold for arbitrary bytes, one function for each parser of outside input.
//! Each function is the body of a fuzz target. `callboard-agents`'s own tests run it over the seeds
//! and over mutations of them.
//!
//! The functions depend only on their bytes.

use std::collections::BTreeSet;

use agents::{
    catalogue::Catalogue,
    draft::{self, Frame},
    source::Source,
    toolbox::Toolbox,
};
use proto::{
    agent::Layer,
    asking,
    id::{AgentName, StepId},
    interaction::{Answer, Question, Verdict, edited},
    lang::Language,
    plan::{Plan, Step},
    record::{Known, Record},
    subject::{Family, Subjects},
};
use serde_json::Value;

/// A fuzz target, which panics when a property is violated.
pub type Target = fn(&[u8]);

/// Every target, by its name.
pub const TARGETS: [(&str, Target); 5] = [
    ("records", records),
    ("plans", plans),
    ("subjects", subjects),
    ("agents", agents),
    ("answers", answers),
];

/// Checks that a record is refused or round-trips, and that its parsed content round-trips too.
pub fn records(data: &[u8]) {
    let record = match Record::from_slice(data) {
        Ok(record) => record,
        Err(unreadable) => return assert!(!unreadable.place().is_empty()),
    };
    let written = record.to_vec();
    let again = Record::from_slice(&written).expect("what was written can be read");
    assert_eq!(again.to_vec(), written, "a record changes when it is written again");
    let by = "somebody".parse().expect("a word is an id");
    let known = match record.known() {
        Ok(known) => known,
        Err(unreadable) => return assert!(!unreadable.place().is_empty()),
    };
    let rewritten = match &known {
        Known::Fact(fact) => Record::of_fact(fact, "id", &by),
        Known::Decision(decision) => Record::of_decision(decision, "id", &by),
    };
    let rewritten = rewritten.expect("what came from JSON can be JSON again");
    assert_eq!(rewritten.kind, record.kind);
    assert_eq!(rewritten.known(), Ok(known), "it is understood otherwise when it is written again");
}

/// Checks that a plan is refused as a whole, or that its steps can run in some order and an
/// unchanged edit keeps the plan unchanged.
pub fn plans(data: &[u8]) {
    if let Ok(plan) = serde_json::from_slice::<Plan>(data) {
        sound(&plan, plan.check(&BTreeSet::new()).is_ok());
    }
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let Ok(written) = draft::of(value) else { return };
    let (tools, none) = (Toolbox::new([], None), BTreeSet::new());
    let frame = Frame::bare("the goal", &tools, &none);
    match draft::plan(written, &frame) {
        Ok(plan) => sound(&plan, true),
        Err(unsound) => assert!(unsound.to_string().len() > 10),
    }
}

fn sound(plan: &Plan, accepted: bool) {
    let mut done: BTreeSet<&StepId> = BTreeSet::new();
    let mut open: Vec<&Step> = plan.steps.iter().collect();
    loop {
        let (ready, rest): (Vec<&Step>, Vec<&Step>) =
            open.into_iter().partition(|step| step.depends_on.iter().all(|on| done.contains(on)));
        if ready.is_empty() {
            assert!(!accepted || rest.is_empty(), "accepted, and {rest:?} never comes");
            break;
        }
        done.extend(ready.iter().map(|step| &step.id));
        open = rest;
    }
    assert!(!accepted || done.len() == plan.steps.len(), "accepted with an id twice");
    let value = serde_json::to_value(plan).expect("a plan is JSON");
    assert_eq!(serde_json::from_value::<Plan>(value.clone()).ok().as_ref(), Some(plan));
    let answer = Answer {
        decision: Verdict::Edit,
        value: Some(value),
        text: None,
        digest: None,
        remember: None,
    };
    let kept = edited(&answer, &[]);
    assert_eq!(kept.as_ref().ok(), (accepted && !plan.steps.is_empty()).then_some(plan));
}

/// Checks that a subject is foreign, or equal to the subject that is built from its parts.
pub fn subjects(data: &[u8]) {
    let Ok(subject) = std::str::from_utf8(data) else { return };
    let all = Subjects::new("cb", 8).expect("a prefix and some shards");
    if let Ok(place) = all.parse(subject) {
        let job = &place.job;
        let built = match &place.family {
            Family::In(source) => Some(all.fact(job, source)),
            Family::Do(kind, pool) => Some(all.decision(job, *kind, pool)),
            Family::At(timer) => Some(all.timer(job, timer)),
            Family::UnknownIn(_) | Family::UnknownDo(_) => None,
        };
        assert!(built.is_none_or(|built| built == subject), "{subject:?} is read as {place:?}");
        assert!(!subject.contains(['*', '>', ' ']), "{subject:?} is a pattern");
        assert_eq!(place.shard, all.shard_of(job));
        let decides = matches!(place.family, Family::Do(..) | Family::UnknownDo(_));
        let among = all.among_decisions(subject);
        assert_eq!(among, decides.then(|| job.clone()), "{subject:?}");
    }
    if let Some(job) = all.stopped(subject) {
        assert_eq!(all.stop(&job), subject);
    }
}

/// Checks that an agent file is a valid agent, or that each of its mistakes has a place in it.
pub fn agents(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let name = AgentName::new("mine").expect("a word is a name");
    let source = Source { name: name.clone(), place: "mine.yaml".into(), text: text.to_owned() };
    let mut catalogue = Catalogue::presets();
    catalogue.set(Layer::Directory, [source]);
    let mistakes = catalogue.mistakes();
    let lines = u64::try_from(text.lines().count()).expect("a file is not that long");
    for mistake in &mistakes {
        assert!((1..=lines + 1).contains(&mistake.line), "{mistake} in {lines} lines");
        assert!(mistake.column >= 1 && !mistake.why.text(Language::En).is_empty(), "{mistake}");
    }
    let Some(Ok(resolved)) = catalogue.get(&name) else {
        return assert!(!mistakes.is_empty(), "refused without a reason");
    };
    assert!(mistakes.is_empty(), "accepted with {mistakes:?}");
    let value = serde_json::to_value(&**resolved).expect("an agent is JSON");
    assert_eq!(serde_json::from_value(value).ok().as_ref(), Some(&**resolved));
}

/// Checks a question on the first line and an answer on the lines after it: the answer fits or is
/// refused with a reason, and the requested value has a schema or is a verdict.
pub fn answers(data: &[u8]) {
    let cut = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (first, rest) = data.split_at(cut);
    if let Ok(args) = serde_json::from_slice::<Value>(first)
        && let Err(unaskable) = asking::parse(&args, &asking::AskKinds::default())
    {
        assert!(!unaskable.to_string().is_empty());
    }
    let Ok(question) = serde_json::from_slice::<Question>(first) else { return };
    assert!(question.value_schema().is_none_or(|schema| schema.is_object()));
    let Ok(answer) = serde_json::from_slice::<Answer>(rest) else { return };
    match question.check(&answer) {
        Ok(()) if answer.decision == Verdict::Respond => {
            assert!(answer.value.is_some() || answer.text.is_some(), "an answer without words");
        }
        Ok(()) => {}
        Err(misfit) => {
            let words = misfit.words();
            assert!(Language::ALL.iter().all(|language| !words.text(*language).is_empty()));
        }
    }
}
