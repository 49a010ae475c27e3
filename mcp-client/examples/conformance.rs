//! The client of MCP's conformance suite: it trusts the server at a URL, and calls its tools as the role
//! `tools` does.
//!
//! The suite appends the URL to the command. Where a scenario needs given calls, they are in
//! `MCP_CONFORMANCE_CONTEXT`; otherwise each tool is called once, with arguments that fit its schema.

use std::{env, error::Error, sync::Arc};

use broker::memory::{self, MemoryOptions};
use callboard_mcp_client::{
    FoundTool, Launch, Setup, probe,
    settings::{Mcp, Properties, Server, ServerName},
    start, trust,
};
use proto::{
    decision::{CallWork, pools},
    id::{Attempt, JobId, StepId, WorkId},
    lang::Language,
    subject::Subjects,
    tool::{Approval, ToolSpec},
    trace::TraceContext,
};
use runtime::actor::{Restarts, Tree};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tool_actors::{CallContext, Toolset};

/// The context of a scenario.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Scenario {
    #[serde(default)]
    tool_calls: Vec<GivenCall>,
}

/// A call that a scenario asks for.
#[derive(Deserialize)]
struct GivenCall {
    name: String,
    arguments: Value,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().next_back().ok_or("the last argument is the URL of a server")?;
    let scenario: Scenario = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Scenario::default(),
    };
    let name: ServerName = "suite".parse()?;
    let mut server: Server = serde_json::from_value(json!({"url": url, "allow_private": true}))?;
    let probed = probe(&name, &server, &Launch::of(&name, &server)?).await?;
    for refused in &probed.refused {
        eprintln!("refused: {refused:?}");
    }
    // Nobody is there to approve.
    for tool in &probed.tools {
        let free = Properties { approval: Some(Approval::Never), ..Properties::default() };
        server.tools.set.insert(tool.remote.clone(), free);
    }
    let broker = memory::start(Subjects::new("cb", 1)?, MemoryOptions::default());
    trust(&broker, &name, &probed.pins).await?;
    let tools = Arc::new(Toolset::new(pools::builtin(), Vec::new())?);
    let shutdown = CancellationToken::new();
    let setup = Setup { broker, tools: Arc::clone(&tools), shutdown: shutdown.clone() };
    let children = start(&setup, &Mcp { servers: [(name, server)].into() })?;
    let tree = Tree::start("mcp", Restarts::default(), children).await?;
    let mut changes = tools.watch();
    while tools.specs().len() < probed.tools.len() {
        changes.changed().await?;
    }
    for (spec, args) in calls(&tools.specs(), &probed.tools, scenario)? {
        let ended = call(&tools, spec, args).await?;
        eprintln!("{ended}");
    }
    shutdown.cancel();
    tree.ended().await;
    Ok(())
}

/// Returns the calls of a scenario.
fn calls(
    specs: &[ToolSpec],
    found: &[FoundTool],
    scenario: Scenario,
) -> Result<Vec<(ToolSpec, Value)>, Box<dyn Error>> {
    if scenario.tool_calls.is_empty() {
        return Ok(specs.iter().map(|spec| (spec.clone(), fitting(spec, specs))).collect());
    }
    let spec = |call: GivenCall| {
        let tool = found.iter().find(|tool| tool.remote == call.name);
        let tool = tool.ok_or_else(|| format!("the server has no tool {}", call.name))?;
        Ok((tool.spec.clone(), call.arguments))
    };
    scenario.tool_calls.into_iter().map(spec).collect()
}

/// Returns arguments that fit the schema of a tool. An argument `schema` is the schema of another tool,
/// which the suite compares with the one that it sent.
fn fitting(spec: &ToolSpec, specs: &[ToolSpec]) -> Value {
    let required = spec.schema["required"].as_array().into_iter().flatten();
    let other = specs.iter().find(|other| other.name != spec.name);
    let value = |name: &str| match (name, other) {
        ("schema", Some(other)) => other.schema.clone(),
        _ => match spec.schema["properties"][name]["type"].as_str() {
            Some("number" | "integer") => json!(2),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("text"),
        },
    };
    let fields = required.filter_map(Value::as_str).map(|name| (name.to_owned(), value(name)));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// Calls a tool, and returns what came of it.
async fn call(tools: &Toolset, spec: ToolSpec, args: Value) -> Result<String, Box<dyn Error>> {
    let job = JobId::new("job")?;
    let call = CallWork {
        work: WorkId::new("g0.s1")?,
        attempt: Attempt::FIRST,
        step: StepId::new("1")?,
        tool: spec.name,
        version: spec.version,
        pool: spec.pool,
        effect: spec.effect,
        destructive: spec.destructive,
        untrusted: spec.untrusted,
        args,
        idempotency_key: "job/g0.s1".into(),
        approved: None,
        remembered: None,
        hosts: None,
        refused: None,
        language: Language::En,
    };
    let admitted = match tools.admit(&job, &call) {
        Ok(admitted) => admitted,
        Err(fault) => return Ok(format!("{}: {fault}", call.tool)),
    };
    let trace = TraceContext::new(7, 7, false);
    let context = CallContext::of(&job, &call, trace, CancellationToken::new());
    Ok(match admitted.run(context, call.args.clone()).await {
        Ok(result) => format!("{}: {result:?}", call.tool),
        Err(fault) => format!("{}: {fault}", call.tool),
    })
}
