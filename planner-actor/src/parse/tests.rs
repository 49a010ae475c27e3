//! Replies that deviate from a plan's format, and their results.

use agents::draft::{self, Draft};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

/// Parses a reply to a draft, or returns the error.
fn read_plan(reply: &str) -> Result<Draft, String> {
    let value = value(reply, ReplyForm::Plan).map_err(|e| e.to_string())?;
    draft::of(value).map_err(|e| e.to_string())
}

fn written(draft: &Draft) -> String {
    let steps: Vec<_> = draft
        .steps
        .iter()
        .map(|step| {
            let id = step.id.as_deref().unwrap_or("-");
            let tool = step.tool.as_ref().map(|t| format!("[{t}]")).unwrap_or_default();
            let on = match step.depends_on.as_slice() {
                [] => String::new(),
                on => format!("<{}", on.join(",")),
            };
            format!("{id}{tool}{on}:{}", step.description)
        })
        .collect();
    format!("{}| {}", draft.title, steps.join("; "))
}

const PLAIN: &str = r#"{"title":"T","steps":[{"id":"s1","description":"do"}]}"#;
const READ: &str = "T| s1:do";

#[rstest]
#[case::plain(PLAIN, READ)]
#[case::white_space(
    "\n\t {\"title\":\"T\",\"steps\":[{\"id\":\"s1\",\"description\":\"do\"}]}\n\n",
    READ
)]
#[case::byte_order_mark("\u{feff}{\"title\":\"T\",\"steps\":[\"do\"]}", "T| -:do")]
#[case::fence(
    "```json\n{\"title\":\"T\",\"steps\":[{\"id\":\"s1\",\"description\":\"do\"}]}\n```",
    READ
)]
#[case::fence_without_language("```\n{\"title\":\"T\",\"steps\":[\"do\"]}\n```", "T| -:do")]
#[case::fence_on_one_line("```json {\"title\":\"T\",\"steps\":[\"do\"]}\n```", "T| -:do")]
#[case::fence_closed_on_the_last_line(
    "```json\n{\"title\":\"T\",\"steps\":[\"do\"]}```",
    "T| -:do"
)]
#[case::fence_never_closed("```json\n{\"title\":\"T\",\"steps\":[\"do\"]}", "T| -:do")]
#[case::fence_inside_a_text(
    r#"{"title":"T","steps":["write ```json x``` there"]}"#,
    "T| -:write ```json x``` there"
)]
#[case::fence_inside_a_text_of_malformed_json(
    "{title:'T',steps:[\"write ```json {'steps':['other']} ``` there\"]}",
    "T| -:write ```json {'steps':['other']} ``` there"
)]
#[case::prose_around(
    "Sure! Here is the plan:\n{\"title\":\"T\",\"steps\":[\"do\"]}\nShall I go on?",
    "T| -:do"
)]
#[case::prose_with_brackets(
    "As in [1] and {x}: {\"title\":\"T\",\"steps\":[\"do\"]} (see [2])",
    "T| -:do"
)]
#[case::chinese_prose(
    "好的，计划如下：{\"title\":\"计划\",\"steps\":[\"做\"]}。请确认",
    "计划| -:做"
)]
#[case::thoughts(
    "<think>maybe {\"steps\":[\"no\"]}</think>\n{\"title\":\"T\",\"steps\":[\"do\"]}",
    "T| -:do"
)]
#[case::json_in_a_text(r#""{\"title\":\"T\",\"steps\":[\"do\"]}""#, "T| -:do")]
#[case::the_same_plan_twice("{\"steps\":[\"do\"]}\nagain:\n{\"steps\":[\"do\"]}", "| -:do")]
#[case::trailing_commas(r#"{"title":"T","steps":[{"id":"s1","description":"do",},],}"#, READ)]
#[case::missing_comma(r#"{"title":"T" "steps":[{"id":"s1" "description":"do"}]}"#, READ)]
#[case::unquoted_names(r#"{title: "T", steps: [{id: "s1", description: "do"}]}"#, READ)]
#[case::single_quotes("{'title':'T','steps':[{'id':'s1','description':'do'}]}", READ)]
#[case::double_quotes_in_single_quotes(r#"{'steps':['say "hi"']}"#, r#"| -:say "hi""#)]
#[case::apostrophe_in_single_quotes(r"{'steps':['don\'t']}", "| -:don't")]
#[case::apostrophe_in_double_quotes(
    r#"{title:"it's","steps":["don't stop"]}"#,
    "it's| -:don't stop"
)]
#[case::comments("{\"title\":\"T\", // the plan\n\"steps\":[/* one */\"do\"]}", "T| -:do")]
#[case::comment_signs_in_a_text(
    r#"{title:"T","steps":["get http://x/*y*/"]}"#,
    "T| -:get http://x/*y*/"
)]
#[case::line_break_in_a_text(
    "{\"title\":\"T\",\"steps\":[\"one\ntwo\tthree\"]}",
    "T| -:one\ntwo\tthree"
)]
#[case::wrong_escape(r#"{"steps":["C:\dir \_x"]}"#, r"| -:C:\dir \_x")]
#[case::quotes_inside_a_text(
    r#"{"steps":["创建"发邮件"任务","say "hi" to Li"]}"#,
    r#"| -:创建"发邮件"任务; -:say "hi" to Li"#
)]
#[case::full_width_signs("{“title”：“题”，“steps”：[“做”]}", "题| -:做")]
#[case::python_words(r#"{"title":"T","steps":[{"id":"s1","description":"do","tool":None}]}"#, READ)]
#[case::emoji_in_malformed_json(r#"{"title":"🎭","steps":["演🎭",]}"#, "🎭| -:演🎭")]
#[case::closing_brace_missing(r#"{"title":"T","steps":[{"id":"s1","description":"do"}]"#, READ)]
#[case::wrapper_not_closed(
    r#"{"plan":{"title":"T","steps":[{"id":"s1","description":"do"}]}"#,
    READ
)]
#[case::wrapper(r#"{"plan":{"title":"T","steps":[{"id":"s1","description":"do"}]}}"#, READ)]
#[case::wrapped_list(r#"{"title":"T","plan":["a","b"]}"#, "T| -:a; -:b")]
#[case::bare_list(r#"[{"id":"s1","description":"do"},"then"]"#, "| s1:do; -:then")]
#[case::malformed_bare_list(
    r#"```json
[{"id":"s1","description":"do",},]
```"#,
    "| s1:do"
)]
#[case::task_steps(
    r#"{"task":"主题","steps":[{"id":"a","title":"查","description":"用 @search 查","depends_on":[]},{"id":"b","title":"写","description":"写","depends_on":["a"],"response":null}],"replan":["a"]}"#,
    "主题| a:用 @search 查; b<a:写"
)]
#[case::title_steps(
    r#"{"title":"T","language":"en","steps":["one",{"description":"two","status":"pending","attachments":[]}]}"#,
    "T| -:one; -:two"
)]
#[case::action_steps(
    r#"{"summary":"S","steps":[{"id":"step1","action":"create_task","params":{"title":"A"},"description":"创建"},{"id":"step2","action":"complete_task","params":{"id":"{{step1.id}}"},"description":"完成","dependsOn":["step1"]}]}"#,
    "S| step1[create_task]:创建; step2[complete_task]<step1:完成"
)]
#[case::numbers_as_ids(
    r#"{"steps":[{"id":1,"description":"a"},{"id":2,"description":"b","depends":1}]}"#,
    "| 1:a; 2<1:b"
)]
#[case::no_tool(r#"{"steps":[{"id":"a","description":"think","tool":"","args":{}},{"description":"x","tool":"agent"}]}"#, "| a:think; -:x")]
#[case::names_in_place_of_titles(r#"{"name":"T","steps":[{"name":"Do it"}]}"#, "T| -:Do it")]
#[case::title_alone(r#"{"steps":[{"title":"Do it"}]}"#, "| -:Do it")]
#[case::empty_list(r#"{"title":"T","steps":[]}"#, "T| ")]
fn a_plan_is_found_in(#[case] reply: &str, #[case] expected: &str) {
    assert_eq!(read_plan(reply).map(|d| written(&d)), Ok(expected.to_owned()), "{reply}");
}

#[rstest]
#[case::nothing("", "no JSON object")]
#[case::prose("I cannot help with that.", "no JSON object")]
#[case::question("Which task do you mean?", "no JSON object")]
#[case::only_thoughts("<think>{\"steps\":[\"a\"]}", "no JSON object")]
#[case::other_json(r#"{"error":"sorry"}"#, "no `steps`")]
#[case::a_number("42", "no JSON object")]
#[case::json_null("null", "no JSON object")]
#[case::citation("see [1] and [2]", "no JSON object")]
#[case::two_plans("{\"steps\":[\"a\"]} or {\"steps\":[\"b\"]}", "2 different plans")]
#[case::field_twice(r#"{"title":"T","steps":["a"],"steps":["b"]}"#, "twice")]
#[case::field_twice_in_malformed_json(r#"{title:"T","steps":["a"],"steps":["b"],}"#, "twice")]
#[case::cut_in_a_text(
    r#"{"title":"T","steps":[{"id":"s1","description":"delete /tmp/a"#,
    "middle of a step"
)]
#[case::cut_in_a_number(
    r#"{"title":"T","steps":[{"id":"s1","description":"x","tool":"t","args":{"id":6"#,
    "middle of a step"
)]
#[case::cut_after_a_comma(
    r#"{"title":"T","steps":[{"id":"s1","description":"do"},"#,
    "middle of a step"
)]
#[case::cut_inside_a_step(
    r#"{"title":"T","steps":[{"id":"s1","description":"do","args":{"a":1}"#,
    "middle of a step"
)]
#[case::cut_after_a_step(
    r#"{"title":"T","steps":[{"id":"s1","description":"do"}"#,
    "middle of a step"
)]
#[case::cut_after_a_step_of_a_list(r#"[{"id":"s1","description":"do"}"#, "middle of a step")]
#[case::cut_after_a_list_of_a_step(
    r#"{"steps":[{"description":"do","depends_on":[]"#,
    "middle of a step"
)]
#[case::cut_before_the_steps(r#"{"title":"T""#, "middle of a step")]
#[case::cut_in_a_fence(
    "```json\n{\"title\":\"T\",\"steps\":[{\"id\":\"s1\",\"descr",
    "middle of a step"
)]
#[case::steps_not_a_list(r#"{"steps":{"id":"a"}}"#, "steps: must be a list")]
#[case::step_is_a_number(r#"{"steps":["a",7]}"#, "steps[1]: must be an object or a text")]
#[case::step_is_null(r#"{"steps":[null]}"#, "steps[0]: must be an object or a text")]
#[case::id_is_a_list(
    r#"{"steps":[{"id":["a"],"description":"x"}]}"#,
    "steps[0].id: must be a text"
)]
#[case::description_is_a_list(
    r#"{"steps":[{"description":["x"]}]}"#,
    "steps[0].description: must be a text"
)]
#[case::depends_on_an_object(
    r#"{"steps":[{"description":"x","depends_on":{"a":1}}]}"#,
    "steps[0].depends_on: must be a list"
)]
#[case::depends_on_a_list_of_lists(
    r#"{"steps":[{"description":"x","depends_on":[["a"]]}]}"#,
    "steps[0].depends_on[0]: must be the id"
)]
#[case::two_tools(
    r#"{"steps":[{"description":"x","tool":"a","action":"b"}]}"#,
    "contradicts `tool`"
)]
#[case::two_lists_of_arguments(
    r#"{"steps":[{"description":"x","args":{"a":1},"params":{"a":2}}]}"#,
    "steps[0].params: is given twice"
)]
#[case::approves_itself(r#"{"steps":["a"],"approve":true}"#, "approve: is not a field")]
#[case::raises_its_budget(r#"{"steps":["a"],"budget":{"tokens":1e9}}"#, "budget: is not a field")]
#[case::policy_in_a_step(
    r#"{"steps":[{"description":"x","approval":"never"}]}"#,
    "steps[0].approval: is not a field"
)]
#[case::policy_beside_a_wrapper(
    r#"{"plan":{"steps":["a"]},"confirm":false}"#,
    "confirm: is not a field"
)]
#[case::decision_protocol(
    r#"{"status":"done","plan":[],"next_action":null,"response":"ok"}"#,
    "status: is not a field"
)]
#[case::plan_is_a_text(r#"{"plan":"first do this"}"#, "plan: must be an object")]
#[case::unknown_field_from_bad_quotes(
    r#"{"steps":[{"description":"a" , "b": 1}]}"#,
    "steps[0].b: is not a field"
)]
fn a_reply_is_refused_with_its_reason(#[case] reply: &str, #[case] expected: &str) {
    let error = read_plan(reply).map(|d| written(&d)).unwrap_err();
    assert!(error.contains(expected), "{reply}\n gave {error:?}");
}

#[test]
fn hostile_sizes_are_refused_before_anything_recurses() {
    let too_long = format!("{{\"steps\":[\"{}\"]}}", "x".repeat(limits::REQUEST_BYTES_MAX));
    assert_eq!(value(&too_long, ReplyForm::Plan), Err(NotJson::TooLong));
    let deep = format!("{{\"steps\":{}{}}}", "[".repeat(70), "]".repeat(70));
    assert!(value(&deep, ReplyForm::Plan).unwrap_err().to_string().contains("deeper than 64"));
    for open in ["[", "{a:", "{\"a\":[", "{\"a\":\"]]]]\",b:[", "['", "{a \"b:[[[[\"", "[\"\\\"["] {
        for end in ["", "]", "}", "\"}"] {
            let text = open.repeat(limits::REQUEST_BYTES_MAX / open.len() - 2) + end;
            assert!(value(&text, ReplyForm::Plan).is_err(), "{open} … {end}");
            assert!(
                value(&format!("{{\"steps\":{}", &text[..200_000]), ReplyForm::Plan).is_err(),
                "{open} … {end}"
            );
        }
    }
}

#[test]
fn a_reply_truncated_anywhere_never_becomes_another_plan() {
    let whole = r#"{"title":"T","steps":[{"id":"s1","description":"do","depends_on":[]},{"id":"s2","description":"do more","tool":"t","args":{"id":62,"tags":["a"]},"depends_on":["s1"]}]}"#;
    let plan = read_plan(whole).unwrap();
    for n in 0..whole.len() {
        if let Ok(read) = read_plan(&whole[..n]) {
            // Only brackets behind the list of steps may be missing.
            assert_eq!(plan, read, "{}", &whole[..n]);
        }
    }
}

#[test]
fn the_worked_examples_of_the_prompts_are_plans() {
    for file in
        [include_str!("../../prompts/en/system.md"), include_str!("../../prompts/zh/system.md")]
    {
        let example = file.lines().find(|line| line.starts_with("{\"title\"")).unwrap();
        let value: Value = serde_json::from_str(example).unwrap();
        assert_eq!(value["steps"][1]["args"], json!({"id": "{{step1.id}}"}));
        assert_eq!(draft::of(value).unwrap().steps.len(), 3);
    }
}

#[test]
fn a_sign_too_many_or_too_few_never_makes_another_plan() {
    let whole = r#"{"title":"T","steps":[{"id":"s1","description":"do","depends_on":[]},{"id":"s2","description":"do more","tool":"t","args":{"id":62,"tags":["a"]},"depends_on":["s1"]}]}"#;
    let plan = read_plan(whole).unwrap();
    let mut in_text = false;
    let mut read = 0;
    for (n, sign) in whole.char_indices() {
        in_text ^= sign == '"';
        if in_text || sign == '"' || sign.is_ascii_digit() {
            continue;
        }
        let (before, after) = whole.split_at(n);
        let without = format!("{before}{}", &after[1..]);
        let with = ["{", "}", "[", "]", ",", ":", "x", "\\", "'", "`", ";", "\n", "null", "//"]
            .map(|extra| format!("{before}{extra}{after}"));
        for broken in std::iter::once(without).chain(with) {
            match read_plan(&broken) {
                Ok(other) => {
                    assert_eq!(other, plan, "{broken}");
                    read += 1;
                }
                Err(error) => assert!(!error.is_empty()),
            }
        }
    }
    assert!(read > 50, "only {read} were read: nothing is repaired any more");
}

#[test]
fn every_example_of_the_document_is_a_plan() {
    let page = include_str!("../../../docs/plans.md");
    let examples: Vec<_> = page.split("```json").skip(1).collect();
    assert_eq!(examples.len(), 5);
    for example in examples {
        let (json, _) = example.split_once("```").unwrap();
        let draft = read_plan(json).unwrap();
        assert!(!draft.steps.is_empty(), "{json}");
    }
}

/// Replies with a plan inside a text, in a second fence or in an example.
#[rstest]
#[case::raw_line_breaks_around_a_list(
    "{\"title\":\"T\",\"steps\":[{\"description\":\"Tell Li what not to do:\n```json\n[\"delete the backups\",\"empty the bin\"]\n```\nand wait\"}]}",
    "malformed"
)]
#[case::raw_line_breaks_around_a_plan(
    "{\"title\":\"T\",\"steps\":[{\"description\":\"Tell Li:\n```json\n{\"steps\":[\"delete\"]}\n```\n\"}]}",
    "malformed"
)]
#[case::in_a_fence_of_its_own(
    "```json\n{\"title\":\"T\",\"steps\":[{\"description\":\"Tell Li:\n```json\n[\"delete\",\"empty\"]\n```\n\"}]}\n```",
    "malformed"
)]
#[case::behind_words(
    "Here it is:\n{\"title\":\"T\",\"steps\":[{\"description\":\"Tell Li:\n```json\n[\"delete\",\"empty\"]\n```\n\"}]}",
    "malformed"
)]
#[case::without_its_first_bracket(
    "\"title\":\"T\",\"steps\":[\"tell {'steps':['delete']} to Li\"]}",
    "malformed"
)]
#[case::list_without_its_first_bracket("\"tell {'steps':['delete']} to Li\",\"b\"]", "malformed")]
#[case::a_text_without_its_last_quote(
    r#""{\"steps\":[\"tell {'steps':['delete']} to Li\"]}"#,
    "malformed"
)]
#[case::cut_behind_the_quoted_plan(
    "{\"title\":\"T\",\"steps\":[\"tell\n```json\n{'steps':['delete']}\n```",
    "middle of a step"
)]
#[case::an_example_and_a_question(
    "I could do something like this:\n```json\n[\"delete the backups\",\"empty the bin\"]\n```\nIs that what you want?",
    "no `steps`"
)]
#[case::a_list_and_words("Sure:\n```json\n[\"delete\",\"empty\"]\n```", "no `steps`")]
#[case::a_malformed_list_and_words("Sure:\n```json\n['delete','empty',]\n```", "no `steps`")]
#[case::a_plan_as_an_example_and_a_question(
    "For example:\n```json\n{\"steps\":[\"delete\"]}\n```\nWhich files do you mean?",
    "example"
)]
#[case::a_plan_as_an_example_and_a_question_in_chinese(
    "你想删除哪些文件？例如：{\"steps\":[\"删除备份\"]}",
    "example"
)]
#[case::a_broken_fence_before_an_example(
    "```json\n{\"title\":\"T\",\"steps\":[{\"description\":\"look\n```\nIts form is\n```json\n{\"steps\":[\"delete\"]}\n```",
    "malformed"
)]
#[case::a_fence_without_its_first_bracket(
    "```json\n\"steps\":\n```\nIts form is\n```json\n{\"steps\":[\"delete\"]}\n```",
    "malformed"
)]
#[case::an_example_before_a_broken_fence(
    "```json\n{\"steps\":[\"delete\"]}\n```\nI will do\n```json\n{\"title\":\"T\",\"steps\":[{\"desc\n```",
    "middle of a step"
)]
#[case::other_json_first("{\"note\":\"no plan\"}\n{\"steps\":[\"delete\"]}", "no `steps`")]
#[case::a_citation_first("[1] {\"steps\":[\"delete\"]}", "no `steps`")]
#[case::a_list_of_numbers("```json\n[1, 2]\n```", "no `steps`")]
#[case::a_list_of_other_things(r#"[{"name":"Li","age":7}]"#, "no `steps`")]
#[case::a_list_closed_too_early(
    r#"Sure: {"steps":[{"description":"a"}]},{"description":"b"}]}"#,
    "malformed"
)]
#[case::a_bracket_closed_too_early(r#"{"task":"T","steps":["a"]},"replan":["a"]}"#, "malformed")]
fn a_quoted_plan_is_not_the_plan(#[case] reply: &str, #[case] expected: &str) {
    let error = read_plan(reply).map(|d| written(&d)).unwrap_err();
    assert!(error.contains(expected), "{reply}\n gave {error:?}");
}

/// With a missing or misplaced quote or comma, two plans are possible.
#[rstest]
#[case::two_steps_as_one(r#"["Find it,"Write about it"]"#)]
#[case::two_steps_as_one_in_a_plan(r#"{"title":"T","steps":["Find it,"Write about it"]}"#)]
#[case::three_steps_as_one(r#"["Find it,"Write about it,"Send it"]"#)]
#[case::three_steps_as_one_with_blanks(r#"["Find it, "Write about it, "Send it"]"#)]
#[case::two_arguments_as_one(
    r#"{"steps":[{"description":"x","tool":"t","args":{"a":"x,"b":"y"}}]}"#
)]
#[case::two_steps_in_mixed_quotes("{“steps”:[“Find it\", \"Write about it”]}")]
#[case::an_escaped_quote_at_the_end(r#"{"steps":["list C:\", "say "x" to Li"]}"#)]
#[case::one_step_as_two(r#"{"steps":["join with " " between"]}"#)]
#[case::one_step_as_two_lines("{\"steps\":[\"join with \"\n\" between\"]}")]
#[case::a_comment_or_a_text("{\"steps\":[\"see \" // \"x\",\n\"b\"]}")]
#[case::a_comment_that_hides_the_rest_of_a_step(
    "```json\n{'steps':[{'title':'x'}]// no ','description':'a'}]}\n```"
)]
#[case::one_step_as_two_empty_ones("{\"steps\":[\"\"\n\"\"]}")]
fn a_text_with_two_readings_is_refused(#[case] reply: &str) {
    assert_eq!(value(reply, ReplyForm::Plan), Err(NotJson::Garbled), "{reply}");
}

/// Verdicts and decisions follow the rules of plans.
#[rstest]
#[case::a_verdict(
    "{\"complex\": true, \"why\": \"it names\n```json\n{\"complex\": false}\n```\n",
    ReplyForm::Verdict
)]
#[case::a_decision(
    "{\"status\":\"continue\",\"next_action\":{\"tool\":\"note\",\"input\":\"write\n```json\n{\"status\":\"done\",\"response\":\"x\"}\n```\n\"}}",
    ReplyForm::Choice
)]
#[case::a_decision_in_single_quotes(
    "\"status\":\"continue\",\"next_action\":{\"tool\":\"note\",\"input\":\"write {'status':'done','response':'x'}\"}}",
    ReplyForm::Choice
)]
fn a_quoted_verdict_or_decision_is_not_taken(#[case] reply: &str, #[case] wanted: ReplyForm) {
    value(reply, wanted).unwrap_err();
}

/// Texts that quote plans and code, in replies with a single reading.
#[rstest]
#[case::raw_line_breaks(
    "{\"steps\":[\"tell Li:\n```json\n{'steps':['delete']}\n```\"]}",
    "| -:tell Li:\n```json\n{'steps':['delete']}\n```"
)]
#[case::raw_line_breaks_in_a_fence(
    "```json\n{\"steps\":[\"run\n```sh\nls\n```\nthen stop\"]}\n```",
    "| -:run\n```sh\nls\n```\nthen stop"
)]
#[case::python(
    r#"{'steps': [{'description': 'x', 'tool': 't', 'args': {'body': '{"a": "b", "c": ["d", "e"]}'}}]}"#,
    "| -[t]:x"
)]
#[case::another_language_first(
    "```sh\necho {\"a\",\"b\"}\n```\n```json\n{\"steps\":[\"do\"]}\n```",
    "| -:do"
)]
#[case::missing_comma_between_lines("{\"steps\":[\"a\"\n\"b\"]}", "| -:a; -:b")]
#[case::brackets_too_many(r#"{"steps":["a"]}}"#, "| -:a")]
fn a_text_that_quotes_is_read_in(#[case] reply: &str, #[case] expected: &str) {
    assert_eq!(read_plan(reply).map(|d| written(&d)), Ok(expected.to_owned()), "{reply}");
}

mod quoting;
