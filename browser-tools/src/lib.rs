//! The browser: tools that open web pages, read them and act on them.
//!
//! A job has a session: a browser context of a Chromium with its own cookies, tabs and way out. The
//! tools ask for it through the port [`Desk`], because any worker takes a call and the session lives in
//! one process, its host. [`Browser`] is the browser of a host.
//!
//! Architecture invariants: no byte of a page leaves the machine past the guard of `proxy`, names
//! resolve there alone, and the browser connects to the very address that was checked; an action
//! names an element of the last snapshot, never a pixel; no tool runs a script of a model; what a page
//! says is text of a stranger.

mod address;
mod answer;
mod arguments;
mod browser;
mod chromium;
mod desk;
mod errand;
mod flags;
mod keeper;
mod keys;
mod link;
mod proxy;
mod refusal;
mod remote;
mod request;
mod session;
mod snapshot;
mod specs;
mod start;
mod state;
mod tool;
mod words;

pub use self::{
    browser::Browser,
    desk::{AskError, Asking, Desk},
    proxy::CONNECTIONS_MAX,
    refusal::Refusal,
    request::{
        ADDRESS_BYTES_MAX, Barred, NOTES_MAX, PAUSE_MS_MAX, PICTURE_BYTES_MAX, Picture, Place,
        Remark, Reply, Request, Snapshot, TYPED_BYTES_MAX, Tab, TabAct, Target, Until,
    },
    session::FRAMES_MAX,
    snapshot::{SNAPSHOT_BYTES_MAX, SNAPSHOT_DEPTH_MAX, SNAPSHOT_ELEMENTS_MAX},
    start::{Setup, StartError, create, look, start},
    tool::tools,
};
