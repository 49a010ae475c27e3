//! Goals, and the verdict whether they need a plan.

use proto::tool::ToolSpec;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::testing;

fn detected(goal: &str, allowed: &Value) -> Detected {
    let work = testing::work(json!({"goal": goal, "tools": allowed}));
    let specs: Vec<ToolSpec> = testing::tools();
    let tools = Toolbox::new(&specs, work.model.tools.as_deref());
    at_once(&work, &Detect { by: Detector::Patterns, model: None }, &tools).unwrap()
}

#[rstest]
#[case::first_then("先查天气然后写信", "先.*然后")]
#[case::again_and_again("查天气，再写信，再寄出", "再.*再")]
#[case::three_commas("查天气，写信，寄出，归档", "，.*，.*，")]
#[case::complete_and_create("标记任务62完成并创建新任务", "完成.*创建")]
#[case::create_and_complete("创建发邮件任务并标记完成", "创建.*完成")]
#[case::delete_and_create("删除任务3，创建任务4", "删除.*创建")]
#[case::two_in_a_row(
    "创建任务A，创建任务B",
    "(创建|新建|添加|修改|更新|标记|完成|删除|取消|发送).*[，,、；;。].*(创建|新建|添加|修改|更新|标记|完成|删除|取消|发送)"
)]
#[case::first_then_en("First look it up, then write a letter", r"\bfirst\b.*\bthen\b")]
#[case::then_then_en("look it up then write then send", r"\bthen\b.*\bthen\b")]
#[case::three_commas_en("look it up, write, send, file", ",.*,.*,")]
#[case::complete_create_en(
    "Complete task 62 and create another",
    r"\b(complet|finish)\w*.*\bcreat\w*"
)]
#[case::create_complete_en(
    "create the mail task and finish it",
    r"\bcreat\w*.*\b(complet|finish)\w*"
)]
#[case::two_in_a_row_en(
    "create task A, create task B",
    r"\b(creat|add|updat|chang|mark|complet|finish|delet|remov|cancel|send)\w*\b.*(,|;|\band\b).*\b(creat|add|updat|chang|mark|complet|finish|delet|remov|cancel|send)\w*\b"
)]
#[case::delete_create_en("removing 3 and creating 4", r"\b(delet|remov)\w*.*\bcreat\w*")]
fn several_things_to_do_need_a_plan(#[case] goal: &str, #[case] pattern: &str) {
    let detected = detected(goal, &json!(["create_task"]));
    assert_eq!((detected.complex, detected.why.as_str()), (true, pattern));
}

#[rstest]
#[case("标记任务62完成")]
#[case("明天天气怎么样？")]
#[case("Complete task 62")]
#[case("What is the weather, please?")]
#[case("athena, strengthen")]
#[case("")]
fn one_thing_to_do_needs_none(#[case] goal: &str) {
    assert!(!detected(goal, &json!(["create_task"])).complex);
}

#[test]
fn without_tools_nothing_needs_a_plan() {
    let detected = detected("先查天气然后写信", &json!([]));
    assert_eq!((detected.complex, detected.why.as_str()), (false, "no tools are offered"));
}

#[test]
fn there_are_seven_patterns_of_the_design_and_one_for_enumerations() {
    assert!(PATTERNS.iter().all(|(_, file)| file.lines().count() == 8));
    assert_eq!(COMPILED.len(), 16);
}

#[rstest]
#[case::simple(Ok(r#"{"complex": false, "why": "one question"}"#), false, "one question")]
#[case::in_a_fence(Ok("Sure:\n```json\n{\"complex\": true, \"why\": \"two\"}\n```"), true, "two")]
#[case::no_verdict(Ok("I think it is simple."), true, "taken for complex: there is no JSON")]
#[case::another_type(Ok(r#"{"complex": "no"}"#), true, "")]
#[case::no_answer(Err("the model timed out".to_owned()), true, "taken for complex: the model timed out")]
fn a_model_is_believed_when_it_says_something(
    #[case] answer: Result<&str, String>,
    #[case] complex: bool,
    #[case] why: &str,
) {
    let detected = understood(answer);
    assert_eq!(detected.complex, complex);
    assert!(detected.why.starts_with(why), "{}", detected.why);
}
