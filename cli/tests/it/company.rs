//! The program against a complete installation, `callboard dev` with its own nats-server, command
//! by command.

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpListener,
    process::{Child, ChildStdout, Stdio},
};

use broker::testing::wait::eventually_blocking;
use serde_json::Value;

use crate::support::{Place, Ran, ended, eventually, signal};

/// A running installation.
pub(crate) struct Dev {
    place: Place,
    url: String,
    child: Child,
    /// Kept open, as a terminal would keep it.
    _out: BufReader<ChildStdout>,
}

impl Dev {
    pub(crate) fn start() -> Self {
        Self::start_in(Place::new(), &[])
    }

    /// Starts an installation whose model plays a script.
    fn scripted(script: &str) -> Self {
        let place = Place::new();
        std::fs::write(place.path().join("script.yaml"), script).unwrap();
        Self::start_in(place, &["--script", "script.yaml"])
    }

    fn start_in(place: Place, options: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("nats://127.0.0.1:{port}");
        let mut command = place.command(&["--url", &url, "dev"]);
        command.args(options);
        command.env("CALLBOARD__LOG__LEVEL", "error");
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let said: Vec<String> = out.by_ref().lines().map_while(Result::ok).take(3).collect();
        assert!(said[0].contains("every role in this process"), "{said:?}");
        assert!(said[1].contains("nats-server"), "{said:?}");
        let dev = Self { place, url, child, _out: out };
        eventually_blocking("somebody for every role", || {
            let said = dev.run(&["doctor"]).out;
            if said.contains("every role has a process") { Ok(()) } else { Err(said) }
        });
        dev
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Prepares a command that does not name this installation.
    pub(crate) fn bare(&self) -> std::process::Command {
        self.place.command(&[])
    }

    /// Prepares a command against this installation.
    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        self.place.command(&[&["--url", &self.url], args].concat())
    }

    /// The directory that commands run in.
    pub(crate) fn dir(&self) -> &std::path::Path {
        self.place.path()
    }

    /// A command against this installation, as a line for a shell.
    pub(crate) fn line(&self, args: &[&str]) -> String {
        let command = self.command(args);
        let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
        let program = command.get_program().to_string_lossy().into_owned();
        std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.place.run(&[&["--url", &self.url], args].concat())
    }

    fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    /// Waits until a job has a question.
    pub(crate) fn asked(&self, job: &str) -> Value {
        eventually("a question", || {
            let page: Value =
                serde_json::from_str(&self.run(&["-o", "json", "inbox", "ls", "--job", job]).out)
                    .ok()?;
            page["questions"].get(0).cloned()
        })
    }

    fn state(&self, job: &str) -> String {
        let view: Value =
            serde_json::from_str(&self.run(&["-o", "json", "jobs", "describe", job]).expect(0).out)
                .unwrap();
        view["state"].as_str().unwrap().to_owned()
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        signal(&self.child, "-TERM");
        let _ = self.child.wait();
    }
}

#[test]
fn failed_jobs_are_counted_and_continue_from_just_before_their_failure() {
    let dev = Dev::scripted("else: { text: \"I do not know.\" }");
    for job in ["f1", "f2"] {
        dev.run(&["submit", "anything", "--id", job]).expect(0);
        eventually("the failure", || (dev.state(job) == "failed").then_some(()));
    }
    let unconfirmed = dev.run(&["jobs", "retry", "--failure", "plan_failed"]).expect(2);
    assert!(unconfirmed.err.contains("2 jobs match"), "{}", unconfirmed.err);
    for (filter, matches) in [
        (["--failure", "step_failed"], false),
        (["--agent", "loop"], false),
        (["--since", "0s"], false),
        (["--updated-since", "1h"], true),
        (["--label", "team=sales"], false),
    ] {
        let said =
            dev.run(&[["jobs", "retry"], filter].concat()).expect(if matches { 2 } else { 0 });
        assert_eq!(said.out.contains("no job matches"), !matches, "{filter:?}");
    }
    let retried = dev.run(&["jobs", "retry", "--all", "--yes"]).expect(0);
    assert!(retried.err.contains("2 jobs match"), "{}", retried.err);
    assert!(retried.out.contains("f1 is retried") && retried.out.contains("f2 is retried"));
    eventually("the second generation", || {
        let shown = dev.run(&["-o", "json", "jobs", "describe", "f1"]).expect(0).out;
        let view: Value = serde_json::from_str(&shown).unwrap();
        (view["generation"] == 1 && view["state"] == "failed").then_some(())
    });
    assert_eq!(dev.run(&["jobs", "retry", "f1"]).expect(0).out, "▸ f1 is retried\n");
    dev.run(&["jobs", "retry"]).refused(2, "--all");
    dev.run(&["jobs", "retry", "--failure", "bad_luck"]).refused(2, "unknown variant");
    dev.run(&["jobs", "retry", "nothere"]).refused(6, "there is no job nothere");
}

#[test]
fn jobs_are_selected_by_labels_and_get_signals_together() {
    let dev = Dev::start();
    let goal = "Read examples/demo/notes.md and write a summary";
    for (job, team) in [("b1", "team=billing"), ("b2", "team=billing"), ("s1", "team=sales")] {
        dev.run(&["submit", goal, "--id", job, "--label", team, "--label", "env=prod"]).expect(0);
        dev.asked(job);
    }
    dev.run(&["submit", goal, "--label", "Team=x"]).refused(2, "key of a label");
    let billing = ["--label", "team=billing"];
    let run = |words: &[&str], filter: &[&str]| dev.run(&[words, filter].concat());
    assert_eq!(run(&["-o", "ids", "jobs", "ls"], &billing).expect(0).out, "b2\nb1\n");
    assert_eq!(run(&["-o", "ids", "jobs", "count"], &billing).expect(0).out, "2\n");
    let none = ["--label", "team=billing", "--text", "nothing like it"];
    assert_eq!(run(&["-o", "ids", "jobs", "count"], &none).expect(0).out, "0\n");
    let shown = run(&["jobs", "ls", "--text", "SUMMARY", "--since", "1h"], &billing).expect(0).out;
    assert!(shown.contains("LABELS") && shown.contains("env=prod, team=billing"), "{shown}");
    let described = dev.run(&["jobs", "describe", "s1"]).expect(0).out;
    assert!(described.contains("env=prod, team=sales"), "{described}");

    let unconfirmed = run(&["jobs", "pause"], &billing).expect(2).err;
    assert!(unconfirmed.contains("2 jobs match") && unconfirmed.contains("b1"), "{unconfirmed}");
    let paused = run(&["jobs", "pause", "--yes"], &billing).expect(0).out;
    assert!(paused.contains("b1 is paused") && paused.contains("b2 is paused"), "{paused}");
    let again = run(&["jobs", "pause", "--yes"], &billing).expect(0).out;
    assert!(again.contains("no job matches"), "{again}");
    let resumed = dev.run(&["jobs", "resume", "--all", "--yes"]).expect(0).out;
    assert!(resumed.contains("b1 continues") && !resumed.contains("s1"), "{resumed}");
    let canceled = run(&["jobs", "cancel", "--yes"], &billing).expect(0).out;
    assert!(canceled.contains("b1 is canceled") && canceled.contains("b2 is canceled"));
    assert_eq!(dev.state("s1"), "input-required");
    dev.run(&["jobs", "cancel"]).refused(2, "--all");
    dev.run(&["jobs", "cancel", "s1", "--all"]).refused(2, "cannot be used with");
    let two = dev.run(&["jobs", "cancel", "s1", "b1", "--yes"]).expect(6);
    assert!(two.out.contains("s1 is canceled") && two.err.contains("b1 has ended"), "{}", two.err);
}

#[test]
fn a_job_is_submitted_confirmed_answered_and_described() {
    let dev = Dev::start();
    let goal = "Read examples/demo/notes.md and write a summary";
    assert_eq!(dev.run(&["submit", goal, "--id", "j1"]).expect(0).out, "j1\n");
    let shown = dev.run(&["inbox", "show", "j1", "--wait"]).expect(0).out;
    assert!(
        shown.contains("callboard inbox approve j1 q1") && shown.contains("write_file"),
        "{shown}"
    );
    dev.run(&["jobs", "restart", "j1", "step1"]).refused(2, "is not confirmed yet");
    dev.run(&["jobs", "dead", "retry", "j1"]).refused(6, "there is nothing to retry");
    dev.run(&["inbox", "approve", "j1", "q1"]).expect(0);
    dev.run(&["inbox", "show", "j1", "q2", "--wait"]).expect(0);
    let second = eventually("the second question", || {
        Some(dev.asked("j1")).filter(|entry| entry["question"]["id"] == "q2")
    });
    assert_eq!(second["question"]["kind"], "choice");
    dev.run(&["inbox", "answer", "j1", "--value", "\"nobody\""]).refused(6, "value");
    dev.run(&["inbox", "answer", "j1", "--value", "nobody"]).refused(2, "is not JSON");
    dev.run(&["inbox", "answer", "j1", "q2", "--text", "the cast"]).expect(0);
    dev.run(&["inbox", "answer", "j1", "q2", "--text", "the cast"]).expect(6);
    let ran = dev.run(&["run", "--attach", "j"]).expect(0);
    assert!(ran.out.contains("a summary for the cast"), "{}", ran.out);
    let described = dev.run(&["jobs", "describe", "j1"]).expect(0).out;
    for told in ["◂ q1 plan_check", "approved by ", "◂ q2 choice", ": the cast\n"] {
        assert!(described.contains(told), "{told}: {described}");
    }
    let records = dev.run(&["-o", "json", "jobs", "show", "j1"]).expect(0).out;
    let records: Vec<Value> = serde_json::from_str(&records).unwrap();
    assert_eq!(records.first().unwrap()["record"]["kind"], "submitted");
    assert_eq!(records.last().unwrap()["record"]["kind"], "finish");
    assert_eq!(dev.run(&["jobs", "show", "j1", "-f"]).expect(0).out.lines().count(), records.len());
    assert_eq!(dev.run(&["-o", "ids", "jobs", "list"]).expect(0).out, "j1\n");
    assert!(dev.run(&["tools", "ls"]).expect(0).out.contains("complete_task"));
    assert!(dev.run(&["crew", "ls"]).expect(0).out.contains("supervisor"));
    dev.run(&["jobs", "cancel", "j1", "--yes"]).refused(6, "has ended");
    dev.run(&["jobs", "describe", "nowhere"]).refused(6, "nowhere");
    dev.run(&["inbox", "show", "j1", "--wait"]).refused(6, "asks no more: it is completed");
    dev.run(&["fsck", "nowhere"]).refused(6, "there is no job nowhere");
}

#[test]
fn steps_that_were_canceled_are_not_counted_as_done() {
    let dev = Dev::start();
    let goal = "Read examples/demo/notes.md and write a summary";
    dev.run(&["submit", goal, "--id", "j1", "--no-confirm"]).expect(0);
    dev.run(&["inbox", "show", "j1", "--wait"]).expect(0);
    dev.run(&["jobs", "cancel", "j1", "--yes"]).expect(0);
    let listed = dev.run(&["-o", "json", "jobs", "ls"]).expect(0).out;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let (done, steps) = (&listed["jobs"][0]["steps_done"], &listed["jobs"][0]["steps"]);
    assert!(done.as_u64() < steps.as_u64(), "{listed}");
}

#[test]
fn agents_that_cannot_be_used_are_a_mistake_of_whoever_configured_them() {
    let dev = Dev::start();
    let agents = dev.place.path().join("agents");
    std::fs::create_dir(&agents).unwrap();
    std::fs::write(agents.join("mine.yaml"), "extends: nobody\n").unwrap();
    let mut serve = dev.command(&["serve", "--roles", "supervisor"]);
    serve.env("CALLBOARD__DOOR__AGENTS_DIR", &agents);
    // systemd does not restart the service after exit code 2.
    Ran::from(serve.output().unwrap()).expect(2);
}

#[test]
fn what_a_job_says_is_neutralised_everywhere() {
    let dev = Dev::start();
    let hostile = "evil \u{1b}[2J\u{1b}]0;owned\u{7} \u{202e}goal";
    let ran = dev.run(&["run", hostile, "--id", "j1", "--no-confirm"]).expect(0);
    let mut all = vec![ran.out, ran.err];
    for args in [&["jobs", "ls"][..], &["jobs", "describe", "j1"], &["jobs", "show", "j1"]] {
        let ran = dev.run(args).expect(0);
        assert!(ran.out.contains("evil"), "{}", ran.out);
        all.extend([ran.out, ran.err]);
    }
    for text in all {
        let bad: Vec<char> =
            text.chars().filter(|c| *c != '\n' && proto::escape::is_deceptive(*c)).collect();
        assert!(bad.is_empty(), "{bad:?} in {text:?}");
    }
}

#[test]
fn the_same_id_attaches_and_ctrl_c_never_cancels() {
    let dev = Dev::start();
    let submit = ["-o", "json", "submit", "Summarise a.md", "--id", "j1"];
    let created = |ran: Ran| serde_json::from_str::<Value>(&ran.out).unwrap()["created"].clone();
    assert_eq!(created(dev.run(&submit).expect(0)), true);
    assert_eq!(created(dev.run(&submit).expect(0)), false);
    dev.run(&["submit", "another goal", "--id", "j1"]).refused(6, "another body");
    dev.asked("j1");
    let mut child = dev.spawn(&["run", "Summarise a.md", "--id", "j1"]);
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("waiting for an answer to q1")));
    signal(&child, "-INT");
    assert!(said.any(|line| line.contains("job j1 continues")));
    ended(child).expect(130);
    assert_eq!(dev.state("j1"), "input-required");
    let ran = dev.run(&["run", "--attach", "j1", "--no-wait-for-input"]).expect(4);
    assert!(ran.err.contains("callboard inbox approve j1 q1"), "{}", ran.err);
    dev.run(&["inbox", "approve", "j1"]).expect(0);
    dev.run(&["inbox", "show", "j1", "q2", "--wait"]).expect(0);
    let ran = dev.run(&["run", "--attach", "j1", "--no-wait-for-input"]).expect(4);
    assert!(
        ran.err.contains("1. the stage crew") && ran.err.contains("2. the cast"),
        "{}",
        ran.err
    );
}

#[test]
fn a_job_is_ended_in_a_script_only_with_yes() {
    let dev = Dev::start();
    dev.run(&["submit", "Summarise a.md", "--id", "j1"]).expect(0);
    dev.asked("j1");
    dev.run(&["jobs", "cancel", "j1"]).refused(2, "--yes");
    assert_eq!(dev.state("j1"), "input-required");
    dev.run(&["jobs", "pause", "j1", "--reason", "lunch"]).expect(0);
    assert!(dev.run(&["jobs", "describe", "j1"]).expect(0).out.contains("lunch"));
    dev.run(&["jobs", "resume", "j1"]).expect(0);
    dev.run(&["jobs", "cancel", "j1", "--yes", "--reason", "enough"]).expect(0);
    let ran = dev.run(&["run", "--attach", "j1"]).expect(3);
    assert!(ran.out.contains("canceled"), "{}", ran.out);
}

#[test]
fn what_is_on_the_server_is_never_changed_silently() {
    let dev = Dev::start();
    let mut other = dev.place.command(&["--url", &dev.url, "doctor"]);
    let ran = Ran::from(other.env("CALLBOARD__NATS__REPLICAS", "3").output().unwrap()).expect(1);
    assert!(ran.out.contains("nats.replicas asks for 3"), "{}", ran.out);
    let mut serve = dev.place.command(&["--url", &dev.url, "serve", "--roles", "supervisor"]);
    let ran = Ran::from(serve.env("CALLBOARD__NATS__REPLICAS", "3").output().unwrap()).expect(5);
    assert!(ran.err.contains("num_replicas"), "{}", ran.err);
    let ran = dev.run(&["doctor"]).expect(0);
    assert!(ran.out.contains("one copy of every record"), "R1 is warned about:\n{}", ran.out);
}

#[test]
fn the_demo_ends_well_without_a_terminal() {
    let place = Place::new();
    for args in [&["demo", "--dir", "a"][..], &["demo", "--dir", "b", "--memory"]] {
        let ran = place.run(args).expect(0);
        assert!(ran.out.contains("both jobs did what they should"), "{}", ran.out);
        let last = ran.out.lines().last().unwrap();
        assert!(
            last.contains("`callboard dev`") && last.contains("http://127.0.0.1:8600"),
            "{last}"
        );
    }
    let memory = place.run(&["demo", "--dir", "c", "--memory", "-q"]).expect(0);
    assert!(memory.out.contains("jobs are kept in memory"), "{}", memory.out);
    let mut jobs = std::fs::read_dir(place.path().join("a/workspace/jobs")).unwrap();
    let summary = jobs.next().unwrap().unwrap().path().join("summary.md");
    let summary = std::fs::read_to_string(summary).unwrap();
    assert!(summary.contains("for the stage crew") && summary.contains("20:45"), "{summary}");
}

#[test]
fn a_failed_job_fails_run() {
    let dev = Dev::start();
    // Nobody confirms the plan, so the deadline expires.
    let ran = dev.run(&["run", "Summarise a.md", "--deadline", "300ms", "--id", "j1"]).expect(1);
    assert!(ran.out.contains("deadline_exceeded"), "{}", ran.out);
}
