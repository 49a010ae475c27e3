//! A guard of a program's output: it ends a connection whose lines are too long, or are not messages.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// Longest message of a server, in bytes.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Largest number of lines of a connection that are not messages, such as logs on the wrong stream.
pub(crate) const NOISE_LINES_MAX: u32 = 100;

/// The output of a program, line by line. It passes on what it reads.
#[derive(Debug)]
pub(crate) struct Frames<R> {
    from: R,
    scan: Scan,
}

/// The counts of the lines so far.
#[derive(Debug, Default)]
struct Scan {
    /// Bytes of the current line.
    length: usize,
    noise: u32,
}

impl<R> Frames<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, scan: Scan::default() }
    }
}

impl Scan {
    fn see(&mut self, bytes: &[u8]) -> io::Result<()> {
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            let (first, ends) = (line.first(), line.last() == Some(&b'\n'));
            if self.length == 0 && first.is_some_and(|b| !matches!(b, b'{' | b'\n' | b'\r')) {
                self.noise += 1;
            }
            self.length = if ends { 0 } else { self.length + line.len() };
            if self.length > MESSAGE_BYTES_MAX || line.len() > MESSAGE_BYTES_MAX {
                return Err(io::Error::other("a message is too long"));
            }
        }
        if self.noise > NOISE_LINES_MAX {
            return Err(io::Error::other("too many lines are not messages"));
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Frames<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.from).poll_read(cx, buf))?;
        let seen = self.scan.see(buf.filled().get(before..).unwrap_or_default());
        if seen.is_err() {
            // An error comes without any bytes.
            buf.set_filled(before);
        }
        Poll::Ready(seen)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn read(bytes: &[u8]) -> io::Result<usize> {
        let mut all = Vec::new();
        Frames::new(bytes).read_to_end(&mut all).await
    }

    #[tokio::test]
    async fn messages_pass_and_a_few_other_lines_do() {
        let noise = "starting...\n".repeat(usize::try_from(NOISE_LINES_MAX).unwrap());
        let text = format!("{{\"a\": 1}}\n\n{noise}{{\"b\": 2}}\n");
        assert_eq!(read(text.as_bytes()).await.unwrap(), text.len());
    }

    #[tokio::test]
    async fn too_many_other_lines_end_the_connection() {
        let noise = "log\n".repeat(usize::try_from(NOISE_LINES_MAX).unwrap() + 1);
        assert!(read(noise.as_bytes()).await.is_err());
    }

    #[tokio::test]
    async fn an_endless_line_ends_the_connection() {
        let line = vec![b'{'; MESSAGE_BYTES_MAX + 1];
        assert!(read(&line).await.is_err());
        let mut scan = Scan::default();
        let pieces = line.chunks(8192).try_for_each(|piece| scan.see(piece));
        assert!(pieces.is_err());
    }
}
