//! Repairs malformed JSON with a library, inside bounds the library does not have itself: it
//! recurses as deep as the text, and it closes whatever was cut.

use llm_json::{RepairOptions, repair_json};

use super::{NotJson, tidy::Tidied};

/// Most brackets of JSON that is repaired. The repair recurses once for each at worst, and a thread
/// of 2 MiB carries more than 2,000.
const BRACKETS_MAX: usize = 1000;

/// JSON that can be read, from malformed JSON that begins with a bracket.
pub(super) fn repair(tidied: Tidied) -> Result<String, NotJson> {
    if tidied.opened > BRACKETS_MAX {
        return Err(NotJson::TooManyBrackets);
    }
    if tidied.garbled {
        return Err(NotJson::Garbled);
    }
    if tidied.in_text || !is_whole(tidied.last, &tidied.open) {
        return Err(NotJson::Cut);
    }
    // The library looks for the first brace, so a list is repaired inside an object.
    let list = tidied.json.starts_with('[');
    let json = if list { format!("{{\"steps\":{}}}", tidied.json) } else { tidied.json };
    let options =
        RepairOptions { skip_json_loads: true, ensure_ascii: false, ..RepairOptions::default() };
    repair_json(&json, &options).map_err(|error| NotJson::Malformed(error.to_string()))
}

/// Whether nothing but closing brackets of the plan itself is missing. A step that is still open
/// may lack its dependencies or arguments, and a comma or a colon says that more was to come.
fn is_whole(last: char, open: &[char]) -> bool {
    if open.is_empty() {
        return true;
    }
    let in_list = open.iter().position(|c| *c == '[');
    let step_is_open = in_list.is_some_and(|at| at + 1 < open.len());
    matches!(last, '}' | ']') && !step_is_open
}
