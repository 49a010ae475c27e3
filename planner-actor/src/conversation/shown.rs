//! A plan in the format requested from the model, without the machine's own data. The format can be
//! parsed back.

use proto::{
    decision::PlanWork,
    plan::{Action, Plan, Step},
    policy::PlanProtocol,
};
use serde_json::{Value, json};

/// Renders a plan as the model would have written it.
pub(super) fn shown(plan: &Plan, work: &PlanWork) -> Value {
    let steps = |of: fn(&Step) -> Value| plan.steps.iter().map(of).collect::<Vec<_>>();
    match work.protocol {
        PlanProtocol::TaskSteps => {
            json!({"task": plan.title, "steps": steps(task), "replan": plan.replan})
        }
        PlanProtocol::TitleSteps => json!({
            "title": plan.title,
            "steps": steps(|step| json!(step.description)),
            "language": work.language.code(),
        }),
        PlanProtocol::ActionSteps => json!({"summary": plan.title, "steps": steps(action)}),
        PlanProtocol::Steps
        | PlanProtocol::Decision
        | PlanProtocol::Phased
        | PlanProtocol::InlineTools => {
            json!({"title": plan.title, "steps": steps(Step::as_planned)})
        }
    }
}

fn task(step: &Step) -> Value {
    let mut fields = json!({
        "id": step.id, "title": step.label(), "description": step.description,
    });
    if !step.depends_on.is_empty() {
        fields["depends_on"] = json!(step.depends_on);
    }
    fields
}

fn action(step: &Step) -> Value {
    let mut fields = json!({"id": step.id, "description": step.description});
    match &step.action {
        Action::Tool { tool, args, binding: _ } => {
            fields["action"] = json!(tool);
            fields["params"] = args.clone();
        }
        Action::Agent => {}
    }
    if !step.depends_on.is_empty() {
        fields["dependsOn"] = json!(step.depends_on);
    }
    fields
}
