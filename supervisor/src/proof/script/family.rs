//! The script of a family: a job that hands its only step to a sub-agent, and the child that
//! carries it out.

use proto::{
    agent::{Agent, PlanWhen},
    fact::{Asked, AskedKind, CallTarget, Fact, Submitted, TurnCall, TurnReply, Turned},
    family::{Callee, Offered, as_tools, child_id},
    id::{AgentName, Attempt, JobId, Seq, StepId, ToolName, WorkId},
    lang::Language,
    message::Usage,
    plan::{Action, Plan, Step},
};
use serde_json::json;

/// The unit of work of the parent's only step.
const STEP: &str = "g0.r0.a";

fn helper() -> AgentName {
    AgentName::new("helper").expect("a word is a name")
}

/// Returns the first job of every script.
pub(super) fn parent() -> JobId {
    JobId::new("job").expect("three letters are an id")
}

pub(super) fn child() -> JobId {
    let work = WorkId::new(STEP).expect("it is a unit of work");
    child_id(&parent(), Seq(1), &work, Attempt(1))
}

/// Returns the submission of a job with a given plan: one step, which is handed to a sub-agent.
pub(super) fn submitted() -> Submitted {
    let mut below = Agent { name: helper(), ..Agent::default() };
    below.plan.when = PlanWhen::Never;
    let mut agent = Agent::default();
    let subs = json!([{ "name": "helper", "interactive": true }]);
    agent.agents = serde_json::from_value(subs).expect("it is a list of agents");
    let callee = Callee { about: "helps".into(), agent: below, workflow: None };
    let offered = Offered { name: helper(), about: "helps".into() };
    let step = Step {
        id: StepId::new("a").expect("a letter is an id"),
        title: String::new(),
        description: "do a".into(),
        depends_on: Vec::new(),
        action: Action::Tool {
            tool: ToolName::new("helper").expect("a word is a name"),
            args: json!({ "goal": "do a" }),
            binding: as_tools(&[offered], Language::En)[0].binding(),
        },
    };
    Submitted {
        agent,
        agents: [(helper(), callee)].into_iter().collect(),
        plan: Some(Plan { title: "the plan".into(), steps: vec![step], ..Plan::default() }),
        ..super::submission()
    }
}

/// Returns the result of a turn of the child.
pub(super) fn turned(asks: bool, work: WorkId, attempt: Attempt) -> Fact {
    let is_first = work.as_str().ends_with(".t1");
    let reply = if asks && is_first {
        let kind = AskedKind::Query;
        let question = Asked { prompt: "Which one?".into(), kind, default: None };
        let target = CallTarget::Person { question };
        let (id, name) = ("c".into(), "ask_user".into());
        let call = TurnCall { id, name, args: json!({}), target };
        TurnReply::Calls { text: String::new(), calls: vec![call] }
    } else {
        let attachments = Vec::new();
        TurnReply::Done {
            success: true,
            response: "done".into(),
            attachments,
            value: serde_json::Value::Null,
        }
    };
    let usage = Usage::reported(10, 1);
    Fact::Turned(Turned {
        work,
        attempt,
        reply,
        usage,
        reasoning: String::new(),
        opaque: None,
        answered: None,
    })
}
