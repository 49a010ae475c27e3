//! Properties of every draft of a plan.

use std::collections::BTreeSet;

use agents::{
    draft::{self, Frame},
    toolbox::Toolbox,
};
use proptest::prelude::*;
use proto::{
    id::StepId,
    plan::{Action, Plan, Step},
};
use serde_json::{Value, json};

/// Steps `s0`, `s1`, … with dependencies on any of them, on none that is there, or on themselves.
fn plan() -> impl Strategy<Value = Plan> {
    let step = (prop::collection::vec(0usize..9, 0..3), 0u8..40);
    prop::collection::vec(step, 0..8).prop_map(|steps| {
        let id = |n: usize| StepId::new(format!("s{n}")).unwrap();
        let steps = steps.into_iter().enumerate().map(|(n, (on, odd))| Step {
            // Now and then an id that is there already.
            id: id(if odd == 0 { 0 } else { n }),
            title: String::new(),
            description: format!("do {n}"),
            depends_on: on.into_iter().map(id).collect(),
            action: Action::Agent,
        });
        Plan { title: "T".into(), steps: steps.collect(), ..Plan::default() }
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
}
