//! The verb `download`: pieces of the files of a job, which came with it or which its calls published.

use broker::{log::LogError, objects::ObjectError};
use proto::{
    door::{Data, Download, Downloaded},
    error::{Code, Failure},
    file::{Content, File, FileName},
    id::{JobId, Seq},
    refusal::Text,
};
use runtime::service::{Answers, Asked};

use super::{Door, fold, folds::Found};

impl Answers<Download> for Door {
    async fn answer(&self, asked: Asked<'_, Download>) -> Result<Downloaded, Failure> {
        let Download { job, name, piece } = asked.request()?;
        let no_job = || Failure::of(Code::NotFound, Text::NoJob { job: &job }).at("job");
        let first = self.broker.log.first(&job).await?.ok_or_else(no_job)?;
        let submitted = first.submission().ok_or_else(|| {
            Failure::of(Code::Poisoned, Text::TakenUnreadable { job: &job, record: &first.seq })
        })?;
        let (file, seq) = match submitted.files.into_iter().find(|file| file.name == name) {
            Some(file) => (file, None),
            None => self.artifact(&job, &name).await?,
        };
        let bytes = file.bytes().unwrap_or_default();
        let File { name, media_type, content } = file;
        let pieces = match content {
            Content::Pieces(pieces) => pieces,
            Content::Url(url) => {
                // A query or a fragment may hold a credential.
                let url = url.split(['?', '#']).next().unwrap_or_default();
                return Err(Failure::about(
                    Code::InvalidRequest,
                    "name",
                    Text::FileIsUrl { url: &url },
                ));
            }
        };
        let count = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
        let wanted = usize::try_from(piece).ok().and_then(|piece| pieces.get(piece));
        let data = match wanted {
            Some(wanted) => self.broker.objects.get(&wanted.sha256).await.map_err(unread)?.into(),
            // An empty file has no piece, and its first one is empty.
            None if piece == 0 => Vec::new(),
            None => {
                let why = Text::NoSuchPiece { count: &count };
                return Err(Failure::about(Code::InvalidRequest, "piece", why));
            }
        };
        Ok(Downloaded { name, media_type, bytes, pieces: count, seq, data: Data(data) })
    }
}

impl Door {
    /// Returns an artifact of a job, with the position of the result that published it.
    async fn artifact(&self, job: &JobId, name: &FileName) -> Result<(File, Option<Seq>), Failure> {
        let no_file = || Failure::about(Code::NotFound, "name", Text::NoFile { name });
        match self.observer.folds.job(&*self.broker.log, job).await? {
            Found::Folded(folded) => {
                let mut artifacts = folded.job.artifact_files();
                let found = artifacts.find(|(_, file)| file.name == *name);
                found.map(|(told, file)| (file, told.seq)).ok_or_else(no_file)
            }
            Found::Broken(failure) => Err(failure),
            Found::Missing => Err(fold::missing(job)),
        }
    }
}

fn unread(error: ObjectError) -> Failure {
    match error {
        ObjectError::Missing(sha256) => {
            Failure::of(Code::NotFound, Text::NoPiece { sha256: &sha256 }).at("name")
        }
        error @ (ObjectError::Unavailable(_) | ObjectError::Full(_)) => {
            LogError::from(error).into()
        }
    }
}
