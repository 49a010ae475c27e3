//! Descriptions of workflows for the replies.

use agents::workflow::{
    read::{Known, read},
    shelf::Entry,
};
use proto::{
    agent::Layer,
    door::{WorkflowEntry, WorkflowVersion},
    error::{Code, Failure},
    limits,
    refusal::Text,
};

use super::versions::Recorded;

/// Describes a workflow in brief.
pub(super) fn shown(entry: Entry<'_>) -> WorkflowEntry {
    let Entry { name, layer, revision, text: _, brief } = entry;
    let (brief, mistakes) = match brief {
        Ok(brief) => (Some(brief), Vec::new()),
        Err(mistakes) => (None, mistakes.0.iter().map(ToString::to_string).collect()),
    };
    WorkflowEntry {
        name,
        layer,
        revision,
        version: brief.as_ref().map(|brief| brief.version),
        digest: brief.as_ref().map(|brief| brief.digest.clone()),
        about: brief.map(|brief| brief.about).unwrap_or_default(),
        text: None,
        definition: None,
        graph: None,
        mistakes,
        versions: Vec::new(),
    }
}

/// Describes a version of a workflow in full, that in force if none is requested, with the list of all.
pub(super) fn whole(
    entry: Entry<'_>,
    mut recorded: Vec<Recorded>,
    wanted: Option<u32>,
) -> Result<WorkflowEntry, Failure> {
    let name = entry.name.clone();
    let brief = entry.brief.as_ref().ok().filter(|_| entry.layer == Layer::Bucket);
    let in_force = brief.map(|brief| brief.version);
    let versions = versions(&entry, &recorded);
    let Some(wanted) = wanted.filter(|wanted| in_force != Some(*wanted)) else {
        return Ok(with(entry, versions));
    };
    let Some(at) = recorded.iter().position(|one| one.version.version == wanted) else {
        if entry.brief.as_ref().is_ok_and(|built_in| built_in.version == wanted) {
            return Ok(with(entry, versions));
        }
        let why = Text::NoWorkflowVersion { name: &name, version: &wanted };
        let failure = Failure::about(Code::NotFound, "version", why);
        return Err(failure.next(Text::SeeWorkflowVersions));
    };
    let text = recorded.swap_remove(at).text;
    Ok(with(Entry::of_file(name, &text), versions))
}

/// Returns the recorded versions. That in force has the digest of the workflow itself, which an earlier
/// release may have stored without a record.
fn versions(entry: &Entry<'_>, recorded: &[Recorded]) -> Vec<WorkflowVersion> {
    let mut versions: Vec<_> = recorded.iter().map(|one| one.version.clone()).collect();
    if let (Layer::Bucket, Ok(brief)) = (entry.layer, &entry.brief) {
        let (version, digest) = (brief.version, brief.digest.clone());
        match versions.iter_mut().find(|one| one.version == version) {
            Some(one) if one.digest == digest => {}
            Some(one) => *one = WorkflowVersion { version, digest, time: None, by: None },
            None => versions.push(WorkflowVersion { version, digest, time: None, by: None }),
        }
        versions.sort_by_key(|one| std::cmp::Reverse(one.version));
    }
    versions
}

fn with(entry: Entry<'_>, versions: Vec<WorkflowVersion>) -> WorkflowEntry {
    let text = entry.text.to_owned();
    let read = read(&entry.place(), &text, &Known::default());
    let definition = read.ok().map(|checked| Box::new(checked.workflow));
    let graph = definition.as_deref().map(|workflow| Box::new(workflow.shape()));
    let mut entry = WorkflowEntry { text: Some(text), definition, graph, versions, ..shown(entry) };
    let is_too_large =
        serde_json::to_vec(&entry).is_ok_and(|it| it.len() > limits::REPLY_BYTES_MAX);
    entry.graph = entry.graph.filter(|_| !is_too_large);
    entry
}
