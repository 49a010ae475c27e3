//! The play of a family: which jobs these are, and what those outside say. Nothing here decides when.

use jiff::Timestamp;
use proto::{
    agent::{Agent, PlanWhen},
    entry::Entry,
    fact::{
        Answered, Asked, AskedKind, CallTarget, Fact, Signal, Signaled, Submitted, TurnCall,
        TurnReply, Turned,
    },
    family::{Callee, Offered, as_tools, child_id},
    id::{AgentName, AskId, Attempt, JobId, Seq, StepId, ToolName, WorkId},
    interaction::Answer,
    lang::Language,
    message::Usage,
    plan::{Action, Plan, Step},
    record::Record,
    subject::Family,
    trace::TraceContext,
};
use serde_json::json;

/// What the child does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Script {
    /// Whether it asks a person before it is done.
    pub(super) asks: bool,
}

/// The one step of the parent.
const STEP: &str = "g0.r0.a";

fn helper() -> AgentName {
    AgentName::new("helper").expect("a word is a name")
}

/// The parent and its child.
pub(super) fn jobs() -> [JobId; 2] {
    let parent = JobId::new("job").expect("three letters are an id");
    let work = WorkId::new(STEP).expect("it is a unit of work");
    let child = child_id(&parent, Some(Seq(1)), &work, Attempt(1));
    [parent, child]
}

/// A job whose plan is given: one step, which is handed to another agent.
pub(super) fn submitted() -> Fact {
    let below = Agent { name: helper(), ..Agent::default() };
    let mut below = below;
    below.plan.when = PlanWhen::Never;
    let mut agent = Agent::default();
    let subs = json!([{ "name": "helper", "interactive": true }]);
    agent.agents = serde_json::from_value(subs).expect("it is a list of agents");
    let callee = Callee { about: "helps".into(), agent: below };
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
    Fact::Submitted(Submitted {
        goal: "reach the goal".into(),
        agent,
        language: Language::En,
        digest: "d".into(),
        by: None,
        conversation: None,
        parent: None,
        agents: [(helper(), callee)].into_iter().collect(),
        forked: None,
        plan: Some(Plan { title: "the plan".into(), steps: vec![step], replan: Vec::new() }),
        files: Vec::new(),
        rules: proto::rules::Rules::NOW,
    })
}

pub(super) fn canceled() -> Fact {
    let (signal, parent_seq) = (Signal::Cancel, None);
    Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq })
}

pub(super) fn answered(ask: AskId) -> Fact {
    Fact::Answered(Answered { ask, answer: Answer::respond(json!("yes")), by: "ann".into() })
}

impl Script {
    /// What comes of a turn of the child.
    pub(super) fn turned(self, work: WorkId, attempt: Attempt) -> Fact {
        let is_first = work.as_str().ends_with(".t1");
        let reply = if self.asks && is_first {
            let kind = AskedKind::Query;
            let question = Asked { prompt: "Which one?".into(), kind, default: None };
            let target = CallTarget::Person { question };
            let (id, name) = ("c".into(), "ask_user".into());
            let call = TurnCall { id, name, args: json!({}), target };
            TurnReply::Calls { text: String::new(), calls: vec![call] }
        } else {
            let attachments = Vec::new();
            TurnReply::Done { success: true, response: "done".into(), attachments }
        };
        let usage = Usage { input_tokens: 10, output_tokens: 1 };
        Fact::Turned(Turned { work, attempt, reply, usage })
    }
}

/// When everything happens: nothing here waits for the clock.
const NOW: Timestamp = Timestamp::constant(1_000_000_000, 0);

/// The record, where it stands.
pub(super) fn entry(at: usize, job: &JobId, family: Family, record: Record) -> Entry {
    let trace = Some(TraceContext::new(1, 1, false));
    let seq = Seq(u64::try_from(at + 1).expect("the log is short"));
    Entry { seq, time: NOW, job: job.clone(), family, record: Ok(record), trace }
}
