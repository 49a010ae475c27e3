//! The console words every variant of the closed enums that it shows, in each language, and its code
//! knows every event and every reason. A new variant fails here until it is worded.

use std::collections::BTreeSet;

use client::spans::SpanKind;
use proto::{
    budget::Axis,
    decision::Closed,
    event::{Happened, InteractionEvent, PlanPhase, StepPhase, TurnPhase},
    interaction::{KindOfQuestion, Verdict},
    job::{FailReason, JobState, SubStatus},
    notice::NoticeKind,
    point::Order,
    revision::Cause,
    step::StepState,
    why::Reason,
};
use schemars::{JsonSchema, schema_for};
use serde_json::Value;

use super::Web;

/// Returns the words in JSON of an enum's variants. Those of an enum with fields are the values of
/// `tag`; without a tag a word may be the name of the only field.
fn variants<T: JsonSchema>(tag: &str) -> BTreeSet<String> {
    let schema = serde_json::to_value(schema_for!(T)).unwrap();
    let forms = match schema["oneOf"].as_array() {
        Some(forms) => forms.clone(),
        None => vec![schema],
    };
    let word = |form: &Value| match tag {
        "" => form.clone(),
        tag => form["properties"][tag].clone(),
    };
    let mut words = BTreeSet::new();
    for form in forms.iter().map(word) {
        let listed = form["enum"].as_array().into_iter().flatten();
        let fields = form["required"].as_array().into_iter().flatten();
        let all: Vec<&str> =
            listed.chain(fields).chain([&form["const"]]).filter_map(Value::as_str).collect();
        assert!(!all.is_empty(), "a variant without a word: {form}");
        words.extend(all.into_iter().map(str::to_owned));
    }
    words
}

/// The keys of words: the start of the key, and its ends.
fn closed() -> Vec<(&'static str, BTreeSet<String>)> {
    let spans = SpanKind::ALL.iter().map(|kind| kind.as_str().to_owned()).collect();
    vec![
        ("type_", variants::<Happened>("type")),
        ("state_", variants::<JobState>("")),
        ("state_", variants::<StepState>("")),
        ("sub_", variants::<SubStatus>("")),
        ("phase_", variants::<StepPhase>("")),
        ("plan_", variants::<PlanPhase>("")),
        ("turn_", variants::<TurnPhase>("")),
        ("inter_", variants::<InteractionEvent>("phase")),
        ("decision_", variants::<Verdict>("")),
        ("closed_", variants::<Closed>("")),
        ("why_", variants::<Reason>("code")),
        ("failure_", variants::<FailReason>("")),
        ("notice_", variants::<NoticeKind>("")),
        ("kind_", variants::<KindOfQuestion>("")),
        ("axis_", variants::<Axis>("")),
        ("act_", variants::<Order>("")),
        ("cause_", variants::<Cause>("")),
        ("span_", spans),
    ]
}

fn text(name: &str) -> String {
    let file = Web::get(name).unwrap();
    String::from_utf8(file.data.into_owned()).unwrap()
}

/// Returns the keys of the words of a language, of those that load with the page of a job, too.
fn keys(language: &str) -> BTreeSet<String> {
    let files = [format!("words/{language}.js"), format!("words/job.{language}.js")];
    let mut keys = BTreeSet::new();
    for line in files.iter().map(|name| text(name)).collect::<String>().lines() {
        if let Some((key, _)) = line.trim().split_once(": '") {
            keys.insert(key.trim_matches('\'').to_owned());
        }
    }
    keys
}

#[test]
fn every_variant_has_words_in_each_language() {
    for language in ["en", "zh"] {
        let keys = keys(language);
        let wanted = closed()
            .into_iter()
            .flat_map(|(start, ends)| ends.into_iter().map(move |end| format!("{start}{end}")));
        let missing: Vec<String> = wanted.filter(|key| !keys.contains(key)).collect();
        assert!(missing.is_empty(), "words/{language}.js or words/job.{language}.js: {missing:?}");
    }
}

#[test]
fn the_variants_are_those_of_the_enums() {
    assert_eq!(variants::<Reason>("code"), Reason::CODES.iter().map(|c| (*c).to_owned()).collect());
    assert_eq!(
        variants::<JobState>(""),
        JobState::ALL.iter().map(|s| s.as_str().to_owned()).collect()
    );
    let orders = variants::<Order>("");
    assert!(orders.contains("cancel") && orders.contains("roll_back"), "{orders:?}");
    assert_eq!(variants::<TurnPhase>(""), BTreeSet::from(["asked".to_owned()]));
}

#[test]
fn the_code_of_the_console_knows_every_event_and_every_reason() {
    let known = |file: &str, word: &str| text(file).contains(&format!("case '{word}':"));
    for word in variants::<Happened>("type") {
        for file in ["state/fold.js", "pages/job/log.js"] {
            assert!(known(file, &word), "{file} does not know the event {word}");
        }
    }
    for code in variants::<Reason>("code") {
        assert!(known("parts/why.js", &code), "parts/why.js does not know the reason {code}");
    }
}
