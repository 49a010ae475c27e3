//! The conversations and flows of the designs, played through the design's own preset against a
//! scripted model, in memory and on a virtual clock. `docs/internals/scenarios.md` lists them.

mod format;
mod installation;
mod play;
mod table;

use std::path::PathBuf;

use format::Scenario;
use rstest::rstest;

#[rstest]
fn scenario(#[files("scenarios/*/*.yaml")] path: PathBuf) {
    let scenario = Scenario::read(path);
    let played = play::play(&scenario);
    let wrong = played.wrong(&scenario.expect);
    match &scenario.missing {
        None => assert!(wrong.is_empty(), "{}\n{played}", wrong.join("\n")),
        Some(missing) => {
            assert!(
                !wrong.is_empty(),
                "it passes although it says that this is missing: {missing}"
            );
        }
    }
}
