//! Navigation: pages that are opened, loads that are awaited, and tabs.

use std::time::Duration;

use serde_json::json;
use url::Url;

use super::{Fault, Session};
use crate::{
    address::{self, BLANK, may_show},
    refusal::Refusal,
    request::{Barred, NOTES_MAX, Remark, TabAct},
    state::{Context, Tab},
};

/// Time after an action in which a navigation begins, if it has one.
const SETTLE: Duration = Duration::from_millis(300);

impl Session {
    /// Opens an address in the current tab, and in the first tab of a new session.
    pub(super) async fn show(&mut self, text: &str) -> Result<(), Fault> {
        let url = address::check(text)?;
        self.proxy.check(&url).map_err(Refusal::Barred)?;
        let tab = match self.context().tab() {
            Some(tab) => tab.clone(),
            None => self.first_tab().await?,
        };
        let before = self.proxy.take_barred();
        self.keep(before);
        self.has_begun = true;
        let go = json!({"url": url.as_str()});
        let went = self.call(&tab.session, "Page.navigate", go).await?;
        let barred = self.proxy.take_barred();
        if let Some(why) = went["errorText"].as_str() {
            let is_download = went["isDownload"] == true
                || self.context().notes.iter().any(|note| matches!(note, Remark::Download { .. }));
            self.forget_notes();
            let refused = barred.into_iter().next_back();
            return Err(match refused {
                _ if is_download => Refusal::Download,
                Some(why) => Refusal::Barred(why),
                None => Refusal::NotLoaded(why.chars().take(200).collect()),
            }
            .into());
        }
        self.loaded(&tab.target).await;
        let barred: Vec<_> = barred.into_iter().chain(self.proxy.take_barred()).collect();
        // Over http, the refusal of the page itself is a page like others.
        let shown = Url::parse(&self.tab()?.url).ok();
        let host = shown.as_ref().and_then(Url::host_str);
        if let Some(why) = barred.iter().find(|why| Some(why.host()) == host) {
            return Err(Refusal::Barred(why.clone()).into());
        }
        self.keep(barred);
        Ok(())
    }

    async fn first_tab(&mut self) -> Result<Tab, Fault> {
        let create = json!({"url": BLANK, "browserContextId": self.open.context});
        self.command("Target.createTarget", create).await?;
        let is_there = |context: &Context| context.tab().is_some();
        self.until(self.limits.timeout, is_there).await;
        let tab = self.tab()?;
        // A navigation before the tab is prepared can crash it.
        self.call(&tab.session, "Page.enable", json!({})).await?;
        Ok(tab)
    }

    /// Waits until the state of the session fulfils a condition. Returns `false` if that took longer
    /// than the limit.
    pub(super) async fn until(
        &self,
        limit: Duration,
        mut condition: impl FnMut(&Context) -> bool,
    ) -> bool {
        let mut changes = self.open.chromium.tabs().watch();
        let fulfilled = async {
            while !condition(&self.context()) {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::time::timeout(limit, fulfilled).await.is_ok()
    }

    /// Waits until a tab has loaded its page, or is closed.
    pub(super) async fn loaded(&mut self, target: &str) {
        let is_loaded = |context: &Context| {
            context.tabs.iter().find(|tab| tab.target == target).is_none_or(|tab| !tab.is_loading)
        };
        if !self.until(self.limits.timeout, is_loaded).await {
            self.notes.push(Remark::Loading);
        }
    }

    /// Waits for the navigation that an action may have begun. `before` is the tab of the action.
    pub(super) async fn settle(&mut self, before: &Tab) {
        let has_begun = |context: &Context| {
            context.tab().is_none_or(|tab| {
                tab.number != before.number
                    || tab.begun != before.begun
                    || tab.loader != before.loader
            })
        };
        self.until(SETTLE, has_begun).await;
        // A new tab begins to load after it was prepared.
        let is_under_way = |context: &Context| {
            context.tab().is_none_or(|tab| tab.number == before.number || tab.begun > 0)
        };
        self.until(SETTLE, is_under_way).await;
        if let Ok(tab) = self.tab() {
            self.loaded(&tab.target).await;
        }
    }

    /// Goes back to the page before.
    pub(super) async fn back(&mut self) -> Result<(), Fault> {
        let tab = self.tab()?;
        let history = self.call(&tab.session, "Page.getNavigationHistory", json!({})).await?;
        let at = history["currentIndex"].as_u64().and_then(|at| usize::try_from(at).ok());
        let before = at.and_then(|at| at.checked_sub(1)).map(|at| &history["entries"][at]);
        let shows = |url: &str| url != BLANK && may_show(url);
        let before = before.filter(|entry| entry["url"].as_str().is_some_and(shows));
        let entry = before.ok_or(Refusal::NoPageBefore)?;
        self.has_begun = true;
        let go = json!({"entryId": entry["id"]});
        self.call(&tab.session, "Page.navigateToHistoryEntry", go).await?;
        // A page that Chromium has kept ends its load before it is shown.
        let is_shown = |context: &Context| {
            context.tab().is_none_or(|now| {
                now.number != tab.number || now.loader != tab.loader || now.url != tab.url
            })
        };
        self.until(self.limits.timeout, is_shown).await;
        self.loaded(&tab.target).await;
        Ok(())
    }

    /// Changes the tabs.
    pub(super) async fn change_tabs(&mut self, act: TabAct) -> Result<(), Fault> {
        let number = match act {
            TabAct::List => return Ok(()),
            TabAct::Select(number) | TabAct::Close(number) => number,
        };
        let context = self.context();
        let tab = context.tabs.iter().find(|tab| tab.number == number);
        let tab = tab.ok_or(Refusal::NoTab(number))?;
        self.has_begun = true;
        if let TabAct::Close(_) = act {
            self.command("Target.closeTarget", json!({"targetId": tab.target})).await?;
            let is_closed = |context: &Context| context.tabs.iter().all(|t| t.number != number);
            self.until(self.limits.timeout, is_closed).await;
            if let Some(context) = self.open.chromium.tabs().lock().context_mut(&self.open.context)
            {
                context.notes.retain(|note| *note != Remark::Closed { tab: number });
            }
        } else {
            if let Some(context) = self.open.chromium.tabs().lock().context_mut(&self.open.context)
            {
                context.current = number;
            }
            self.call(&tab.session, "Page.bringToFront", json!({})).await?;
        }
        Ok(())
    }

    /// Adds refused requests of pages to the notes of the reply.
    pub(super) fn keep(&mut self, barred: Vec<Barred>) {
        let room = NOTES_MAX.saturating_sub(self.notes.len());
        self.notes.extend(barred.into_iter().take(room).map(|why| Remark::Barred { why }));
    }

    /// Forgets what pages did, because an error tells it.
    fn forget_notes(&self) {
        if let Some(context) = self.open.chromium.tabs().lock().context_mut(&self.open.context) {
            context.notes.clear();
        }
    }
}
