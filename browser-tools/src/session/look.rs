//! Snapshots of a session, and the replies that carry them.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

use super::{Fault, Session};
use crate::{
    link::Failed,
    refusal::Refusal,
    request::{NOTES_MAX, Place, Reply, Snapshot, Tab as TabRow},
    snapshot::{Element, Extent, Frame, NodeId, draw, line_of, read},
    state::Tab,
};

/// Largest number of frames in a snapshot.
pub const FRAMES_MAX: usize = 50;
/// Time for a frame within a page. One that does not answer is left out.
const INNER: Duration = Duration::from_secs(3);
/// Largest number of further reads of a page that goes on to another one meanwhile.
const READS: usize = 3;
/// Pause between two looks for a text.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The last snapshot of a session.
#[derive(Debug)]
pub(super) struct Taken {
    /// The tab, and its document.
    tab: u32,
    loader: String,
    frames: Vec<Handle>,
    pub(super) elements: BTreeMap<u32, Element>,
}

/// The frame of an element.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    /// The protocol's session.
    pub(super) session: String,
    /// Id of the frame.
    pub(super) frame: String,
}

/// The part of a page to show: the session and number of its root node.
#[derive(Debug, Default)]
pub(super) struct Part {
    root: Option<(String, i64)>,
    depth: Option<u32>,
}

/// A page with its frames.
#[derive(Debug, Default)]
struct Page {
    frames: Vec<Frame>,
    handles: Vec<Handle>,
    /// The protocol's sessions, by number of process.
    sessions: Vec<String>,
}

/// Longest title and address in the list of tabs, in characters.
const ROW_CHARS_MAX: usize = 200;

impl Session {
    /// Returns an element of the last snapshot with its frame.
    pub(super) fn find(&self, place: Place) -> Result<(Element, Handle), Fault> {
        let Place { snapshot: given, element } = place;
        let last = self.number;
        let taken = self.taken.as_ref().filter(|_| given == last);
        let taken = taken.ok_or(Refusal::OldSnapshot { given, last })?;
        let tab = self.tab()?;
        if tab.number != taken.tab || tab.loader != taken.loader {
            return Err(Refusal::OtherPage.into());
        }
        let found = taken.elements.get(&element).ok_or(Refusal::NoElement(element))?;
        let handle = taken.frames.get(found.frame).ok_or(Refusal::Changed)?;
        Ok((found.clone(), handle.clone()))
    }

    /// Returns the part of the page that a request asks for.
    pub(super) fn extent(&self, root: Option<Place>, depth: Option<u32>) -> Result<Part, Fault> {
        let root = root.map(|place| self.find(place)).transpose()?;
        let root = root.map(|(element, handle)| (handle.session, element.at.node));
        Ok(Part { root, depth })
    }

    /// Takes a snapshot and builds the reply with it.
    pub(super) async fn reply(&mut self, part: Part, with_tabs: bool) -> Result<Reply, Fault> {
        let Ok(mut tab) = self.tab() else { return self.header(with_tabs).await };
        let mut page = self.page(&tab).await?;
        for _ in 0..READS {
            let now = self.tab()?;
            if (now.number, &now.loader) == (tab.number, &tab.loader) {
                break;
            }
            // The page became another one while it was read.
            self.loaded(&now.target).await;
            tab = now;
            page = self.page(&tab).await?;
        }
        let root = part.root.map(|(session, node)| {
            let process = page.sessions.iter().position(|known| *known == session);
            process.map(|process| NodeId { process, node }).ok_or(Refusal::Changed)
        });
        let extent = Extent { root: root.transpose()?, depth: part.depth };
        let drawing = draw(&page.frames, extent).ok_or(Refusal::Changed)?;
        self.number += 1;
        let omitted = u32::try_from(drawing.omitted).unwrap_or(u32::MAX);
        let snapshot = Snapshot { number: self.number, text: drawing.text, omitted };
        self.taken = Some(Taken {
            tab: tab.number,
            loader: tab.loader,
            frames: page.handles,
            elements: drawing.elements,
        });
        let reply = self.header(with_tabs).await?;
        Ok(Reply { snapshot: Some(snapshot), ..reply })
    }

    /// Builds a reply without a snapshot. The notes are told once.
    pub(super) async fn header(&mut self, with_tabs: bool) -> Result<Reply, Fault> {
        let targets = self.command("Target.getTargets", json!({})).await?;
        let barred = self.proxy.take_barred();
        self.keep(barred);
        let mut state = self.open.chromium.tabs().lock();
        let Some(context) = state.context_mut(&self.open.context) else {
            return Err(Failed::Gone.into());
        };
        let mut notes = std::mem::take(&mut context.notes);
        notes.append(&mut self.notes);
        notes.truncate(NOTES_MAX);
        let row = |tab: &Tab| {
            let all = targets["targetInfos"].as_array().into_iter().flatten();
            let mut own = all.filter(|info| info["targetId"].as_str() == Some(&tab.target));
            let title = own.next().and_then(|info| info["title"].as_str()).unwrap_or_default();
            let is_current = tab.number == context.current;
            TabRow { number: tab.number, url: tab.url.clone(), title: line_of(title), is_current }
        };
        let mut tabs: Vec<TabRow> = context.tabs.iter().map(row).collect();
        let current = tabs.iter().find(|tab| tab.is_current).cloned();
        let (url, title) = current.map(|tab| (tab.url, tab.title)).unwrap_or_default();
        if !with_tabs && tabs.len() < 2 {
            tabs.clear();
        }
        for tab in &mut tabs {
            tab.url = crate::snapshot::shown(&tab.url, ROW_CHARS_MAX);
            tab.title = crate::snapshot::shown(&tab.title, ROW_CHARS_MAX);
        }
        Ok(Reply { url, title, snapshot: None, tabs, notes, picture: None })
    }

    /// Waits until the page shows a text, or no longer shows it.
    pub(super) async fn see(&self, text: &str, gone: bool) -> Result<(), Fault> {
        let wanted = crate::snapshot::shown(text, usize::MAX);
        loop {
            let tab = self.tab()?;
            let page = self.page(&tab).await?;
            if crate::snapshot::says(&page.frames, &wanted) != gone {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Reads the trees of all frames of a tab.
    async fn page(&self, tab: &Tab) -> Result<Page, Fault> {
        let mut page = Page::default();
        self.add_process(&mut page, &tab.session, None).await?;
        for inner in &tab.frames {
            let sessions = page.sessions.clone();
            let add = async {
                for (process, session) in sessions.iter().enumerate() {
                    let ask = json!({"frameId": inner.frame});
                    let owner = self.call(session, "DOM.getFrameOwner", ask).await;
                    let node = owner.ok().and_then(|owner| owner["backendNodeId"].as_i64());
                    if let Some(node) = node {
                        let owner = NodeId { process, node };
                        return self.add_process(&mut page, &inner.session, Some(owner)).await;
                    }
                }
                Ok(())
            };
            // A frame that is gone or does not answer has no lines.
            let _ = tokio::time::timeout(INNER, add).await;
        }
        Ok(page)
    }

    /// Adds the frames of one process.
    async fn add_process(
        &self,
        page: &mut Page,
        session: &str,
        owner: Option<NodeId>,
    ) -> Result<(), Failed> {
        let process = page.sessions.len();
        page.sessions.push(session.to_owned());
        let tree = self.call(session, "Page.getFrameTree", json!({})).await?;
        let mut waiting = vec![(tree["frameTree"].clone(), owner)];
        let mut is_first = true;
        while let Some((tree, owner)) = waiting.pop() {
            if page.frames.len() >= FRAMES_MAX {
                break;
            }
            let id = tree["frame"]["id"].as_str().unwrap_or_default().to_owned();
            let ask = json!({"frameId": id});
            let nodes = self.call(session, "Accessibility.getFullAXTree", ask).await;
            match nodes {
                Ok(nodes) => {
                    page.frames.push(read(&nodes, process, owner));
                    page.handles.push(Handle { session: session.to_owned(), frame: id });
                }
                // A frame within may be gone meanwhile.
                Err(Failed::Refused(_)) if !is_first => continue,
                Err(why) => return Err(why),
            }
            is_first = false;
            for child in tree["childFrames"].as_array().into_iter().flatten() {
                let ask = json!({"frameId": child["frame"]["id"]});
                let owner = self.call(session, "DOM.getFrameOwner", ask).await;
                let node = owner.ok().and_then(|owner| owner["backendNodeId"].as_i64());
                let owner = node.map(|node| NodeId { process, node });
                if owner.is_some() {
                    waiting.push((Value::clone(child), owner));
                }
            }
        }
        Ok(())
    }
}
