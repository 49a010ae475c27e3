//! The filter of jobs in a query.

use proto::{door::Filter, label::Labels};

use crate::{params::Params, problem::Problem};

/// The parameters of a filter.
pub(super) const NAMES: [&str; 10] = [
    "state",
    "agent",
    "label",
    "q",
    "conversation",
    "parent",
    "since",
    "until",
    "updated_since",
    "failure",
];

/// The parameters of a list: a filter, and a place in the list.
pub(super) const OF_LIST: [&str; 12] = [
    "state",
    "agent",
    "label",
    "q",
    "conversation",
    "parent",
    "since",
    "until",
    "updated_since",
    "failure",
    "after",
    "limit",
];

/// Reads the filter of a query.
pub(super) fn read(params: &Params<'_>) -> Result<Filter, Problem> {
    let labels = Labels::of(params.all("label")?);
    Ok(Filter {
        states: params.all("state")?,
        agent: params.one("agent")?,
        labels: labels.map_err(|error| params.wrong("label", error.to_string()))?,
        text: params.one("q")?,
        conversation: params.one("conversation")?,
        parent: params.one("parent")?,
        since: params.one("since")?,
        until: params.one("until")?,
        updated_since: params.one("updated_since")?,
        failure: params.one("failure")?,
    })
}
