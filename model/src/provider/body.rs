//! The body of an answer: server-sent events, lines of JSON, or one JSON value in their place. Pure.

use crate::{
    error::{ErrorKind, ModelError},
    provider::reply::too_large,
};

/// Bytes of a body besides the reply's text: names, ids and JSON syntax.
const FRAME_BYTES: usize = 64 * 1024;

/// A piece of the body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// The data of further events.
    Frames(Vec<String>),
    /// The whole body, which is one JSON value.
    Whole(String),
    /// The end of the body.
    End,
}

/// The form of a body, by its first character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Unknown,
    Events,
    /// One JSON value, or several lines of them until the first line shows which.
    Json,
    Lines,
}

/// A body in arrival.
pub(super) struct Body {
    form: Form,
    /// The unread bytes: the beginning of a line, or of the JSON value.
    unread: Vec<u8>,
    /// Data lines of the event in arrival.
    data: Vec<String>,
    /// Largest line or JSON value, in bytes.
    max: usize,
    /// `true` until a line of JSON can no longer be the first one of many.
    may_be_lines: bool,
    is_read: bool,
}

impl Body {
    /// Creates a body; `may_be_lines` for a protocol whose streams are lines of JSON.
    pub(super) fn new(may_be_lines: bool, reply_bytes_max: usize) -> Self {
        // JSON may escape a character with up to six bytes.
        let max = reply_bytes_max.saturating_mul(6).saturating_add(FRAME_BYTES);
        Self {
            form: Form::Unknown,
            unread: Vec::new(),
            data: Vec::new(),
            max,
            may_be_lines,
            is_read: false,
        }
    }

    /// Adds bytes and returns the complete events.
    ///
    /// # Errors
    /// If the body is a web page, exceeds its limit, or is not text.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Piece, ModelError> {
        let mut searched = self.unread.len();
        self.unread.extend_from_slice(bytes);
        if self.form == Form::Unknown {
            if self.unread.starts_with(MARK) {
                self.unread.drain(..MARK.len());
                searched = 0;
            }
            self.form = form(&self.unread)?;
        }
        if self.form == Form::Json && self.has_first_line(searched) {
            self.form = Form::Lines;
            searched = 0;
        }
        let mut frames = Vec::new();
        if self.form == Form::Events || self.form == Form::Lines {
            let news = self.unread.get(searched..).unwrap_or_default();
            if let Some(end) = news.iter().rposition(|byte| *byte == b'\n') {
                let rest = self.unread.split_off(searched + end + 1);
                let lines = std::mem::replace(&mut self.unread, rest);
                self.lines(lines, &mut frames)?;
            }
        }
        let pending: usize = self.data.iter().map(|line| line.len() + LINE_BYTES).sum();
        if self.unread.len().saturating_add(pending) > self.max {
            return Err(too_large());
        }
        Ok(Piece::Frames(frames))
    }

    /// Returns the remainder of a body that has ended.
    ///
    /// # Errors
    /// If the body is empty or not text.
    pub(super) fn rest(&mut self) -> Result<Piece, ModelError> {
        if std::mem::replace(&mut self.is_read, true) {
            return Ok(Piece::End);
        }
        let unread = std::mem::take(&mut self.unread);
        match self.form {
            Form::Unknown => Err(ModelError::new(
                ErrorKind::CutStream,
                "the provider answered with an empty body",
            )),
            Form::Json => text(unread).map(Piece::Whole),
            Form::Events | Form::Lines => {
                let mut frames = Vec::new();
                self.lines(unread, &mut frames)?;
                self.dispatch(&mut frames);
                Ok(Piece::Frames(frames))
            }
        }
    }

    /// `true` if the first line is complete and a JSON value; otherwise the body is one value.
    fn has_first_line(&mut self, searched: usize) -> bool {
        if !self.may_be_lines {
            return false;
        }
        let start = self.unread.iter().position(|byte| !byte.is_ascii_whitespace());
        let from = start.unwrap_or_default().max(searched);
        let news = self.unread.get(from..).unwrap_or_default();
        let Some(end) = news.iter().position(|byte| *byte == b'\n') else { return false };
        self.may_be_lines = false;
        let first = self.unread.get(..from + end).unwrap_or_default();
        serde_json::from_slice::<serde::de::IgnoredAny>(first).is_ok()
    }

    fn lines(&mut self, bytes: Vec<u8>, frames: &mut Vec<String>) -> Result<(), ModelError> {
        for line in text(bytes)?.lines() {
            if self.form == Form::Lines {
                frames.extend(Some(line.trim().to_owned()).filter(|line| !line.is_empty()));
            } else if line.is_empty() {
                self.dispatch(frames);
            } else if let Some(data) = line.strip_prefix("data:") {
                self.data.push(data.trim().to_owned());
            }
        }
        Ok(())
    }

    fn dispatch(&mut self, frames: &mut Vec<String>) {
        if !self.data.is_empty() {
            frames.push(std::mem::take(&mut self.data).join("\n"));
        }
    }
}

/// The byte order mark, which some servers send first.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Memory of a data line beyond its text.
const LINE_BYTES: usize = 24;

fn form(bytes: &[u8]) -> Result<Form, ModelError> {
    if MARK.starts_with(bytes) {
        return Ok(Form::Unknown);
    }
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Ok(Form::Unknown),
        Some(b'{' | b'[') => Ok(Form::Json),
        Some(b'<') => Err(web_page()),
        Some(_) => Ok(Form::Events),
    }
}

fn text(bytes: Vec<u8>) -> Result<String, ModelError> {
    String::from_utf8(bytes).map_err(|_| {
        ModelError::new(ErrorKind::Malformed, "the provider's reply is not valid text")
    })
}

const fn web_page() -> ModelError {
    ModelError::new(
        ErrorKind::InvalidRequest,
        "the provider's address answers with a web page; set base_url to its API",
    )
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Reads a body that arrives in pieces of `size` bytes.
    fn read(body: &str, size: usize) -> Result<Vec<Piece>, ErrorKind> {
        pieces(Body::new(false, 100), body, size)
    }

    fn pieces(mut reading: Body, body: &str, size: usize) -> Result<Vec<Piece>, ErrorKind> {
        let pushed = body.as_bytes().chunks(size).map(|bytes| reading.push(bytes));
        let pushed: Result<Vec<_>, _> = pushed.collect();
        let mut pieces = pushed.map_err(|error| error.kind())?;
        pieces.push(reading.rest().map_err(|error| error.kind())?);
        assert_eq!(reading.rest(), Ok(Piece::End));
        pieces.retain(|piece| *piece != Piece::Frames(Vec::new()));
        Ok(pieces)
    }

    fn frames(body: &str, size: usize) -> Vec<String> {
        read(body, size).unwrap().into_iter().flat_map(of).collect()
    }

    fn of(piece: Piece) -> Vec<String> {
        match piece {
            Piece::Frames(frames) => frames,
            Piece::Whole(_) | Piece::End => panic!("no frames"),
        }
    }

    #[rstest]
    #[case::lines("{\"a\":1}\n{\"a\":\"字\"}\n")]
    #[case::blank_lines_and_no_last_end("\r\n{\"a\":1}\r\n\n {\"a\":\"字\"}")]
    #[case::events("data: {\"a\":1}\n\ndata: {\"a\":\"字\"}\n\n")]
    fn lines_of_json_are_read_however_they_are_cut(#[case] body: &str) {
        for size in 1..=body.len() {
            let read = pieces(Body::new(true, 100), body, size).unwrap();
            let frames: Vec<_> = read.into_iter().flat_map(of).collect();
            assert_eq!(frames, ["{\"a\":1}", "{\"a\":\"字\"}"], "{size}");
        }
    }

    #[rstest]
    #[case::on_several_lines("{\n\"a\": 1\n}\n")]
    #[case::without_an_end("{\"a\": 1}")]
    fn one_value_in_place_of_lines_is_whole(#[case] body: &str) {
        for size in 1..=body.len() {
            let read = pieces(Body::new(true, 100), body, size).unwrap();
            assert_eq!(read, [Piece::Whole(body.to_owned())], "{size}");
        }
    }

    #[rstest]
    #[case::line_feeds("data: {\"a\":\"字\"}\n\ndata:[DONE]\n\n")]
    #[case::carriage_returns("data: {\"a\":\"字\"}\r\n\r\ndata:[DONE]\r\n\r\n")]
    #[case::comments(
        ": ping\n\nevent: x\ndata: {\"a\":\"字\"}\nid: 1\n\n: ping\n\ndata: [DONE]\n\n"
    )]
    #[case::no_blank_line_at_the_end("\n\ndata: {\"a\":\"字\"}\n\ndata: [DONE]")]
    fn events_are_read_however_they_are_cut(#[case] body: &str) {
        for size in 1..=body.len() {
            assert_eq!(frames(body, size), ["{\"a\":\"字\"}", "[DONE]"], "{size}");
        }
    }

    #[test]
    fn an_event_may_have_several_lines() {
        assert_eq!(frames("data: {\ndata: }\n\n", 100), ["{\n}"]);
    }

    #[rstest]
    #[case::json(" {\"a\":\n\n1}", Ok(vec![Piece::Whole(" {\"a\":\n\n1}".to_owned())]))]
    #[case::empty("", Err(ErrorKind::CutStream))]
    #[case::blank(" \r\n", Err(ErrorKind::CutStream))]
    #[case::web_page("\n<!doctype html>", Err(ErrorKind::InvalidRequest))]
    fn other_bodies_are_told_apart(
        #[case] body: &str,
        #[case] expected: Result<Vec<Piece>, ErrorKind>,
    ) {
        assert_eq!(read(body, 3), expected);
    }

    #[test]
    fn a_line_without_an_end_is_too_large() {
        assert_eq!(read(&"x".repeat(200_000), 1000), Err(ErrorKind::TooLarge));
    }
}
