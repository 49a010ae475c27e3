//! Readers of one job whose tokens the front door knows, and no longer knows.

use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    time::timeout,
};

use super::*;
use crate::scripted_door::ScriptedDoor;

/// Reads the job with a token, until the stream ends.
fn read(door: &ScriptedDoor, watches: &SharedWatches, token: &str) -> UnboundedReceiver<String> {
    let (client, job) = (door.client(token), JobId::new("j").unwrap());
    let (watches, live, wanted) = (watches.clone(), false, Wanted::of(Vec::new()));
    let (after, position) = (EventId::START, EventId::START);
    let reader = Reader { client, job, watches, live, wanted, after, position };
    let (sender, frames) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let own = reader.open().await;
        let mut events = std::pin::pin!(reader.frames(own));
        while let Some(event) = events.next().await {
            sender.send(format!("{event:?}")).unwrap();
        }
    });
    frames
}

#[tokio::test(start_paused = true)]
async fn a_reader_whose_token_is_revoked_loses_an_open_stream_and_others_keep_theirs() {
    let next = async |frames: &mut UnboundedReceiver<String>| {
        let frame = timeout(ASK_AGAIN_AFTER * 2, frames.recv()).await;
        frame.expect("a frame in time").unwrap_or_default()
    };
    let (door, watches) = (ScriptedDoor::open().await, SharedWatches::default());
    door.store(1);
    let mut readers = Vec::new();
    for token in ["ann", "bob"] {
        let mut frames = read(&door, &watches, token);
        assert!(next(&mut frames).await.contains("id: 1.1"));
        assert!(next(&mut frames).await.contains("event: view"));
        readers.push(frames);
    }
    let [ann, bob] = readers.as_mut_slice() else { panic!("there are two readers") };
    let opened = Instant::now();
    door.revoke("bob");
    door.store(2);

    let last = next(bob).await;
    assert!(last.contains("event: end") && last.contains("forbidden"), "{last}");
    assert_eq!(next(bob).await, "", "nothing follows the end");
    let open_for = opened.elapsed();
    let late = ASK_AGAIN_AFTER + KEEP_ALIVE;
    assert!(open_for <= late, "the stream was open for {open_for:?}");
    assert_eq!(door.asked("bob"), 2, "at the start and at the end");

    let goes_on = next(ann).await;
    assert!(goes_on.contains("id: 2.1"), "{goes_on}");
}
