//! A test that a job that waits for a person survives every failure, and that any NATS client can
//! answer it.

use std::process::Command;

use callboard_tests::{
    company::Company,
    installed, load,
    wait::{until, wait_for_door},
};
use client::Client;
use operator::fsck::JobCondition;
use proto::{
    door::{AgentChoice, Submit},
    id::{AgentName, JobId},
    job::{JobState, SubStatus},
};

use super::chaos::connect;

const SCRIPT: &str = r#"
rules:
  - name: ask first
    when: { system: 'You are a planner', offers: ask_user, turn: 1, last: 'greet somebody' }
    reply: { calls: [ { tool: ask_user, args: { mode: query, prompt: "Whom?" } } ] }
  - name: then plan
    when: { system: 'You are a planner', last: '(?<name>\w+)\s*$' }
    reply:
      json:
        title: "greet {{ captures.name }}"
        steps: [ { id: greet, description: "greet", tool: echo, args: { value: "hello {{ captures.name }}" } } ]
"#;

/// A program without our code: it connects, sends JSON and reads JSON.
const PLAIN_CLIENT: &str = r#"
import asyncio, json, sys, nats

async def main(url):
    nc = await nats.connect(url)
    async def ask(verb, body):
        reply = await nc.request("cb.svc." + verb, json.dumps(body).encode(), timeout=5)
        return json.loads(reply.data)
    inbox = await ask("inbox", {})
    while not inbox["questions"]:
        # The process that should have put it there was killed; another one does.
        await asyncio.sleep(0.1)
        inbox = await ask("inbox", {})
    entry = inbox["questions"][0]
    job, question = entry["job"], entry["question"]["id"]
    print(json.dumps(await ask("answer", {"job": job, "ask": question, "value": "Ann", "by": "a plain client"})))
    print(json.dumps(await ask("answer", {"job": job, "ask": question, "value": "Bob", "by": "another"})))
    await nc.close()

asyncio.run(main(sys.argv[1]))
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_job_outlives_everything_and_a_plain_nats_client_answers_it() {
    let mut company = Company::start(SCRIPT).await;
    let mut processes = [
        company.serve("supervisor", "supervisor,interaction,door"),
        company.serve("worker", "planner,executor,tools"),
    ];
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    let job = JobId::new("parked").unwrap();
    let agent = AgentChoice::Named(AgentName::new("unattended").unwrap());
    let submit =
        Submit { id: Some(job.clone()), agent: Some(agent), ..Submit::goal("greet somebody") };
    client.submit(submit).await.unwrap();
    until(&client, &job, JobState::InputRequired).await;

    processes.iter_mut().for_each(callboard_tests::company::Process::kill9);
    company.nats.kill9();
    company.nats.restart().await;
    processes.iter_mut().for_each(|process| process.restart(&company));
    wait_for_door(&client).await;
    let view = client.get(&job).await.unwrap();
    assert_eq!((view.state, view.sub_status), (JobState::InputRequired, Some(SubStatus::Parked)));
    assert_eq!(load::proved(&broker).await.standing(JobCondition::Person), 1);

    let script = company.workspace().join("client.py");
    std::fs::write(&script, PLAIN_CLIENT).unwrap();
    let output =
        Command::new(installed("python")).arg(script).arg(company.nats.url()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let replies: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(replies[0]["job"], "parked", "{said}");
    assert_eq!(replies[1]["error"]["code"], "already_answered", "{said}");
    assert_eq!(replies[1]["error"]["winner"]["by"], "a plain client", "{said}");

    let view = until(&client, &job, JobState::Completed).await;
    assert_eq!(view.plan.unwrap().steps[0].response.as_deref(), Some("hello Ann"));
    assert_eq!(load::proved(&broker).await.standing(JobCondition::Ended), 1);
}
