//! Replies that are broken in one text of a plan, where that text quotes plans, lists, fences, tags
//! and calls: the reader gives the plan that was written, or refuses, and never gives another plan.

use proptest::{prelude::*, sample::Index, test_runner::Config};
use proto::policy::PlanProtocol;

use super::*;

/// Pieces of a text. Each of them alone, or with others around it, was once run as a plan.
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

/// Signs that a character too many may be.
const SIGNS: &[&str] =
    &["\"", "'", "”", "\\", "{", "}", "[", "]", ",", ":", "\n", "`", "\n```\n", "a", " ", "//"];

/// Stands for the text until it is put in, broken.
const PLACE: &str = "\u{e000}";

/// How the JSON around the text is written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Style {
    Json,
    Pretty,
    SingleQuotes,
    Loose,
}

impl Style {
    const ALL: [Self; 4] = [Self::Json, Self::Pretty, Self::SingleQuotes, Self::Loose];

    fn quote(self) -> char {
        if self == Self::SingleQuotes { '\'' } else { '"' }
    }

    fn write(self, value: &Value) -> String {
        match self {
            Self::Json => value.to_string(),
            Self::Pretty => serde_json::to_string_pretty(value).unwrap(),
            Self::SingleQuotes => value.to_string().replace('"', "'"),
            Self::Loose => loose(value),
        }
    }

    /// A text between quotes, without them.
    fn escaped(self, text: &str) -> String {
        let quoted = json!(text).to_string();
        let inner = &quoted[1..quoted.len() - 1];
        match self {
            Self::SingleQuotes => inner.replace("\\\"", "\"").replace('\'', "\\'"),
            Self::Json | Self::Pretty | Self::Loose => inner.to_owned(),
        }
    }
}

/// Names without quotes, and a comma behind every member.
fn loose(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}: {},", loose(value)));
            format!("{{{}}}", fields.collect::<String>())
        }
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| format!("{},\n", loose(item)));
            format!("[{}]", items.collect::<String>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            value.to_string()
        }
    }
}

/// One character of a text that is wrong.
#[derive(Debug, Clone, Copy)]
enum Edit {
    Deleted,
    Doubled,
    Inserted(&'static str),
}

/// What is wrong with the text.
#[derive(Debug, Clone)]
enum Break {
    Nothing,
    RawLines,
    RawQuotes,
    Raw,
    /// The reply ends in it.
    Ends(Index),
    RawEnds(Index),
    /// It ends, and its closing quote is missing.
    Cut(Index),
    /// One of its characters, or one of its quotes.
    Edited(Index, Edit),
    RawEdited(Index),
    /// Several of its characters, and none of its quotes: without them it is what it quotes.
    Garbled(Vec<(Index, Edit)>),
}

impl Break {
    /// The same text can be read out of it.
    fn keeps_the_text(&self) -> bool {
        matches!(self, Self::Nothing | Self::RawLines | Self::RawQuotes)
    }

    fn is_raw(&self) -> bool {
        matches!(self, Self::RawQuotes | Self::Raw | Self::RawEnds(_) | Self::RawEdited(_))
    }

    /// The reply's JSON, and whether it ends in the text.
    fn apply(&self, style: Style, json: &str, text: &str) -> (String, bool) {
        let (before, after) = json.split_once(PLACE).unwrap();
        let (head, tail) = (&before[..before.len() - 1], &after[1..]);
        let quote = style.quote();
        let quoted = |inner: &str| format!("{quote}{inner}{quote}");
        let escaped = style.escaped(text);
        let mut ends = false;
        let middle = match self {
            Self::Nothing => quoted(&escaped),
            Self::RawLines => quoted(&escaped_but(&['\n', '\t'], text, style)),
            Self::RawQuotes => quoted(&escaped_but(&['\n', '\t', '"', '\''], text, style)),
            Self::Raw => quoted(text),
            Self::Ends(at) | Self::Cut(at) | Self::RawEnds(at) => {
                let inner = if self.is_raw() { text } else { &escaped };
                let inner = format!("{quote}{inner}");
                ends = !matches!(self, Self::Cut(_));
                inner[..place(&inner, *at).1].to_owned()
            }
            Self::Edited(at, edit) => edited(quoted(&escaped), *at, *edit),
            Self::RawEdited(at) => edited(quoted(text), *at, Edit::Deleted),
            Self::Garbled(edits) => {
                let all = edits.iter();
                quoted(&all.fold(escaped, |text, (at, edit)| edited(text, *at, *edit)))
            }
        };
        (format!("{head}{middle}{}", if ends { "" } else { tail }), ends)
    }
}

/// Where a character begins and ends.
fn place(text: &str, index: Index) -> (usize, usize) {
    let places: Vec<_> = text.char_indices().map(|(n, c)| (n, n + c.len_utf8())).collect();
    *index.get(&places)
}

fn edited(mut text: String, index: Index, edit: Edit) -> String {
    if text.is_empty() {
        return text;
    }
    let (from, to) = place(&text, index);
    match edit {
        Edit::Deleted => text.replace_range(from..to, ""),
        Edit::Doubled => {
            let doubled = text[from..to].to_owned();
            text.insert_str(to, &doubled);
        }
        Edit::Inserted(sign) => text.insert_str(from, sign),
    }
    text
}

/// The text with all but some characters escaped.
fn escaped_but(raw: &[char], text: &str, style: Style) -> String {
    let characters = text.chars().map(|c| match raw.contains(&c) {
        true => c.to_string(),
        false => style.escaped(&c.to_string()),
    });
    characters.collect()
}

/// What stands around the JSON.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Dress {
    Bare,
    Fence,
    Prose,
    FenceInProse,
    Thoughts,
    InAText,
    /// Its first bracket is missing.
    Headless,
    ThenAnExample,
    AfterAnExample,
}

impl Dress {
    const ALL: [Self; 9] = [
        Self::Bare,
        Self::Fence,
        Self::Prose,
        Self::FenceInProse,
        Self::Thoughts,
        Self::InAText,
        Self::Headless,
        Self::ThenAnExample,
        Self::AfterAnExample,
    ];

    fn around(self, json: &str, ends: bool) -> String {
        let example = r#"{"steps":["delete"],"status":"done","response":"x","complex":false}"#;
        let (before, after) = match self {
            Self::Bare => ("", "\n"),
            Self::Fence => ("```json\n", "\n```"),
            Self::Prose => ("Here is the plan, as in [1]:\n\n", "\n\nShall I go on?"),
            Self::FenceInProse => ("Sure:\n```json\n", "\n```\nIt does {x} \"at once\"."),
            Self::Thoughts => ("<think>{\"steps\":[\"no\"]}, or \"hm\"</think>\n", ""),
            Self::InAText => {
                let text = json!(json).to_string();
                return text[..text.len() - usize::from(ends)].to_owned();
            }
            Self::Headless => return json[1..].to_owned(),
            Self::ThenAnExample => {
                return format!("```json\n{json}\n```\nIts form:\n```json\n{example}\n```");
            }
            Self::AfterAnExample => {
                return format!("Its form:\n```json\n{example}\n```\nSo:\n```json\n{json}\n```");
            }
        };
        format!("{before}{json}{}", if ends { "" } else { after })
    }
}

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Of(PlanProtocol),
    List,
    Verdict,
}

impl Shape {
    fn wanted(self) -> Wanted {
        match self {
            Self::Of(protocol) if protocol.is_turn_by_turn() => Wanted::Choice,
            Self::Of(_) | Self::List => Wanted::Plan,
            Self::Verdict => Wanted::Verdict,
        }
    }
}

/// A reply of a shape, of as many steps as there are words.
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

/// Where a text may stand: ids, names of tools and the like are none.
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

/// JSON to the letter, but for its quotes, line breaks and wrong escapes: what it says was written.
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

/// Whether a quotation in a text begins with a sign of JSON. Without escapes its first quote closes
/// the text by all signs, and no reader can tell.
fn quotes_signs(text: &str, quote: char) -> bool {
    let quotations = text.split(quote).skip(1).step_by(2);
    quotations.map(str::trim_start).any(|q| q.starts_with([',', ':', '}', ']']))
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 1..5).prop_map(|pieces| pieces.concat())
}

fn broken() -> impl Strategy<Value = Break> {
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
        prop::collection::vec((at(), edit()), 2..4).prop_map(Break::Garbled),
    ]
}

/// A reply, and what was meant by it.
#[derive(Debug, Clone)]
struct Reply {
    shape: Shape,
    style: Style,
    broken: Break,
    dress: Dress,
    text: String,
    /// Where the text stands in the plan.
    at: String,
    plan: Value,
    /// The plan that the reply is to the letter, where that is one.
    letter: Option<Value>,
    written: String,
}

fn reply() -> impl Strategy<Value = Reply> {
    let protocols = PlanProtocol::ALL.into_iter().map(Shape::Of);
    let shapes: Vec<_> = protocols.chain([Shape::List, Shape::Verdict]).collect();
    let words = prop::collection::vec("[a-z]{1,6}( [a-z]{1,6})?", 1..4);
    let around = (prop::sample::select(&Style::ALL[..]), prop::sample::select(&Dress::ALL[..]));
    (prop::sample::select(shapes), words, any::<Index>(), text(), broken(), around).prop_map(
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
    /// It must be read, and not only not be misread.
    fn is_readable(&self) -> bool {
        let is_strict = matches!(self.style, Style::Json | Style::Pretty);
        let alone = !matches!(self.dress, Dress::Prose | Dress::FenceInProse);
        let whole =
            !matches!(self.dress, Dress::Headless | Dress::ThenAnExample | Dress::AfterAnExample);
        match self.broken {
            _ if !whole || (self.shape == Shape::List && !alone) => false,
            Break::Nothing => is_strict || self.dress != Dress::InAText,
            Break::RawLines => self.dress != Dress::InAText,
            Break::RawQuotes
            | Break::Raw
            | Break::Ends(_)
            | Break::RawEnds(_)
            | Break::Cut(_)
            | Break::Edited(..)
            | Break::RawEdited(_)
            | Break::Garbled(_) => false,
        }
    }

    /// What a plan is compared with: the text may be another where a character of it is.
    fn without_text(&self, mut plan: Value) -> Value {
        if !self.broken.keeps_the_text()
            && let Some(text @ Value::String(_)) = plan.pointer_mut(&self.at)
        {
            *text = json!(PLACE);
        }
        plan
    }

    fn check(&self) -> Result<(), TestCaseError> {
        match (value(&self.written, self.shape.wanted()), &self.letter) {
            (Ok(read), Some(letter)) => prop_assert_eq!(&read, letter),
            (Ok(read), None) => {
                prop_assert_eq!(self.without_text(read), self.without_text(self.plan.clone()));
            }
            (Err(error), _) => prop_assert!(!self.is_readable(), "{error}"),
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(Config::with_cases(4000))]

    #[test]
    fn a_text_that_quotes_a_plan_never_becomes_one(reply in reply()) {
        let quoted = reply.broken.is_raw() && quotes_signs(&reply.text, reply.style.quote());
        if !quoted {
            reply.check()?;
        }
    }
}
