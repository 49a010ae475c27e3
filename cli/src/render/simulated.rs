//! Rendering of the results of `workflow simulate`: each case with its way, and the routes that none
//! took.

use serde::Serialize;
use simulation::cases::{Report, Route};

use super::agents_test::Lines;
use crate::{
    style::{Style, Tone},
    words::Text,
};

/// Bound of a shown state, in characters.
const STATE_CHARS: usize = 400;

/// The result of all cases.
#[derive(Debug, Serialize)]
pub(crate) struct Simulated {
    pub(crate) cases: Vec<SimulatedCase>,
    /// Routes that no case took.
    pub(crate) routes_never_taken: Vec<Route>,
}

/// The result of one case.
#[derive(Debug, Serialize)]
pub(crate) struct SimulatedCase {
    pub(crate) case: String,
    pub(crate) passed: bool,
    pub(crate) run: Report,
    /// The events of the run, one a line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) trace: Vec<String>,
}

/// Renders the cases, the routes that none took, and the sum.
pub(crate) fn simulated(style: &Style, whole: &Simulated) -> String {
    let mut out = Lines { style, out: String::new() };
    for one in &whole.cases {
        one.trace.iter().for_each(|line| out.add(Tone::Dim, line));
        out.run(&one.case, one.passed, &one.run);
        let end = &one.run.end;
        if let Some(way) = &end.way {
            let visits = &way.visits.join(" → ");
            out.add(Tone::Dim, &format!("    {}", style.say(Text::SimulatedWay { visits })));
            let state: String = way.state.to_string().chars().take(STATE_CHARS).collect();
            let text = Text::SimulatedState { state: &state };
            out.add(Tone::Dim, &format!("    {}", style.say(text)));
        }
        if let Some(cost) = end.cost {
            let cost = &format!("{cost:.4}");
            out.add(Tone::Dim, &format!("    {}", style.say(Text::SimulatedCost { cost })));
        }
    }
    match whole.routes_never_taken.as_slice() {
        [] => out.add(Tone::Dim, &style.say(Text::RoutesAll)),
        routes => {
            out.add(Tone::Wait, &style.say(Text::RoutesNever));
            routes.iter().for_each(|route| out.add(Tone::Plain, &format!("  {route}")));
        }
    }
    let failed = whole.cases.iter().filter(|one| !one.passed).count();
    let passed = &(whole.cases.len() - failed);
    match failed {
        0 => out.add(Tone::Good, &style.say(Text::CasesPassed { passed })),
        _ => out.add(Tone::Bad, &style.say(Text::CasesFailed { passed, failed: &failed })),
    }
    out.out
}
