//! The tabs of all sessions of a Chromium, folded from its events.
//!
//! The module is pure: an event changes the state and returns the commands that follow from it, such
//! as the dismissal of a dialog.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    address::{BLANK, may_show},
    link::{Event, Post},
    request::{NOTES_MAX, Remark},
    snapshot::line_of,
};

/// Longest text of a stranger in a note, in characters.
const SAID_CHARS_MAX: usize = 500;
/// Largest number of frames in processes of their own, in one tab.
const FRAMES_MAX: usize = 100;

/// All sessions of a Chromium, by the id of their browser context.
#[derive(Debug, Default)]
pub(crate) struct State {
    contexts: BTreeMap<String, Context>,
    /// The protocol's sessions: the context, and the target of the tab.
    attached: BTreeMap<String, (String, String)>,
}

/// The state of one session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Context {
    pub(crate) tabs: Vec<Tab>,
    /// The number of the current tab.
    pub(crate) current: u32,
    /// The number of the last tab.
    last: u32,
    tabs_max: u32,
    pub(crate) notes: Vec<Remark>,
}

/// A tab.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tab {
    pub(crate) number: u32,
    /// Id of its target, which is that of its main frame.
    pub(crate) target: String,
    /// The protocol's session of the page.
    pub(crate) session: String,
    pub(crate) url: String,
    /// The document; another one after each navigation.
    pub(crate) loader: String,
    /// `true` between the begin and the end of a navigation or a load.
    pub(crate) is_loading: bool,
    /// Number of navigations that began.
    pub(crate) begun: u64,
    /// The frames in processes of their own.
    pub(crate) frames: Vec<OwnFrame>,
}

/// A frame in a process of its own.
#[derive(Debug, Clone)]
pub(crate) struct OwnFrame {
    pub(crate) frame: String,
    pub(crate) session: String,
}

impl Context {
    /// Returns the current tab, if there is one.
    pub(crate) fn tab(&self) -> Option<&Tab> {
        self.tabs.iter().find(|tab| tab.number == self.current)
    }

    fn note(&mut self, note: Remark) {
        if self.notes.len() < NOTES_MAX && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn remove(&mut self, target: &str) {
        let Some(at) = self.tabs.iter().position(|tab| tab.target == target) else { return };
        let tab = self.tabs.remove(at);
        self.note(Remark::Closed { tab: tab.number });
        if self.current == tab.number {
            self.current = self.tabs.last().map_or(0, |tab| tab.number);
        }
    }
}

impl State {
    /// Adds a session.
    pub(crate) fn open(&mut self, context: &str, tabs_max: u32) {
        self.contexts.insert(context.to_owned(), Context { tabs_max, ..Context::default() });
    }

    /// Removes a session.
    pub(crate) fn close(&mut self, context: &str) {
        self.contexts.remove(context);
        self.attached.retain(|_, (of, _)| of != context);
    }

    /// Returns a session.
    pub(crate) fn context(&self, context: &str) -> Option<&Context> {
        self.contexts.get(context)
    }

    /// Returns a session for a change.
    pub(crate) fn context_mut(&mut self, context: &str) -> Option<&mut Context> {
        self.contexts.get_mut(context)
    }

    /// Applies an event.
    pub(crate) fn apply(&mut self, event: &Event) -> Vec<Post> {
        match event.method.as_str() {
            "Target.attachedToTarget" => return self.attach(event),
            "Target.detachedFromTarget" => {
                self.detach(event);
                return Vec::new();
            }
            _ => {}
        }
        let session = event.session.as_deref().unwrap_or_default();
        let Some((id, target)) = self.attached.get(session) else { return Vec::new() };
        let Some(context) = self.contexts.get_mut(id) else { return Vec::new() };
        let tab = context.tabs.iter_mut().find(|tab| tab.target == *target);
        let Some(tab) = tab else { return Vec::new() };
        let is_main = |field: &Value| field.as_str() == Some(target.as_str());
        let params = &event.params;
        let number = tab.number;
        match event.method.as_str() {
            "Page.frameStartedLoading" if is_main(&params["frameId"]) => {
                tab.begun += 1;
                tab.is_loading = true;
            }
            "Page.frameStoppedLoading" if is_main(&params["frameId"]) => tab.is_loading = false,
            "Page.navigatedWithinDocument" if is_main(&params["frameId"]) => {
                tab.url = line_of(&text(&params["url"]));
            }
            "Page.frameNavigated" if is_main(&params["frame"]["id"]) => {
                let url = text(&params["frame"]["url"]);
                tab.loader = text(&params["frame"]["loaderId"]);
                if !may_show(&url) {
                    let leave = Post {
                        session: Some(tab.session.clone()),
                        method: "Page.navigate",
                        params: json!({"url": BLANK}),
                    };
                    context.note(Remark::Left { url: said(&params["frame"]["url"]) });
                    return vec![leave];
                }
                tab.url = line_of(&url);
            }
            "Page.javascriptDialogOpening" => {
                // A page that asks whether to leave it does not keep the job.
                let accept = params["type"] == "beforeunload";
                if !accept {
                    context.note(Remark::Dialog { message: said(&params["message"]) });
                }
                return vec![Post {
                    session: event.session.clone(),
                    method: "Page.handleJavaScriptDialog",
                    params: json!({"accept": accept}),
                }];
            }
            "Page.downloadWillBegin" => {
                context.note(Remark::Download { name: said(&params["suggestedFilename"]) });
            }
            "Page.fileChooserOpened" => context.note(Remark::FileAsked),
            "Inspector.targetCrashed" => {
                tab.is_loading = false;
                context.note(Remark::Crashed { tab: number });
            }
            _ => {}
        }
        Vec::new()
    }

    fn attach(&mut self, event: &Event) -> Vec<Post> {
        let params = &event.params;
        let info = &params["targetInfo"];
        let (session, target) = (text(&params["sessionId"]), text(&info["targetId"]));
        let id = text(&info["browserContextId"]);
        let Some(context) = self.contexts.get_mut(&id) else { return Vec::new() };
        match info["type"].as_str() {
            Some("page") => {
                if context.tabs.len() >= usize::try_from(context.tabs_max).unwrap_or(usize::MAX) {
                    let max = context.tabs_max;
                    context.note(Remark::TooManyTabs { max });
                    let close = json!({"targetId": target});
                    // The page that opened it waits until it runs.
                    return vec![
                        Post {
                            session: Some(session),
                            method: "Runtime.runIfWaitingForDebugger",
                            params: json!({}),
                        },
                        Post { session: None, method: "Target.closeTarget", params: close },
                    ];
                }
                context.last += 1;
                let number = context.last;
                if !context.tabs.is_empty() {
                    context.note(Remark::Opened { tab: number });
                }
                context.current = number;
                let url = line_of(&text(&info["url"]));
                let tab = Tab {
                    number,
                    url,
                    target: target.clone(),
                    session: session.clone(),
                    ..Tab::default()
                };
                context.tabs.push(tab);
                self.attached.insert(session.clone(), (id, target));
            }
            Some("iframe") => {
                let parent = event.session.as_deref().unwrap_or_default();
                let Some((_, page)) = self.attached.get(parent).cloned() else { return Vec::new() };
                let tab = context.tabs.iter_mut().find(|tab| tab.target == page);
                if let Some(tab) = tab.filter(|tab| tab.frames.len() < FRAMES_MAX) {
                    tab.frames.push(OwnFrame { frame: target, session: session.clone() });
                    self.attached.insert(session.clone(), (id, page));
                }
            }
            _ => {}
        }
        prepare(&session)
    }

    fn detach(&mut self, event: &Event) {
        let session = text(&event.params["sessionId"]);
        let Some((id, target)) = self.attached.remove(&session) else { return };
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let Some(tab) = context.tabs.iter_mut().find(|tab| tab.target == target) else { return };
        if tab.session == session {
            context.remove(&target);
        } else {
            tab.frames.retain(|frame| frame.session != session);
        }
    }
}

/// Returns the commands that a page or frame gets before its first script runs.
fn prepare(session: &str) -> Vec<Post> {
    let attach = json!({
        "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true,
        "filter": [{"type": "iframe"}],
    });
    let commands = [
        ("Page.enable", json!({})),
        ("Page.setInterceptFileChooserDialog", json!({"enabled": true})),
        ("Inspector.enable", json!({})),
        ("Emulation.setFocusEmulationEnabled", json!({"enabled": true})),
        ("Target.setAutoAttach", attach),
        ("Runtime.runIfWaitingForDebugger", json!({})),
    ];
    let post = |(method, params)| Post { session: Some(session.to_owned()), method, params };
    commands.into_iter().map(post).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns a text of a stranger for a note.
fn said(value: &Value) -> String {
    crate::snapshot::shown(value.as_str().unwrap_or_default(), SAID_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(session: Option<&str>, method: &str, params: Value) -> Event {
        Event { session: session.map(str::to_owned), method: method.to_owned(), params }
    }

    fn attached(session: &str, target: &str, kind: &str, by: Option<&str>) -> Event {
        let info = json!({"targetId": target, "type": kind, "browserContextId": "c", "url": ""});
        let params = json!({"sessionId": session, "targetInfo": info});
        event(by, "Target.attachedToTarget", params)
    }

    /// A session with one tab, `t1` with the session `s1`.
    fn one_tab(tabs_max: u32) -> State {
        let mut state = State::default();
        state.open("c", tabs_max);
        let posts = state.apply(&attached("s1", "t1", "page", None));
        assert_eq!(posts.last().unwrap().method, "Runtime.runIfWaitingForDebugger");
        state
    }

    fn notes(state: &State) -> &[Remark] {
        &state.context("c").unwrap().notes
    }

    #[test]
    fn a_dialog_is_dismissed_and_a_page_may_always_be_left() {
        let mut state = one_tab(8);
        for (kind, accept) in [("alert", false), ("beforeunload", true)] {
            let params = json!({"type": kind, "message": "Really\n?"});
            let posts = state.apply(&event(Some("s1"), "Page.javascriptDialogOpening", params));
            assert_eq!(posts[0].params, json!({"accept": accept}));
        }
        assert_eq!(notes(&state), [Remark::Dialog { message: "Really ?".to_owned() }]);
    }

    #[test]
    fn a_new_tab_is_the_current_one_until_it_closes() {
        let mut state = one_tab(8);
        state.apply(&attached("s2", "t2", "page", None));
        assert_eq!(state.context("c").unwrap().current, 2);
        let gone = json!({"sessionId": "s2", "targetId": "t2"});
        state.apply(&event(None, "Target.detachedFromTarget", gone));
        assert_eq!(state.context("c").unwrap().tab().unwrap().target, "t1");
        assert_eq!(notes(&state), [Remark::Opened { tab: 2 }, Remark::Closed { tab: 2 }]);
    }

    #[test]
    fn a_tab_beyond_the_bound_is_closed() {
        let mut state = one_tab(1);
        let posts = state.apply(&attached("s2", "t2", "page", None));
        assert_eq!(posts.last().unwrap().method, "Target.closeTarget");
        assert_eq!(state.context("c").unwrap().tabs.len(), 1);
        assert_eq!(notes(&state), [Remark::TooManyTabs { max: 1 }]);
    }

    #[test]
    fn a_page_with_another_scheme_is_left() {
        let mut state = one_tab(8);
        let frame = json!({"frame": {"id": "t1", "url": "file:///etc/passwd", "loaderId": "l"}});
        let posts = state.apply(&event(Some("s1"), "Page.frameNavigated", frame));
        assert_eq!((posts[0].method, &posts[0].params["url"]), ("Page.navigate", &json!(BLANK)));
        assert!(matches!(notes(&state), [Remark::Left { .. }]));
        // A frame within a page decides nothing.
        let frame = json!({"frame": {"id": "f", "url": "data:x", "loaderId": "l"}});
        assert_eq!(state.apply(&event(Some("s1"), "Page.frameNavigated", frame)), []);
    }

    #[test]
    fn a_load_has_a_begin_and_an_end() {
        let mut state = one_tab(8);
        let main = json!({"frameId": "t1"});
        state.apply(&event(Some("s1"), "Page.frameStartedLoading", json!({"frameId": "inner"})));
        assert!(!state.context("c").unwrap().tabs[0].is_loading);
        state.apply(&event(Some("s1"), "Page.frameStartedLoading", main.clone()));
        assert!(state.context("c").unwrap().tabs[0].is_loading);
        state.apply(&event(Some("s1"), "Page.frameStoppedLoading", main));
        let tab = &state.context("c").unwrap().tabs[0];
        assert_eq!((tab.is_loading, tab.begun), (false, 1));
    }

    #[test]
    fn a_frame_of_another_process_belongs_to_its_tab() {
        let mut state = one_tab(8);
        state.apply(&attached("s2", "f", "iframe", Some("s1")));
        state.apply(&attached("s3", "g", "iframe", Some("s2")));
        let frames = |state: &State| state.context("c").unwrap().tabs[0].frames.len();
        assert_eq!(frames(&state), 2);
        let gone = json!({"sessionId": "s2", "targetId": "f"});
        state.apply(&event(Some("s1"), "Target.detachedFromTarget", gone));
        assert_eq!(frames(&state), 1);
    }

    #[test]
    fn events_of_unknown_sessions_change_nothing() {
        let mut state = one_tab(8);
        for session in [None, Some("other")] {
            let closing = json!({"type": "alert", "message": "x"});
            let dialog = event(session, "Page.javascriptDialogOpening", closing);
            assert_eq!(state.apply(&dialog), []);
        }
        state.close("c");
        assert!(state.context("c").is_none() && state.attached.is_empty());
    }
}
