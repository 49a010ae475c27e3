//! The policy of planning.

use serde::{Deserialize, Serialize};

use super::checked::{Checked, out_of_scale, out_of_share, refuse};
use crate::{
    bounds::Text,
    effort::Effort,
    limits,
    policy::{Detector, PlanOutput, PlanProtocol},
};

/// The policy of planning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Planning {
    /// Condition for making a plan.
    pub when: PlanWhen,
    /// Detector that decides whether a goal needs a plan, with [`PlanWhen::Auto`].
    #[serde(skip_serializing_if = "crate::is_default")]
    pub detect: Detector,
    /// Model for the detection; the planning model when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detect_model: Option<String>,
    /// Form of the plan that the model is asked for.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub protocol: PlanProtocol,
    /// Output form in which the model returns the plan.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub output: PlanOutput,
    /// Planning model; the agent's model when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Sampling temperature for planning; the agent's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling for planning; the agent's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Effort of the model's reasoning for planning; the agent's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Attempts at a reply that can be parsed (1 to 100). The model sees the error of the previous
    /// one.
    pub attempts: u32,
    /// Rounds of so many attempts (1 to 100). A failed round before the last is an observation for
    /// the planner, and counts as an action.
    #[serde(skip_serializing_if = "is_one")]
    pub rounds: u32,
    /// Consequence when no round gave a plan.
    pub on_unparseable: OnUnparseable,
    /// `true` if a plan without steps completes the job; otherwise it is an error.
    pub allow_empty: bool,
}

/// The condition for making a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanWhen {
    /// Every goal is planned.
    Always,
    /// No goal is planned: the goal is a single step, carried out by a loop of model turns.
    Never,
    /// The detector decides: a goal that needs no plan is a single step. See [`Planning::detect`].
    Auto,
}

/// The consequence of an unparseable planner's reply, after all attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnUnparseable {
    /// A user sees the reply and decides.
    Ask,
    /// The job fails.
    Fail,
}

impl Default for Planning {
    fn default() -> Self {
        Self {
            when: PlanWhen::Always,
            detect: Detector::default(),
            detect_model: None,
            protocol: PlanProtocol::default(),
            output: PlanOutput::default(),
            model: None,
            temperature: None,
            top_p: None,
            effort: None,
            attempts: 3,
            rounds: 1,
            on_unparseable: OnUnparseable::Fail,
            allow_empty: false,
        }
    }
}

impl Planning {
    pub(super) fn check(&self) -> Checked {
        if !(1..=limits::ATTEMPTS_MAX).contains(&self.attempts) {
            return refuse("plan.attempts", Text::Between { low: &1, high: &100 });
        }
        if !(1..=limits::ATTEMPTS_MAX).contains(&self.rounds) {
            return refuse("plan.rounds", Text::Between { low: &1, high: &100 });
        }
        if out_of_scale(self.temperature) {
            return refuse("plan.temperature", Text::Between { low: &"0.0", high: &"2.0" });
        }
        if out_of_share(self.top_p) {
            return refuse("plan.top_p", Text::AboveUpTo { low: &"0.0", high: &"1.0" });
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(rounds: &u32) -> bool {
    *rounds == 1
}
