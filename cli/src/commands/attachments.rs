//! Attached files: read locally and uploaded before the job is stored.

use std::{collections::BTreeSet, path::Path};

use client::Client;
use proto::{
    door::{FileSource, SubmitFile},
    file::FileName,
    limits,
};

use crate::{failure::CliError, input, interrupt::Interrupts, words::Text};

/// A file named on the command line.
pub(super) enum Named {
    /// Name and content of a local file.
    Content(FileName, Vec<u8>),
    /// Name and address of a remote file.
    Url(FileName, String),
}

/// Reads the local files before anything is sent.
///
/// # Errors
/// The first file that cannot be read or is too large.
pub(super) fn read(named: &[String]) -> Result<Vec<Named>, CliError> {
    if named.len() > limits::FILES_MAX {
        let why = Text::TooManyFiles { count: &named.len(), max: &limits::FILES_MAX };
        return Err(CliError::input("file", why));
    }
    let mut files = named.iter().map(|named| one(named)).collect::<Result<Vec<_>, _>>()?;
    let bytes: u64 = files.iter().map(Named::bytes).sum();
    if bytes > limits::FILES_BYTES_MAX {
        let max = limits::FILES_BYTES_MAX;
        let why = Text::FilesTooLarge { bytes: &bytes, max: &max };
        return Err(CliError::input("file", why));
    }
    tell_apart(&mut files)?;
    Ok(files)
}

/// Numbers files with equal names, as the names of a job's files are unique.
fn tell_apart(files: &mut [Named]) -> Result<(), CliError> {
    let mut taken = BTreeSet::new();
    for file in files {
        let name = file.name_mut();
        let (stem, extension) = match name.as_str().rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => (stem, format!(".{extension}")),
            Some(_) | None => (name.as_str(), String::new()),
        };
        let numbered = (2..).map(|n| format!("{stem} ({n}){extension}"));
        let mut names = std::iter::once(name.to_string()).chain(numbered);
        let free = names.find(|name| !taken.contains(name)).unwrap_or_default();
        *name = FileName::new(free.clone()).map_err(|e| CliError::input("file", e.to_string()))?;
        taken.insert(free);
    }
    Ok(())
}

impl Named {
    fn bytes(&self) -> u64 {
        match self {
            Self::Content(_, content) => content.len() as u64,
            Self::Url(..) => 0,
        }
    }

    fn name_mut(&mut self) -> &mut FileName {
        match self {
            Self::Content(name, _) | Self::Url(name, _) => name,
        }
    }
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

/// Uploads the local files.
///
/// # Errors
/// The server's refusal.
pub(super) async fn upload(
    client: &Client,
    files: Vec<Named>,
) -> Result<Vec<SubmitFile>, CliError> {
    let mut interrupts = Interrupts::take()?;
    let upload = async {
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
    };
    tokio::select! {
        uploaded = upload => uploaded,
        () = interrupts.next() => {
            Err(CliError::interrupted(Text::UploadInterrupted))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_called_alike_are_numbered() {
        let url = |name: &str| Named::Url(FileName::new(name).unwrap(), String::new());
        let mut files = ["a.md", "a.md", ".env", "a (2).md", "a.md", ".env"].map(url);
        tell_apart(&mut files).unwrap();
        let names: Vec<_> = files.iter_mut().map(|file| file.name_mut().to_string()).collect();
        assert_eq!(names, ["a.md", "a (2).md", ".env", "a (2) (2).md", "a (3).md", ".env (2)"]);
    }
}
