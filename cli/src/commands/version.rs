//! `version`: of the program, of what it writes, of the nats-server it needs.

use broker::nats_server::Version;
use serde_json::json;

use crate::{failure::Outcome, output::Output};

/// Prints the version.
pub(super) fn print(output: Output) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    let facts = json!({
        "version": version,
        "record_version": proto::record::VERSION,
        "nats_server_min": Version::FLOOR.to_string(),
        "nats_server_recommended": Version::SOUND.to_string(),
    });
    output.one(&facts, version, |_| {
        format!(
            "callboard {version}\nrecords      version {}\nnats-server  {} or newer, {} recommended\n",
            proto::record::VERSION,
            Version::FLOOR,
            Version::SOUND,
        )
    })
}
