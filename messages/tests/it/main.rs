//! A language is a file: three languages, and the generated messages.

/// The languages in `three/`.
#[derive(Clone, Copy)]
enum Language {
    En,
    Fr,
    Zh,
}

callboard_messages::texts!(greetings, Language, "tests/it/three");

#[test]
fn a_third_language_is_spoken_once_its_file_is_there() {
    let say = |language| {
        let name = "Ann";
        let hello = Text::Hello { name: &name, count: &2, share: &0.5 }.text(language);
        [hello, Text::Bye.text(language)]
    };
    assert_eq!(say(Language::En), ["Hello Ann, 2 of your {jobs} wait (0.50).", "Bye."]);
    assert_eq!(say(Language::Fr), ["2 de vos {jobs} attendent (0.50), Ann.", "Au revoir."]);
    assert_eq!(say(Language::Zh), ["Ann，有 2 个 {jobs} 在等待（0.50）。", "再见。"]);
}
