//! The check of a file with tests of an agent or a workflow, which turns its cases into runnable ones.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use agents::{catalogue::Catalogue, source::Source};
use model::{
    Timeouts,
    script::{Script, ScriptModel},
};
use proto::{
    agent::Layer,
    decision::pools,
    id::{AgentName, ToolName},
    lang::{Language, Words},
    tool::ToolSpec,
};
use regex::Regex;
use serde_json::{Value, json};
use serde_saphyr::{Location, Spanned};

use super::{
    Case,
    cast::{BuiltIn, Kind, Line, Part, Says},
    document::{CaseDoc, ExpectDoc, PathDoc, ResultDoc, SuiteDoc, ToolDoc},
    expect::{Expectations, PathExpected, ResultExpected},
    path::Waypoint,
    stage,
    way::TestedWorkflow,
};

messages::texts!(cases);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}

/// Bound of a file with tests, and of each file that it names, in bytes.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;
/// Bound of the cases of a file.
pub const CASES_MAX: usize = 500;
/// Bound of the tools of a case.
pub const TOOLS_MAX: usize = 100;
/// Bound of the run time of one call of a scripted tool, in milliseconds.
const TOOL_TIMEOUT_MS: u64 = 20_000;

/// A checked file with tests of an agent.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its cases, in the order of the file.
    pub cases: Vec<Case>,
}

/// A mistake in a file, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1.
    pub column: u64,
    /// Reason.
    pub why: Words,
}

/// The surroundings of a file: the agents known besides it, and the files beside it.
pub struct Sources<'a> {
    /// Agents that the file may name or extend.
    pub agents: Catalogue,
    /// Reads a file by its path relative to this one.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub read: &'a dyn Fn(&str) -> Result<String, Words>,
}

impl std::fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

impl Suite {
    /// Parses and checks a file.
    ///
    /// # Errors
    /// The first mistake.
    pub fn parse(text: &str, sources: Sources<'_>) -> Result<Self, Mistake> {
        Checked::of(document(text)?, sources, None)?.cases()
    }

    /// Parses and checks a file with cases of a workflow. Its `agent` may be absent; the agent is then
    /// `default`.
    ///
    /// # Errors
    /// The first mistake.
    pub fn of_workflow(
        text: &str,
        workflow: TestedWorkflow,
        sources: Sources<'_>,
    ) -> Result<Self, Mistake> {
        Checked::of(document(text)?, sources, Some(Arc::new(workflow)))?.cases()
    }
}

fn document(text: &str) -> Result<SuiteDoc, Mistake> {
    if text.len() > FILE_BYTES_MAX {
        let why = Text::TooLarge { bytes: &text.len(), max: &FILE_BYTES_MAX };
        return Err(Mistake { line: 1, column: 1, why: why.into() });
    }
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| unread(&error))
}

/// Returns the parser's mistake, on one line and without its place.
fn unread(error: &serde_saphyr::Error) -> Mistake {
    let rendered = error.without_snippet().to_string();
    let message = rendered.lines().next().unwrap_or_default();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    let why = message.get(..end).unwrap_or_default().to_owned().into();
    let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
    Mistake { line: line.max(1), column: column.max(1), why }
}

fn at(location: Location, why: impl Into<Words>) -> Mistake {
    let (line, column) = (location.line().max(1), location.column().max(1));
    Mistake { line, column, why: why.into() }
}

/// The parts that all cases of a file share.
struct Checked<'a> {
    agent: AgentName,
    agents: Catalogue,
    script: Option<Spanned<Value>>,
    tools: Vec<Spanned<ToolDoc>>,
    cases: Vec<Spanned<CaseDoc>>,
    workflow: Option<Arc<TestedWorkflow>>,
    read: &'a dyn Fn(&str) -> Result<String, Words>,
}

impl<'a> Checked<'a> {
    fn of(
        doc: SuiteDoc,
        sources: Sources<'a>,
        workflow: Option<Arc<TestedWorkflow>>,
    ) -> Result<Self, Mistake> {
        let Sources { mut agents, read } = sources;
        let mut files = Vec::new();
        for file in &doc.agents {
            files.push(source(file, read)?);
        }
        let top = Mistake { line: 1, column: 1, why: Text::NoAgentNamed.into() };
        let (here, agent) = match &doc.agent {
            Some(named) if is_file(&named.value) => {
                let source = source(named, read)?;
                let name = source.name.clone();
                files.push(source);
                (named.defined, name)
            }
            Some(named) => {
                let name = AgentName::new(&named.value);
                (named.defined, name.map_err(|error| at(named.defined, error.words()))?)
            }
            None if workflow.is_some() => (Location::UNKNOWN, usual_agent()),
            None => return Err(top),
        };
        agents.set(Layer::Directory, files);
        match agents.get(&agent) {
            Some(Ok(_)) => {}
            Some(Err(mistakes)) => {
                let mistakes = mistakes.clone();
                return Err(at(here, Words::new(|language| mistakes.text(language))));
            }
            None => return Err(at(here, Text::NoAgent { name: &agent })),
        }
        let SuiteDoc { script, tools, cases, .. } = doc;
        Ok(Self { agent, agents, script, tools, cases, workflow, read })
    }

    fn cases(&self) -> Result<Suite, Mistake> {
        let mut cases: Vec<Case> = Vec::new();
        for case in &self.cases {
            let here = case.defined;
            if cases.len() == CASES_MAX {
                return Err(at(here, Text::TooManyCases { max: &CASES_MAX }));
            }
            if cases.iter().any(|other| other.name == case.value.name) {
                return Err(at(here, Text::CaseTwice { name: &case.value.name }));
            }
            cases.push(self.case(case)?);
        }
        match cases.is_empty() {
            true => Err(Mistake { line: 1, column: 1, why: Text::NoCases.into() }),
            false => Ok(Suite { cases }),
        }
    }

    fn case(&self, spanned: &Spanned<CaseDoc>) -> Result<Case, Mistake> {
        let (here, doc) = (spanned.defined, &spanned.value);
        let parts = self.parts(&doc.tools)?;
        let script = doc.script.as_ref().or(self.script.as_ref());
        let script = script.ok_or_else(|| at(here, Text::NoScript))?;
        let known: BTreeSet<ToolName> = parts.iter().map(|part| part.spec.name.clone()).collect();
        let mut body = json!({ "id": stage::job(), "agent": self.agent, "goal": doc.goal });
        let tests_a_way = doc.expect.visits.is_some() || doc.expect.output.is_some();
        match self.workflow.as_deref() {
            Some(TestedWorkflow { source, definition, workflows }) => {
                let input = doc.input.clone().unwrap_or_else(|| json!({}));
                body["workflow"] =
                    json!({ "source": source, "input": input, "workflows": workflows });
                if doc.goal.is_empty() {
                    body["goal"] = json!(definition.name);
                }
            }
            None if doc.input.is_some() || tests_a_way => return Err(at(here, Text::NoWorkflow)),
            None => {}
        }
        let fields = [
            ("plan", doc.plan.clone()),
            ("language", doc.language.map(|language| json!(language))),
            ("confirm", doc.confirm.map(Value::Bool)),
            ("deadline_ms", doc.deadline_ms.map(|ms| json!(ms))),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                body[name] = value;
            }
        }
        Ok(Case {
            name: doc.name.clone(),
            agents: self.agents.clone(),
            model: self.model(script)?,
            parts,
            answers: Arc::from(doc.answers.clone()),
            workflow: self.workflow.clone(),
            body,
            expect: expectations(&doc.expect, &known).map_err(|why| at(here, why))?,
        })
    }

    /// Returns the tools of a case. One of the case replaces that of the file with its name.
    fn parts(&self, own: &[Spanned<ToolDoc>]) -> Result<Vec<Part>, Mistake> {
        let mut parts: Vec<Part> = Vec::new();
        for (is_own, tool) in
            self.tools.iter().map(|tool| (false, tool)).chain(own.iter().map(|tool| (true, tool)))
        {
            let part = part(&tool.value).map_err(|why| at(tool.defined, why))?;
            let before = parts.iter().position(|other| other.spec.name == part.spec.name);
            match (before, is_own) {
                (Some(n), true) => parts[n] = part,
                (Some(_), false) => {
                    return Err(at(tool.defined, Text::ToolTwice { name: &part.spec.name }));
                }
                (None, _) if parts.len() == TOOLS_MAX => {
                    return Err(at(tool.defined, Text::TooManyTools { max: &TOOLS_MAX }));
                }
                (None, _) => parts.push(part),
            }
        }
        Ok(parts)
    }

    fn model(&self, script: &Spanned<Value>) -> Result<ScriptModel, Mistake> {
        let here = script.defined;
        let text = match script.value.as_str() {
            Some(file) => (self.read)(file).map_err(|why| at(here, why))?,
            // JSON is YAML, and a script that stands in the file has been parsed already.
            None => script.value.to_string(),
        };
        let script = Script::parse(&text)
            .map_err(|error| at(here, Text::Script { why: &error.to_string() }))?;
        Ok(ScriptModel::new(script, "scripted", Timeouts::default()))
    }
}

/// Returns the agent of submissions that name none.
fn usual_agent() -> AgentName {
    AgentName::new("default").expect("a plain word is a name")
}

fn is_file(named: &str) -> bool {
    [".yaml", ".yml"].iter().any(|ending| named.ends_with(ending))
}

/// Reads an agent file, whose agent has the file's name.
fn source(
    file: &Spanned<String>,
    read: &dyn Fn(&str) -> Result<String, Words>,
) -> Result<Source, Mistake> {
    let place = file.value.clone();
    let stem = place.rsplit('/').next().unwrap_or_default();
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let name = AgentName::new(stem).map_err(|error| at(file.defined, error.words()))?;
    let text = read(&place).map_err(|why| at(file.defined, why))?;
    Ok(Source { name, place, text })
}

fn part(doc: &ToolDoc) -> Result<Part, Words> {
    match (&doc.builtin, &doc.name) {
        (Some(builtin), None) => {
            let known = BuiltIn::ALL.into_iter().find(|(name, _)| builtin.as_str() == *name);
            let names = BuiltIn::ALL.map(|(name, _)| name).join(", ");
            let (_, tool) = known.ok_or(Text::NoBuiltIn { name: builtin, known: &names })?;
            Ok(Part { spec: tool.spec(), kind: Kind::BuiltIn(tool) })
        }
        (None, Some(name)) => scripted(name, doc),
        (Some(_), Some(_)) | (None, None) => Err(Text::NameOrBuiltIn.into()),
    }
}

fn scripted(name: &ToolName, doc: &ToolDoc) -> Result<Part, Words> {
    let effect = doc.effect.ok_or(Text::NoEffect { name })?;
    let spec = ToolSpec {
        name: name.clone(),
        // Models need some description, and scripts none.
        description: doc.about.clone().unwrap_or_else(|| name.to_string()),
        schema: doc.schema.clone().unwrap_or_else(|| json!({ "type": "object" })),
        effect,
        pool: pools::builtin(),
        timeout_ms: TOOL_TIMEOUT_MS,
        concurrency: 4,
        approval: doc.approval,
        destructive: doc.destructive,
        untrusted: doc.untrusted,
        version: "1".to_owned(),
        commands: Vec::new(),
        translations: std::collections::BTreeMap::new(),
    };
    if let Err(error) = runtime::registry::check(&spec) {
        return Err(error.to_string().into());
    }
    let lines = doc.results.iter().map(|line| said(name, line)).collect::<Result<Vec<_>, _>>()?;
    let lines = if lines.is_empty() { vec![nothing()] } else { lines };
    Ok(Part { spec, kind: Kind::Scripted { careless: doc.careless, lines } })
}

/// Returns the result of a tool without results in the file.
fn nothing() -> Line {
    let (when, times, delay, cost) = (None, None, Duration::ZERO, None);
    Line { when, times, delay, cost, says: Says::Ok(json!({})) }
}

fn said(name: &ToolName, doc: &ResultDoc) -> Result<Line, Words> {
    let says = match (&doc.ok, &doc.failed, doc.fault) {
        (Some(value), None, None) => Says::Ok(value.clone()),
        (None, Some(why), None) => Says::Failed(why.clone()),
        (None, None, Some(fault)) => Says::Fault(fault),
        (None, None, None)
        | (Some(_), Some(_), _)
        | (Some(_), _, Some(_))
        | (_, Some(_), Some(_)) => {
            return Err(Text::OneResult { name }.into());
        }
    };
    let (when, times, cost) = (doc.when.clone(), doc.times, doc.cost);
    Ok(Line { when, times, delay: Duration::from_millis(doc.delay_ms), cost, says })
}

fn expectations(doc: &ExpectDoc, known: &BTreeSet<ToolName>) -> Result<Expectations, Words> {
    let calls = doc.calls.iter().map(|call| &call.tool);
    let tools = calls.chain(&doc.not_called).chain(doc.effects.keys());
    if let Some(name) = tools.into_iter().find(|name| !known.contains(*name)) {
        return Err(Text::NoTool { name }.into());
    }
    let result = doc.result.clone().unwrap_or_default();
    let matches = result.matches.map(|pattern| {
        Regex::new(&pattern).map_err(|_| Words::from(Text::Pattern { pattern: &pattern }))
    });
    Ok(Expectations {
        state: doc.state.unwrap_or(proto::job::JobState::Completed),
        result: ResultExpected {
            text: result.text,
            contains: result.contains,
            matches: matches.transpose()?,
            json: result.json,
        },
        steps: doc.steps.clone(),
        path: path(doc.path.as_ref())?,
        visits: doc.visits.clone().unwrap_or_default(),
        output: doc.output.clone(),
        calls: doc.calls.clone(),
        not_called: doc.not_called.clone(),
        effects: doc.effects.clone(),
        questions: doc.questions,
        turns: doc.turns,
        tokens: doc.tokens,
        cost: doc.cost,
    })
}

fn path(doc: Option<&PathDoc>) -> Result<PathExpected, Words> {
    let Some(PathDoc { exactly, includes }) = doc else { return Ok(PathExpected::default()) };
    let parsed = |path: &Vec<String>| {
        let point = |text: &String| {
            Waypoint::parse(text).ok_or_else(|| Words::from(Text::Waypoint { text }))
        };
        path.iter().map(point).collect::<Result<Vec<_>, _>>()
    };
    Ok(PathExpected {
        exactly: exactly.as_ref().map(parsed).transpose()?,
        includes: includes.as_ref().map(parsed).transpose()?,
    })
}

impl Mistake {
    /// Returns the mistake with its place in a file, in the form that editors understand.
    #[must_use]
    pub fn text(&self, file: &str, language: Language) -> String {
        let Self { line, column, why } = self;
        format!("{file}:{line}:{column}: {}", why.text(language))
    }
}
