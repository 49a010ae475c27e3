//! Tests of the chat at a terminal: tasks, commands, answers and cancellation; without a model; and
//! after the program was killed.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Output, Stdio},
};

use callboard_tests::{
    company::{Company, Process},
    load,
    wait::wait_for_door,
};
use client::Client;
use proto::{
    door::{Filter, List},
    fact::Fact,
    id::{ConversationId, Seq},
    job::JobState,
    record::Known,
};

use super::chaos::connect;
use broker::testing::wait::until;

const SCRIPT: &str = r#"
rules:
  - name: ask first
    when: { system: 'You are a planner', offers: ask_user, turn: 1, last: 'greet somebody' }
    reply: { calls: [ { tool: ask_user, args: { mode: select, prompt: "Whom?", options: ["Ann", "Bob"] } } ] }
  - name: then plan
    when: { system: 'You are a planner', last: '(?<name>Ann|Bob)\s*$' }
    reply:
      json:
        title: "greet {{ captures.name }}"
        steps: [ { id: greet, description: "greet {{ captures.name }}", tool: echo, args: { value: "hello {{ captures.name }}" } } ]
"#;

async fn open(script: &str, roles: &[&str]) -> (Company, Vec<Process>, Client) {
    serve(Company::start(script).await, roles).await
}

async fn serve(company: Company, roles: &[&str]) -> (Company, Vec<Process>, Client) {
    let processes = roles.iter().map(|roles| company.serve(roles, roles)).collect();
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;
    // Commands require their tools to be registered, and tasks require a planner.
    let plans = roles.iter().any(|roles| roles.contains("planner"));
    until("the roles of this test", async || {
        let tools = client.tools().await.map(|tools| tools.tools).unwrap_or_default();
        let crew = client.crew().await.map(|crew| crew.workers).unwrap_or_default();
        let mut pools = crew.iter().flat_map(|worker| &worker.pools);
        let has_planner = pools.any(|load| load.pool.starts_with("plan."));
        tools.iter().any(|tool| tool.name.as_str() == "list_tasks") && has_planner == plans
    })
    .await;
    (company, processes, client)
}

const ALL: &[&str] = &["supervisor,interaction,door", "planner,executor,tools"];

/// Types lines and the end of input, and returns the output of the chat.
fn typed(company: &Company, arguments: &[&str], lines: &str) -> Output {
    let mut command = company.command();
    command.arg("chat").args(arguments).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_leaves_the_task_and_its_question_alone_and_the_next_words_answer_it() {
    let (company, _processes, client) = open(SCRIPT, ALL).await;
    let lines = "greet somebody\n/todo buy milk\n3\n1\nconfirm\n/todo list\n";
    let output = typed(&company, &["--conversation", "trip"], lines);
    let (said, notes) = (said(&output), String::from_utf8_lossy(&output.stderr).into_owned());
    assert_eq!(output.status.code(), Some(0), "{said}{notes}");
    let question = "\n  Please confirm: Whom?\n  one of:\n    1  Ann\n    2  Bob\n";
    let question = if said.contains(question) { question } else { "\n  Whom?\n  one of:\n" };
    let parts = [
        question,
        "✓ create_task: Task \"buy milk\" was created\n",
        question,
        "“3” is not one of the options; type its number\n",
        "greet Ann",
        "✓ completed\n",
        "hello Ann",
        "✓ list_tasks: 1 task(s)\n",
        "buy milk",
    ];
    let mut rest = said.as_str();
    for part in parts {
        let at = rest
            .find(part)
            .unwrap_or_else(|| panic!("{part:?} is not next in\n{rest}\nof\n{said}"));
        rest = &rest[at + part.len()..];
    }
    assert!(!said.contains('\u{1b}') && !notes.contains('\u{1b}'), "no colours in a pipe");
    assert!(notes.contains("✓ greet completed greet Ann"), "{notes}");
    no_model_for_commands(&company, &client).await;
}

/// Checks that every command is a durable job without a planner or model.
async fn no_model_for_commands(company: &Company, client: &Client) {
    let broker = connect(company).await;
    let list = List {
        filter: Filter {
            conversation: Some(ConversationId::new("trip").unwrap()),
            ..Filter::default()
        },
        ..List::default()
    };
    let jobs = client.call(&list).await.unwrap().jobs;
    let mut goals: Vec<_> = jobs.iter().map(|job| (job.goal.as_str(), job.state)).collect();
    goals.sort_unstable_by_key(|(goal, _)| *goal);
    let done = JobState::Completed;
    assert_eq!(goals, [("/todo buy milk", done), ("/todo list", done), ("greet somebody", done)]);
    for job in jobs.iter().filter(|job| job.goal.starts_with('/')) {
        let entries = broker.log.read(&job.job, Seq(0)).await.unwrap();
        for entry in entries {
            let known = entry.record.unwrap().known().unwrap();
            let by_model = match &known {
                Known::Fact(fact) => matches!(**fact, Fact::Planned(_) | Fact::Turned(_)),
                Known::Decision(decision) => decision.pool().as_str() == "default",
            };
            assert!(!by_model, "{}: {known:?}", job.goal);
        }
    }
    load::proved(&broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_canceled_is_canceled_at_once_and_nothing_is_canceled_twice() {
    let (company, _processes, _client) = open(SCRIPT, ALL).await;
    let output = typed(&company, &[], "greet somebody\n取消当前任务\n取消当前任务\ncancel\n");
    let said = said(&output);
    let end = "已取消当前任务。\n当前没有进行中的任务\nThere is no task in progress\n";
    assert!(said.ends_with(end), "{said}");
    assert_eq!(output.status.code(), Some(3), "{said}");
    let output = typed(&company, &[], "greet somebody\n");
    assert_eq!(output.status.code(), Some(4), "a question is open");
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(notes.contains("callboard chat --conversation chat-"), "{notes}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_waits_is_canceled_before_the_task() {
    let (company, _processes, _client) = open(SCRIPT, ALL).await;
    let asks = r#"/http_post {"url": "https://example.org/", "json": 1}"#;
    let output = typed(&company, &[], &format!("{asks}\n/cancel now\ncancel\n"));
    let said = said(&output);
    let end = "The command was canceled.\nThere is no task in progress\n";
    assert!(said.ends_with(end), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_commands_work_and_words_are_answered() {
    let mut company = Company::start(SCRIPT).await;
    for key in ["MODEL__KIND", "MODEL__NAME", "MODEL__BASE_URL"] {
        company.unset(key);
    }
    let (company, _processes, client) =
        serve(company, &["supervisor,interaction,door,tools"]).await;
    let tools = client.tools().await.unwrap().tools;
    assert!(tools.iter().all(|tool| tool.name.as_str() != "model"), "no tool asks a model");
    let lines = "你好\nhello\n/todo 买牛奶\n/dance\n/echo {\"no\":1}\n/help\n";
    let output = typed(&company, &[], lines);
    let said = said(&output);
    assert!(said.starts_with("当前未配置 LLM\n"), "{said}");
    for part in [
        "\nNo LLM is configured\n",
        "任务 \"买牛奶\" 创建成功",
        "there is no command /dance; /help lists them",
        "value",
        "/todo       Adds a task to the task list",
    ] {
        assert!(said.contains(part), "{part:?} is not in\n{said}");
    }
    assert_eq!(output.status.code(), Some(5), "{said}");
}

/// The goal is in English, and its plan in Chinese.
const CHINESE: &str = r#"
rules:
  - when: { system: 'You are a planner' }
    reply: { json: { title: "问候", language: zh-CN, steps: [ { id: greet, description: "问候", tool: echo, args: { value: "你好" } } ] } }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_chat_speaks_the_language_of_the_task_whatever_was_typed() {
    let (company, _processes, _client) = open(CHINESE, ALL).await;
    let lines = "say hello\n/echo {}\n/todo buy milk\nok\n/help\n";
    let output = typed(&company, &[], lines);
    let said = said(&output);
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}{notes}");
    for part in ["是否执行该计划", "value：缺少", "任务 \"buy milk\" 创建成功", "✓ 已完成", "你好"]
    {
        assert!(said.contains(part), "{part:?} is not in\n{said}{notes}");
    }
    for part in ["▸ 规划完成（共 1 个步骤）", "▸ 执行步骤 1/1：问候", "✓ greet 已完成 问候"]
    {
        assert!(notes.contains(part), "{part:?} is not in\n{notes}{said}");
    }
    for part in ["planning is done", "in force", "completed", "was created", "started"] {
        assert!(!format!("{said}{notes}").contains(part), "{part:?} is in\n{said}{notes}");
    }
    // Nothing is in front any more, and the last task was typed in English.
    assert!(said.contains("Adds a task to the task list"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_was_killed_is_taken_up_where_it_was() {
    let (company, mut processes, _client) = open(SCRIPT, ALL).await;
    let mut command = company.command();
    command.args(["chat", "--conversation", "trip"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"greet somebody\n").unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("Whom?")), "the question was asked");
    child.kill().unwrap();
    child.wait().unwrap();
    processes.iter_mut().for_each(|process| process.restart(&company));
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;

    let output = typed(&company, &["--conversation", "trip", "--yes"], "Bob\n");
    let said = said(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.starts_with("… greet somebody\n"), "{said}");
    for part in ["Whom?", "the plan is approved, as --yes says", "✓ completed", "hello Bob"] {
        assert!(said.contains(part), "{part:?} is not in\n{said}");
    }
    // A third chat shows the end of the task.
    let output = typed(&company, &["--conversation", "trip"], "");
    assert!(super::chat::said(&output).contains("hello Bob"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ran_when_the_conversation_was_killed_is_shown_when_it_is_taken_up() {
    let (company, _processes, client) = open(SCRIPT, ALL).await;
    let mut command = company.command();
    command.args(["chat", "--conversation", "trip"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let typed_there = b"greet somebody\n/sleep {\"ms\": 4000}\n";
    child.stdin.as_mut().unwrap().write_all(typed_there).unwrap();
    let list = List {
        filter: Filter {
            conversation: Some(ConversationId::new("trip").unwrap()),
            ..Filter::default()
        },
        ..List::default()
    };
    let is_there = async || {
        let jobs = client.call(&list).await.unwrap().jobs;
        jobs.iter().any(|job| job.goal.starts_with("/sleep") && !job.state.is_terminal())
    };
    until("a command that runs", is_there).await;
    child.kill().unwrap();
    child.wait().unwrap();

    let lines = "Bob\nconfirm\n/schedule call Ann by Friday\n/schedule call Ann\n/view\n";
    let output = typed(&company, &["--conversation", "trip"], lines);
    let said = said(&output);
    let mut rest = said.as_str();
    for part in [
        "… greet somebody\n",
        "… /sleep {\"ms\": 4000}\n",
        "✓ sleep",
        "Whom?",
        "hello Bob",
        "✓ create_task: Task \"call Ann\" was created\n",
        "/schedule: say the deadline after `by`",
        "id  status   title     deadline\n",
        "1   pending  call Ann  Friday\n",
    ] {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} in\n{rest}\nof\n{said}"));
        rest = &rest[at + part.len()..];
    }
    // A further chat shows only what was typed last.
    let again = super::chat::said(&typed(&company, &["--conversation", "trip"], ""));
    assert!(again.contains("… /view\n") && !again.contains("… /sleep"), "{again}");
}
