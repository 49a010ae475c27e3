//! Snapshots of every screen at three sizes in both languages, and what holds for all of them.

use proto::{consequence::Consequence, escape, lang::Language};
use ratatui::{Terminal, backend::TestBackend};
use serde_json::json;

use super::samples::{self, read};
use crate::{
    draw,
    model::{Input, Key, Loaded, Model, Pane, Screen, Stage},
    render::text,
};

const SIZES: [(u16, u16); 3] = [(40, 10), (80, 24), (120, 40)];

/// Draws a model and returns the rows of the screen.
pub(super) fn drawn(model: &Model) -> String {
    let (columns, rows) = model.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw::draw(frame, model, false)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y: u16| {
        let (mut line, mut x) = (String::new(), 0);
        while x < columns {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide character has a second, hidden cell.
            x += u16::try_from(text::width(symbol).max(1)).unwrap();
        }
        line.trim_end().to_owned()
    };
    (0..rows).map(row).collect::<Vec<_>>().join("\n")
}

fn press(model: &mut Model, keys: &str) {
    for c in keys.chars() {
        let key = match c {
            '\n' => Key::Enter,
            '\t' => Key::Tab,
            c => Key::Char(c),
        };
        model.step(Input::Key(key));
    }
}

/// Compares a drawing at every size and in every language with its snapshot.
fn check(name: &str, make: impl Fn(Language, (u16, u16)) -> Model) {
    for language in Language::ALL {
        for size in SIZES {
            let shown = drawn(&make(*language, size));
            assert!(!shown.chars().any(|c| c != '\n' && escape::is_deceptive(c)), "{shown}");
            insta::assert_snapshot!(format!("{name}_{}_{}", size.0, language.code()), shown);
        }
    }
}

#[test]
fn every_screen() {
    for screen in Screen::ALL {
        check(screen.word(), |language, size| samples::model(language, screen, size));
    }
}

#[test]
fn a_workflow_says_where_it_is_and_what_happens_at_its_nodes() {
    check("workflow", |language, size| {
        let mut model = samples::model(language, Screen::Job, size);
        for event in samples::node_events() {
            samples::watched(&mut model, json!({"type": "event", "event": event}));
        }
        samples::watched(&mut model, json!({"type": "view", "view": samples::workflow()}));
        model.job.as_mut().unwrap().pane = Pane::Log;
        model
    });
}

#[test]
fn a_screen_without_data_says_what_to_do_first() {
    check("nothing", |language, size| {
        let mut model = samples::empty(language, size);
        model.step(Input::Loaded(Loaded::Jobs(read(json!({"jobs": [], "more": false})))));
        model
    });
}

#[test]
fn a_dialog_shows_what_follows_and_its_default_is_no() {
    check("cancel", |language, size| {
        let mut model = samples::model(language, Screen::Jobs, size);
        press(&mut model, "x");
        model
    });
    check("approve_call", |language, size| {
        let mut model = samples::model(language, Screen::Inbox, size);
        press(&mut model, "ja");
        model
    });
    check("restart", |language, size| foreseen(language, size, "jR", &samples::restart()));
    check("roll_back", |language, size| foreseen(language, size, "[[b", &samples::roll_back()));
    check("form", |language, size| {
        let mut model = samples::model(language, Screen::Inbox, size);
        press(&mut model, "jjjjaAnn\n");
        model
    });
}

/// A dialog about a request of which the front door has said what it would do.
fn foreseen(language: Language, size: (u16, u16), keys: &str, consequence: &Consequence) -> Model {
    let mut model = samples::model(language, Screen::Job, size);
    press(&mut model, keys);
    let asked = match model.dialog.as_ref().map(|dialog| &dialog.stage) {
        Some(Stage::Foreseeing(request)) => request.preview().unwrap(),
        other => panic!("{other:?}"),
    };
    let said = Ok(Box::new(samples::previewed(consequence, None)));
    model.step(Input::Previewed(Box::new(asked), said));
    model
}

#[test]
fn help_and_the_log_of_commands_lie_over_the_screen() {
    check("help", |language, size| {
        let mut model = samples::model(language, Screen::Jobs, size);
        press(&mut model, "?");
        model
    });
    check("commands", |language, size| {
        let mut model = samples::model(language, Screen::Jobs, size);
        press(&mut model, "xy\n");
        model.step(Input::Sent(Ok(())));
        press(&mut model, ";");
        model
    });
}

#[test]
fn the_past_of_a_job_is_named_and_compared_with_now() {
    check("past", |language, size| {
        let mut model = samples::model(language, Screen::Job, size);
        press(&mut model, "[[[");
        let seq = model.job.as_ref().unwrap().past.as_ref().unwrap().seq;
        let mut view = samples::view();
        view["seq"] = json!(seq);
        view["plan"]["steps"][1]["state"] = json!("pending");
        let loaded = Loaded::At(samples::id("report"), seq, Box::new(read(view)));
        model.step(Input::Loaded(loaded));
        press(&mut model, "d");
        model
    });
}

#[test]
fn every_pane_of_a_job_fits_a_narrow_terminal() {
    for pane in Pane::ALL {
        let mut model = samples::model(Language::En, Screen::Job, (40, 10));
        model.job.as_mut().unwrap().pane = pane;
        insta::assert_snapshot!(format!("pane_{pane:?}"), drawn(&model));
    }
}

#[test]
fn a_terminal_of_any_size_is_drawn_without_a_panic() {
    for screen in Screen::ALL {
        for columns in [1, 2, 5, 9, 20, 39, 79, 80, 81, 300] {
            for rows in [1, 2, 3, 4, 5, 6, 7, 11, 16, 30] {
                let mut model = samples::model(Language::Zh, screen, (columns, rows));
                drawn(&model);
                for keys in ["x", "\u{1b}", "?", "a", ";", ":job", "/文"] {
                    press(&mut model, keys);
                    drawn(&model);
                    model.step(Input::Key(Key::Escape));
                }
            }
        }
    }
}

#[test]
fn data_that_is_old_says_since_when() {
    let mut model = samples::model(Language::En, Screen::Jobs, (80, 24));
    let failure = proto::error::Failure::new(proto::error::Code::Timeout, "no answer\u{1b}[2J");
    model.step(Input::NotLoaded(crate::model::Fetch::Jobs, Box::new(failure)));
    let shown = drawn(&model);
    assert!(shown.contains("not live since now: timeout: no answer"), "{shown}");
    assert!(shown.contains("Plan a trip to Kyoto"), "the data stays: {shown}");
    model.step(Input::Loaded(Loaded::Jobs(read(samples::jobs()))));
    assert!(!drawn(&model).contains("not live"));
}
