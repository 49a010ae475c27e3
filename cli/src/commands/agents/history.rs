//! `agents log`, `diff` and `rollback`, and the preview of `agents put`.

use client::Client;
use proto::{
    door::{AgentHistory, SetAgent},
    id::AgentName,
};

use crate::commands::jobs::caller;
use crate::{
    args::{DiffAgentArgs, Global, RollBackAgentArgs},
    connect,
    failure::{CliError, Outcome},
    output::Output,
    render::{
        agents_history as render,
        difference::{self, Compared, Named},
    },
    words::Text,
};

pub(super) async fn log(global: &Global, output: Output, name: &AgentName) -> Outcome {
    let history = connect::client(global, output).await?.agent_revisions(name, None).await?;
    output.list(
        &history,
        &history.revisions,
        |revision| revision.revision.to_string(),
        |style| render::log(style, &history),
    )
}

pub(super) async fn diff(global: &Global, output: Output, args: &DiffAgentArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let name = &args.name;
    let (from, to) = match (args.from, args.to) {
        (Some(from), Some(to)) => (from, to),
        (from, to) => {
            let history = client.agent_revisions(name, None).await?;
            let known = |text: Text<'_>| CliError::input("revision", text);
            let newest = history.revisions.first().map(|newest| newest.revision);
            let to = to.or(newest);
            let to = to.ok_or_else(|| known(Text::AgentNotStored { name }))?;
            let before = |history: &AgentHistory| {
                let mut older = history.revisions.iter().map(|one| one.revision);
                older.find(|revision| *revision < to)
            };
            let from = from.or_else(|| before(&history));
            (from.ok_or_else(|| known(Text::NoEarlierRevision { name }))?, to)
        }
    };
    let side = async |revision: u64| {
        let found = client.agent_revisions(name, Some(revision)).await?;
        let text = found.revisions.into_iter().find_map(|one| one.text).unwrap_or_default();
        let revision = Text::RevisionOf { name, revision: &revision };
        Ok::<_, CliError>(Named { name: revision.text(output.language), text })
    };
    shown(output, &Compared { from: side(from).await?, to: side(to).await? }, name)
}

/// Prints what `agents put` would change, against the agent that is in use.
pub(super) async fn preview(client: &Client, output: Output, set: &SetAgent) -> Outcome {
    let SetAgent { name, text, .. } = set;
    let all = client.agents(None).await?;
    let from = match all.agents.iter().any(|agent| agent.name == *name) {
        true => client.agents(Some(name)).await?.agents.pop(),
        false => None,
    };
    let nothing = || Text::NothingBefore.text(output.language);
    let from = from.map_or_else(
        || Named { name: nothing(), text: String::new() },
        |agent| Named { name: agent.place, text: agent.text.unwrap_or_default() },
    );
    let to = Named { name: name.to_string(), text: text.clone() };
    let outcome = shown(output, &Compared { from, to }, name);
    output.note(Text::AgentChecked { name });
    outcome
}

pub(super) async fn roll_back(
    global: &Global,
    output: Output,
    args: &RollBackAgentArgs,
) -> Outcome {
    let client = connect::client(global, output).await?;
    let changed = client.roll_back_agent(&args.name, args.to, caller()).await?;
    output.warnings(&changed.warnings);
    output.one(&changed, changed.name.as_str(), |style| {
        let (name, to, revision) = (&changed.name, &args.to, &changed.revision.unwrap_or_default());
        format!("{}\n", style.say(Text::AgentRolledBack { name, to, revision }))
    })
}

fn shown(output: Output, compared: &Compared, name: &AgentName) -> Outcome {
    output.one(compared, name.as_str(), |style| difference::diff(style, compared, name))
}
