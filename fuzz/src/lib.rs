//! What must hold for any bytes at all, one function for each thing that is read from outside. Each
//! is the body of a fuzz target, and is run by the tests of `callboard-agents` over the seeds and over
//! changes of them.
//!
//! Nothing here may depend on anything but its bytes.

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
    plan::{Plan, Step},
    record::{Known, Record},
    subject::{Family, Subjects},
};
use serde_json::Value;

/// A target: it panics when something does not hold.
pub type Target = fn(&[u8]);

/// Every target, by its name.
pub const TARGETS: [(&str, Target); 5] = [
    ("records", records),
    ("plans", plans),
    ("subjects", subjects),
    ("agents", agents),
    ("answers", answers),
];

/// A record is refused or given back as it was, and what is understood of it is understood again.
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

/// A plan is refused as a whole, or its steps can be carried out in some order and a person who
/// hands it back unchanged has it unchanged.
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
    let answer = Answer { decision: Verdict::Edit, value: Some(value), text: None, digest: None };
    let kept = edited(&answer, &[]);
    assert_eq!(kept.as_ref().ok(), (accepted && !plan.steps.is_empty()).then_some(plan));
}

/// A subject is foreign, or exactly what is built of what was read from it.
pub fn subjects(data: &[u8]) {
    let Ok(subject) = std::str::from_utf8(data) else { return };
    let all = Subjects::new("cb", 8).expect("a prefix and some shards");
    if let Ok(place) = all.parse(subject) {
        let job = &place.job;
        let built = match &place.family {
            Family::In(source) => Some(all.fact(job, *source)),
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

/// An agent file is an agent that can be used, or everything that is wrong with it has a place in it.
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
        assert!(mistake.column >= 1 && !mistake.why.is_empty(), "{mistake}");
    }
    let Some(Ok(resolved)) = catalogue.get(&name) else {
        return assert!(!mistakes.is_empty(), "refused without a reason");
    };
    assert!(mistakes.is_empty(), "accepted with {mistakes:?}");
    let value = serde_json::to_value(&**resolved).expect("an agent is JSON");
    assert_eq!(serde_json::from_value(value).ok().as_ref(), Some(&**resolved));
}

/// A question on the first line, an answer on those after it: whatever they say, the answer fits or
/// it is said why not, and what is asked for has a schema or is a verdict.
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
        Err(misfit) => assert!(!misfit.to_string().is_empty()),
    }
}
