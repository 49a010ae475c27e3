//! Files that come with a job: read here, uploaded before the job is stored.

use std::path::Path;

use client::Client;
use proto::{
    door::{FileSource, SubmitFile},
    file::FileName,
    limits,
};

use crate::{failure::CliError, input};

/// A file that is named on the command line.
pub(super) enum Named {
    /// One that was read.
    Content(FileName, Vec<u8>),
    /// One that is somewhere else.
    Url(FileName, String),
}

/// Reads the files before anything is asked of anybody.
///
/// # Errors
/// The first that cannot be read, or is too large.
pub(super) fn read(named: &[String]) -> Result<Vec<Named>, CliError> {
    if named.len() > limits::FILES_MAX {
        let why = format!("{} are too many; at most {} are taken", named.len(), limits::FILES_MAX);
        return Err(CliError::input("file", why));
    }
    named.iter().map(|named| one(named)).collect()
}

fn one(named: &str) -> Result<Named, CliError> {
    let wrong = |why: String| CliError::input("file", format!("{named}: {why}"));
    if named.starts_with("https://") || named.starts_with("http://") {
        let path = named.split(['?', '#']).next().unwrap_or_default();
        let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let name = FileName::new(last).map_err(|e| wrong(e.to_string()))?;
        return Ok(Named::Url(name, named.to_owned()));
    }
    let path = Path::new(named);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = FileName::new(name.unwrap_or_default()).map_err(|e| wrong(e.to_string()))?;
    let most = usize::try_from(limits::FILE_BYTES_MAX).unwrap_or(usize::MAX);
    Ok(Named::Content(name, input::bytes("file", path, most)?))
}

/// Uploads what was read.
///
/// # Errors
/// What the server refuses.
pub(super) async fn upload(
    client: &Client,
    files: Vec<Named>,
) -> Result<Vec<SubmitFile>, CliError> {
    let mut uploaded = Vec::with_capacity(files.len());
    for file in files {
        uploaded.push(match file {
            Named::Content(name, content) => client.attach(name, content).await?,
            Named::Url(name, url) => {
                SubmitFile { name, media_type: None, content: FileSource::Url(url) }
            }
        });
    }
    Ok(uploaded)
}
