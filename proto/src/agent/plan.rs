//! Whether and how a plan is made.

use serde::{Deserialize, Serialize};

use super::checked::{Checked, out_of_scale, out_of_share, refuse};
use crate::{
    limits,
    policy::{Detector, PlanOutput, PlanProtocol},
};

/// Whether and how a plan is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Planning {
    /// When there is a plan.
    pub when: PlanWhen,
    /// What finds out whether there is one, with [`PlanWhen::Auto`].
    #[serde(skip_serializing_if = "crate::is_default")]
    pub detect: Detector,
    /// The model that is asked whether a goal needs a plan; the one that plans when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detect_model: Option<String>,
    /// The shape a model is asked to plan in.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub protocol: PlanProtocol,
    /// How a model hands the plan over.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub output: PlanOutput,
    /// The model that plans; the agent's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its sampling temperature; the agent's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Its nucleus sampling; the agent's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Tries at a reply that can be understood; the error is shown to the model each time.
    pub attempts: u32,
    /// What follows when no try gave a plan.
    pub on_unparseable: OnUnparseable,
    /// Whether a plan without steps completes the job instead of being an error.
    pub allow_empty: bool,
}

/// When there is a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanWhen {
    /// Every goal is planned.
    Always,
    /// The goal is one step, carried out by a loop of model turns.
    Never,
    /// Goals that need it are planned, the others are one step. See [`Planning::detect`].
    Auto,
}

/// What follows when the planner's reply cannot be understood, after all tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnparseable {
    /// A person is shown the reply and asked what to do.
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
            attempts: 3,
            on_unparseable: OnUnparseable::Fail,
            allow_empty: false,
        }
    }
}

impl Planning {
    pub(super) fn check(&self) -> Checked {
        if !(1..=limits::ATTEMPTS_MAX).contains(&self.attempts) {
            return refuse("plan.attempts", "must be 1 to 100");
        }
        if out_of_scale(self.temperature) {
            return refuse("plan.temperature", "must be 0.0 to 2.0");
        }
        if out_of_share(self.top_p) {
            return refuse("plan.top_p", "must be above 0.0 and at most 1.0");
        }
        Ok(())
    }
}
