//! The specifications of the browser's tools.

use std::{collections::BTreeMap, time::Duration};

use proto::{
    decision::pools,
    id::ToolName,
    lang::Language,
    tool::{Approval, Effect, ToolSpec, Translation},
};
use serde_json::{Map, Value, json};

use crate::request::{ADDRESS_BYTES_MAX, PAUSE_MS_MAX, TYPED_BYTES_MAX};

messages::texts!(browser_specs);

use Text as About;

/// The beginning of the names of the tools.
pub(crate) const PREFIX: &str = "browser_";

/// Calls of one tool at a time. Those of one job wait for each other.
const CONCURRENCY: u32 = 16;
/// Time beyond that of a load: for the start of Chromium, and for a page that does not react.
const MARGIN_MS: u64 = 120_000;
/// Largest number of options of one call.
const OPTIONS_MAX: usize = 100;
/// Longest key, text of a wait, name or option, in characters.
const TEXT_CHARS_MAX: usize = 4_000;

/// A tool of the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::VariantArray)]
pub(crate) enum Kind {
    Open,
    Snapshot,
    Click,
    Type,
    Select,
    Press,
    Wait,
    Back,
    Screenshot,
    Tabs,
}

struct Argument {
    name: &'static str,
    about: About,
    schema: Value,
    required: bool,
}

fn argument(name: &'static str, about: About, schema: Value, required: bool) -> Argument {
    Argument { name, about, schema, required }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Open => "browser_open",
            Self::Snapshot => "browser_snapshot",
            Self::Click => "browser_click",
            Self::Type => "browser_type",
            Self::Select => "browser_select",
            Self::Press => "browser_press",
            Self::Wait => "browser_wait",
            Self::Back => "browser_back",
            Self::Screenshot => "browser_screenshot",
            Self::Tabs => "browser_tabs",
        }
    }

    fn about(self) -> About {
        match self {
            Self::Open => About::Open,
            Self::Snapshot => About::Snapshot,
            Self::Click => About::Click,
            Self::Type => About::Type,
            Self::Select => About::Select,
            Self::Press => About::Press,
            Self::Wait => About::Wait,
            Self::Back => About::Back,
            Self::Screenshot => About::Screenshot,
            Self::Tabs => About::Tabs,
        }
    }

    /// Returns the effect class. A page that is opened twice is the same page, and HTTP promises that
    /// a GET changes nothing; so an interrupted call may run again. An action may order something.
    pub(crate) fn effect(self) -> Effect {
        match self {
            Self::Open => Effect::Idempotent,
            Self::Snapshot | Self::Wait | Self::Screenshot => Effect::Pure,
            Self::Click | Self::Type | Self::Select | Self::Press | Self::Back | Self::Tabs => {
                Effect::Once
            }
        }
    }

    fn arguments(self) -> Vec<Argument> {
        let text =
            |min: usize, max: usize| json!({"type": "string", "minLength": min, "maxLength": max});
        let short = || text(1, TEXT_CHARS_MAX);
        match self {
            Self::Open => {
                vec![argument("url", About::OpenUrl, text(1, ADDRESS_BYTES_MAX), true)]
            }
            Self::Snapshot => vec![
                argument("snapshot", About::TargetSnapshot, number(), false),
                argument("root", About::SnapshotRoot, reference(), false),
                argument("depth", About::SnapshotDepth, number(), false),
            ],
            Self::Click => target(),
            Self::Type => {
                let submit = json!({"type": "boolean"});
                let mut all = target();
                all.push(argument("text", About::TypeNew, text(0, TYPED_BYTES_MAX), true));
                all.push(argument("submit", About::TypeSubmit, submit, false));
                all
            }
            Self::Select => {
                let values = json!({
                    "type": "array", "items": {"type": "string", "maxLength": TEXT_CHARS_MAX},
                    "minItems": 1, "maxItems": OPTIONS_MAX,
                });
                let mut all = target();
                all.push(argument("values", About::SelectValues, values, true));
                all
            }
            Self::Press => vec![argument("key", About::PressKey, text(1, 40), true)],
            Self::Wait => {
                let ms = json!({"type": "integer", "minimum": 1, "maximum": PAUSE_MS_MAX});
                vec![
                    argument("text", About::WaitFor, short(), false),
                    argument("gone", About::WaitGone, short(), false),
                    argument("ms", About::WaitMs, ms, false),
                ]
            }
            Self::Back => Vec::new(),
            Self::Screenshot => {
                let full = json!({"type": "boolean"});
                vec![argument("full", About::ScreenshotFull, full, false)]
            }
            Self::Tabs => {
                let act = json!({"type": "string", "enum": ["list", "select", "close"]});
                vec![
                    argument("act", About::TabsAct, act, true),
                    argument("tab", About::TabsTab, number(), false),
                ]
            }
        }
    }

    /// Builds the specification. `timeout_ms` is that of a page's load.
    pub(crate) fn spec(self, timeout_ms: u64) -> ToolSpec {
        let (about, arguments) = (self.about(), self.arguments());
        let translation = |language: Language| {
            let described = arguments.iter().map(|a| (a.name.to_owned(), a.about.text(language)));
            Translation { description: about.text(language), arguments: described.collect() }
        };
        let others = Language::ALL.iter().filter(|language| **language != Language::En);
        let translations: BTreeMap<_, _> =
            others.map(|other| (other.code().to_owned(), translation(*other))).collect();
        ToolSpec {
            name: ToolName::new(self.name()).expect("the names of built-in tools are ids"),
            description: about.text(Language::En),
            schema: schema(&arguments),
            effect: self.effect(),
            pool: pools::builtin(),
            timeout_ms: longest_ms(timeout_ms),
            concurrency: CONCURRENCY,
            approval: Approval::Never,
            destructive: false,
            untrusted: true,
            version: "1".to_owned(),
            commands: Vec::new(),
            translations,
        }
    }
}

fn longest_ms(load_ms: u64) -> u64 {
    load_ms.saturating_add(MARGIN_MS)
}

/// Returns the longest call, where `load_ms` is the longest load of a page.
pub(crate) fn longest(load_ms: u64) -> Duration {
    Duration::from_millis(longest_ms(load_ms))
}

/// The arguments that name an element.
fn target() -> Vec<Argument> {
    let name = json!({"type": "string", "maxLength": TEXT_CHARS_MAX});
    vec![
        argument("snapshot", About::TargetSnapshot, number(), true),
        argument("ref", About::TargetRef, reference(), true),
        argument("name", About::TargetName, name, true),
    ]
}

fn number() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": u32::MAX})
}

fn reference() -> Value {
    json!({"type": "string", "pattern": "^e[1-9][0-9]{0,8}$"})
}

/// Builds the schema of an object with these arguments and no others, described in English.
fn schema(arguments: &[Argument]) -> Value {
    let described = arguments.iter().map(|argument| {
        let mut schema = argument.schema.clone();
        schema["description"] = json!(argument.about.text(Language::En));
        (argument.name.to_owned(), schema)
    });
    let required = arguments.iter().filter(|argument| argument.required);
    json!({
        "type": "object",
        "properties": described.collect::<Map<_, _>>(),
        "required": required.map(|argument| argument.name).collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}
