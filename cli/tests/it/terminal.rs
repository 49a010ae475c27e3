//! The program at a terminal: its display, and questions answered in place.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use serde_json::{Value, json};

use crate::{
    company::Dev,
    support::{Place, eventually, signal},
};

/// A pseudo-terminal with the running program.
struct Terminal {
    master: File,
    child: Child,
    shown: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    fn open(dev: &Dev, columns: u16, args: &[&str]) -> Self {
        Self::run(dev.command(args), columns)
    }

    fn run(mut command: Command, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave =
            || -> OwnedFd { File::options().read(true).write(true).open(&name).unwrap().into() };
        command.env_remove("CI").env("TERM", "xterm").env("USER", "ann");
        command
            .stdin(Stdio::from(slave()))
            .stdout(Stdio::from(slave()))
            .stderr(Stdio::from(slave()));
        let child = command.spawn().unwrap();
        let master = File::from(master);
        let mut input = master.try_clone().unwrap();
        let shown = Arc::new(Mutex::new(String::new()));
        let screen = Arc::clone(&shown);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails once the program has closed the terminal.
            while let Ok(read @ 1..) = input.read(&mut bytes) {
                screen.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        });
        Self { master, child, shown, reader }
    }

    fn sees(&self, words: &str) {
        eventually(words, || self.shown.lock().unwrap().contains(words).then_some(()));
    }

    /// Types a line once a prompt is displayed.
    fn types(&mut self, asked: &str, line: &str) {
        self.sees(asked);
        self.shown.lock().unwrap().clear();
        self.master.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn ends(mut self, code: i32) -> String {
        let status = eventually("the end", || self.child.try_wait().unwrap());
        self.reader.join().unwrap();
        let shown = self.shown.lock().unwrap().clone();
        assert_eq!(status.code(), Some(code), "{shown}");
        shown
    }
}

#[test]
fn questions_are_answered_in_place_and_the_tree_is_drawn() {
    let dev = Dev::start();
    let mut terminal = Terminal::open(&dev, 80, &["run", "Summarise notes.md", "--id", "j1"]);
    terminal.types("how it is to change:", "");
    terminal.types("how it is to change:", "c");
    terminal.types("choose:", "7");
    terminal.types("not one of the options", "the cast");
    let shown = terminal.ends(0);
    for part in ["✓", "step3", "for the cast", "completed", "\u{1b}[?2026h", "\u{1b}[32m"] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    let log = dev.run(&["jobs", "show", "j1"]).expect(0).out;
    assert!(log.contains("respond by ann \"the cast\""), "{log}");
}

#[test]
fn a_plan_is_revised_with_words_and_a_job_ended_at_a_narrow_terminal() {
    let dev = Dev::start();
    let mut terminal = Terminal::open(&dev, 20, &["run", "总结 notes.md", "--id", "j1"]);
    terminal.types("how it is to change:", "少一步");
    terminal.types("how it is to change:", "x");
    terminal.types("end the job? [y/N]", "n");
    terminal.types("how it is to change:", "x");
    terminal.types("end the job? [y/N]", "y");
    let shown = terminal.ends(3);
    assert!(shown.contains("canceled"), "{shown}");
    assert!(dev.run(&["jobs", "show", "j1"]).expect(0).out.contains("“少一步”"));
}

#[test]
fn every_line_typed_in_the_demo_answers_the_question_before_it() {
    let place = Place::new();
    let command = place.command(&["demo", "--memory", "--dir", "demo"]);
    let mut terminal = Terminal::run(command, 80);
    terminal.sees("In English:");
    terminal.types("how it is to change:", "c");
    terminal.types("choose:", "2");
    terminal.sees("a summary for the cast");
    terminal.sees("In Chinese,");
    terminal.types("how it is to change:", "c");
    terminal.sees("the console shows both jobs: http://127.0.0.1:");
    signal(&terminal.child, "-INT");
    let shown = terminal.ends(0);
    assert!(shown.contains("both jobs did what they should"), "{shown}");
}

#[test]
fn dev_greets_in_seven_lines_and_keeps_its_log_in_a_file() {
    let place = Place::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("nats://127.0.0.1:{port}");
    let terminal = Terminal::run(place.command(&["--url", &url, "dev"]), 100);
    terminal.sees("Ctrl-C");
    eventually("the log", || {
        let log = std::fs::read_to_string(place.path().join(".callboard-dev/callboard.log"));
        log.is_ok_and(|log| log.contains("at work")).then_some(())
    });
    let greeting = terminal.shown.lock().unwrap().clone();
    let lines: Vec<&str> = greeting.lines().collect();
    assert_eq!(lines.len(), 7, "{greeting}");
    let submit = format!("callboard --url {url} run \"Summarise notes.md\"");
    assert!(lines[4].contains(&submit) && lines[5].contains("http://127.0.0.1:"), "{greeting}");
    assert!(lines[6].contains("callboard.log"), "{greeting}");
    signal(&terminal.child, "-INT");
    terminal.ends(0);
}

#[test]
fn a_question_that_somebody_else_answers_is_given_up() {
    let dev = Dev::start();
    let terminal = Terminal::open(&dev, 80, &["run", "Summarise notes.md", "--id", "j1"]);
    terminal.sees("how it is to change:");
    dev.run(&["inbox", "approve", "j1"]).expect(0);
    terminal.sees("the question is closed");
    terminal.sees("choose:");
    signal(&terminal.child, "-INT");
    let shown = terminal.ends(130);
    assert!(shown.contains("job j1 continues"), "{shown}");
}

#[test]
fn a_cancel_is_confirmed_at_a_terminal() {
    let dev = Dev::start();
    dev.run(&["submit", "Summarise notes.md", "--id", "j1"]).expect(0);
    dev.asked("j1");
    let mut no = Terminal::open(&dev, 80, &["jobs", "cancel", "j1"]);
    no.sees("Ends the job. Nothing new starts");
    no.types("Cancel it? [y/N]", "n");
    assert!(no.ends(2).contains("nothing was done"));
    let tried = dev.run(&["jobs", "cancel", "j1", "--dry-run"]).expect(0);
    assert!(tried.out.starts_with("j1: Ends the job."), "{}", tried.out);
    let tried = dev.run(&["jobs", "cancel", "--all", "--dry-run", "-o", "ids"]).expect(0);
    assert_eq!(tried.out.trim(), "j1");
    let fork = ["jobs", "fork", "j1", "--dry-run", "-o", "json"];
    let tried: Value = serde_json::from_str(&dev.run(&fork).expect(0).out).unwrap();
    assert_eq!(
        (&tried["sentences"][0]["name"], tried.get("refused")),
        (&json!("fork"), None),
        "{tried}"
    );
    dev.run(&["jobs", "rollback", "j1", "--to", "999", "--dry-run"]).refused(6, "999");
    let old = ["jobs", "cancel", "j1", "--expect", "1", "--yes"];
    dev.run(&old).refused(6, "other records after 1");
    dev.run(&["jobs", "cancel", "j1", "j2", "--expect", "1", "--yes"])
        .refused(2, "so name one job");
    let mut yes = Terminal::open(&dev, 80, &["jobs", "cancel", "j1"]);
    yes.types("Cancel it? [y/N]", "y");
    assert!(yes.ends(0).contains("canceled"));
}

#[test]
fn raw_output_is_refused_at_a_terminal() {
    let dev = Dev::start();
    let terminal = Terminal::open(&dev, 80, &["run", "x", "--raw"]);
    assert!(terminal.ends(2).contains("may control a terminal"));
}

#[test]
fn a_conversation_at_a_terminal_asks_in_place_and_ctrl_c_twice_leaves_while_the_job_goes_on() {
    let dev = Dev::start();
    let mut terminal = Terminal::open(&dev, 80, &["chat", "--conversation", "c1"]);
    terminal.types("> ", "/todo buy milk");
    terminal.types("was created", "Summarise notes.md");
    terminal.types("how it is to change:", "/view");
    terminal.types("buy milk", "c");
    terminal.sees("choose:");
    signal(&terminal.child, "-INT");
    terminal.sees("press again to leave");
    signal(&terminal.child, "-INT");
    let shown = terminal.ends(130);
    assert!(shown.contains("callboard chat --conversation c1"), "{shown}");

    let mut terminal = Terminal::open(&dev, 80, &["chat", "--conversation", "c1"]);
    terminal.types("choose:", "2");
    terminal.types("for the cast", "/quit");
    terminal.ends(0);
}
