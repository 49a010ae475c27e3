//! A test of a loop whose turns exceed the context window, on a real nats-server with real
//! processes: when a process dies between a summary and its turn, the turn uses that summary.

use broker::Broker;
use callboard_tests::{
    company::{Company, Process},
    load,
    wait::{self, until, wait_for_door},
};
use client::Client;
use operator::fsck::JobCondition;
use proto::{
    agent::{Agent, PlanWhen},
    decision::Decision,
    door::{AgentChoice, Submit},
    entry::Entry,
    fact::{Fact, TurnReply},
    id::{JobId, Seq},
    job::JobState,
    lang::Language,
    observe::Summarise,
    record::Known,
    view::JobView,
};

use super::chaos::connect;

/// The script of the model: page after page, each of some hundred tokens in the call and in its
/// result. The summary takes long enough for a process that waits for it to be killed.
const SCRIPT: &str = r#"
rules:
  - name: in short
    when: { system: "summarise the beginning of an assistant's work", last: 'page one of much' }
    reply: { text: "Page one said north.", usage: { input: 70, output: 7 }, stream: { first_delay_ms: 3000 } }
  - name: in short, in Chinese
    when: { system: '前面的工作写成摘要', last: 'page one of much' }
    reply: { text: "第一页说向北。", usage: { input: 70, output: 7 }, stream: { first_delay_ms: 3000 } }
  - name: the end, which only the summary tells
    when: { offers: finish, any: 'Summary of your first \d turns?[\s\S]*said north', last: 'page last' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "north" } } ] }
  - name: the end, in Chinese
    when: { offers: finish, any: '前 \d 轮的摘要[\s\S]*向北', last: 'page last' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "向北" } } ] }
  - name: the last page
    when: { offers: finish, any: 'said north|说向北' }
    reply: { calls: [ { tool: echo, args: { value: "page last" } } ] }
  - name: the pages
    when: { offers: finish }
    reply: { calls: [ { tool: echo, args: { value: "{{ ['page one of', 'page two of', 'page three of', 'page four of'][turn - 1] }} much {{ 'to read ' * 150 }}" } } ] }
"#;

/// Tokens for the frame of a turn, its tools and about two pages.
const CONTEXT_TOKENS: u32 = 2500;

fn reader() -> Agent {
    let mut agent = Agent { confirm: false, ..Agent::default() };
    agent.plan.when = PlanWhen::Never;
    agent.tools = Some(vec!["echo".parse().unwrap()]);
    agent.observe.context_tokens = Some(CONTEXT_TOKENS);
    agent.observe.summarise = Summarise::Exchanges;
    agent
}

struct Hall {
    company: Company,
    client: Client,
    broker: Broker,
    supervisor: Process,
    worker: Process,
}

impl Hall {
    async fn new() -> Self {
        let company = Company::start(SCRIPT).await;
        let supervisor = company.serve("supervisor", "supervisor,interaction,door");
        let worker = company.serve("worker", "executor,tools");
        let broker = connect(&company).await;
        let client = Client::new(&broker);
        wait_for_door(&client).await;
        Self { company, client, broker, supervisor, worker }
    }

    async fn submit(&self, id: &str, language: Language) -> JobId {
        let id = JobId::new(id).unwrap();
        let agent = Some(AgentChoice::Inline(Box::new(reader())));
        let language = Some(language);
        let submit = Submit { id: Some(id.clone()), agent, language, ..Submit::goal("read it") };
        self.client.submit(submit).await.unwrap();
        id
    }

    /// Waits for a record of a job's log, and returns its position.
    async fn record(&self, job: &JobId, is: impl Fn(&Known) -> bool) -> Seq {
        let is = |entry: &&Entry| {
            let known = entry.record.as_ref().ok().and_then(|record| record.known().ok());
            known.is_some_and(|known| is(&known))
        };
        let found = |entries: &[Entry]| entries.iter().find(is).map(|entry| entry.seq);
        wait::log(&self.broker, job, found).await
    }
}

/// Returns whether a record is the command for the summary of a turn that exceeds the window.
fn asks_for_summary(known: &Known, turn: u32) -> bool {
    matches!(known, Known::Decision(d) if matches!(&**d, Decision::Turn(t) if t.summarise && t.turn == turn))
}

fn is_summary(known: &Known) -> bool {
    matches!(known, Known::Fact(f) if matches!(&**f, Fact::Turned(t) if matches!(t.reply, TurnReply::Summarised { .. })))
}

fn has_summary(known: &Known) -> bool {
    matches!(known, Known::Decision(d) if matches!(&**d, Decision::Turn(t) if t.summary.is_some()))
}

fn response(view: &JobView) -> Option<String> {
    view.plan.as_ref().unwrap().steps[0].response.clone()
}

/// Returns the number of the first turn that exceeds the window.
async fn turn_without_room(hall: &Hall) -> u32 {
    let job = hall.submit("first", Language::En).await;
    let view = until(&hall.client, &job, JobState::Completed).await;
    assert_eq!(response(&view).as_deref(), Some("north"));
    let entries = hall.broker.log.read(&job, Seq(0)).await.unwrap();
    let known = entries.iter().filter_map(|entry| entry.record.as_ref().ok()?.known().ok());
    let turns = known.filter_map(|known| match known {
        Known::Decision(decision) => {
            let Decision::Turn(turn) = *decision else { return None };
            turn.summary.is_some().then_some(turn.turn)
        }
        Known::Fact(_) => None,
    });
    turns.min().expect("something was summarised")
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_dies_between_a_summary_and_its_turn_the_turn_is_taken_with_it() {
    let mut hall = Hall::new().await;
    let turn = turn_without_room(&hall).await;
    for (id, language, wanted) in [("en", Language::En, "north"), ("zh", Language::Zh, "向北")] {
        let job = hall.submit(id, language).await;
        // The supervisor dies while the summary is made, so that the next decision waits.
        hall.record(&job, |known| asks_for_summary(known, turn)).await;
        hall.supervisor.kill9();
        let summary = hall.record(&job, is_summary).await;
        hall.worker.kill9();
        hall.supervisor.restart(&hall.company);
        wait_for_door(&hall.client).await;
        // The worker is away when the turn with the summary is decided.
        assert!(hall.record(&job, has_summary).await > summary);
        hall.supervisor.kill9();
        hall.supervisor.restart(&hall.company);
        hall.worker.restart(&hall.company);
        wait_for_door(&hall.client).await;
        let view = until(&hall.client, &job, JobState::Completed).await;
        assert_eq!(response(&view).as_deref(), Some(wanted));
        let entries = hall.broker.log.read(&job, Seq(0)).await.unwrap();
        let known = entries.iter().filter_map(|entry| entry.record.as_ref().ok()?.known().ok());
        assert_eq!(known.filter(is_summary).count(), 1, "it was made once");
        let ended = load::ended(&hall.broker, &[job]).await;
        assert_eq!(load::unclean(&ended), Vec::<String>::new());
    }
    assert_eq!(load::proved(&hall.broker).await.standing(JobCondition::Ended), 3);
}
