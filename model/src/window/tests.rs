//! Fitting: properties over random conversations, and token counts of real vocabularies.

use proptest::prelude::*;
use proto::message::ModelCall;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::{ModelRequest, ModelStream};

/// A model that only counts tokens.
struct Counted(Option<u32>);

#[async_trait]
impl Model for Counted {
    async fn stream(&self, _: ModelRequest) -> Result<ModelStream, ModelError> {
        unreachable!("nothing is asked in these tests")
    }

    fn context_tokens(&self, _: Option<&str>) -> Option<u32> {
        self.0
    }
}

fn asked(model: &dyn Model) -> ModelTarget<'_> {
    ModelTarget { model, name: None }
}

/// Builds a conversation from the sizes of each turn's results.
fn conversation(task: usize, turns: &[Vec<usize>]) -> Vec<Message> {
    let mut messages = vec![
        Message::System { text: "You carry out one step.".into() },
        Message::User { text: "任务 task ".repeat(task) },
    ];
    for (turn, results) in turns.iter().enumerate() {
        let id = |call: usize| format!("t{turn}c{call}");
        let calls = (0..results.len()).map(|n| ModelCall {
            id: id(n),
            name: "read".into(),
            args: json!({"turn": turn}),
        });
        messages.push(Message::Assistant {
            text: format!("turn {turn}"),
            calls: calls.collect(),
            opaque: None,
        });
        for (n, size) in results.iter().enumerate() {
            let text = "结果 result ".repeat(*size);
            messages.push(Message::Tool { call: id(n), name: "read".into(), text });
        }
    }
    messages
}

fn offer() -> ToolOffer {
    ToolOffer {
        name: "read".into(),
        description: "Reads".into(),
        schema: json!({"type": "object"}),
    }
}

fn window(keep: u32, tokens: u32) -> Window {
    Window { keep, tokens: Some(tokens) }
}

/// `true` if every result follows its call, and every call has its result.
fn is_whole(messages: &[Message]) -> bool {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        match message {
            Message::Assistant { calls, .. } => {
                if !open.is_empty() {
                    return false;
                }
                open = calls.iter().map(|call| call.id.clone()).collect();
            }
            Message::Tool { call, .. } => {
                let Some(at) = open.iter().position(|id| id == call) else { return false };
                open.remove(at);
            }
            Message::System { .. } | Message::User { .. } => {}
        }
    }
    open.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn what_is_left_is_whole_fits_and_is_always_the_same(
        task in 0_usize..40,
        turns in prop::collection::vec(prop::collection::vec(0_usize..200, 1..4), 0..12),
        tokens in 256_u32..4000,
        keep in 1_u32..20,
    ) {
        let model = Counted(None);
        let all = conversation(task, &turns);
        let once = fit(all.clone(), &[offer()], window(keep, tokens), Language::En, asked(&model));
        prop_assert_eq!(&once, &fit(all.clone(), &[offer()], window(keep, tokens), Language::En, asked(&model)));
        match once {
            Err(too_large) => {
                // Only the mandatory part is too large: the task and the last turn with truncated
                // results.
                let least = conversation(task, turns.get(turns.len().saturating_sub(1)..).unwrap_or_default());
                prop_assert!(super::tokens(&least, &[offer()], &model) + 100 > too_large.window);
            }
            Ok(Fitted { messages, left_out }) => {
                prop_assert!(super::tokens(&messages, &[offer()], &model) <= tokens as usize);
                prop_assert!(is_whole(&messages));
                let Message::User { text: asked } = &messages[1] else { panic!("no task") };
                let whole_task = asked.starts_with(&"任务 task ".repeat(task));
                prop_assert!(whole_task);
                let said = |m: &Message| matches!(m, Message::Assistant { .. });
                prop_assert_eq!(messages.iter().filter(|m| said(m)).count() + left_out, turns.len());
                // The newest exchanges remain.
                let last = |messages: &[Message]| messages.iter().rev().find(|m| said(m)).cloned();
                prop_assert_eq!(last(&messages), last(&all));
                let results = messages.iter().filter(|m| matches!(m, Message::Tool { .. })).count();
                let newest = turns.last().map_or(0, Vec::len);
                prop_assert!(results <= newest.max(keep as usize));
            }
        }
    }

    #[test]
    fn no_text_breaks_the_estimate_and_a_longer_one_never_has_fewer_tokens(text in ".{0,200}", more in ".{0,50}") {
        let both = [text.as_str(), more.as_str()].join("\n");
        prop_assert!(estimate(&both) >= estimate(&text));
        prop_assert!(estimate(&text) <= 4 * text.chars().count());
    }
}

#[test]
fn without_a_window_everything_is_shown() {
    let all = conversation(1, &[vec![5000], vec![1, 2], vec![3]]);
    let window = Window { keep: 100, tokens: None };
    let fitted = fit(all.clone(), &[], window, Language::En, asked(&Counted(None))).unwrap();
    assert_eq!(fitted, Fitted { messages: all, left_out: 0 });
}

#[test]
fn the_configured_context_and_the_agents_count_both() {
    let all = conversation(1, &[vec![200], vec![200], vec![1]]);
    let left_out = |agent, model| {
        let window = Window { keep: 100, tokens: agent };
        fit(all.clone(), &[], window, Language::En, asked(&Counted(model))).unwrap().left_out
    };
    assert_eq!(left_out(None, None), 0);
    assert_eq!(left_out(Some(300), None), 2);
    assert_eq!(left_out(None, Some(300)), 2);
    assert_eq!(left_out(Some(100_000), Some(300)), 2);
}

#[test]
fn what_is_left_out_is_said_after_the_task() {
    let all = conversation(1, &[vec![1], vec![1], vec![1]]);
    for (language, said) in [
        (Language::En, "[1 earlier exchanges are left out]"),
        (Language::Zh, "[此前的 1 轮已省略]"),
    ] {
        let fitted =
            fit(all.clone(), &[], window(2, 10_000), language, asked(&Counted(None))).unwrap();
        let Message::User { text } = &fitted.messages[1] else { panic!("no task") };
        assert!(text.ends_with(said), "{text}");
    }
}

#[test]
fn results_of_the_last_turn_are_cut_when_they_alone_are_too_large() {
    let all = conversation(1, &[vec![10], vec![5000, 1, 4000]]);
    let fitted = fit(all, &[], window(100, 1000), Language::En, asked(&Counted(None))).unwrap();
    let texts: Vec<usize> = fitted
        .messages
        .iter()
        .filter_map(|m| {
            if let Message::Tool { text, .. } = m { Some(text.chars().count()) } else { None }
        })
        .collect();
    assert_eq!(texts.len(), 3, "all results of the turn are there");
    assert!(texts[0] > 100 && texts[2] > 100, "no more is cut than must be: {texts:?}");
    assert_eq!(texts[1], "结果 result ".chars().count(), "what is short stays");
    assert!(tokens(&fitted.messages, &[], &Counted(None)) <= 1000);
}

#[test]
fn a_task_that_has_no_room_is_an_error_that_says_what_to_do() {
    let error =
        fit(conversation(500, &[]), &[], window(1, 300), Language::En, asked(&Counted(None)))
            .expect_err("it has no room");
    assert!(error.needed > 300 && error.to_string().contains("observe.context_tokens"), "{error}");
}

#[test]
fn words_that_follow_a_reply_stay_with_it() {
    let assistant =
        |text: &str| Message::Assistant { text: text.into(), calls: vec![], opaque: None };
    let user = |text: &str| Message::User { text: text.into() };
    let long = "word ".repeat(300);
    let all =
        vec![user("goal"), assistant(&long), user("no, again"), assistant("plan"), user("ok")];
    let fitted = fit(all, &[], window(1, 300), Language::En, asked(&Counted(None))).unwrap();
    let task = "goal\n\n[1 earlier exchanges are left out]";
    assert_eq!(fitted.messages, vec![user(task), assistant("plan"), user("ok")]);
}

/// Counts of `cl100k_base` and `o200k_base` (tiktoken-rs 0.7), the larger of both.
#[rstest]
#[case("The quick brown fox jumps over the lazy dog. ", 20, 201)]
#[case("fn main() { println!(\"{}\", 1 + 2); }\n", 20, 260)]
#[case("{\"success\":true,\"data\":{\"id\":62,\"title\":\"buy milk\"}}\n", 20, 340)]
#[case("先标记任务 ID:62 完成，再创建一个新的日任务。", 20, 380)]
#[case("いろはにほへと ちりぬるを わかよたれそ つねならむ 東京特許許可局", 20, 820)]
#[case("키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다", 20, 820)]
#[case("Съешь же ещё этих мягких французских булок, да выпей чаю. ", 20, 721)]
#[case("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 20, 841)]
#[case("TWFuIGlzIGRpc3Rpbmd1aXNoZWQsIG5vdCBvbmx5IGJ5IGhpcyByZWFzb24sIGJ1dCBieSB0aGlz", 20, 980)]
#[case("🎭👩‍👩‍👧‍👦🙂🚀✅❌", 50, 1500)]
fn the_estimate_is_rather_too_high(#[case] text: &str, #[case] times: usize, #[case] real: usize) {
    let guessed = estimate(&text.repeat(times));
    assert!(guessed >= real, "{text}: {guessed} below {real}");
    assert!(guessed <= real * 2, "{text}: {guessed} far above {real}");
}

#[test]
fn words_that_are_the_result_are_cut_when_they_alone_are_too_large() {
    let assistant =
        |text: &str| Message::Assistant { text: text.into(), calls: vec![], opaque: None };
    let user = |text: &str| Message::User { text: text.into() };
    let observed = format!("Observation: {} What next?", "word ".repeat(3000));
    let all = vec![user("goal"), assistant("look"), user(&observed)];
    let fitted = fit(all, &[], window(100, 500), Language::En, asked(&Counted(None))).unwrap();
    let Some(Message::User { text }) = fitted.messages.last() else { panic!("not the words") };
    assert!(text.starts_with("Observation: word") && text.ends_with("What next?"), "{text}");
    assert!(tokens(&fitted.messages, &[], &Counted(None)) <= 500);
}

/// Each of two models with different contexts gets a conversation of its own size.
#[test]
fn what_fits_is_a_matter_of_the_model_that_is_asked() {
    let windows = ByModel::usual(Some("usual".into()), Some(50_000)).with("small", 400);
    let model = bounded(std::sync::Arc::new(Counted(None)), windows.others(Some(900)));
    let all = conversation(3, &[vec![60], vec![60], vec![60], vec![60], vec![60], vec![60]]);
    let left = |name| {
        let asked = ModelTarget { model: &*model, name };
        fit(all.clone(), &[], window(100, 100_000), Language::En, asked).unwrap().left_out
    };
    assert_eq!(left(None), left(Some("usual")));
    assert!(left(None) < left(Some("another")), "{} {}", left(None), left(Some("another")));
    assert!(left(Some("another")) < left(Some("small")));
}

#[test]
fn what_fits_is_not_summarised_and_what_does_not_leaves_half_of_the_window() {
    let turns: Vec<Vec<usize>> = (0..8).map(|_| vec![60]).collect();
    let all = conversation(3, &turns);
    let offers = [offer()];
    let model = Counted(None);
    let of = |window: Window| overflow(all.clone(), &offers, window, asked(&model));
    let whole = u32::try_from(tokens(&all, &offers, &model)).unwrap();
    assert_eq!(of(window(100, whole)), None);
    assert_eq!(of(Window { keep: 8, tokens: None }), None);

    let narrow = of(window(100, whole - 1)).unwrap();
    let rest = fit(all.clone(), &offers, window(100, (whole - 1) / 2), Language::En, asked(&model))
        .unwrap();
    assert!(narrow.oldest.abs_diff(rest.left_out) <= 1, "{narrow:?} {}", rest.left_out);
    assert!(narrow.room <= whole as usize / 4, "{narrow:?}");

    // Limited by number only: half of the exchanges stay, and the room is unlimited.
    let few = of(Window { keep: 6, tokens: None }).unwrap();
    assert_eq!((few.oldest, few.room > 1_000_000), (5, true));
    assert_eq!(of(Window { keep: 1, tokens: None }).map(|o| o.oldest), Some(7), "the newest stays");
}

#[test]
fn nothing_is_summarised_where_there_is_no_room_for_a_summary() {
    let all = conversation(200, &[vec![1], vec![1]]);
    let model = Counted(None);
    let whole = u32::try_from(tokens(&all, &[], &model)).unwrap();
    assert!(
        fit(all.clone(), &[], window(100, whole - 10), Language::En, asked(&model))
            .unwrap()
            .left_out
            > 0
    );
    assert_eq!(overflow(all, &[], window(100, whole - 10), asked(&model)), None);
}
