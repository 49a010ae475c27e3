//! The element of an action: found in the last snapshot, and compared with the page as it is.

use serde_json::{Value, json};

use super::{Fault, Session, look::Handle};
use crate::{
    link::{Failed, Post},
    refusal::Refusal,
    request::Target,
    snapshot::one,
};

/// Name of the scripts' own world, which pages cannot change.
const WORLD: &str = "callboard";

/// An element that an action may use.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) handle: Handle,
    pub(super) node: i64,
}

impl Session {
    /// Returns the element of an action, if its snapshot holds and its name is the given one, then and
    /// now.
    pub(super) async fn element(&self, target: &Target) -> Result<Found, Fault> {
        let (element, handle) = self.find(target.at)?;
        if element.shown != target.name.trim() {
            let (element, name) = (target.at.element, element.shown);
            return Err(Refusal::OtherName { element, name }.into());
        }
        let node = element.at.node;
        let ask = json!({"backendNodeId": node, "fetchRelatives": false});
        let now = self.call(&handle.session, "Accessibility.getPartialAXTree", ask).await;
        let now = present(now)?;
        let now = one(&now["nodes"][0]);
        if now.name != element.own {
            return Err(Refusal::Changed.into());
        }
        if now.is("disabled") {
            return Err(Refusal::Disabled.into());
        }
        Ok(Found { handle, node })
    }

    /// Runs a function on an element, in a world that the page's scripts cannot change.
    pub(super) async fn run(
        &self,
        found: &Found,
        function: &str,
        argument: &Value,
    ) -> Result<String, Fault> {
        let object = self.resolve(found).await?;
        self.run_on(found, &object, function, argument).await
    }

    /// Returns the element as an object of a world that the page's scripts cannot change.
    pub(super) async fn resolve(&self, found: &Found) -> Result<Value, Fault> {
        let Handle { session, frame } = &found.handle;
        let world = json!({"frameId": frame, "worldName": WORLD});
        let world = present(self.call(session, "Page.createIsolatedWorld", world).await)?;
        let resolve = json!({
            "backendNodeId": found.node, "executionContextId": world["executionContextId"],
        });
        let object = present(self.call(session, "DOM.resolveNode", resolve).await)?;
        Ok(object["object"]["objectId"].clone())
    }

    /// Runs a function on the object of an element.
    pub(super) async fn run_on(
        &self,
        found: &Found,
        object: &Value,
        function: &str,
        argument: &Value,
    ) -> Result<String, Fault> {
        let session = &found.handle.session;
        let call = json!({
            "functionDeclaration": function, "objectId": object, "returnByValue": true,
            "arguments": [{"value": argument}],
        });
        let called = self.call(session, "Runtime.callFunctionOn", call).await;
        self.open.chromium.link().post(&Post {
            session: Some(session.clone()),
            method: "Runtime.releaseObject",
            params: json!({"objectId": object}),
        });
        let result = &called?["result"]["value"];
        Ok(result.as_str().ok_or(Refusal::Changed)?.to_owned())
    }
}

/// Converts the refusal of a command about an element: the page no longer has it.
pub(super) fn present(reply: Result<Value, Failed>) -> Result<Value, Fault> {
    reply.map_err(|failed| match failed {
        Failed::Refused(_) => Refusal::Changed.into(),
        Failed::Late | Failed::Gone => failed.into(),
    })
}
