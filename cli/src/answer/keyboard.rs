//! Lines from standard input, read by a separate thread, so that a prompt can be abandoned while
//! the user types nothing (the question was answered elsewhere). It must never start a second
//! thread, which would steal lines from the first.

use std::{
    io::BufRead,
    sync::{Arc, OnceLock},
};

use tokio::sync::{Mutex, mpsc};

/// Longest accepted line, in bytes; the rest of it is dropped.
const LINE_BYTES_MAX: usize = proto::limits::ANSWER_BYTES_MAX;

/// The lines of the one reader thread. It outlives every keyboard, because a blocking read of
/// standard input cannot be cancelled.
static TYPED: OnceLock<Lines> = OnceLock::new();

type Lines = Arc<Mutex<mpsc::Receiver<String>>>;

/// The lines that the user types.
#[derive(Debug)]
pub(crate) struct Keyboard {
    lines: Lines,
}

impl Keyboard {
    /// Starts to read standard input, or continues.
    pub(crate) fn open() -> Self {
        Self { lines: Arc::clone(TYPED.get_or_init(read)) }
    }

    /// Waits for the next line; `None` at the end of input. Cancellation safe.
    pub(crate) async fn line(&mut self) -> Option<String> {
        self.lines.lock().await.recv().await
    }

    /// Drops lines that were typed before the question.
    pub(crate) fn forget(&mut self) {
        // If another reader holds the lock, it awaits its own answer, which must not be lost.
        if let Ok(mut lines) = self.lines.try_lock() {
            while lines.try_recv().is_ok() {}
        }
    }

    /// Creates a keyboard with prepared lines.
    #[cfg(test)]
    pub(crate) fn of(typed: &[&str]) -> Self {
        let (sender, lines) = mpsc::channel(typed.len().max(1));
        for line in typed {
            sender.try_send((*line).to_owned()).expect("there is room");
        }
        Self { lines: Arc::new(Mutex::new(lines)) }
    }
}

/// Starts the thread, which is never joined.
fn read() -> Lines {
    let (sender, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut bytes = Vec::new();
        while let Ok(true) = line(&mut stdin, &mut bytes) {
            let text = String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned();
            if sender.blocking_send(text).is_err() {
                return;
            }
        }
    });
    Arc::new(Mutex::new(lines))
}

/// Reads one line, cut at [`LINE_BYTES_MAX`]. Returns `false` at the end of input.
fn line(input: &mut impl BufRead, bytes: &mut Vec<u8>) -> std::io::Result<bool> {
    bytes.clear();
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(!bytes.is_empty());
        }
        let end = buffer.iter().position(|b| *b == b'\n');
        let taken = end.map_or(buffer.len(), |at| at + 1);
        let room = LINE_BYTES_MAX.saturating_sub(bytes.len());
        bytes.extend(buffer.iter().take(taken.min(room)));
        input.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_takes_no_memory_without_end() {
        let long = vec![b'x'; LINE_BYTES_MAX * 3];
        let mut input: &[u8] = &[long.as_slice(), b"\nnext"].concat();
        let mut bytes = Vec::new();
        assert!(line(&mut input, &mut bytes).unwrap());
        assert_eq!(bytes.len(), LINE_BYTES_MAX);
        assert!(line(&mut input, &mut bytes).unwrap());
        assert_eq!(bytes, b"next");
        assert!(!line(&mut input, &mut bytes).unwrap());
    }
}
