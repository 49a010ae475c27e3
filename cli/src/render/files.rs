//! Rendering of a job's files: those that came with it, and those that its steps name.

use proto::{escape, id::StepId, view::JobView};
use serde::Serialize;

use crate::{
    render::table::{Piece, plain, table},
    style::Style,
    words::Text,
};

/// A file of a job.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    /// Name of the file, or its path or address as the step names it.
    pub(crate) name: String,
    /// Size in bytes, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    /// Address of the content, for a file that is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Step that published or names the file; absent for a file of the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<StepId>,
    /// `true` for a file that a call published.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    published: bool,
}

/// Returns the files of the submission, then the artifacts, then other names that steps give.
pub(crate) fn listed(view: &JobView) -> Vec<Listed> {
    let own = view.files.iter().map(|file| Listed {
        name: file.name.to_string(),
        bytes: file.bytes,
        media_type: file.media_type.clone(),
        url: file.url.clone(),
        step: None,
        published: false,
    });
    let artifacts = view.artifacts.iter().map(|artifact| Listed {
        name: artifact.file.name.to_string(),
        bytes: artifact.file.bytes,
        media_type: artifact.file.media_type.clone(),
        url: artifact.file.url.clone(),
        step: Some(artifact.step.clone()),
        published: true,
    });
    let is_artifact =
        |name: &&String| view.artifacts.iter().any(|it| it.file.name.as_str() == name.as_str());
    let steps = view.plan.iter().flat_map(|plan| &plan.steps);
    let named = steps.flat_map(|step| {
        step.attachments.iter().filter(|name| !is_artifact(name)).map(|name| Listed {
            name: name.clone(),
            bytes: None,
            media_type: None,
            url: None,
            step: Some(step.id.clone()),
            published: false,
        })
    });
    own.chain(artifacts).chain(named).collect()
}

/// Renders the list.
pub(crate) fn list(style: &Style, files: &[Listed]) -> String {
    let rows = files.iter().map(|file| row(style, file)).collect();
    table(style, Text::FilesHeads, rows, Text::NoJobFiles)
}

fn row(style: &Style, file: &Listed) -> Vec<Piece> {
    let unknown = || "–".to_owned();
    let escaped = |text: &str| escape::line(text).into_owned();
    let from = match (&file.step, &file.url) {
        (Some(step), None) if file.published => style.say(Text::FilePublished { step }),
        (Some(step), Some(url)) => {
            format!("{}: {}", style.say(Text::FilePublished { step }), escaped(url))
        }
        (Some(step), None) => style.say(Text::FileOfStep { step }),
        (None, Some(url)) => format!("{}: {}", style.say(Text::FileAddress), escaped(url)),
        (None, None) => style.say(Text::FileOfJob),
    };
    vec![
        plain(escaped(&file.name)),
        plain(
            file.bytes.map_or_else(unknown, |bytes| style.say(Text::FileBytes { bytes: &bytes })),
        ),
        plain(file.media_type.as_deref().map_or_else(unknown, escaped)),
        plain(from),
    ]
}
