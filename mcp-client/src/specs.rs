//! A server's tools as tools of Callboard: names, versions, effects and approvals.

use std::sync::Arc;

use proto::{
    digest,
    id::Pool,
    tool::{Approval, Effect, ToolSpec},
};
use rmcp::model::{Tool, ToolAnnotations};
use runtime::{registry, schema::Schema};
use serde_json::{Value, json};

use crate::{
    launch::escaped,
    names,
    server::READY_WITHIN,
    settings::{PROGRESS_TIMES, Properties, Server, ServerName},
};

/// Largest number of concurrent calls of one tool in one process.
const CONCURRENCY: u32 = 8;
/// Hex digits of the digest in a version.
const VERSION_DIGITS: usize = 16;

/// A tool of a server.
#[derive(Debug, Clone)]
pub struct FoundTool {
    /// Name that the server gives the tool.
    pub remote: String,
    /// SHA-256 of everything that the server says about the tool.
    pub digest: String,
    /// The tool's specification in Callboard.
    pub spec: ToolSpec,
    /// Schema of structured content.
    pub(crate) output: Option<Arc<Schema>>,
}

/// A tool of a server that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Name that the server gives the tool, with its control characters escaped.
    pub tool: String,
    /// The reason.
    pub why: String,
}

/// Converts the list of a server, without the tools that the settings leave out.
pub(crate) fn of(
    server: &ServerName,
    settings: &Server,
    pool: &Pool,
    listed: &[Tool],
) -> (Vec<FoundTool>, Vec<Refused>) {
    let (mut found, mut refused) = (Vec::<FoundTool>::new(), Vec::new());
    let listed: Vec<_> = listed.iter().filter(|tool| settings.tools.allows(&tool.name)).collect();
    let names = names::of_tools(server, listed.iter().map(|tool| &*tool.name));
    for (tool, name) in listed.into_iter().zip(names) {
        let mut refuse = |why: String| {
            let tool = escaped(&tool.name).chars().take(100).collect();
            refused.push(Refused { tool, why });
        };
        let Some(name) = name else {
            refuse("it has no usable name".to_owned());
            continue;
        };
        if found.iter().any(|other| other.spec.name == name) {
            refuse("the server lists it twice".to_owned());
            continue;
        }
        let digest = digest_of(tool);
        let Decided { effect, approval, destructive } = decided(settings, tool);
        // The call may have to start its server first.
        let ready = u64::try_from(READY_WITHIN.as_millis()).unwrap_or(u64::MAX);
        let limit = settings.timeout_ms.saturating_mul(u64::from(PROGRESS_TIMES));
        let limit = limit.saturating_add(ready);
        let spec = ToolSpec {
            description: description(tool, name.as_str()),
            name,
            schema: Value::Object((*tool.input_schema).clone()),
            effect,
            pool: pool.clone(),
            timeout_ms: limit.min(registry::TIMEOUT_MS_MAX),
            concurrency: CONCURRENCY,
            approval,
            destructive,
            untrusted: !settings.trust_results,
            version: format!("mcp-{}", digest.get(..VERSION_DIGITS).unwrap_or(&digest)),
            commands: Vec::new(),
            translations: std::collections::BTreeMap::new(),
        };
        if let Err(error) = registry::check(&spec) {
            refuse(error.to_string());
            continue;
        }
        match output(tool) {
            Ok(output) => {
                found.push(FoundTool { remote: tool.name.to_string(), digest, spec, output });
            }
            Err(why) => refuse(why),
        }
    }
    (found, refused)
}

fn description(tool: &Tool, name: &str) -> String {
    let said = tool.description.as_deref().filter(|text| !text.trim().is_empty());
    said.or(tool.title.as_deref().filter(|text| !text.trim().is_empty())).unwrap_or(name).to_owned()
}

fn output(tool: &Tool) -> Result<Option<Arc<Schema>>, String> {
    let Some(schema) = &tool.output_schema else { return Ok(None) };
    let schema = Schema::compile(&Value::Object((**schema).clone()));
    schema.map(|schema| Some(Arc::new(schema))).map_err(|error| format!("outputSchema: {error}"))
}

/// Returns the SHA-256 of everything that decides how a model or a person understands a tool.
fn digest_of(tool: &Tool) -> String {
    digest::of_json(&json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": *tool.input_schema,
        "outputSchema": tool.output_schema.as_deref(),
        "annotations": tool.annotations,
    }))
}

struct Decided {
    effect: Effect,
    approval: Approval,
    destructive: bool,
}

/// Decides a tool's effect and approval. Only a trusted server's annotations count. An annotation
/// that warns of destruction counts always.
fn decided(settings: &Server, tool: &Tool) -> Decided {
    let none = ToolAnnotations::default();
    let hints = tool.annotations.as_ref().unwrap_or(&none);
    let reads = settings.trust_annotations && hints.read_only_hint == Some(true);
    let destructive = match settings.trust_annotations {
        true => !reads && hints.is_destructive(),
        false => hints.destructive_hint == Some(true),
    };
    let (effect, approval) = match settings.trust_annotations {
        false => (Effect::Once, Approval::Always),
        true if reads => (Effect::Pure, Approval::Never),
        true => {
            let effect = if hints.is_idempotent() { Effect::Idempotent } else { Effect::Once };
            (effect, if destructive { Approval::Always } else { Approval::Never })
        }
    };
    let set = settings.tools.set.get(&*tool.name);
    let Properties { effect: own, approval: needed } = set.cloned().unwrap_or_default();
    Decided { effect: own.unwrap_or(effect), approval: needed.unwrap_or(approval), destructive }
}

#[cfg(test)]
mod tests;
