//! The guards against loops without progress: their thresholds.

use serde::{Deserialize, Serialize};

use crate::{bounds::Text, lang::Words, limits};

/// The thresholds at which a run of a step is warned or ended. 0 disables a guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Guard {
    /// Number of turns with the same call (tool and arguments) after which the model is warned. The
    /// count restarts whenever the model makes a new call.
    pub repeat_warn: u32,
    /// Number of such turns after which the model must answer: the next turn only offers to end the
    /// step.
    pub repeat_stop: u32,
    /// Number of consecutive failures of one tool after which the model is warned.
    pub failing_warn: u32,
    /// Number of consecutive turns without progress after which the run fails. A turn makes
    /// progress with a new call or with a new successful result. Rounds of planning without a
    /// completed step count likewise.
    pub no_progress_stop: u32,
}

impl Default for Guard {
    fn default() -> Self {
        Self { repeat_warn: 3, repeat_stop: 5, failing_warn: 3, no_progress_stop: 8 }
    }
}

impl Guard {
    /// Says which field is out of bounds.
    ///
    /// # Errors
    /// Returns the first field that is out of bounds, and its requirement.
    pub fn check(&self) -> Result<(), (&'static str, Words)> {
        let Self { repeat_warn, repeat_stop, failing_warn, no_progress_stop } = *self;
        for (field, turns) in [
            ("repeat_warn", repeat_warn),
            ("repeat_stop", repeat_stop),
            ("failing_warn", failing_warn),
            ("no_progress_stop", no_progress_stop),
        ] {
            if turns > limits::TURNS_MAX {
                return Err((field, Text::ZeroIsOff { max: &100 }.into()));
            }
        }
        if repeat_stop == 1 {
            return Err(("repeat_stop", Text::RepeatsNothing.into()));
        }
        if repeat_warn > 0 && repeat_stop > 0 && repeat_warn > repeat_stop {
            return Err(("repeat_warn", Text::AboveStop.into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_out_of_bounds_are_named() {
        let check = |json: &str| {
            let guard: Guard = serde_json::from_str(json).unwrap();
            guard.check().map_err(|(field, _)| field)
        };
        assert_eq!(check("{}"), Ok(()));
        let off = r#"{"repeat_warn":0,"repeat_stop":0,"failing_warn":0,"no_progress_stop":0}"#;
        assert_eq!(check(off), Ok(()));
        assert_eq!(check(r#"{"repeat_warn":6}"#), Err("repeat_warn"));
        assert_eq!(check(r#"{"repeat_stop":1,"repeat_warn":1}"#), Err("repeat_stop"));
        assert_eq!(check(r#"{"no_progress_stop":101}"#), Err("no_progress_stop"));
    }
}
