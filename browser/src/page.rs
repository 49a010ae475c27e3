//! One tab: what a person does in it, and what there is to see.

use std::{path::Path, sync::Arc};

use broker::testing::wait::{patiently, repeatedly, soon};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    keys,
    link::{Failed, Link},
    panic_with,
};

/// Number of moves after which the pointer clicks an element that still moves.
const MOVES: usize = 20;

/// Support in the page: locators and waits.
const SUPPORT: &str = include_str!("page.js");

/// The size, theme and language of a tab.
#[derive(Debug, Clone)]
pub struct Look {
    /// The width in CSS pixels.
    pub width: u32,
    /// The height in CSS pixels.
    pub height: u32,
    /// Whether the system asks for dark pages.
    pub dark: bool,
    /// The language of the browser.
    pub language: &'static str,
}

impl Default for Look {
    fn default() -> Self {
        Self { width: 1440, height: 900, dark: false, language: "en" }
    }
}

impl Look {
    /// A phone.
    #[must_use]
    pub fn phone() -> Self {
        Self { width: 390, height: 844, ..Self::default() }
    }
}

/// A tab of a browser.
#[derive(Debug)]
pub struct Page {
    link: Arc<Link>,
    session: String,
}

impl Page {
    pub(crate) async fn new(link: Arc<Link>, session: String, agent: &str, look: &Look) -> Self {
        let page = Self { link, session };
        for domain in ["Page.enable", "Runtime.enable", "Network.enable", "Log.enable"] {
            page.command(domain, json!({})).await;
        }
        let source = json!({"source": SUPPORT});
        page.command("Page.addScriptToEvaluateOnNewDocument", source).await;
        page.command("Emulation.setFocusEmulationEnabled", json!({"enabled": true})).await;
        let language = json!({"userAgent": agent, "acceptLanguage": look.language});
        page.command("Emulation.setUserAgentOverride", language).await;
        page.resize(look.width, look.height).await;
        page.theme(look.dark).await;
        page
    }

    /// Changes the size.
    pub async fn resize(&self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Changes the theme that the system asks for. Motion is always reduced.
    pub async fn theme(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.command("Emulation.setEmulatedMedia", json!({"features": features})).await;
    }

    /// Saves downloads in a directory, under their own names.
    pub async fn save_in(&self, directory: &Path) {
        let how = json!({"behavior": "allow", "downloadPath": directory});
        self.command("Page.setDownloadBehavior", how).await;
    }

    /// Loads an address.
    pub async fn open(&self, url: &str) {
        self.command("Page.navigate", json!({"url": url})).await;
    }

    /// Closes the tab. Its events remain.
    pub async fn close(&self) {
        // The reply may be lost with the tab.
        let closing = self.link.call(Some(&self.session), "Page.close", json!({}));
        let _ = patiently(closing).await;
    }

    /// Waits until an expression is true in the page, and returns its value.
    ///
    /// # Panics
    /// Panics with the text of the page if it never is.
    pub async fn until<T: DeserializeOwned>(&self, what: &str, test: &str) -> T {
        let expression = format!("__page.until(() => ({test}))");
        // A page that loads another one takes the wait with it.
        let waiting = repeatedly(async || match self.evaluate(&expression).await {
            Ok(value) => Some(value),
            Err(Failed::Refused(_)) => None,
            Err(error) => panic_with(&format!("{test}: {error:?}")),
        });
        match patiently(waiting).await {
            Some(value) => read(what, value),
            None => {
                let seen =
                    self.evaluate("`${location}\n${__page.last}\n${document.body.innerText}`");
                panic_with(&format!("waited in vain for {what}: {test}\n{:?}", seen.await))
            }
        }
    }

    /// Returns the value of an expression now.
    ///
    /// # Panics
    /// Panics if it throws.
    pub async fn value<T: DeserializeOwned>(&self, expression: &str) -> T {
        match soon(expression, self.evaluate(expression)).await {
            Ok(value) => read(expression, value),
            Err(error) => panic_with(&format!("{expression}: {error:?}")),
        }
    }

    /// Waits until a text is visible.
    pub async fn see(&self, text: &str) {
        let _: bool =
            self.until(text, &format!("document.body.innerText.includes({text:?})")).await;
    }

    /// Waits until a visible element matches a selector and has a text in it or as its name.
    pub async fn find(&self, selector: &str, text: &str) {
        let test = format!("!!__page.find({selector:?}, {text:?})");
        let _: bool = self.until(&format!("{selector} {text}"), &test).await;
    }

    /// Waits until no visible element matches.
    pub async fn lose(&self, selector: &str, text: &str) {
        let test = format!("!__page.find({selector:?}, {text:?})");
        let _: bool = self.until(&format!("no {selector} {text}"), &test).await;
    }

    /// Clicks on the first element that matches, as soon as it is there and nothing covers it.
    pub async fn click(&self, selector: &str, text: &str) {
        let test = format!("__page.place({selector:?}, {text:?})");
        let what = format!("{selector} {text}");
        let mut at: [f64; 2] = self.until(&what, &test).await;
        // Content that loads above the element moves it, and the pointer follows.
        for _ in 0..MOVES {
            self.mouse("mouseMoved", "none", at).await;
            let now = self.until(&what, &test).await;
            if now == at {
                break;
            }
            at = now;
        }
        // Sent together, so that the page cannot move the element in between.
        tokio::join!(
            self.mouse("mousePressed", "left", at),
            self.mouse("mouseReleased", "left", at)
        );
    }

    async fn mouse(&self, kind: &str, button: &str, [x, y]: [f64; 2]) {
        let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1});
        self.command("Input.dispatchMouseEvent", event).await;
    }

    /// Replaces the text of a field.
    pub async fn fill(&self, selector: &str, text: &str) {
        self.click(selector, "").await;
        let _: bool = self.value("(document.activeElement.select?.(), true)").await;
        self.write(text).await;
    }

    /// Types a text where the focus is.
    pub async fn write(&self, text: &str) {
        self.command("Input.insertText", json!({"text": text})).await;
    }

    /// Presses a key, such as `j`, `Enter` or `Ctrl+k`.
    pub async fn press(&self, key: &str) {
        for event in keys::events(key) {
            self.command("Input.dispatchKeyEvent", event).await;
        }
    }

    /// Returns a picture of the visible part as a PNG.
    ///
    /// # Panics
    /// Panics if the browser refuses.
    pub async fn picture(&self) -> Vec<u8> {
        let shot = self.command("Page.captureScreenshot", json!({"format": "png"})).await;
        let text = shot["data"].as_str().unwrap_or_default().as_bytes();
        data_encoding::BASE64.decode(text).expect("the browser encodes pictures")
    }

    /// Returns the addresses that the page has asked for.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let events = self.link.events(&self.session);
        let asked = events.iter().filter(|event| event.method == "Network.requestWillBeSent");
        asked.filter_map(|e| e.params["request"]["url"].as_str().map(str::to_owned)).collect()
    }

    /// Returns the exceptions and errors of the page, without requests that failed.
    #[must_use]
    pub fn errors(&self) -> Vec<String> {
        let events = self.link.events(&self.session);
        let wrong = events.iter().filter(|event| match event.method.as_str() {
            "Runtime.exceptionThrown" => true,
            "Log.entryAdded" => {
                let entry = &event.params["entry"];
                entry["level"] == "error" && entry["source"] != "network"
            }
            _ => false,
        });
        wrong.map(|event| event.params.to_string()).collect()
    }

    /// Checks that the page has thrown nothing, violated no policy, and asked no host but `host`.
    ///
    /// # Panics
    /// Panics if it did.
    pub async fn is_clean(&self, host: &str) {
        let findings = self.findings(host).await;
        assert!(findings.is_empty(), "{findings:#?}");
    }

    /// Returns the violations of the policy, the errors, and the requests to another host than
    /// `host`, each with what it is.
    pub async fn findings(&self, host: &str) -> Vec<String> {
        let violations: Vec<String> = self.value("__page.violations").await;
        let own = format!("http://{host}/");
        let is_foreign = |url: &String| !url.starts_with(&own) && url != "about:blank";
        let foreign = self.requests().into_iter().filter(is_foreign);
        let violations = violations.into_iter().map(|it| format!("violation of the policy: {it}"));
        let errors = self.errors().into_iter().map(|it| format!("error in the page: {it}"));
        let foreign = foreign.map(|it| format!("request to another host: {it}"));
        violations.chain(errors).chain(foreign).collect()
    }

    async fn evaluate(&self, expression: &str) -> Result<Value, Failed> {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let session = Some(self.session.as_str());
        let mut reply = self.link.call(session, "Runtime.evaluate", params).await?;
        match reply.get("exceptionDetails") {
            Some(thrown) => Err(Failed::Threw(thrown.to_string())),
            None => Ok(reply["result"]["value"].take()),
        }
    }

    async fn command(&self, method: &str, params: Value) -> Value {
        let reply = soon(method, self.link.call(Some(&self.session), method, params)).await;
        reply.unwrap_or_else(|e| panic_with(&format!("{method}: {e:?}")))
    }
}

fn read<T: DeserializeOwned>(what: &str, value: Value) -> T {
    serde_json::from_value(value).unwrap_or_else(|e| panic_with(&format!("{what}: {e}")))
}
