//! The finding about the browser of models.

use super::words::Text;
use crate::{render::findings::Finding, settings::Config};

/// Looks for the browser of this machine. `None` if the settings want none.
pub(super) fn finding(config: &Config) -> Option<Finding> {
    let settings = &config.tools.browser;
    if !settings.enabled {
        return None;
    }
    Some(match browser_tools::look(settings) {
        Ok(program) => Finding::ok("browser", Text::Browser { program: &program.display() }),
        Err(why) => {
            Finding::warning("browser", Text::NoBrowser { why: &why }, Text::InstallChromium)
        }
    })
}
