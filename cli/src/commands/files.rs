//! `jobs files`: lists the files of a job, and fetches those that came with it or that its calls published.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use proto::{escape, file::FileName};

use crate::{
    args::{FilesArgs, Global},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    render::files::{self as render, listed},
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, args: &FilesArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let view = connect::job(&client, &args.job).await?;
    let Some(name) = &args.name else {
        let files = listed(&view);
        return output.list(
            &files,
            &files,
            |file| escape::line(&file.name).into_owned(),
            |style| render::list(style, &files),
        );
    };
    let content = client.download(&view.job, name).await?;
    match &args.save_as {
        Some(path) if path == Path::new("-") => output.bytes(&content)?,
        Some(path) => write(output, name, path, &content, false)?,
        None => write(output, name, &PathBuf::from(name.as_str()), &content, true)?,
    }
    Ok(Exit::Success)
}

/// Writes a file. A name that the job chose replaces no file.
fn write(
    output: Output,
    name: &FileName,
    path: &Path,
    content: &[u8],
    is_new: bool,
) -> Result<(), CliError> {
    let mut options = OpenOptions::new();
    match is_new {
        true => options.write(true).create_new(true),
        false => options.write(true).create(true).truncate(true),
    };
    let written = options.open(path).and_then(|mut file| file.write_all(content));
    let path = &escape::line(&path.display().to_string()).into_owned();
    written.map_err(|error| {
        if error.kind() == ErrorKind::AlreadyExists {
            CliError::input("save-as", Text::FileThere { path })
        } else {
            CliError::input("save-as", Text::FileUnwritten { path, why: &error })
        }
    })?;
    output.note(Text::FileWritten { name, path });
    Ok(())
}
