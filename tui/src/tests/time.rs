//! The bars over time, from the events of jobs.

use proto::event::Event;

use super::samples;
use crate::model::spans::{Bar, bars};

fn all() -> Vec<Bar> {
    let events: Vec<Event> = samples::events().into_iter().map(samples::read).collect();
    bars(&events, "planning", "waiting")
}

#[test]
fn planning_steps_and_calls_are_bars_in_that_order() {
    let shown: Vec<_> = all()
        .iter()
        .map(|bar| {
            let parts = bar.parts.iter().map(|part| {
                let seconds = |at: jiff::Timestamp| at.strftime("%S").to_string();
                let to = part.to.map(seconds).unwrap_or_default();
                format!("{}{}{to}", seconds(part.from), if part.waits { "~" } else { "-" })
            });
            format!(
                "{} {} {} {}",
                bar.depth,
                bar.mark,
                bar.label,
                parts.collect::<Vec<_>>().join(" ")
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "0 ✓ planning 00-12",
            "0 ✓ Find the figures 12-20",
            "0 ▸ Write the report with all figures, tables and footnotes 20-41 41~50 50-",
            "1 ✗ http_get 25-40",
        ]
    );
}

#[test]
fn what_is_open_ends_with_the_job() {
    let mut events: Vec<_> = samples::events();
    events.push(serde_json::json!({"id": "30.1", "time": "2026-11-21T09:59:55Z", "type": "job",
        "state": "canceled"}));
    let events: Vec<Event> = events.into_iter().map(samples::read).collect();
    assert!(bars(&events, "planning", "waiting").iter().all(|bar| bar.to().is_some()));
}
