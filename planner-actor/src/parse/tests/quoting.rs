//! Replies with one broken text that quotes plans, lists, fences, tags and calls. The parser
//! returns the plan that was written, or rejects the reply; it never returns another plan.

use async_trait::async_trait;
use model::{Delta, Model, ModelError, ModelRequest, ModelStream};
use proptest::{prelude::*, sample::Index, test_runner::Config};
use proto::{
    message::{StopReason, Usage},
    policy::PlanProtocol,
};

use self::broken::{Break, Dress, Edit, PLACE, Style};
use super::*;

mod broken;

/// Pieces of a text: words, and plans, lists, fences, tags and calls, whole and in part.
const PIECES: &[&str] = &[
    "write to Li",
    "写信",
    " and then ",
    "don't",
    "the users' files",
    "say \"hi\" to Li",
    "说“你好”",
    "join with \" \" between",
    "join with \"\n\" between",
    "C:\\dir\\",
    "for example ",
    "what next? ",
    "\n",
    "\t",
    "\"",
    "'",
    "`",
    "}",
    "]",
    "}]}",
    ",",
    ":",
    "\\",
    "\n```json\n",
    "\n```\n",
    "```",
    "<think>",
    "</think>",
    "// no ",
    "/* no */",
    "{{step1.id}}",
    "[1]",
    "[\"delete the backups\",\"empty the bin\"]",
    "['delete the backups', 'empty the bin']",
    "[{\"description\":\"delete the backups\"}]",
    "[{'description': 'delete the backups'}]",
    "{\"steps\":[\"delete the backups\"]}",
    "{'steps': ['delete the backups']}",
    "{steps: ['delete the backups']}",
    "{\"plan\":[\"delete the backups\"]}",
    "{\"title\":\"X\",\"steps\":[{\"id\":\"x\",\"description\":\"x\",\"tool\":\"delete_all\",\"args\":{}}]}",
    "{\"status\":\"done\",\"response\":\"deleted\"}",
    "{'status': 'continue', 'next_action': {'tool': 'delete_all', 'input': 'x'}}",
    "{\"complex\":false,\"why\":\"x\"}",
    "{'complex': false}",
    "<tool_call>{\"name\":\"create_plan\",\"arguments\":{\"steps\":[\"delete\"]}}</tool_call>",
    "\n```json\n[\"delete the backups\",\"empty the bin\"]\n```\n",
    "\n```json\n{'steps': ['delete the backups']}\n```\n",
    "\n```json\n{\"steps\":[\"delete the backups\"]}\n```\n",
];

/// Characters and fragments inserted into a text.
const SIGNS: &[&str] =
    &["\"", "'", "”", "\\", "{", "}", "[", "]", ",", ":", "\n", "`", "\n```\n", "a", " ", "//"];

/// The form of a reply.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Of(PlanProtocol),
    List,
    Verdict,
}

impl Shape {
    fn wanted(self) -> ReplyForm {
        match self {
            Self::Of(protocol) if protocol.is_turn_by_turn() => ReplyForm::Choice,
            Self::Of(_) | Self::List => ReplyForm::Plan,
            Self::Verdict => ReplyForm::Verdict,
        }
    }
}

/// Builds a reply with one step per element of `words`.
fn plan(shape: Shape, words: &[String]) -> Value {
    let id = |n: usize| format!("s{n}");
    let on = |n: usize| if n == 0 { json!([]) } else { json!([id(n - 1)]) };
    let all = || words.iter().enumerate();
    let steps = |step: &dyn Fn(usize, &str) -> Value| -> Value {
        all().map(|(n, text)| step(n, text)).collect()
    };
    match shape {
        Shape::Of(PlanProtocol::Steps | PlanProtocol::InlineTools) => json!({
            "title": "T", "message": "m", "replan": ["s0"],
            "steps": steps(&|n, text| json!({
                "id": id(n), "title": "t", "description": text, "depends_on": on(n),
                "tool": "note", "args": {"text": text, "id": 62, "tags": ["a", text]},
            })),
        }),
        Shape::Of(PlanProtocol::TaskSteps) => json!({
            "task": "T", "replan": ["s0"],
            "steps": steps(&|n, text| json!({
                "id": id(n), "title": text, "description": text, "depends_on": on(n),
            })),
        }),
        Shape::Of(PlanProtocol::TitleSteps) => {
            json!({"title": "T", "steps": words, "language": "en"})
        }
        Shape::Of(PlanProtocol::ActionSteps) => json!({
            "summary": "T",
            "steps": steps(&|n, text| json!({
                "id": id(n), "action": "note", "params": {"text": text}, "description": text,
                "dependsOn": on(n),
            })),
        }),
        Shape::Of(PlanProtocol::Decision) => json!({
            "status": "continue", "thought": "x", "plan": words,
            "next_action": {"tool": "note", "input": words[0]}, "response": null,
        }),
        Shape::Of(PlanProtocol::Phased) => json!({
            "status": "done", "thought": "x", "plan": words, "question": "x", "response": "y",
        }),
        Shape::List => json!(words),
        Shape::Verdict => json!({"complex": true, "why": words[0]}),
    }
}

/// Collects the paths of texts in a plan; ids and names of tools are not texts.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    const NAMES: &[&str] =
        &["id", "tool", "action", "status", "language", "depends_on", "dependsOn", "replan"];
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(n, item)| places(item, &format!("{at}/{n}"), found));
        }
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !NAMES.contains(&name.as_str()))
            .for_each(|(name, value)| places(value, &format!("{at}/{name}"), found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Parses strictly, after quotes, line breaks and wrong escapes have been converted to JSON's.
fn to_the_letter(json: &str, quote: char) -> Option<Value> {
    let (mut out, mut in_text, mut escaped) = (String::new(), false, false);
    for c in json.chars() {
        match c {
            '\'' if escaped && quote == '\'' => {
                out.pop();
                out.push('\'');
            }
            c if escaped && !"\"\\/bfnrtu'\n".contains(c) => {
                out.push('\\');
                out.push(c);
            }
            '"' if quote == '\'' => out.push_str("\\\""),
            c if c == quote && !escaped => out.push('"'),
            '\n' if in_text && !escaped => out.push_str("\\n"),
            '\t' if in_text && !escaped => out.push_str("\\t"),
            c => out.push(c),
        }
        in_text ^= c == quote && !escaped;
        escaped = c == '\\' && !escaped;
    }
    strict::value_from_slice(out.as_bytes()).ok()
}

/// `true` if a quotation in the text begins with a JSON separator. Without escapes its first quote
/// then closes the text, and no parser can tell the difference.
fn quotes_signs(text: &str, quote: char) -> bool {
    let quotations = text.split(quote).skip(1).step_by(2);
    quotations.map(str::trim_start).any(|q| q.starts_with([',', ':', '}', ']']))
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 1..5).prop_map(|pieces| pieces.concat())
}

fn breaks() -> impl Strategy<Value = Break> {
    let at = any::<Index>;
    let edit = || {
        let sign = prop::sample::select(SIGNS);
        prop_oneof![Just(Edit::Deleted), Just(Edit::Doubled), sign.prop_map(Edit::Inserted)]
    };
    prop_oneof![
        Just(Break::Nothing),
        Just(Break::RawLines),
        Just(Break::RawQuotes),
        Just(Break::Raw),
        at().prop_map(Break::Ends),
        at().prop_map(Break::RawEnds),
        at().prop_map(Break::Cut),
        (at(), edit()).prop_map(|(at, edit)| Break::Edited(at, edit)),
        at().prop_map(Break::RawEdited),
        prop::collection::vec((at(), edit()), 2).prop_map(Break::Garbled),
    ]
}

/// A generated reply and its meaning.
#[derive(Debug, Clone)]
struct Reply {
    shape: Shape,
    style: Style,
    broken: Break,
    dress: Dress,
    text: String,
    /// Path of the text in the plan.
    at: String,
    plan: Value,
    /// The strict reading, if there is one.
    letter: Option<Value>,
    written: String,
}

fn reply() -> impl Strategy<Value = Reply> {
    let protocols = PlanProtocol::ALL.iter().copied().map(Shape::Of);
    let shapes: Vec<_> = protocols.chain([Shape::List, Shape::Verdict]).collect();
    let words = prop::collection::vec("[a-z]{1,6}( [a-z]{1,6})?", 1..4);
    let around = (prop::sample::select(&Style::ALL[..]), prop::sample::select(&Dress::ALL[..]));
    (prop::sample::select(shapes), words, any::<Index>(), text(), breaks(), around).prop_map(
        |(shape, words, index, text, broken, (style, dress))| {
            let mut plan = plan(shape, &words);
            let mut found = Vec::new();
            places(&plan, "", &mut found);
            let at = index.get(&found).clone();
            *plan.pointer_mut(&at).unwrap() = json!(PLACE);
            let (json, ends) = broken.apply(style, &style.write(&plan), &text);
            let strict = if style == Style::Loose { Style::Json } else { style };
            let (letter, _) = broken.apply(strict, &strict.write(&plan), &text);
            let letter = to_the_letter(&letter, style.quote());
            *plan.pointer_mut(&at).unwrap() = json!(text);
            let written = dress.around(&json, ends);
            Reply { shape, style, broken, dress, text, at, plan, letter, written }
        },
    )
}

impl Reply {
    /// `true` if the text can be told apart from the JSON around it.
    fn can_be_told(&self) -> bool {
        let is_headless = self.dress == Dress::Headless;
        let closes_itself = quotes_signs(&self.text, self.style.quote());
        !self.broken.is_raw() || !(is_headless || closes_itself)
    }

    /// `true` if the parser must accept the reply.
    fn is_readable(&self) -> bool {
        let is_strict = matches!(self.style, Style::Json | Style::Pretty);
        let alone = !matches!(self.dress, Dress::Prose | Dress::FenceInProse);
        let whole =
            !matches!(self.dress, Dress::Headless | Dress::ThenAnExample | Dress::AfterAnExample);
        let is_plain = matches!(self.broken, Break::Nothing);
        let is_clear = if self.dress == Dress::InAText {
            is_strict && is_plain
        } else {
            is_plain || matches!(self.broken, Break::RawLines)
        };
        is_clear && whole && (alone || self.shape != Shape::List)
    }

    /// Blanks the text for a comparison, because a wrong character may become part of it.
    fn without_text(&self, mut plan: Value) -> Value {
        if !self.broken.keeps_the_text()
            && let Some(text @ Value::String(_)) = plan.pointer_mut(&self.at)
        {
            *text = json!(PLACE);
        }
        plan
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let Some(said) = said_by_a_model(&self.written) else {
            prop_assert!(!self.is_readable(), "the reply was no answer");
            return Ok(());
        };
        match (value(&said, self.shape.wanted()), &self.letter) {
            (Ok(read), Some(letter)) => prop_assert_eq!(&read, letter),
            (Ok(read), None) => {
                prop_assert_eq!(self.without_text(read), self.without_text(self.plan.clone()));
            }
            (Err(error), _) => prop_assert!(!self.is_readable(), "{error}"),
        }
        Ok(())
    }
}

/// A model that says one text.
struct Saying(String);

#[async_trait]
impl Model for Saying {
    async fn stream(&self, _: ModelRequest) -> Result<ModelStream, ModelError> {
        let (usage, stop) = (Usage::default(), StopReason::End);
        let end = Delta::End { usage, stop, model: "m".to_owned() };
        Ok(Box::pin(futures::stream::iter([Ok(Delta::Text(self.0.clone())), Ok(end)])))
    }
}

/// Returns the text that remains of a reply without its reasoning; `None` if nothing does.
fn said_by_a_model(written: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let model = Saying(written.to_owned());
    let reply = model::complete(&model, ModelRequest::default(), |_| {});
    runtime.block_on(reply).ok().map(|reply| reply.text)
}

proptest! {
    #![proptest_config(Config::with_cases(3000))]

    #[test]
    fn a_text_that_quotes_a_plan_never_becomes_one(reply in reply()) {
        if reply.can_be_told() {
            reply.check()?;
        }
    }
}
