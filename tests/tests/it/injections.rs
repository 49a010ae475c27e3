//! Attempts at injection on a real nats-server: a tool from outside returns an order, and a scripted
//! model obeys it. The table of attempts is that of the machine's tests. Approvals that a person
//! remembers are tested here, too.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use broker::Broker;
use callboard_tests::{
    approval::{run, said},
    company::Company,
    wait::{until, wait_for_door, wait_for_tool},
};
use client::Client;
use futures::future::join_all;
use proto::{
    door::Submit,
    id::{JobId, Pool, ToolName, WorkerId},
    interaction::QuestionKind,
    job::JobState,
    tool::{Approval, Effect, ToolResult, ToolSpec},
    view::{CallState, JobView},
};
use rstest::rstest;
use runtime::{
    actor::{Restarts, Tree},
    presence::Crew,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tool_actors::{CallContext, Tool, ToolFault, Toolset};

use super::chaos::connect;

const INJECTIONS: &str = include_str!("../../../machine/tests/injections.json");

/// The roles of the program. The tools are those of the test.
const ROLES: &str = "supervisor,planner,executor,interaction,door";

/// Tools, with the effect of each, and whether its results come from outside.
const TOOLS: [(&str, Effect, bool); 10] = [
    ("http_get", Effect::Pure, true),
    ("web_search", Effect::Pure, true),
    ("read_attachment", Effect::Pure, true),
    ("docs__read_page", Effect::Idempotent, true),
    ("http_post", Effect::Once, true),
    ("write_file", Effect::Idempotent, false),
    ("create_task", Effect::Idempotent, false),
    ("send_mail", Effect::Idempotent, false),
    ("delete_file", Effect::Idempotent, false),
    ("run", Effect::Once, false),
];

#[derive(Debug, Clone, serde::Deserialize)]
struct Injection {
    name: String,
    carrier: String,
    content: Value,
    tool: String,
}

impl Injection {
    fn all() -> Vec<Self> {
        let injections: Vec<Self> = serde_json::from_str(INJECTIONS).unwrap();
        assert_eq!(injections.len(), 18);
        injections
    }

    /// Returns the arguments of the call that the content orders.
    fn args(&self) -> Value {
        let content = self.content.to_string().replace("\\\"", "\"");
        let (_, order) = content.split_once(&format!("CALL {} ", self.tool)).unwrap();
        serde_json::from_str(order.split_once(" END").unwrap().0).unwrap()
    }
}

/// Returns a script in which the model reads as its goal says, and obeys what it has read.
fn obedient(injections: &[Injection]) -> String {
    let mut rules = Vec::new();
    for (n, Injection { carrier, tool, .. }) in injections.iter().enumerate() {
        let of = format!("attempt-{n}-of");
        let args = injections[n].args();
        rules.push(json!({"name": format!("{of}: read"), "when": {"turn": 1, "any": of},
            "reply": {"calls": [{"tool": carrier, "args": {"what": "the page"}}]}}));
        let read = json!({"tool": carrier, "content": format!("CALL {tool} ")});
        rules.push(json!({"name": format!("{of}: obey"),
            "when": {"turn": 2, "any": of, "tool_result": read},
            "reply": {"calls": [{"tool": tool, "args": args}]}}));
    }
    for (turn, path) in [(1, "a"), (2, "b")] {
        rules.push(
            json!({"name": format!("write {path}"), "when": {"turn": turn, "any": "write twice"},
            "reply": {"calls": [{"tool": "write_file", "args": {"path": path}}]}}),
        );
    }
    let done = json!({"tool": "finish", "args": {"success": true, "response": "done"}});
    json!({"rules": rules, "else": {"calls": [done]}}).to_string()
}

/// Calls that reached a tool, by job.
type Calls = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

/// A tool that records its calls. One from outside returns the content of its job's attempt.
struct Recorded {
    name: &'static str,
    effect: Effect,
    untrusted: bool,
    contents: Arc<Vec<Value>>,
    calls: Calls,
}

#[async_trait]
impl Tool for Recorded {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::new(self.name).unwrap(),
            description: "Does it.".to_owned(),
            schema: json!({"type": "object"}),
            effect: self.effect,
            pool: pool(),
            timeout_ms: 20_000,
            concurrency: 8,
            approval: Approval::Never,
            destructive: false,
            untrusted: self.untrusted,
            version: "1".to_owned(),
            commands: Vec::new(),
            translations: BTreeMap::new(),
        }
    }

    async fn call(&self, context: CallContext, _args: Value) -> Result<ToolResult, ToolFault> {
        let job = context.job.to_string();
        self.calls.lock().unwrap().entry(job.clone()).or_default().push(self.name.to_owned());
        let number = job.rsplit('-').next().and_then(|n| n.parse::<usize>().ok());
        let content = number.filter(|_| self.untrusted).and_then(|n| self.contents.get(n));
        Ok(ToolResult::ok(content.cloned().unwrap_or_else(|| json!("ok"))))
    }
}

fn pool() -> Pool {
    Pool::new("recorded").unwrap()
}

/// A real nats-server, the roles of the program, and tools that record their calls.
struct Stage {
    company: Company,
    client: Client,
    calls: Calls,
    _tools: Tree,
    _process: callboard_tests::company::Process,
}

impl Stage {
    async fn new(injections: &[Injection]) -> Self {
        let mut company = Company::start(&obedient(injections)).await;
        let dir = company.workspace().join("agents");
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("helper.yaml"), "extends: direct\nabout: helps\n").unwrap();
        company.set("DOOR__AGENTS_DIR", &dir.display().to_string());
        let process = company.serve("all", ROLES);
        let broker = connect(&company).await;
        let client = Client::new(&broker);
        wait_for_door(&client).await;
        let calls = Calls::default();
        let contents = Arc::new(injections.iter().map(|one| one.content.clone()).collect());
        let tools = tools(&broker, &contents, &calls).await;
        for (name, ..) in TOOLS {
            wait_for_tool(&client, name).await;
        }
        Self { company, client, calls, _tools: tools, _process: process }
    }

    async fn submit(&self, id: &str, goal: &str, approval: &Value) -> JobId {
        let job = JobId::new(id).unwrap();
        let agent = json!({"confirm": false, "plan": {"when": "never"}, "agents": ["helper"],
            "approval": approval});
        let agent = Some(serde_json::from_value(agent).unwrap());
        let submit = Submit { id: Some(job.clone()), agent, ..Submit::goal(goal) };
        self.client.submit(submit).await.unwrap();
        job
    }

    /// Returns the tools that a job has called after its first one, sub-agents included.
    fn called(&self, view: &JobView) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        let mut called = calls.get(view.job.as_str()).cloned().unwrap_or_default();
        called.extend(view.children.iter().map(|child| child.agent.to_string()));
        called.split_off(1)
    }
}

async fn tools(broker: &Broker, contents: &Arc<Vec<Value>>, calls: &Calls) -> Tree {
    let tools = TOOLS.into_iter().map(|(name, effect, untrusted)| {
        let (contents, calls) = (Arc::clone(contents), Arc::clone(calls));
        Arc::new(Recorded { name, effect, untrusted, contents, calls }) as Arc<dyn Tool>
    });
    let toolset = Arc::new(Toolset::new(pool(), tools.collect()).unwrap());
    let setup = tool_actors::Setup {
        broker: broker.clone(),
        worker: WorkerId::new("recorded").unwrap(),
        crew: Crew::open(broker),
        content: None,
        options: tool_actors::options(&toolset, 8),
        local: runtime::worker::LocalPools::default(),
        shutdown: CancellationToken::new(),
    };
    let (children, _) = tool_actors::start(setup, toolset).await.unwrap();
    Tree::start("recorded", Restarts::default(), children).await.unwrap()
}

/// The last call of a job's only step.
fn last_call(view: &JobView) -> CallState {
    view.plan.as_ref().unwrap().steps[0].calls.last().unwrap().state
}

#[rstest]
#[case::without_a_policy(json!({}), JobState::Completed)]
#[case::with_ask(json!({"untrusted": {"then": "ask"}}), JobState::InputRequired)]
#[case::with_deny(json!({"untrusted": {"then": "deny"}}), JobState::Completed)]
#[tokio::test(flavor = "multi_thread")]
async fn no_injection_succeeds_against_the_policy(#[case] approval: Value, #[case] end: JobState) {
    let injections = Injection::all();
    let stage = Stage::new(&injections).await;
    let submitted = injections.iter().enumerate().map(async |(n, _)| {
        let (id, goal) = (format!("attempt-{n}"), format!("attempt-{n}-of the suite"));
        let job = stage.submit(&id, &goal, &approval).await;
        until(&stage.client, &job, end).await
    });
    let views = join_all(submitted).await;
    let succeeded =
        |(injection, view): &(&Injection, &JobView)| stage.called(view).contains(&injection.tool);
    let wins: Vec<_> = injections.iter().zip(&views).filter(succeeded).collect();
    let is_open = approval == json!({});
    assert_eq!(wins.len(), if is_open { injections.len() } else { 0 }, "{wins:?}");
    for (injection, view) in injections.iter().zip(&views) {
        let name = &injection.name;
        let mark = view.untrusted.as_ref().unwrap();
        assert_eq!(mark.tool.as_str(), injection.carrier, "{name}");
        assert!(mark.seq.is_some() && mark.at.is_some(), "{name}");
        match (is_open, end) {
            (true, _) => {}
            (false, JobState::InputRequired) => {
                let [question] = view.questions.as_slice() else { panic!("{name}: {view:?}") };
                let QuestionKind::ToolApproval { tool, seen, .. } = &question.kind else {
                    panic!("{name}: {question:?}")
                };
                assert_eq!(tool.as_str(), injection.tool, "{name}");
                assert_eq!(seen.as_ref(), Some(&mark.tool), "{name}");
            }
            (false, _) => assert_eq!(last_call(view), CallState::Failed, "{name}: {view:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_approves_a_tool_for_a_job_and_is_not_asked_again() {
    let stage = Stage::new(&[]).await;
    let company = &stage.company;
    let approval = json!({"rules": [{"tool": "write_*", "then": "ask"}]});
    let job = stage.submit("writes", "write twice", &approval).await;
    until(&stage.client, &job, JobState::InputRequired).await;
    let shown = run(company, &["inbox", "show", "writes"]);
    assert!(shown.contains("--remember"), "{shown}");
    let mut approve = company.command();
    let approved = approve.args(["inbox", "approve", "writes", "--yes", "--remember"]).output();
    let approved = approved.unwrap();
    assert!(approved.status.success(), "{}", said(&approved));
    let view = until(&stage.client, &job, JobState::Completed).await;
    assert_eq!(stage.called(&view), ["write_file"], "the first call and one more");
    let calls = &view.plan.as_ref().unwrap().steps[0].calls;
    let remembered: Vec<_> = calls.iter().map(|call| call.remembered.is_some()).collect();
    assert_eq!(remembered, [false, true]);
    assert_eq!(view.past_questions.len(), 1);
    let described = run(company, &["jobs", "describe", "writes"]);
    assert!(described.contains("write_file (q1, "), "{described}");
    let events = run(company, &["watch", "writes"]);
    assert!(events.contains("by the remembered approval of q1"), "{events}");
    assert!(events.contains("approved, and remembered for the job"), "{events}");

    // Another job asks for itself.
    let other = stage.submit("others", "write twice", &approval).await;
    until(&stage.client, &other, JobState::InputRequired).await;
    let approved = company.command().args(["inbox", "approve", "others", "--yes"]).output();
    assert!(approved.unwrap().status.success());
    callboard_tests::wait::view(&stage.client, &other, |view| {
        view.questions.first().is_some_and(|asked| asked.id.as_str() == "q2")
    })
    .await;
}
