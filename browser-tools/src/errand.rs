//! A request and its reply on the way between the process of a call and that of the browser.

use bytes::Bytes;
use proto::{
    agent::Hosts,
    limits::SESSION_BODY_BYTES_MAX,
    wire::{self, Unreadable, Wire},
};
use serde::{Deserialize, Serialize};

use crate::{
    desk::AskError,
    request::{Remark, Reply, Request},
};

/// A request with the only hosts that its pages may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Errand {
    pub(crate) hosts: Option<Hosts>,
    pub(crate) request: Request,
}

/// The answer to an errand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer(pub(crate) Result<Reply, AskError>);

impl Wire for Errand {}
impl Wire for Answer {}

/// Writes a message; the error says why it has no binary form.
pub(crate) fn written(message: &impl Wire) -> Result<Bytes, String> {
    wire::encode(message).map(Bytes::from).map_err(|error| error.to_string())
}

/// Writes an answer that a host may send. If it is too large, the list of tabs is left out, then the
/// notes, and at last the page or picture, with a note: what was done is done.
pub(crate) fn fitted(answer: &Answer) -> Result<Bytes, String> {
    let whole = written(answer);
    let Answer(Ok(reply)) = answer else { return whole };
    let fits = |bytes: &Result<Bytes, String>| {
        bytes.as_ref().is_ok_and(|bytes| bytes.len() <= SESSION_BODY_BYTES_MAX)
    };
    if fits(&whole) {
        return whole;
    }
    let without_tabs = Reply { tabs: Vec::new(), ..reply.clone() };
    let shorter = written(&Answer(Ok(without_tabs.clone())));
    if fits(&shorter) {
        return shorter;
    }
    let without_notes = Reply { notes: Vec::new(), ..without_tabs };
    let shorter = written(&Answer(Ok(without_notes.clone())));
    if fits(&shorter) {
        return shorter;
    }
    let Reply { url, title, .. } = without_notes;
    written(&Answer(Ok(Reply { url, title, notes: vec![Remark::Unread], ..Reply::default() })))
}

/// Reads a message.
pub(crate) fn read<T: Wire>(bytes: &[u8]) -> Result<T, Unreadable> {
    wire::decode(bytes)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::{
        refusal::Refusal,
        request::{
            Barred, NOTES_MAX, PICTURE_BYTES_MAX, Picture, Place, Snapshot, Tab, Target, Until,
        },
        snapshot::SNAPSHOT_BYTES_MAX,
    };

    fn errand(request: Request) -> Errand {
        Errand { hosts: Some(Hosts::new(vec!["*.example.com".to_owned()])), request }
    }

    #[rstest]
    #[case(Request::Open { url: "https://example.com/".to_owned() })]
    #[case(Request::Snapshot { root: Some(Place { snapshot: 2, element: 7 }), depth: None })]
    #[case(Request::Click { target: Target { at: Place { snapshot: 1, element: 1 }, name: "购买".to_owned() } })]
    #[case(Request::Wait { until: Until::Milliseconds(5) })]
    #[case(Request::Back)]
    fn a_request_is_read_as_it_was_written(#[case] request: Request) {
        let sent = errand(request);
        assert_eq!(read::<Errand>(&written(&sent).unwrap()).unwrap(), sent);
    }

    #[rstest]
    #[case(AskError::Lost { may_have_begun: true })]
    #[case(AskError::Refused(Refusal::Barred(Barred::Port("h".to_owned(), 25))))]
    #[case(AskError::NoHost)]
    fn an_error_is_read_as_it_was_written(#[case] error: AskError) {
        let sent = Answer(Err(error));
        assert_eq!(read::<Answer>(&written(&sent).unwrap()).unwrap(), sent);
    }

    /// Returns a reply with this number of tabs, with long texts.
    fn reply(tabs: u32, note: usize) -> Reply {
        let row = |number| Tab {
            number,
            url: "u".repeat(200),
            title: "题".repeat(200),
            is_current: number == 0,
        };
        let text = "x".repeat(SNAPSHOT_BYTES_MAX);
        Reply {
            url: "u".repeat(2_000),
            title: "题".repeat(2_000),
            snapshot: Some(Snapshot { number: 1, text, omitted: 0 }),
            tabs: (0..tabs).map(row).collect(),
            notes: vec![Remark::Download { name: "n".repeat(note) }; NOTES_MAX],
            picture: None,
        }
    }

    #[rstest]
    #[case::all_of_it(reply(10, 1_000), true, true)]
    #[case::no_tabs(reply(200, 1_000), false, true)]
    #[case::no_notes(reply(200, 20_000), false, true)]
    #[case::no_page(Reply { title: "t".repeat(SESSION_BODY_BYTES_MAX / 2), url: "u".repeat(SESSION_BODY_BYTES_MAX / 3), ..reply(0, 0) }, true, false)]
    fn a_reply_leaves_out_what_a_host_may_not_send(
        #[case] reply: Reply,
        #[case] tabs: bool,
        #[case] page: bool,
    ) {
        let bytes = fitted(&Answer(Ok(reply.clone()))).unwrap();
        assert!(bytes.len() <= SESSION_BODY_BYTES_MAX, "{}", bytes.len());
        let Answer(read) = read(&bytes).unwrap();
        let read = read.unwrap();
        assert_eq!((read.tabs == reply.tabs, read.snapshot == reply.snapshot), (tabs, page));
        assert_eq!(read.notes == [Remark::Unread], !page);
    }

    #[test]
    fn the_largest_picture_fits_into_the_answer_of_a_host() {
        let picture = Some(Picture { jpeg: vec![7; PICTURE_BYTES_MAX] });
        let (url, title) = ("u".repeat(2_000), "题".repeat(2_000));
        let reply = Reply { url, title, picture, ..reply(0, 2_000) };
        let reply = Reply { snapshot: None, ..reply };
        let bytes = fitted(&Answer(Ok(reply.clone()))).unwrap();
        assert!(bytes.len() <= SESSION_BODY_BYTES_MAX, "{}", bytes.len());
        let Answer(read) = read(&bytes).unwrap();
        assert_eq!(read.unwrap(), Reply { notes: Vec::new(), ..reply });
    }
}
