//! Properties that hold for arbitrary values.

use std::collections::BTreeSet;

use callboard_proto::{
    decision::DecisionKind,
    draft::{self, Frame},
    fact::Source,
    id::{ID_MAX, JobId, Pool, StepId, TimerName},
    plan::{Action, Plan, Step},
    record::Record,
    subject::{Family, Subjects},
    toolbox::Toolbox,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn id() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_-]{1,64}"
}

/// Generates steps `s0`, `s1`, … that depend on any step, on a missing one, or on themselves.
fn plan() -> impl Strategy<Value = Plan> {
    let step = (prop::collection::vec(0usize..9, 0..3), 0u8..40);
    prop::collection::vec(step, 0..8).prop_map(|steps| {
        let id = |n: usize| StepId::new(format!("s{n}")).unwrap();
        let steps = steps.into_iter().enumerate().map(|(n, (on, odd))| Step {
            // Occasionally an id is a duplicate.
            id: id(if odd == 0 { 0 } else { n }),
            title: String::new(),
            description: format!("do {n}"),
            depends_on: on.into_iter().map(id).collect(),
            action: Action::Agent,
        });
        Plan { title: "T".into(), steps: steps.collect(), replan: Vec::new() }
    })
}

/// Returns whether every step can run after its dependencies and has an id of its own.
fn can_be_carried_out(plan: &Plan) -> bool {
    let ids: BTreeSet<_> = plan.steps.iter().map(|step| &step.id).collect();
    let mut done = BTreeSet::new();
    for _ in &plan.steps {
        let ready = |step: &&Step| step.depends_on.iter().all(|on| done.contains(on));
        let more: Vec<_> = plan.steps.iter().filter(ready).map(|step| step.id.clone()).collect();
        done.extend(more);
    }
    ids.len() == plan.steps.len() && done.len() == ids.len()
}

/// Returns the JSON that a model would write for the plan.
fn written(plan: &Plan) -> Value {
    let steps = plan.steps.iter().map(
        |step| json!({"id": step.id, "description": step.description, "depends_on": step.depends_on}),
    );
    json!({"title": plan.title, "steps": steps.collect::<Vec<_>>()})
}

fn normalised(value: Value) -> Result<Plan, String> {
    let (tools, none) = (Toolbox::new([], None), BTreeSet::new());
    let frame = Frame::bare("the goal", &tools, &none);
    let draft = draft::of(value).map_err(|e| e.to_string())?;
    draft::plan(draft, &frame).map_err(|e| e.to_string())
}

proptest! {
    #[test]
    fn a_plan_is_accepted_exactly_when_it_can_be_carried_out(plan in plan()) {
        let accepted = plan.check(&BTreeSet::new());
        prop_assert_eq!(accepted.is_ok(), can_be_carried_out(&plan), "{:?}", accepted);
        prop_assert_eq!(normalised(written(&plan)).is_ok(), accepted.is_ok());
    }

    #[test]
    fn a_plan_that_is_normalised_again_stays_as_it_is(plan in plan()) {
        if let Ok(once) = normalised(written(&plan)) {
            prop_assert_eq!(&normalised(written(&once)), &Ok(once));
        }
    }

    #[test]
    fn a_subject_is_read_as_it_was_built(
        job in id(), pool in id(), timer in id(), shards in 1u16..=256,
        source in prop::sample::select(&Source::ALL[..]),
        kind in prop::sample::select(&DecisionKind::ALL[..]),
    ) {
        let all = Subjects::new("cb", shards).unwrap();
        let (job, pool) = (JobId::new(job).unwrap(), Pool::new(pool).unwrap());
        let timer = TimerName::new(timer).unwrap();
        for (subject, family) in [
            (all.fact(&job, source), Family::In(source)),
            (all.decision(&job, kind, &pool), Family::Do(kind, pool.clone())),
            (all.timer(&job, &timer), Family::At(timer.clone())),
        ] {
            let place = all.parse(&subject).unwrap();
            prop_assert_eq!(&place.job, &job);
            prop_assert_eq!(place.shard, all.shard_of(&job));
            prop_assert_eq!(place.family, family);
        }
        prop_assert_eq!(all.stopped(&all.stop(&job)), Some(job));
    }

    #[test]
    fn no_id_is_a_pattern_several_tokens_or_too_long(
        before in "[a-z]{0,40}", odd in "[*>. \\t\\n/\\u{e9}\\u{4e00}]", after in "[a-z]{0,40}",
        long in "[A-Za-z0-9_-]{65,200}",
    ) {
        let pattern = [before, odd, after].concat();
        prop_assert!(JobId::new(pattern).is_err());
        prop_assert!(long.len() > ID_MAX && JobId::new(&long).is_err());
    }

    #[test]
    fn a_record_keeps_whatever_else_is_in_it(
        names in prop::collection::btree_set("[a-z]{6,9}", 0..4), number in any::<f64>(), text in ".{0,20}",
    ) {
        let mut record = json!({"v": 1, "kind": "fired", "id": "1", "by": "w", "body": {"timer": "t"}});
        for name in &names {
            record[name] = json!({"n": number, "t": text});
            record["body"][name] = json!([text, number]);
        }
        let bytes = record.to_string().into_bytes();
        let read = Record::from_slice(&bytes).unwrap();
        prop_assert_eq!(read.to_vec(), bytes);
        prop_assert!(read.known().is_ok());
    }
}
