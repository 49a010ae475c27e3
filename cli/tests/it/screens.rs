//! `ui` and `top` at a terminal, against a complete installation.

use std::process::Command;

use crate::{company::Dev, support::Place, tmux::Tmux};

#[test]
fn a_plan_is_approved_on_the_screens_and_the_job_seen_to_its_end() {
    let dev = Dev::start();
    dev.run(&["submit", "Summarise notes.md", "--id", "j1"]).expect(0);
    dev.asked("j1");
    let Some(tmux) = Tmux::open(&dev, 100, 30) else { return };
    tmux.types(&dev.line(&["ui"]));
    let jobs = tmux.sees("Summarise notes.md");
    assert!(jobs.contains("1 Jobs") && jobs.contains("3 Inbox 1"), "{jobs}");
    tmux.press(&["Enter"]);
    let job = tmux.sees("You are asked");
    assert!(job.contains("a approve") && job.contains("r reject"), "{job}");
    tmux.press(&["a"]);
    let dialog = tmux.sees("Runs this plan");
    assert!(dialog.contains("$ callboard inbox approve j1 q1"), "{dialog}");
    tmux.press(&["y", "Enter"]);
    // The demonstration's job asks who the summary is for.
    tmux.sees("a answer");
    tmux.press(&["a"]);
    tmux.sees("›");
    tmux.press(&["2", "Enter"]);
    tmux.sees("The first valid answer wins.");
    tmux.press(&["y", "Enter"]);
    // The newest view may come after the last event.
    tmux.sees_until("the end with its result", |shown| {
        shown.contains("✓ completed") && shown.contains("for the cast")
    });
    // A semicolon alone would end the command of tmux.
    tmux.press(&["\\;"]);
    let log = tmux.sees("Commands of this session");
    assert!(log.contains("✓") && log.contains("callboard inbox answer j1"), "{log}");
    tmux.press(&["Escape"]);
    tmux.sees_until("the screen below", |shown| !shown.contains("Commands of this session"));
    tmux.press(&["L"]);
    tmux.sees("任务详情");
    tmux.press(&["q"]);
    tmux.is_restored();
}

#[test]
fn a_signal_ends_the_screens_and_the_terminal_is_restored() {
    let dev = Dev::start();
    let Some(tmux) = Tmux::open(&dev, 40, 10) else { return };
    tmux.types(&dev.line(&["top", "--read-only"]));
    tmux.sees("5 Pulse");
    let pid = tmux.flag("pane_pid");
    let child = Command::new("pgrep").args(["-P", &pid]).output().unwrap();
    let child = String::from_utf8_lossy(&child.stdout).trim().to_owned();
    assert!(Command::new("kill").args(["-TERM", &child]).status().unwrap().success());
    tmux.is_restored();
}

#[test]
fn a_plan_is_edited_in_an_editor_that_has_the_terminal_for_itself() {
    let dev = Dev::start();
    dev.run(&["submit", "Summarise notes.md", "--id", "j1"]).expect(0);
    dev.asked("j1");
    let editor = dev.dir().join("editor.sh");
    std::fs::write(
        &editor,
        "stty -a | grep -q ' icanon' && sed -i 's/^title: .*/title: Another title/' \"$1\"",
    )
    .unwrap();
    let Some(tmux) = Tmux::open(&dev, 100, 30) else { return };
    tmux.types(&format!("EDITOR='sh {}' {}", editor.display(), dev.line(&["ui", "j1"])));
    tmux.sees("e edit");
    tmux.press(&["e"]);
    tmux.sees("you are asked again before it runs");
    tmux.press_until_gone(&["y", "Enter"], "you are asked again before it runs");
    tmux.sees("Another title");
    tmux.press(&["q"]);
    tmux.is_restored();
}

#[test]
fn the_screens_are_refused_without_a_terminal() {
    let place = Place::new();
    place.run(&["ui"]).refused(2, "the screens need a terminal");
    place.run(&["-o", "json", "top"]).refused(2, "");
}

#[test]
fn a_question_is_picked_from_the_narrowed_list_and_answered() {
    let dev = Dev::start();
    for (job, goal) in [("j1", "Summarise notes.md"), ("j2", "Summarise others.md")] {
        dev.run(&["submit", goal, "--id", job]).expect(0);
        dev.asked(job);
    }
    let Some(tmux) = Tmux::open(&dev, 100, 30) else { return };
    tmux.types(&dev.line(&["inbox", "pick"]));
    tmux.sees_until("both questions", |shown| {
        shown.contains("Summarise notes.md ·") && shown.contains("Summarise others.md ·")
    });
    tmux.press(&["others"]);
    tmux.sees_until("the narrowed list", |shown| !shown.contains("Summarise notes.md ·"));
    tmux.press(&["Enter"]);
    tmux.sees("confirm [c]");
    tmux.types("c");
    tmux.sees("j2 q1 is answered");
    tmux.is_restored();
    assert!(dev.run(&["inbox", "ls", "-o", "ids"]).expect(0).out.contains("j1 q1"));

    tmux.types(&dev.line(&["inbox", "pick"]));
    tmux.sees("Which question?");
    tmux.press(&["Escape"]);
    tmux.is_restored();
    assert!(dev.run(&["inbox", "ls", "-o", "ids"]).expect(0).out.contains("j1 q1"));
    dev.run(&["inbox", "pick"]).refused(2, "callboard inbox ls");
}
