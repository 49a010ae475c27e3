//! What keys lead to: nothing changes without a confirmation, whatever is pressed.

use client::session::open_questions;
use proptest::prelude::*;
use proto::{
    door::Preview,
    error::{Code, Failure},
    escape,
    id::{Seq, StepId},
    interaction::{Remember, Verdict},
    lang::Language,
    point::{Order, Point},
};

use super::{samples, screens::drawn};
use crate::model::{Action, Effect, Fetch, Input, Key, Loaded, Model, Request, Screen, Stage};

fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for c in keys.chars() {
        let key = match c {
            '\n' => Key::Enter,
            '\t' => Key::Tab,
            '\u{1b}' => Key::Escape,
            c => Key::Char(c),
        };
        effects.extend(model.step(Input::Key(key)));
    }
    effects
}

fn sent(effects: &[Effect]) -> Vec<Request> {
    let confirmed = effects.iter().filter_map(|effect| match effect {
        Effect::Send(confirmed) => Some(confirmed.requests().to_vec()),
        Effect::Fetch(_)
        | Effect::Watch(_)
        | Effect::Preview(_)
        | Effect::Edit(_)
        | Effect::Copy(_)
        | Effect::Quit => None,
    });
    confirmed.flatten().collect()
}

/// Returns the preview that was asked for.
fn asked(effects: &[Effect]) -> Box<Preview> {
    let asked = effects.iter().find_map(|effect| match effect {
        Effect::Preview(preview) => Some(preview.clone()),
        Effect::Fetch(_)
        | Effect::Watch(_)
        | Effect::Send(_)
        | Effect::Edit(_)
        | Effect::Copy(_)
        | Effect::Quit => None,
    });
    asked.unwrap_or_else(|| panic!("no preview among {effects:?}"))
}

/// Presses keys that open a dialog about a request, and has the front door say what it would do.
fn press_and_foresee(model: &mut Model, keys: &str, refused: Option<Failure>) {
    let asked = asked(&press(model, keys));
    let previewed = samples::previewed(&samples::restart(), refused);
    model.step(Input::Previewed(asked, Ok(Box::new(previewed))));
}

fn would_repeat() -> Failure {
    Failure::new(Code::WouldRepeat, "pay would run twice")
}

fn order(request: &Request) -> &Order {
    match request {
        Request::Signal(signal) => &signal.signal,
        other @ (Request::Answer(_) | Request::Fork(_)) => panic!("{other:?}"),
    }
}

fn at(screen: Screen) -> Model {
    samples::model(Language::En, screen, (80, 24))
}

#[test]
fn an_action_is_sent_only_after_a_yes() {
    let mut model = at(Screen::Jobs);
    assert!(sent(&press(&mut model, "x\n")).is_empty(), "the default is no");
    assert!(model.dialog.is_none() && model.log.is_empty());
    assert!(sent(&press(&mut model, "xyn")).is_empty(), "n closes");
    let requests = sent(&press(&mut model, "xy\n"));
    assert_eq!(requests.iter().map(order).collect::<Vec<_>>(), [&Order::Cancel]);
    assert_eq!(model.log[0].command, "callboard jobs cancel report");
    assert!(matches!(model.dialog.as_ref().unwrap().stage, Stage::Sending { .. }));
    assert!(sent(&press(&mut model, "\ny\n")).is_empty(), "it is sent once");
    model.step(Input::Sent(Ok(())));
    assert!(model.dialog.is_none() && model.log[0].success == Some(true));
}

#[test]
fn marked_jobs_are_signalled_together_and_those_that_ended_are_left_out() {
    let mut model = at(Screen::Jobs);
    press(&mut model, " jj ");
    press(&mut model, "G ");
    assert_eq!(model.marks.len(), 3);
    let requests = sent(&press(&mut model, "py\n"));
    let all: Vec<_> = requests.iter().map(order).collect();
    assert_eq!(all, [&Order::Pause; 2]);
}

#[test]
fn a_plan_is_approved_with_its_digest_changed_in_words_or_rejected() {
    let verdict = |keys: &str| {
        let mut model = at(Screen::Inbox);
        match sent(&press(&mut model, keys)).pop().unwrap() {
            Request::Answer(answer) => (answer.decision, answer.text, answer.digest),
            other @ (Request::Signal(_) | Request::Fork(_)) => panic!("{other:?}"),
        }
    };
    assert_eq!(verdict("ay\n"), (Verdict::Approve, None, Some(samples::digest())));
    assert_eq!(verdict("cno train\ny\n"), (Verdict::Respond, Some("no train".into()), None));
    assert_eq!(verdict("r\ny\n"), (Verdict::Reject, None, None));
    assert_eq!(verdict("rtoo long\ny\n"), (Verdict::Reject, Some("too long".into()), None));
    assert_eq!(verdict("jay\n"), (Verdict::Approve, None, Some("9f86d081884c7d65".into())));
}

#[test]
fn a_call_is_approved_for_the_job_where_the_box_is_ticked() {
    for (keys, remember) in [("jay\n", None), ("ja y\n", Some(Remember::Job)), ("ja  y\n", None)] {
        let mut model = at(Screen::Inbox);
        match sent(&press(&mut model, keys)).pop().unwrap() {
            Request::Answer(answer) => assert_eq!(answer.remember, remember, "{keys:?}"),
            other @ (Request::Signal(_) | Request::Fork(_)) => panic!("{other:?}"),
        }
    }
}

#[test]
fn questions_choices_and_forms_are_answered_line_by_line() {
    let value = |keys: &str| {
        let mut model = at(Screen::Inbox);
        match sent(&press(&mut model, keys)).pop().unwrap() {
            Request::Answer(answer) => answer.value.unwrap(),
            other @ (Request::Signal(_) | Request::Fork(_)) => panic!("{other:?}"),
        }
    };
    assert_eq!(value("jjaLi Lei\ny\n"), "Li Lei");
    assert_eq!(value("jjja1, 2\ny\n"), serde_json::json!(["r", "blue"]));
    let form = serde_json::json!({"name": "Ann", "n": 7});
    assert_eq!(value("jjjja\nAnn\n7\ny\n"), form, "an empty line does not fill a required field");
}

#[test]
fn a_plan_from_the_editor_is_confirmed_and_a_mistake_goes_back_to_the_editor() {
    let mut model = at(Screen::Inbox);
    let effects = press(&mut model, "e");
    let [Effect::Edit(text)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(text.contains("Kyoto in three days"), "{text}");
    assert!(model.step(Input::Edited(Some(text.clone()))).is_empty());
    assert!(model.dialog.is_none(), "an unchanged plan is not sent");
    press(&mut model, "e");
    let again = model.step(Input::Edited(Some("title: [".into())));
    let [Effect::Edit(text)] = again.as_slice() else { panic!("{again:?}") };
    assert!(text.starts_with("# ! ") && text.ends_with("title: [\n"), "{text}");
    model.step(Input::Edited(Some("title: Osaka\nsteps: []\n".into())));
    let requests = sent(&press(&mut model, "y\n"));
    let [Request::Answer(answer)] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!((answer.decision, answer.digest.clone()), (Verdict::Edit, Some(samples::digest())));
    assert_eq!(answer.value.as_ref().unwrap()["title"], "Osaka");
    // A refused draft is not lost.
    model.step(Input::Sent(Err(Box::new(Failure::new(Code::InvalidAnswer, "no steps")))));
    let effects = press(&mut model, "\u{1b}e");
    assert!(matches!(effects.as_slice(), [Effect::Edit(text)] if text.contains("Osaka")));
}

#[test]
fn a_repetition_is_allowed_only_when_the_server_asks_and_the_person_ticks_it() {
    let mut model = at(Screen::Job);
    press_and_foresee(&mut model, "jR", None);
    let requests = sent(&press(&mut model, " y\n"));
    assert!(matches!(order(&requests[0]), Order::Restart { again: false, .. }));
    model.step(Input::Sent(Err(Box::new(would_repeat()))));
    assert!(drawn(&model).contains("pay would run twice"));
    assert!(sent(&press(&mut model, "\n")).is_empty(), "the default is no again");
    press_and_foresee(&mut model, "R", None);
    press(&mut model, "y\n");
    model.step(Input::Sent(Err(Box::new(would_repeat()))));
    let requests = sent(&press(&mut model, " y\n"));
    assert!(matches!(order(&requests[0]), Order::Restart { again: true, .. }));
    model.step(Input::Sent(Ok(())));
    // The preview has asked for the permission already.
    press_and_foresee(&mut model, "R", Some(would_repeat()));
    assert!(drawn(&model).contains("pay would run twice"));
    let requests = sent(&press(&mut model, " y\n"));
    assert!(matches!(order(&requests[0]), Order::Restart { again: true, .. }));
}

#[test]
fn what_an_action_undoes_is_said_by_the_front_door_before_the_question() {
    for (keys, expected) in [
        ("jR", "callboard jobs restart report write"),
        ("[b", "callboard jobs rollback report --to 21"),
        ("[f", "callboard jobs fork report --at 21"),
    ] {
        let mut model = at(Screen::Job);
        let asked = asked(&press(&mut model, keys));
        assert!(sent(&press(&mut model, "y\ny\n")).is_empty(), "nobody knows yet what it does");
        assert!(drawn(&model).contains("asking what this would do"));
        let consequence = samples::restart();
        let said = Box::new(samples::previewed(&consequence, None));
        let other = Box::new(Request::fork(&samples::id("trip"), None).preview().unwrap());
        model.step(Input::Previewed(other, Ok(said.clone())));
        assert!(drawn(&model).contains("asking"), "the reply about another request is ignored");
        model.step(Input::Previewed(asked.clone(), Ok(said)));
        let Some(Stage::Deciding { consequence: shown, requests, .. }) =
            model.dialog.as_ref().map(|dialog| &dialog.stage)
        else {
            panic!("{:?}", model.dialog)
        };
        assert_eq!(*shown, escape::line(&consequence.text(Language::En)));
        assert_eq!(requests[0].preview().as_ref(), Some(&*asked));
        assert!(sent(&press(&mut model, "\n")).is_empty(), "the default is no");
        press_and_foresee(&mut model, keys.trim_start_matches(['j', '[']), None);
        let requests = sent(&press(&mut model, "y\n"));
        assert_eq!(requests[0].command(), expected);
    }
}

#[test]
fn a_request_that_would_be_refused_is_not_offered_and_one_that_nobody_foresees_is() {
    let mut model = at(Screen::Job);
    let gone = Failure::new(Code::NotFound, "no such step\u{1b}[2J");
    press_and_foresee(&mut model, "jR", Some(gone));
    assert!(drawn(&model).contains("not_found: no such step"));
    assert!(sent(&press(&mut model, "y\n")).is_empty() && model.dialog.is_none());
    let asked = asked(&press(&mut model, "R"));
    let away = Box::new(Failure::new(Code::Unavailable, "no front door"));
    model.step(Input::Previewed(asked, Err(away)));
    assert!(drawn(&model).contains("unavailable: no front door"));
    assert!(matches!(
        order(&sent(&press(&mut model, "y\n"))[0]),
        Order::Restart { again: false, .. }
    ));
}

#[test]
fn the_past_is_loaded_rolled_back_to_and_left() {
    let mut model = at(Screen::Job);
    let effects = press(&mut model, "[");
    assert!(
        matches!(effects.as_slice(), [Effect::Fetch(Fetch::At(job, Seq(21)))] if job.as_str() == "report")
    );
    press(&mut model, "{{");
    assert_eq!(model.job.as_ref().unwrap().past.as_ref().unwrap().seq, Seq(9));
    let view = Box::new(samples::read(samples::view()));
    model.step(Input::Loaded(Loaded::At(samples::id("report"), Seq(21), view)));
    assert!(model.job.as_ref().unwrap().view().is_none(), "the reply to another point is ignored");
    press_and_foresee(&mut model, "b", None);
    let requests = sent(&press(&mut model, "y\n"));
    assert_eq!(*order(&requests[0]), Order::RollBack { to: Point::Seq(Seq(9)), again: false });
    model.step(Input::Sent(Ok(())));
    assert!(!model.is_in_the_past());
    press(&mut model, "[]");
    assert!(!model.is_in_the_past(), "after the last event comes the present");
}

#[test]
fn nothing_is_offered_that_changes_something_when_it_is_read_only() {
    for screen in Screen::ALL {
        let mut model = at(screen);
        model.read_only = true;
        let offered = Action::ALL.into_iter().filter(|a| a.changes() && a.is_possible(&model));
        assert_eq!(offered.count(), 0);
        for key in "arcepsxtRbf".chars() {
            model.step(Input::Key(Key::Char(key)));
            assert!(model.dialog.is_none(), "{key}");
        }
    }
}

#[test]
fn commands_go_to_screens_and_jobs() {
    let mut model = at(Screen::Jobs);
    press(&mut model, ":inb\n");
    assert_eq!(model.screen, Screen::Inbox);
    let effects = press(&mut model, ":job trip\n");
    assert!(matches!(effects.as_slice(), [Effect::Watch(job)] if job.as_str() == "trip"));
    press(&mut model, "\u{1b}");
    assert_eq!(model.screen, Screen::Inbox, "back to where it was opened");
    assert!(press(&mut model, ":nonsense\n").is_empty());
    assert!(model.notice.is_some());
    assert!(matches!(press(&mut model, ":q\n").as_slice(), [Effect::Quit]));
    assert!(
        matches!(press(&mut model, "1yq").as_slice(), [.., Effect::Copy(command), Effect::Quit] if command == "callboard jobs describe report")
    );
}

#[test]
fn help_runs_the_action_that_was_found() {
    let mut model = at(Screen::Jobs);
    press(&mut model, "?cancel\n");
    assert!(model.dialog.is_some());
}

#[test]
fn the_filter_narrows_the_list_and_the_cursor_stays_on_its_job() {
    let mut model = at(Screen::Jobs);
    press(&mut model, "/kyoto\n");
    assert_eq!(model.listed().len(), 1);
    press(&mut model, "\u{1b}jj");
    let selected = model.selected_job();
    let mut jobs = samples::jobs();
    jobs["jobs"].as_array_mut().unwrap().remove(0);
    model.step(Input::Loaded(Loaded::Jobs(samples::read(jobs))));
    assert_eq!(model.selected_job(), selected);
}

#[test]
fn every_open_question_of_a_job_is_one_that_the_screen_can_answer() {
    let mut model = at(Screen::Job);
    let mut view = samples::view();
    view["questions"] = samples::questions();
    samples::watched(&mut model, serde_json::json!({"type": "view", "view": view}));
    let open = open_questions(model.job.as_ref().unwrap().now().unwrap());
    assert_eq!(model.question().unwrap().key(), open[0].key());
    assert!(drawn(&model).contains("You are asked: Is this plan right?"));
}

fn key() -> impl Strategy<Value = Key> {
    let named = [
        Key::Enter,
        Key::Escape,
        Key::Tab,
        Key::BackTab,
        Key::Backspace,
        Key::Delete,
        Key::Up,
        Key::Down,
        Key::Left,
        Key::Right,
        Key::PageUp,
        Key::PageDown,
        Key::Home,
        Key::End,
        Key::Control('u'),
        Key::Control('w'),
    ];
    let letters: Vec<char> = "aarrceepsxxbfRRt[]{}dy;:/?Lqjk gG123456nhl文\u{1b}".chars().collect();
    prop_oneof![
        2 => proptest::sample::select(named.to_vec()),
        5 => proptest::sample::select(letters).prop_map(Key::Char),
    ]
}

/// The reply to the preview of the restart of a step of the open job.
fn foreseen() -> impl Strategy<Value = Input> {
    let steps = proptest::sample::select(vec!["find", "write", "check", "mail"]);
    let refused = proptest::sample::select(vec![None, Some(Code::WouldRepeat), Some(Code::Stale)]);
    (steps, refused).prop_map(|(step, refused)| {
        let order = Order::Restart { step: StepId::new(step).unwrap(), again: false };
        let asked = Request::signal(&samples::id("report"), order).preview().unwrap();
        let refused = refused.map(|code| Failure::new(code, "no"));
        let previewed = samples::previewed(&samples::restart(), refused);
        Input::Previewed(Box::new(asked), Ok(Box::new(previewed)))
    })
}

fn input() -> impl Strategy<Value = Input> {
    let failure = || Box::new(Failure::new(Code::WouldRepeat, "no"));
    prop_oneof![
        30 => key().prop_map(Input::Key),
        4 => foreseen(),
        1 => Just(Input::Sent(Ok(()))),
        1 => Just(Input::Sent(Err(failure()))),
        1 => Just(Input::Edited(Some("title: t\nsteps: []\n".to_owned()))),
        1 => Just(Input::Edited(None)),
        1 => Just(Input::Pasted("a\u{1b}b\nc".to_owned())),
        1 => (1_u16..130, 1_u16..50).prop_map(|(columns, rows)| Input::Resized(columns, rows)),
        1 => Just(Input::Loaded(Loaded::Jobs(samples::read(serde_json::json!({"jobs": [], "more": false}))))),
        1 => Just(Input::Loaded(Loaded::Jobs(samples::read(samples::jobs())))),
        1 => Just(Input::NotLoaded(Fetch::Jobs, failure())),
        1 => Just(Input::WatchFailed(samples::id("report"), failure())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A request leaves the model only when a dialog was open whose cursor was on yes.
    #[test]
    fn no_keys_panic_and_nothing_is_sent_without_a_confirmation(
        screen in proptest::sample::select(&Screen::ALL[..]),
        inputs in proptest::collection::vec(input(), 1..120),
    ) {
        let mut model = at(screen);
        for input in inputs {
            let is_yes = |model: &Model| match model.dialog.as_ref().map(|dialog| &dialog.stage) {
                Some(Stage::Deciding { yes, .. }) => *yes,
                Some(
                    Stage::Writing(_)
                    | Stage::Foreseeing(_)
                    | Stage::Refused
                    | Stage::Sending { .. },
                )
                | None => false,
            };
            let may_send = is_yes(&model) && matches!(input, Input::Key(Key::Enter));
            let effects = model.step(input);
            prop_assert!(may_send || sent(&effects).is_empty());
            drawn(&model);
        }
    }
}
