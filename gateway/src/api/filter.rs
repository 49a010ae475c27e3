//! The filter of jobs in a query.

use proto::{door::Filter, label::Labels};

use crate::{params::Params, problem::Problem};

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
        attention: params.is_set("attention")?,
    })
}
