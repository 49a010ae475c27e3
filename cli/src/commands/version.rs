//! `version`: prints the versions of the program, of its records, and of the required nats-server.

use broker::nats_server::Version;
use serde_json::json;

use crate::{failure::Outcome, output::Output, words::Text};

pub(super) fn print(output: Output) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    let facts = json!({
        "version": version,
        "record_version": proto::record::VERSION,
        "nats_server_min": Version::FLOOR.to_string(),
        "nats_server_recommended": Version::SOUND.to_string(),
    });
    let text = Text::Versions {
        version: &version,
        records: &proto::record::VERSION,
        least: &Version::FLOOR,
        sound: &Version::SOUND,
    };
    output.one(&facts, version, |style| style.say(text))
}
