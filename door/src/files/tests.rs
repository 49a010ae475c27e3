//! Tests of a submission's files: every fault, with the field that is named.

use std::{sync::Arc, time::Duration};

use broker::{
    memory::{Memory, MemoryOptions, VirtualClock},
    objects::RENEWED_AFTER,
};
use proto::{file::FileName, id::WorkerId, subject::Subjects};

use super::*;

fn file(name: &str, content: FileSource) -> SubmitFile {
    SubmitFile { name: FileName::new(name).unwrap(), media_type: None, content }
}

fn piece(bytes: u64) -> Piece {
    Piece { sha256: "0a".repeat(32), bytes }
}

#[test]
fn the_first_file_that_cannot_be_taken_is_named() {
    let text = |text: &str| FileSource::Text(text.to_owned());
    let url = |url: &str| FileSource::Url(url.to_owned());
    let pieces = |pieces: Vec<Piece>| FileSource::Pieces(pieces);
    let strange = Piece { sha256: "0A".repeat(32), bytes: 1 };
    let typed = |media_type: &str| SubmitFile {
        media_type: Some(media_type.to_owned()),
        ..file("a", text("x"))
    };
    let many = |n: usize| (0..n).map(|at| file(&format!("f{at}"), text("x"))).collect::<Vec<_>>();
    let mib = 1024 * 1024;
    let large = |n: u32| {
        let sixteen = || pieces(vec![piece(mib); 16]);
        (0..n).map(|at| file(&format!("f{at}"), sixteen())).collect::<Vec<_>>()
    };
    for (files, refused) in [
        (vec![], None),
        (many(32), None),
        (vec![file("a", text("")), file("b", pieces(vec![]))], None),
        (vec![file("a", url("https://a.example/x?y=1")), file("b", pieces(vec![piece(1)]))], None),
        (vec![typed("text/markdown")], None),
        (large(4), None),
        (many(33), Some((Code::TooLarge, "files"))),
        (
            vec![file("a", text("x")), file("a", text("y"))],
            Some((Code::InvalidRequest, "files[1].name")),
        ),
        (vec![typed("markdown")], Some((Code::InvalidRequest, "files[0].media_type"))),
        (vec![typed("text/a b")], Some((Code::InvalidRequest, "files[0].media_type"))),
        (
            vec![file("a", url("file:///etc/passwd"))],
            Some((Code::InvalidRequest, "files[0].content")),
        ),
        (
            vec![file("a", url("https://u:p@a.example/"))],
            Some((Code::InvalidRequest, "files[0].content")),
        ),
        (
            vec![file("a", url("https://token@a.example/"))],
            Some((Code::InvalidRequest, "files[0].content")),
        ),
        (vec![file("a", url("a.example/x"))], Some((Code::InvalidRequest, "files[0].content"))),
        (
            vec![file("a", pieces(vec![piece(1), strange]))],
            Some((Code::InvalidRequest, "files[0].content")),
        ),
        (vec![file("a", pieces(vec![piece(1); 257]))], Some((Code::TooLarge, "files[0].content"))),
        (
            vec![file("a", pieces(vec![piece(16 * mib + 1)]))],
            Some((Code::TooLarge, "files[0].content")),
        ),
        (
            vec![file("a", pieces(vec![piece(u64::MAX); 2]))],
            Some((Code::TooLarge, "files[0].content")),
        ),
        (large(5), Some((Code::TooLarge, "files"))),
    ] {
        let said = check(&files).err().map(|failure| (failure.code, failure.field.unwrap()));
        assert_eq!(said, refused.map(|(code, at)| (code, at.to_owned())), "{files:?}");
    }
}

/// The garbage collector keeps the files of a fork like fresh uploads.
#[tokio::test(start_paused = true)]
async fn files_that_a_fork_keeps_are_stored_anew_and_one_that_is_gone_is_named() {
    let options = MemoryOptions { clock: Arc::new(VirtualClock::new()), ..Default::default() };
    let memory = Memory::new(Subjects::new("t", 1).unwrap(), options);
    let objects = memory.connect(WorkerId::new("w").unwrap()).objects;
    let old = put(&*objects, Bytes::from("kept")).await.unwrap();
    let file = |pieces| File {
        name: FileName::new("f").unwrap(),
        media_type: None,
        content: Content::Pieces(pieces),
    };
    tokio::time::sleep(RENEWED_AFTER * 2).await;
    assert!(objects.list().await.unwrap()[0].age > RENEWED_AFTER);
    renew(&[file(vec![old.clone()])], &*objects).await.unwrap();
    assert_eq!(objects.list().await.unwrap()[0].age, Duration::ZERO);
    let gone = renew(&[file(vec![old, piece(1)])], &*objects).await.unwrap_err();
    assert_eq!(gone.field.as_deref(), Some("fork.job.pieces[1]"));
}
