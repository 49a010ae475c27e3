//! A request and its reply on the way between the process of a call and that of the browser.

use bytes::Bytes;
use proto::{
    agent::Hosts,
    wire::{self, Unreadable, Wire},
};
use serde::{Deserialize, Serialize};

use crate::{
    desk::AskError,
    request::{Reply, Request},
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
        request::{Barred, Note, PICTURE_BYTES_MAX, Picture, Place, Snapshot, Tab, Target, Until},
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

    #[test]
    fn the_largest_reply_fits_into_the_answer_of_a_host() {
        let text = "x".repeat(SNAPSHOT_BYTES_MAX);
        let reply = Reply {
            url: "u".repeat(8 * 1024),
            title: "t".repeat(1024),
            snapshot: Some(Snapshot { number: 1, text, omitted: 0 }),
            tabs: vec![Tab {
                number: 1,
                url: String::new(),
                title: String::new(),
                is_current: true,
            }],
            notes: vec![Note::Download { name: "n".repeat(1024) }],
            picture: None,
        };
        let picture = Some(Picture { jpeg: vec![7; PICTURE_BYTES_MAX] });
        for reply in [reply, Reply { picture, ..Reply::default() }] {
            let bytes = written(&Answer(Ok(reply))).unwrap();
            assert!(bytes.len() <= proto::limits::SESSION_BODY_BYTES_MAX, "{}", bytes.len());
        }
    }
}
