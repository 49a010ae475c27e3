//! The line editor of `chat` at a terminal, against a complete installation.

use crate::{company::Dev, tmux::Tmux};

fn open(dev: &Dev) -> Option<Tmux> {
    let tmux = Tmux::open(dev, 100, 120)?;
    tmux.types(&dev.line(&["chat", "--conversation", "c1"]));
    tmux.sees_until("the prompt", |shown| shown.trim_end().ends_with('>'));
    Some(tmux)
}

#[test]
fn commands_are_completed_lines_are_kept_and_words_that_leave_are_no_tasks() {
    let dev = Dev::start();
    let Some(tmux) = open(&dev) else { return };
    tmux.press(&["/sta", "Tab"]);
    tmux.sees("> /status");
    tmux.press(&["Enter"]);
    tmux.sees("There is no task in progress");
    tmux.press(&["?", "Enter"]);
    let help = tmux.sees("/resume");
    assert!(help.contains("/agent") && help.contains("/cost") && help.contains("/diff"), "{help}");
    tmux.types("/agent nobody");
    tmux.sees("there is no agent nobody");
    tmux.types("/agent fastgpt");
    tmux.sees("The next tasks use the agent fastgpt");
    // Two lines of one text: the first ends with a backslash.
    tmux.types("/todo buy milk \\");
    tmux.sees_until("the next line", |shown| shown.trim_end().ends_with('…'));
    tmux.types("and bread");
    tmux.sees("was created");
    tmux.types("exit");
    tmux.is_restored();
    assert!(!dev.run(&["jobs", "ls"]).expect(0).out.contains("exit"));

    tmux.types(&dev.line(&["chat", "--conversation", "c1"]));
    tmux.sees_until("the prompt", |shown| shown.trim_end().ends_with('>'));
    tmux.press(&["Up", "Up", "Up"]);
    tmux.sees("> /agent fastgpt");
    tmux.press(&["C-c"]);
    tmux.sees("press again to leave");
    tmux.press(&["C-c"]);
    tmux.is_restored();
}

#[test]
fn words_during_a_plan_check_change_it_only_when_the_person_says_so() {
    let dev = Dev::start();
    let Some(tmux) = open(&dev) else { return };
    tmux.types("Summarise notes.md");
    tmux.sees("how it is to change:");
    tmux.types("what is the weather");
    tmux.sees("These words change the plan");
    tmux.press(&["Enter"]);
    tmux.sees_until("the question", |shown| shown.matches("how it is to change:").count() > 1);
    let log = |dev: &Dev| dev.run(&["jobs", "ls", "-o", "ids"]).expect(0).out;
    let job = log(&dev).trim().to_owned();
    assert!(!dev.run(&["jobs", "show", &job]).expect(0).out.contains("weather"));
    tmux.types("one step less");
    tmux.sees("change the plan? (y yes");
    tmux.types("y");
    let plans = |shown: &str| shown.matches("Carry out this plan").count();
    tmux.sees_until("the plan in its place", |shown| plans(shown) > 2);
    assert!(dev.run(&["jobs", "show", &job]).expect(0).out.contains("one step less"));
    tmux.types("Summarise others.md");
    tmux.sees_until("the choice", |shown| shown.matches("change the plan? (y yes").count() > 1);
    tmux.types("n");
    tmux.sees(&format!("callboard inbox show {job}"));
    tmux.sees_until("the second task", |_| log(&dev).lines().count() == 2);
    tmux.types("/quit");
    tmux.is_restored();
}
