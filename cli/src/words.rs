//! The texts of the program for users, in the user's language.

use proto::lang::{Language, Words};

messages::texts!(cli);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}

/// Returns the language of the user's locale, by the variables of POSIX in their order. English if
/// there are no texts in that language.
pub(crate) fn of_locale(variable: impl Fn(&str) -> Option<String>) -> Language {
    let mut named = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().filter_map(variable);
    let locale = named.find(|locale| !locale.is_empty()).unwrap_or_default();
    let code = locale.split(['_', '.', '@', '-']).next().unwrap_or_default();
    Language::of_code(code).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_determines_the_language_in_the_order_of_posix() {
        for (variables, language) in [
            (&[][..], Language::En),
            (&[("LANG", "zh_CN.UTF-8")], Language::Zh),
            (&[("LANG", "zh_CN.UTF-8"), ("LC_MESSAGES", "en_GB")], Language::En),
            (&[("LANG", "de_DE"), ("LC_ALL", "zh")], Language::Zh),
            (&[("LANG", "zh_CN"), ("LC_ALL", "")], Language::Zh),
            (&[("LC_ALL", "C.UTF-8"), ("LANG", "zh_CN")], Language::En),
        ] {
            let of = |name: &str| {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(of_locale(of), language, "{variables:?}");
        }
    }
}
