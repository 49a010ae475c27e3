//! The actions of a session: clicks, texts, options and keys.

use serde_json::{Value, json};

use super::{
    Fault, Session,
    element::{Found, present},
};
use crate::{
    keys::{self, Keys},
    refusal::Refusal,
    request::Target,
};

const TARGET: &str = include_str!("target.js");
const FILL: &str = include_str!("fill.js");
const CHOOSE: &str = include_str!("choose.js");

impl Session {
    /// Clicks on the middle of an element.
    pub(super) async fn click(&mut self, target: &Target) -> Result<(), Fault> {
        let tab = self.tab()?;
        let found = self.element(target).await?;
        let (x, y) = self.middle(&found).await?;
        self.has_begun = true;
        for (kind, buttons) in [("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)] {
            let button = if kind == "mouseMoved" { "none" } else { "left" };
            let event = json!({
                "type": kind, "x": x, "y": y, "button": button, "buttons": buttons,
                "clickCount": u32::from(kind != "mouseMoved"),
            });
            let sent = self.call(&found.handle.session, "Input.dispatchMouseEvent", event).await;
            // The click may have closed the page.
            if let Err(failed) = sent
                && self.tab().is_ok_and(|now| now.number == tab.number)
            {
                return Err(failed.into());
            }
        }
        self.settle(&tab).await;
        Ok(())
    }

    /// Scrolls to an element, and returns the middle of what is visible of it.
    async fn middle(&self, found: &Found) -> Result<(f64, f64), Fault> {
        let session = &found.handle.session;
        let node = json!({"backendNodeId": found.node});
        let scrolled = self.call(session, "DOM.scrollIntoViewIfNeeded", node.clone()).await;
        present(scrolled).map_err(hidden)?;
        let over = self.run(found, TARGET, &Value::Null).await?;
        match over.as_str() {
            "" => {}
            "hidden" => return Err(Refusal::Hidden.into()),
            "changed" => return Err(Refusal::Changed.into()),
            other => {
                let other = other.strip_prefix("covered:").unwrap_or(other);
                return Err(Refusal::Covered(crate::snapshot::shown(other, 120)).into());
            }
        }
        let quads = present(self.call(session, "DOM.getContentQuads", node).await);
        let quads = quads.map_err(hidden)?;
        let view = self.call(session, "Page.getLayoutMetrics", json!({})).await?;
        let view = &view["cssLayoutViewport"];
        let size = |side: &str| view[side].as_f64().unwrap_or(f64::MAX);
        let (width, height) = (size("clientWidth"), size("clientHeight"));
        let quads = quads["quads"].as_array().into_iter().flatten();
        let mut middles = quads.filter_map(|quad| middle_of(quad, width, height));
        Ok(middles.next().ok_or(Refusal::Hidden)?)
    }

    /// Replaces the text of a field.
    pub(super) async fn fill(
        &mut self,
        target: &Target,
        text: &str,
        submit: bool,
    ) -> Result<(), Fault> {
        let tab = self.tab()?;
        let found = self.element(target).await?;
        let object = self.resolve(&found).await?;
        self.has_begun = true;
        let session = found.handle.session.clone();
        match self.run_on(&found, &object, FILL, &json!(text)).await?.as_str() {
            "type" if text.is_empty() => self.strike(&session, "Delete").await?,
            "type" => {
                let insert = json!({"text": text});
                self.call(&session, "Input.insertText", insert).await?;
            }
            "done" => {}
            other => {
                self.has_begun = false;
                return Err(not_filled(other).into());
            }
        }
        if submit {
            self.strike(&session, "Enter").await?;
        }
        self.settle(&tab).await;
        Ok(())
    }

    /// Selects options of a list.
    pub(super) async fn choose(&mut self, target: &Target, values: &[String]) -> Result<(), Fault> {
        let tab = self.tab()?;
        let found = self.element(target).await?;
        let object = self.resolve(&found).await?;
        self.has_begun = true;
        match self.run_on(&found, &object, CHOOSE, &json!(values)).await?.as_str() {
            "done" => {}
            other => {
                self.has_begun = false;
                return Err(not_filled(other).into());
            }
        }
        self.settle(&tab).await;
        Ok(())
    }

    /// Presses keys on the page.
    pub(super) async fn press(&mut self, key: &str) -> Result<(), Fault> {
        let tab = self.tab()?;
        let session = tab.session.clone();
        self.strike(&session, key).await?;
        self.settle(&tab).await;
        Ok(())
    }

    async fn strike(&mut self, session: &str, key: &str) -> Result<(), Fault> {
        let unknown = || Refusal::Key(key.chars().take(40).collect());
        let keys: Keys = keys::parse(key).ok_or_else(unknown)?;
        self.has_begun = true;
        for event in keys.events() {
            self.call(session, "Input.dispatchKeyEvent", event).await?;
        }
        Ok(())
    }
}

/// Returns the refusal of a script that did not change its element.
fn not_filled(answer: &str) -> Refusal {
    match answer {
        "changed" => Refusal::Changed,
        "disabled" => Refusal::Disabled,
        "not value" => Refusal::NotValue,
        "not list" => Refusal::NotList,
        other => match other.strip_prefix("no option:") {
            Some(option) => Refusal::NoOption(option.chars().take(200).collect()),
            None => Refusal::NotField,
        },
    }
}

/// An element without a place on the page gives errors that look like those of a missing one.
fn hidden(fault: Fault) -> Fault {
    match fault {
        Fault::Refused(_) => Refusal::Hidden.into(),
        Fault::Link(failed) => failed.into(),
    }
}

/// Returns the middle of the visible part of a quadrilateral.
fn middle_of(quad: &Value, width: f64, height: f64) -> Option<(f64, f64)> {
    let numbers: Vec<f64> = quad.as_array()?.iter().filter_map(Value::as_f64).collect();
    let middle = |first: usize, most: f64| {
        let side = numbers.iter().skip(first).step_by(2).copied();
        let (low, high) = (side.clone().fold(most, f64::min), side.fold(0.0, f64::max));
        let (low, high) = (low.max(0.0), high.min(most));
        (high > low).then_some(f64::midpoint(low, high))
    };
    Some((middle(0, width)?, middle(1, height)?))
}
