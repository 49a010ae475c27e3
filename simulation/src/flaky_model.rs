//! The model of the simulation: the scripted one, slower and less reliable.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use futures::{TryStreamExt, stream};
use model::{
    Delta, ErrorKind, Model, ModelError, ModelRequest, ModelStream, Phase, Timeouts,
    script::{Script, ScriptModel},
};
use proto::message::{ModelCall, StopReason, Usage};
use serde_json::Value;

use crate::{chance::Chance, fault_rates::FaultRates, link::Link, story::Story};

/// The script of the model.
const SCRIPT: &str = include_str!("script.yaml");

/// The error of a call during an outage. No job may fail with it.
pub(crate) const OUTAGE: &str = "the simulation's model is out of reach";

/// The functions through which models submit plans and decisions, where requests offer them.
const HANDED_OVER_BY: [&str; 2] = ["create_plan", "decide"];

/// The scripted model, parsed once for all worlds.
static SCRIPTED: LazyLock<ScriptModel> = LazyLock::new(|| {
    let script = Script::parse(SCRIPT).expect("the script is parsed by every test");
    ScriptModel::new(script, "scripted", Timeouts::default())
});

/// Returns the model of a world. All its processes share it, so that the script's counters cover
/// all of them.
pub(crate) fn scripted() -> ScriptModel {
    SCRIPTED.rewound()
}

/// The model as one process reaches it.
pub(crate) struct Moody {
    pub(crate) inner: ScriptModel,
    pub(crate) link: Arc<Link>,
    pub(crate) chance: Chance,
    pub(crate) fault_rates: FaultRates,
    pub(crate) story: Story,
}

#[async_trait]
impl Model for Moody {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let longest = if self.chance.percent(5) { 15_000 } else { 300 };
        let longest = self.fault_rates.longest_work(longest);
        tokio::time::sleep(self.chance.millis(1..=longest)).await;
        self.link.run().await;
        if self.fault_rates.is_model_away() {
            self.story.add("model calls in an outage", 1);
            return Err(ModelError::new(ErrorKind::Unreachable, OUTAGE));
        }
        if self.chance.percent(self.fault_rates.model_percent()) {
            return self.misbehave();
        }
        let functions = request.tools.iter().map(|tool| tool.name.as_str());
        let function = functions.into_iter().find(|name| HANDED_OVER_BY.contains(name));
        let function = function.map(str::to_owned);
        let said = self.inner.stream(request).await?;
        match function {
            Some(function) if self.chance.percent(80) => handed_over(said, &function).await,
            Some(_) | None => Ok(said),
        }
    }
}

impl Moody {
    fn misbehave(&self) -> Result<ModelStream, ModelError> {
        let failed = |kind| Err(ModelError::new(kind, "the simulation has it fail"));
        match self.chance.number(0..=5) {
            0 => failed(ErrorKind::Overloaded),
            1 => failed(ErrorKind::Auth),
            2 => Err(ModelError::timeout(Phase::Total)),
            3 => Ok(said("I would rather talk about the weather.", StopReason::End)),
            4 => Ok(said(
                r#"{"title": "cyclic", "steps": [{"id": "a", "description": "x", "depends_on": ["a"]}]}"#,
                StopReason::End,
            )),
            _ => Ok(said(r#"{"title": "cut", "steps": [{"id"#, StopReason::Length)),
        }
    }
}

/// Converts a reply whose text is a JSON object into a call of `function` with that object.
async fn handed_over(said: ModelStream, function: &str) -> Result<ModelStream, ModelError> {
    let mut deltas: Vec<Delta> = said.try_collect().await?;
    let text: String =
        deltas.iter().map(|delta| if let Delta::Text(t) = delta { t } else { "" }).collect();
    if let Ok(args @ Value::Object(_)) = serde_json::from_str(&text) {
        deltas.retain(|delta| !matches!(delta, Delta::Text(_)));
        let (id, name) = ("c0".to_owned(), function.to_owned());
        deltas.insert(0, Delta::Call(ModelCall { id, name, args }));
    }
    Ok(Box::pin(stream::iter(deltas.into_iter().map(Ok))))
}

fn said(text: &str, stop: StopReason) -> ModelStream {
    let usage = Usage::reported(10, 5);
    let end = Delta::End { usage, stop, model: "scripted".to_owned() };
    Box::pin(stream::iter([Ok(Delta::Text(text.to_owned())), Ok(end)]))
}
