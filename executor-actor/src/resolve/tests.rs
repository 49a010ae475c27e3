//! Model replies and the outcomes of their turns.

use proto::message::Usage;
use rstest::rstest;
use runtime::{
    arguments::{self, Placeholders},
    schema::Schemas,
};
use serde_json::json;

use super::*;
use crate::testing;

fn reply(text: &str, calls: &[(&str, Value)], stop: StopReason) -> Reply {
    let calls = calls.iter().enumerate().map(|(n, (name, args))| ModelCall {
        id: format!("c{n}"),
        name: (*name).to_owned(),
        args: args.clone(),
    });
    Reply {
        text: text.to_owned(),
        thought: String::new(),
        calls: calls.collect(),
        opaque: None,
        answered: None,
        usage: Usage::default(),
        stop,
        model: "m".to_owned(),
    }
}

fn resolved(reply: &Reply, work: Value) -> TurnReply {
    let (work, specs, schemas) = (testing::turn(work), testing::tools(), Schemas::new());
    let tools = Toolbox::new(&specs, work.model.tools.as_deref());
    let check = |tool: &ToolSpec, args: &Value| {
        arguments::check(&schemas, tool, args, Placeholders::Literal)
    };
    resolve(reply, &work, &[], &tools, &check)
}

/// Formats an outcome in one line: `done true: …`, `failed transient: …`, or its calls with their
/// targets.
fn line(reply: &TurnReply) -> String {
    match reply {
        TurnReply::Done { success, response, attachments, .. } if attachments.is_empty() => {
            format!("done {success}: {response}")
        }
        TurnReply::Done { success, response, attachments, .. } => {
            format!("done {success}: {response} with {}", attachments.join(" "))
        }
        TurnReply::Summarised { summary, results } => {
            format!("summarised: {summary:?} {results:?}")
        }
        TurnReply::Misfit { text, misfits } => format!("misfit: {text} {misfits:?}"),
        TurnReply::Failed { error } => {
            let kind = if error.is_transient() { "transient" } else { "final" };
            format!("failed {kind}: {}", error.message)
        }
        TurnReply::Calls { text, calls } => {
            let calls: Vec<_> = calls
                .iter()
                .map(|call| match &call.target {
                    CallTarget::Tool { tool, binding } => {
                        format!("{tool}@{}.{}({})", binding.pool, binding.version, call.args)
                    }
                    CallTarget::Person { question } => format!("ask {:?}", question.prompt),
                    CallTarget::Outline { change } => format!("{change:?}"),
                    CallTarget::Refused { error } => format!("no: {error}"),
                })
                .collect();
            format!("{text}| {}", calls.join(" & "))
        }
    }
}

/// Fixed texts are in the language of the job.
#[rstest]
#[case::unknown(&[("creat_task", json!({"title": "A"}))],
    "| no: 未知的工具：creat_task；是否指 create_task？可用的工具：complete_task, create_task, stop")]
#[case::forbidden(&[("secret", json!({}))],
    "| no: 不允许使用工具 secret；可用的工具：complete_task, create_task, stop")]
#[case::wrong_argument(&[("complete_task", json!({}))],
    "| no: complete_task 的参数不符合要求：id：缺少必需的 \"id\"")]
#[case::finish_twice(&[("finish", json!({})), ("stop", json!({}))],
    "| no: finish 必须在其他事情都完成后单独调用 & no: stop 必须在其他事情都完成后单独调用")]
#[case::finish_without_words(&[("finish", json!({"success": true}))], "| no: finish：response：必须是文本")]
fn a_model_is_told_in_the_language_of_the_job(
    #[case] calls: &[(&str, Value)],
    #[case] expected: &str,
) {
    let reply = reply("", calls, StopReason::End);
    assert_eq!(line(&resolved(&reply, json!({"language": "zh"}))), expected);
}

#[rstest]
#[case::text_alone("All done. ", &[], "done true: All done.")]
#[case::finished("", &[("finish", json!({"success": true, "response": " 7 tasks "}))], "done true: 7 tasks")]
#[case::not_reached("x", &[("finish", json!({"success": false, "response": "no such task"}))], "done false: no such task")]
#[case::result_beside("7 tasks", &[("finish", json!({"success": true, "response": ""}))], "done true: 7 tasks")]
#[case::stopped("that is all", &[("stop", json!({}))], "done true: that is all")]
#[case::a_tool("ok", &[("create_task", json!({"title": "A"}))], "ok| create_task@p.7({\"title\":\"A\"})")]
#[case::two_tools("", &[("create_task", json!({"title": "A"})), ("complete_task", json!({"id": 1}))],
    "| create_task@p.7({\"title\":\"A\"}) & complete_task@p.7({\"id\":1})")]
#[case::braces_are_literal("", &[("create_task", json!({"title": "{{step1.id}} ${x} $(y)"}))],
    "| create_task@p.7({\"title\":\"{{step1.id}} ${x} $(y)\"})")]
#[case::a_question("", &[("ask_user", json!({"mode": "query", "prompt": "When?"}))], "| ask \"When?\"")]
#[case::a_bad_question("", &[("ask_user", json!({"mode": "select", "prompt": "When?"}))],
    "| no: ask_user: options: a choice needs a list of options")]
#[case::unknown("", &[("creat_task", json!({"title": "A"}))],
    "| no: there is no tool \"creat_task\"; did you mean create_task? the tools are: complete_task, create_task, stop")]
#[case::look_alike("", &[("create_tаsk", json!({"title": "A"}))],
    "| no: there is no tool \"create_t\\u{430}sk\"; did you mean create_task? the tools are: complete_task, create_task, stop")]
#[case::forbidden("", &[("secret", json!({}))],
    "| no: the tool \"secret\" is not allowed here; the tools are: complete_task, create_task, stop")]
#[case::wrong_argument("", &[("complete_task", json!({"id": "62"}))],
    "| no: the arguments of complete_task do not fit: id: \"62\" is not of type \"integer\"")]
#[case::placeholder_where_a_number_must_be("", &[("complete_task", json!({"id": "{{step1.id}}"}))],
    "| no: the arguments of complete_task do not fit: id: \"{{step1.id}}\" is not of type \"integer\"")]
#[case::missing_argument("", &[("complete_task", json!({}))],
    "| no: the arguments of complete_task do not fit: id: \"id\" is a required property")]
#[case::extra_argument("", &[("complete_task", json!({"id": 1, "force": true}))],
    "| no: the arguments of complete_task do not fit: force: is not an argument of this tool")]
#[case::arguments_that_are_no_json("", &[("complete_task", json!("{\"id\": 6"))],
    "| no: the arguments of complete_task do not fit: the arguments are not valid JSON: EOF while parsing an object at line 1 column 8")]
#[case::finish_beside_a_tool("", &[("complete_task", json!({"id": 1})), ("finish", json!({"success": true, "response": "x"}))],
    "| complete_task@p.7({\"id\":1}) & no: finish must be called alone, when nothing else is to be done")]
#[case::finish_twice("", &[("finish", json!({"success": true, "response": "x"})), ("finish", json!({"success": false, "response": "y"}))],
    "| no: finish must be called alone, when nothing else is to be done & no: finish must be called alone, when nothing else is to be done")]
#[case::stop_beside_a_tool("", &[("stop", json!({})), ("complete_task", json!({"id": 1}))],
    "| no: stop must be called alone, when nothing else is to be done & complete_task@p.7({\"id\":1})")]
#[case::finish_with_files("", &[("finish", json!({"success": true, "response": "x", "attachments": ["out/a.md", " https://example.org/b "]}))],
    "done true: x with out/a.md https://example.org/b")]
#[case::finish_with_a_file_that_is_none("", &[("finish", json!({"success": true, "response": "x", "attachments": ["a", ""]}))],
    "| no: finish: attachments: must be at most 32 paths or addresses of 1 to 1024 bytes")]
#[case::finish_with_too_many_files("", &[("finish", json!({"success": true, "response": "x", "attachments": vec!["a"; 33]}))],
    "| no: finish: attachments: must be at most 32 paths or addresses of 1 to 1024 bytes")]
#[case::finish_with_a_file_of_two_lines("", &[("finish", json!({"success": true, "response": "x", "attachments": ["a\nb"]}))],
    "| no: finish: attachments: must be at most 32 paths or addresses of 1 to 1024 bytes")]
#[case::finish_without_success("", &[("finish", json!({"response": "x"}))], "| no: finish: success: must be true or false")]
#[case::finish_with_a_word("", &[("finish", json!({"success": "yes", "response": "x"}))], "| no: finish: success: must be true or false")]
#[case::finish_without_words("", &[("finish", json!({"success": true}))], "| no: finish: response: must be a text")]
#[case::finish_with_more("", &[("finish", json!({"success": true, "response": "x", "approve": true}))], "| no: finish: approve: is not an argument")]
#[case::finish_without_json("", &[("finish", json!("done"))], "| no: finish: the arguments must be a JSON object")]
fn a_reply_comes_to(#[case] text: &str, #[case] calls: &[(&str, Value)], #[case] expected: &str) {
    let reply = reply(text, calls, StopReason::End);
    assert_eq!(line(&resolved(&reply, json!({}))), expected);
}

#[rstest]
#[case::a_tool(&[("complete_task", json!({"id": 1}))], "| no: no more tools can be called; call finish")]
#[case::a_question(&[("ask_user", json!({"mode": "query", "prompt": "?"}))], "| no: no more tools can be called; call finish")]
#[case::stop(&[("stop", json!({}))], "| no: no more tools can be called; call finish")]
#[case::the_end(&[("finish", json!({"success": false, "response": "out of turns"}))], "done false: out of turns")]
#[case::text(&[], "done true: words")]
fn in_the_last_turn_a_reply_comes_to(#[case] calls: &[(&str, Value)], #[case] expected: &str) {
    let reply = reply(if calls.is_empty() { "words" } else { "" }, calls, StopReason::End);
    assert_eq!(line(&resolved(&reply, json!({"turn": 10}))), expected);
}

#[test]
fn a_question_beyond_the_limit_is_refused() {
    let reply =
        reply("", &[("ask_user", json!({"mode": "query", "prompt": "?"}))], StopReason::ToolCalls);
    assert_eq!(
        line(&resolved(&reply, json!({"may_ask": false}))),
        "| no: no more questions can be asked; go on with what is known"
    );
}

#[test]
fn a_cut_reply_is_never_acted_upon() {
    for calls in [vec![], vec![("complete_task", json!({"id": 6}))]] {
        let reply = reply("Deleting /tmp/a", &calls, StopReason::Length);
        assert!(line(&resolved(&reply, json!({}))).starts_with("failed final: the reply was cut"));
    }
}

#[test]
fn too_many_calls_are_refused_and_an_absurd_number_is_no_reply() {
    let of = |n: usize| {
        let calls = vec![("complete_task", json!({"id": 1})); n];
        resolved(&reply("", &calls, StopReason::ToolCalls), json!({}))
    };
    let TurnReply::Calls { calls, .. } = of(limits::CALLS_PER_TURN_MAX + 1) else { panic!() };
    let refused: Vec<_> =
        calls.iter().filter(|c| matches!(c.target, CallTarget::Refused { .. })).collect();
    assert_eq!((calls.len(), refused.len()), (65, 1));
    assert_eq!(refused[0].id, "c64");
    assert!(line(&of(129)).starts_with("failed transient: the model asked for 129 calls"));
}

#[test]
fn a_huge_response_is_cut_inside_its_bound() {
    for filler in ["x", "字", "🎭"] {
        let huge = filler.repeat(limits::RESPONSE_BYTES_MAX + 1);
        let TurnReply::Done { response, .. } =
            resolved(&reply(&huge, &[], StopReason::End), json!({}))
        else {
            panic!()
        };
        assert!(response.len() <= limits::RESPONSE_BYTES_MAX, "{}", response.len());
        assert!(response.contains("characters cut"));
    }
}

#[test]
fn arguments_too_deep_for_the_log_are_kept_as_text() {
    let deep = (0..100).fold(json!([]), |inner, _| json!([inner]));
    let reply = reply("", &[("complete_task", json!({"id": deep}))], StopReason::ToolCalls);
    let TurnReply::Calls { calls, .. } = resolved(&reply, json!({})) else { panic!() };
    assert!(calls[0].args.is_string());
    assert!(matches!(&calls[0].target, CallTarget::Refused { error } if error.contains("deeper")));
}

#[test]
fn a_plan_of_the_loops_own_is_changed_and_advised_about_and_never_holds_it_back() {
    let outline = json!([
        {"id": "a", "title": "look", "status": "done"},
        {"id": "b", "title": "write", "status": "pending"},
    ]);
    let said = |name: &str, args: Value| reply("", &[(name, args)], StopReason::ToolCalls);
    let keeping = || json!({"outline": outline});
    let update = said("update_plan", json!({"updates": [{"id": "b", "status": "done"}]}));
    let TurnReply::Calls { calls, .. } = resolved(&update, keeping()) else { panic!("no calls") };
    assert!(matches!(calls[0].target, CallTarget::Outline { .. }));
    let TurnReply::Calls { calls, .. } = resolved(&update, json!({})) else { panic!("no calls") };
    assert!(matches!(calls[0].target, CallTarget::Refused { .. }), "offered to nobody else");
    // A change that the outline rejects is reported in the job's language; later changes still
    // apply.
    let chinese = || json!({"outline": outline, "language": "zh"});
    for (args, why) in [
        (json!({"updates": [{"id": "zz", "status": "done"}]}), "没有 zz 这一项；现有的项：a, b"),
        (json!({"updates": [{"id": "b", "status": "over"}]}), "updates[0].status：必须是 pending"),
        (json!({"updates": []}), "至少包含一项"),
    ] {
        let wrong = ("update_plan", args);
        let right = ("update_plan", json!({"updates": [{"id": "b", "status": "done"}]}));
        let both = reply("", &[wrong, right], StopReason::ToolCalls);
        let TurnReply::Calls { calls, .. } = resolved(&both, chinese()) else { panic!("no calls") };
        let CallTarget::Refused { error } = &calls[0].target else { panic!("taken: {why}") };
        assert!(error.contains(why), "{error}");
        assert!(matches!(calls[1].target, CallTarget::Outline { .. }));
    }
    let finish = said("finish", json!({"success": true, "response": "all done"}));
    let TurnReply::Calls { calls, .. } = resolved(&finish, keeping()) else { panic!("no advice") };
    let CallTarget::Refused { error } = &calls[0].target else { panic!("no advice") };
    assert!(error.starts_with("The plan is not done: b (write)."), "{error}");
    let words = reply("all done", &[], StopReason::End);
    assert!(matches!(resolved(&words, keeping()), TurnReply::Calls { .. }));
    let given_up = said("finish", json!({"success": false, "response": "no"}));
    assert!(matches!(resolved(&given_up, keeping()), TurnReply::Done { success: false, .. }));
    let last = json!({"outline": outline, "turn": 9, "max_turns": 9});
    assert!(matches!(resolved(&finish, last), TurnReply::Done { success: true, .. }));
}

/// An argument fixed by the agent is neither offered nor accepted.
#[test]
fn what_is_fixed_of_a_tool_is_not_offered_and_cannot_be_said() {
    let (work, specs, schemas) = (testing::turn(json!({})), testing::tools(), Schemas::new());
    let presets: proto::preset::Presets =
        serde_json::from_value(json!({"complete_task": {"id": 62}})).unwrap();
    let specs: Vec<_> = specs.iter().map(|tool| presets.without(tool)).collect();
    let tools = Toolbox::new(specs.iter().map(AsRef::as_ref), work.model.tools.as_deref());
    let offered = offer::offers(&work, &tools);
    let tool = offered.iter().find(|tool| tool.name == "complete_task").unwrap();
    assert!(tool.schema["properties"].get("id").is_none(), "{}", tool.schema);
    let check = |tool: &ToolSpec, args: &Value| {
        arguments::check(&schemas, tool, args, Placeholders::Literal)
    };
    for (args, expected) in [
        (json!({}), "| complete_task@p.7({})"),
        (
            json!({"id": 1}),
            "| no: the arguments of complete_task do not fit: id: is not an argument of this tool",
        ),
    ] {
        let reply = reply("", &[("complete_task", args)], StopReason::End);
        assert_eq!(line(&resolve(&reply, &work, &[], &tools, &check)), expected);
    }
}
