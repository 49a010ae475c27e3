//! Files of a job: pieces are stored when they are uploaded, and a submission's references are
//! checked against the store. A job whose files cannot be read is never stored.

use std::collections::BTreeSet;

use broker::{
    log::LogError,
    objects::{self, ObjectError, Objects},
};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use proto::{
    door::{FileSource, SubmitFile, Upload, Uploaded},
    error::{Code, Failure},
    file::{self, Content, File, Piece},
    limits,
    refusal::Text,
};
use runtime::service::{Answers, Asked};
use url::Url;

use super::Door;

/// Number of pieces that are checked concurrently: 4 MiB.
const PIECES_AT_ONCE: usize = 8;

/// Stores a piece: the request's bytes as they are.
impl Answers<Upload> for Door {
    async fn answer(&self, asked: Asked<'_, Upload>) -> Result<Uploaded, Failure> {
        let payload = &asked.call.payload;
        let bytes = payload.len();
        if bytes == 0 {
            return Err(Failure::of(Code::InvalidRequest, Text::EmptyPiece));
        }
        if bytes > limits::PIECE_BYTES_MAX {
            let why = Text::PieceTooLarge { bytes: &bytes, max: &limits::PIECE_BYTES_MAX };
            return Err(Failure::of(Code::TooLarge, why));
        }
        let piece = put(&*self.broker.objects, payload.clone()).await?;
        Ok(Uploaded { piece })
    }
}

/// Checks a submission's files, without reading the store.
///
/// # Errors
/// Returns an error for the first wrong field.
pub(super) fn check(files: &[SubmitFile]) -> Result<(), Failure> {
    if files.len() > limits::FILES_MAX {
        let why = Text::TooMany { count: &files.len(), max: &limits::FILES_MAX };
        return Err(Failure::about(Code::TooLarge, "files", why));
    }
    let (mut names, mut sum) = (BTreeSet::new(), 0_u64);
    for (at, file) in files.iter().enumerate() {
        let field = |rest: &str| format!("files[{at}].{rest}");
        if !names.insert(&file.name) {
            let why = Text::SameName { name: &file.name };
            return Err(Failure::about(Code::InvalidRequest, &field("name"), why));
        }
        let media_type = file.media_type.as_deref();
        if media_type.is_some_and(|named| !file::is_media_type(named)) {
            let (field, why) = (field("media_type"), Text::MediaType);
            return Err(Failure::about(Code::InvalidRequest, &field, why));
        }
        let bytes = source(&file.content, &field("content"))?;
        sum = sum.saturating_add(bytes);
        let max = limits::FILE_BYTES_MAX;
        if bytes > max {
            let why = Text::TooLarge { bytes: &bytes, max: &max };
            return Err(Failure::about(Code::TooLarge, &field("content"), why));
        }
    }
    if sum > limits::FILES_BYTES_MAX {
        let why = Text::FilesTooLarge { bytes: &sum, max: &limits::FILES_BYTES_MAX };
        return Err(Failure::about(Code::TooLarge, "files", why));
    }
    Ok(())
}

/// Returns the claimed size of a file's content; 0 for a URL.
fn source(content: &FileSource, field: &str) -> Result<u64, Failure> {
    let refused = |code, inside: &str, why: Text<'_>| {
        Failure::about(code, &format!("{field}.{inside}"), why).at(field)
    };
    match content {
        FileSource::Text(text) => Ok(text.len() as u64),
        FileSource::Pieces(pieces) => {
            if pieces.len() > limits::PIECES_MAX {
                let why = Text::TooMany { count: &pieces.len(), max: &limits::PIECES_MAX };
                return Err(refused(Code::TooLarge, "pieces", why));
            }
            match pieces.iter().position(|piece| !objects::is_name(&piece.sha256)) {
                None => Ok(pieces.iter().fold(0, |sum, piece| piece.bytes.saturating_add(sum))),
                Some(at) => {
                    let inside = format!("pieces[{at}].sha256");
                    Err(refused(Code::InvalidRequest, &inside, Text::Sha256))
                }
            }
        }
        FileSource::Url(url) => {
            let names_nobody = |url: &Url| url.username().is_empty() && url.password().is_none();
            let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
            let fits = url.len() <= limits::FILE_URL_BYTES_MAX;
            match Url::parse(url) {
                Ok(parsed) if fits && is_web(&parsed) && names_nobody(&parsed) => Ok(0),
                Ok(_) | Err(_) => {
                    let why = Text::Url { max: &limits::FILE_URL_BYTES_MAX };
                    Err(refused(Code::InvalidRequest, "url", why))
                }
            }
        }
    }
}

/// Stores the inline content of a submission's files, and checks that the uploaded pieces exist.
///
/// # Errors
/// Returns an error if a piece is missing or has another size, or if the object store fails.
pub(super) async fn keep(
    files: Vec<SubmitFile>,
    objects: &dyn Objects,
) -> Result<Vec<File>, Failure> {
    let mut kept = Vec::with_capacity(files.len());
    for (at, file) in files.into_iter().enumerate() {
        let SubmitFile { name, media_type, content } = file;
        let content = match content {
            FileSource::Url(url) => Content::Url(Url::parse(&url).map_or(url, Url::into)),
            FileSource::Text(text) if text.is_empty() => Content::Pieces(Vec::new()),
            FileSource::Text(text) => Content::Pieces(vec![put(objects, text.into()).await?]),
            FileSource::Pieces(pieces) => {
                all_there(&pieces, &format!("files[{at}].content"), objects).await?;
                Content::Pieces(pieces)
            }
        };
        kept.push(File { name, media_type, content });
    }
    Ok(kept)
}

/// Refreshes the files of a fork's source. Old pieces could be collected before the fork that needs
/// them is stored.
///
/// # Errors
/// Returns an error if a piece is missing, or if the object store fails.
pub(super) async fn renew(files: &[File], objects: &dyn Objects) -> Result<(), Failure> {
    for file in files {
        if let Content::Pieces(pieces) = &file.content {
            all_there(pieces, "fork.job", objects).await?;
        }
    }
    Ok(())
}

/// Refreshes the artifacts of a fork's source. A piece that is missing is passed over: the fork needs
/// artifacts no more than its source does.
///
/// # Errors
/// Returns an error if the object store fails.
pub(super) async fn renew_present(files: &[File], objects: &dyn Objects) -> Result<(), Failure> {
    let pieces = files.iter().flat_map(|file| match &file.content {
        Content::Pieces(pieces) => pieces.as_slice(),
        Content::Url(_) => &[],
    });
    let renewed: Vec<_> = pieces
        .map(async |piece| match objects.get(&piece.sha256).await {
            Ok(bytes) => put(objects, bytes).await.map(drop),
            Err(ObjectError::Missing(_)) => Ok(()),
            Err(error @ (ObjectError::Unavailable(_) | ObjectError::Full(_))) => {
                Err(LogError::from(error).into())
            }
        })
        .collect();
    stream::iter(renewed).buffered(PIECES_AT_ONCE).try_collect().await
}

/// Checks that every piece exists, several at a time.
async fn all_there(pieces: &[Piece], field: &str, objects: &dyn Objects) -> Result<(), Failure> {
    let check = |(n, piece)| there(piece, format!("{field}.pieces[{n}]"), objects);
    let checks: Vec<_> = pieces.iter().enumerate().map(check).collect();
    stream::iter(checks).buffered(PIECES_AT_ONCE).try_collect().await
}

/// Checks that a piece exists, and stores it again, so that an old piece is not collected before a
/// job refers to it.
async fn there(piece: &Piece, field: String, objects: &dyn Objects) -> Result<(), Failure> {
    let bytes = match objects.get(&piece.sha256).await {
        Ok(bytes) => bytes,
        Err(ObjectError::Missing(_)) => {
            let why = Text::NoPiece { sha256: &piece.sha256 };
            return Err(Failure::about(Code::InvalidRequest, &field, why));
        }
        Err(error @ (ObjectError::Unavailable(_) | ObjectError::Full(_))) => {
            return Err(LogError::from(error).into());
        }
    };
    if bytes.len() as u64 != piece.bytes {
        let why = Text::PieceSize { bytes: &bytes.len(), claimed: &piece.bytes };
        let inside = format!("{field}.bytes");
        return Err(Failure::about(Code::InvalidRequest, &inside, why).at(field));
    }
    put(objects, bytes).await.map(drop)
}

async fn put(objects: &dyn Objects, bytes: Bytes) -> Result<Piece, Failure> {
    let size = bytes.len() as u64;
    let sha256 = objects.put(bytes).await.map_err(LogError::from)?;
    Ok(Piece { sha256, bytes: size })
}

#[cfg(test)]
mod tests;
