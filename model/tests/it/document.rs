//! The examples of the documentation are valid scripts.

use model::script::Script;

const DOCUMENT: &str = include_str!("../../../docs/scripted-model.md");

#[test]
fn every_example_of_the_document_is_a_script() {
    let examples: Vec<&str> =
        DOCUMENT.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() >= 5, "the document has lost its examples");
    for example in examples {
        if let Err(error) = Script::parse(example) {
            panic!("{error} in\n{example}");
        }
    }
}
