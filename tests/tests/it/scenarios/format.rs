//! The form of a scenario file.

use std::path::{Path, PathBuf};

use model::script::{Script, ScriptModel};
use proto::{interaction::Verdict, lang::Language, tool::ToolResult};
use serde::Deserialize;
use serde_json::{Value, json};

/// A conversation or a stated flow of a design.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// Name of the design.
    pub(super) design: String,
    /// Heading of the design under which the flow stands.
    pub(super) section: String,
    /// Line of the design at which the flow begins.
    pub(super) line: u32,
    /// Preset that carries the flow out.
    pub(super) agent: String,
    /// Capability that the flow needs and Callboard lacks. The scenario is then expected to fail.
    #[serde(default)]
    pub(super) missing: Option<String>,
    /// Language of the submission; detected from the goal when absent.
    #[serde(default)]
    pub(super) language: Option<Language>,
    /// Words of the user.
    pub(super) goal: String,
    /// Plan that the client supplies in place of a planner.
    #[serde(default)]
    pub(super) plan: Option<Value>,
    /// Tools besides the built-in ones, with their results.
    #[serde(default)]
    pub(super) tools: Vec<ScriptedTool>,
    /// Results of the search provider, an instance of SearXNG that answers every search with them.
    #[serde(default)]
    pub(super) found: Option<Vec<Value>>,
    /// Rules of the scripted model, in its own format. Each answers once unless it says `times`.
    model: Vec<Value>,
    /// Answers of the person, in order.
    #[serde(default)]
    pub(super) person: Vec<Act>,
    /// Expectations.
    pub(super) expect: Expectations,
}

/// A tool with prepared results. The last result answers every further call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedTool {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) results: Vec<ToolResult>,
}

/// An answer of a person.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Act {
    /// Texts of the question as the chat shows it.
    pub(super) asked: Vec<String>,
    /// Decision; the person responds when absent.
    #[serde(default)]
    pub(super) decision: Option<Verdict>,
    /// Words or values of the answer.
    #[serde(default)]
    pub(super) answer: Option<Value>,
}

/// The expectations of a scenario. Texts of a list occur in this order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expectations {
    /// Texts that the chat shows.
    #[serde(default)]
    pub(super) sees: Vec<String>,
    /// Texts that the chat never shows.
    #[serde(default)]
    pub(super) never_sees: Vec<String>,
    /// Texts of the final description of the job.
    #[serde(default)]
    pub(super) described: Vec<String>,
    /// Texts in the job's events, as JSON.
    #[serde(default)]
    pub(super) events: Vec<String>,
    /// Texts in requests to the model.
    #[serde(default)]
    pub(super) sent: Vec<Sent>,
    /// Texts in the job's log.
    #[serde(default)]
    pub(super) log: Vec<String>,
    /// Texts that are nowhere in the log.
    #[serde(default)]
    pub(super) never_logged: Vec<String>,
    /// Number of requests to the model.
    #[serde(default)]
    pub(super) requests: Option<usize>,
}

/// Texts in one request to the model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sent {
    /// Number of the request, from 1.
    pub(super) request: usize,
    /// Texts of the request, in order.
    #[serde(default)]
    pub(super) has: Vec<String>,
    /// Texts that the request lacks.
    #[serde(default)]
    pub(super) lacks: Vec<String>,
}

impl Scenario {
    pub(super) fn read(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).unwrap();
        serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Returns the scripted model, which plays the rules from the beginning.
    pub(super) fn script(&self) -> ScriptModel {
        let rules: Vec<Value> = self.model.iter().cloned().map(once).collect();
        let script = Script::parse(&json!({ "rules": rules }).to_string()).unwrap();
        ScriptModel::new(script, "scripted", model::Timeouts::default())
    }
}

/// Limits a rule to one answer unless it says otherwise.
fn once(mut rule: Value) -> Value {
    let rules = rule.as_object_mut().expect("a rule is a mapping");
    rules.entry("times").or_insert(json!(1));
    rule
}

/// Returns the path of every scenario, in the order of the table.
pub(super) fn all() -> Vec<PathBuf> {
    let directory = callboard_tests::root().join("tests/scenarios");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .flat_map(|agent| std::fs::read_dir(agent.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect();
    paths.sort();
    paths
}
