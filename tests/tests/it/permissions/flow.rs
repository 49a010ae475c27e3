//! Roles with no more than their rights do jobs together, on one server and on three.

use std::{
    fs,
    net::SocketAddr,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use model::script::{Script, ScriptServer};

use super::broker::Brokers;

/// A plan that a person confirms; a tool, a turn, and large values on the way.
const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner', last: 'secure' }
    reply:
      json:
        title: "a secure job"
        steps:
          - { id: make, description: "make a task", tool: create_task, args: { title: "secure" } }
          - { id: think, description: "think about it", depends_on: [make] }
  - name: first turn
    when: { offers: finish, turn: 1 }
    reply: { calls: [ { tool: ask_user, args: { mode: query, prompt: "Whom?" } } ] }
  - name: second turn
    when: { offers: finish, turn: 2 }
    reply: { calls: [ { tool: echo, args: { value: "@large@" } } ] }
  - name: third turn
    when: { offers: finish, turn: 3 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "thought" } } ] }
"#;

const ROLES: [&str; 5] = ["supervisor", "planner", "executor", "tools", "interaction"];

/// One process for each role.
struct Roles {
    processes: Vec<Child>,
    _model: ScriptServer,
}

impl Roles {
    async fn start(brokers: &Brokers, replicas: u8) -> Self {
        // Larger than what travels in a record.
        let script = SCRIPT.replace("@large@", &"x".repeat(100_000));
        let script = Script::parse(&script).unwrap();
        let model = model::script::serve(script, SocketAddr::from(([127, 0, 0, 1], 0))).await;
        let model = model.unwrap();
        let processes = ROLES
            .iter()
            .map(|role| {
                let log = fs::File::create(brokers.dir.path().join(format!("{role}.log"))).unwrap();
                let mut command = brokers.callboard(role, replicas);
                command.env("CALLBOARD__MODEL__KIND", "openai");
                command.env("CALLBOARD__MODEL__NAME", "scripted");
                command.env("CALLBOARD__MODEL__BASE_URL", model.base_url());
                command.env("CALLBOARD__LOG__FORMAT", "json");
                command.env("CALLBOARD__ADMIN__LISTEN", "127.0.0.1:0");
                command.args(["serve", "--roles", role]).stdout(Stdio::null()).stderr(log);
                command.spawn().unwrap()
            })
            .collect();
        Self { processes, _model: model }
    }
}

impl Drop for Roles {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Runs a command as a client; what it printed, or why it failed.
fn ask(brokers: &Brokers, arguments: &[&str]) -> Result<String, String> {
    let mut command = brokers.callboard("client", 1);
    let done = command.args(arguments).output().unwrap();
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
    }
}

/// Tries until it works.
fn until(brokers: &Brokers, arguments: &[&str], is: impl Fn(&str) -> bool) -> String {
    let started = Instant::now();
    loop {
        let said = ask(brokers, arguments);
        if let Ok(said) = &said
            && is(said)
        {
            return said.clone();
        }
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "{arguments:?}: {said:?}\n{:?}\n{:?}\n{}",
            ask(brokers, &["jobs", "ls"]),
            ask(brokers, &["crew", "ls"]),
            brokers.logs()
        );
        super::broker::pause();
    }
}

/// A job with a plan to confirm, a question, two tools and a deadline.
fn do_a_job(brokers: &Brokers, job: &str) {
    // A plan may name tools that are announced, and no others.
    until(brokers, &["tools", "ls"], |said| said.contains("create_task"));
    let submit = ["submit", "secure", "--id", job, "--deadline", "10m"];
    until(brokers, &submit, |_| true);
    until(brokers, &["inbox", "approve", job], |_| true);
    until(brokers, &["inbox", "answer", job, "q2", "--text", "Ann"], |_| true);
    until(brokers, &["jobs", "describe", job], |said| said.contains("✓ completed"));
}

fn nothing_was_denied(brokers: &Brokers) {
    let logs = brokers.logs();
    let denied: Vec<&str> = logs
        .lines()
        .filter(|line| line.contains("Violation") || line.contains("forbids it"))
        .collect();
    assert!(denied.is_empty(), "{denied:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_with_no_more_than_their_rights_do_a_job_together() {
    let brokers = Brokers::single();
    let early = ask(&brokers, &["jobs", "ls"]).unwrap_err();
    assert!(early.contains("callboard serve") || early.contains("nobody"), "{early}");
    let mut role = brokers.callboard("supervisor", 1);
    let refused = role.args(["serve", "--roles", "supervisor"]).output().unwrap();
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.contains("callboard setup"), "{refused}");
    brokers.set_up(1);
    brokers.set_up(1);
    let _roles = Roles::start(&brokers, 1).await;
    do_a_job(&brokers, "secured");
    nothing_was_denied(&brokers);
}

#[tokio::test(flavor = "multi_thread")]
async fn three_servers_from_their_files_do_a_job_and_outlive_one_of_them() {
    let mut brokers = Brokers::cluster();
    brokers.set_up(3);
    let _roles = Roles::start(&brokers, 3).await;
    do_a_job(&brokers, "copied");
    nothing_was_denied(&brokers);
    brokers.kill(2);
    do_a_job(&brokers, "outlived");
}
