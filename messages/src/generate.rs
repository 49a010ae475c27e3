//! The generation of Rust code, as text, from the language files.

use std::path::{Path, PathBuf};

use crate::files::{Language, Message, having, messages};

/// Generates the `enum Text` of a table that every language has.
pub(crate) fn texts(languages: &[Language], table: &str, language: &str) -> Result<String, String> {
    let all: Vec<_> = languages.iter().collect();
    let messages = messages(&all, table)?;
    let arms: String = arms(&all, &messages, language, |text| text);
    let text = function("pub(crate)", language, "::std::string::String", &arms);
    Ok(whole("pub(crate)", languages, &messages, &text))
}

/// Generates the public `enum Text` of a table whose messages travel by name between programs.
pub(crate) fn reasons(
    languages: &[Language],
    table: &str,
    language: &str,
) -> Result<String, String> {
    let all: Vec<_> = languages.iter().collect();
    let messages = messages(&all, table)?;
    let arms: String = arms(&all, &messages, language, |text| text);
    let text = function("pub", language, "::std::string::String", &arms);
    let (parts, read): (Vec<_>, Vec<_>) =
        messages.iter().map(parted).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let travel = format!(
        "/// Returns the name of the message and its arguments.
        #[must_use]
        pub fn parts(self) -> (&'static str, ::std::vec::Vec<(&'static str, ::std::string::String)>) {{
            match self {{ {} }}
        }}
        /// Returns the text of a message by its name. `None` if no message has this name, or if
        /// an argument is missing.
        pub fn of_parts<'n>(
            name: &str,
            argument: impl ::core::ops::Fn(&'static str) -> ::core::option::Option<&'n str>,
            language: {language},
        ) -> ::core::option::Option<::std::string::String> {{
            match name {{ {} _ => ::core::option::Option::None }}
        }}",
        parts.concat(),
        read.concat(),
    );
    Ok(whole("pub", languages, &messages, &format!("{text}\n{travel}")))
}

/// Generates the match arms that take a message apart, and that read it by its name.
fn parted(message: &Message) -> Result<(String, String), String> {
    let (key, name) = (&message.key, camel(&message.key));
    if let Some((argument, _)) = message.args.iter().find(|(_, debug)| **debug) {
        return Err(format!(
            "{key}: {argument} travels as a text and cannot be formatted with {{:?}}"
        ));
    }
    let names: Vec<&str> = message.args.keys().map(String::as_str).collect();
    let pairs =
        names.iter().map(|name| format!("({name:?}, ::std::string::ToString::to_string({name})),"));
    let pairs: String = pairs.collect();
    let fields = names.join(", ");
    let apart = format!("Self::{name} {{ {fields} }} => ({key:?}, ::std::vec![{pairs}]),");
    let given = names.iter().map(|name| format!("{name}: &argument({name:?})?,"));
    let given: String = given.collect();
    let read = format!(
        "{key:?} => ::core::option::Option::Some(Text::{name} {{ {given} }}.text(language)),"
    );
    Ok((apart, read))
}

/// Generates the `enum Text` of a table that a language may lack.
pub(crate) fn translations(
    languages: &[Language],
    table: &str,
    language: &str,
) -> Result<String, String> {
    let having = having(languages, table);
    let messages = messages(&having, table)?;
    let some = |text| format!("::core::option::Option::Some({text})");
    let mut arms = arms(&having, &messages, language, some);
    let lack = languages.iter().filter(|one| having.iter().all(|other| other.code != one.code));
    let none = |one: &Language| format!("{language}::{} => None,", camel(&one.code));
    arms.extend(lack.map(none));
    let text =
        function("pub(crate)", language, "::core::option::Option<::std::string::String>", &arms);
    Ok(whole("pub(crate)", languages, &messages, &text))
}

fn whole(seen: &str, languages: &[Language], messages: &[Message], text: &str) -> String {
    let takes_any = messages.iter().any(|message| !message.args.is_empty());
    let (declared, used) = if takes_any { ("<'a>", "<'_>") } else { ("", "") };
    let variants: String = messages.iter().map(variant).collect();
    let watched: String = languages.iter().map(|language| watched(&language.path)).collect();
    format!(
        "/// The messages of this module.
        #[derive(Clone, Copy)]
        {seen} enum Text{declared} {{ {variants} }}
        impl Text{used} {{ {text} }}
        {watched}"
    )
}

fn function(seen: &str, language: &str, gives: &str, arms: &str) -> String {
    format!(
        "/// The text in a language.
        #[must_use]
        {seen} fn text(self, language: {language}) -> {gives} {{ match language {{ {arms} }} }}"
    )
}

fn variant(message: &Message) -> String {
    let fields = message.args.iter().map(|(name, debug)| {
        let shown = if *debug { "Debug" } else { "Display" };
        format!("#[doc = \"Argument of the text.\"] {name}: &'a dyn ::core::fmt::{shown},")
    });
    // A bracket would begin a link.
    let doc = message.texts.first().map_or("", String::as_str).replace('[', "\\[");
    let (name, fields) = (camel(&message.key), fields.collect::<String>());
    let fields = if fields.is_empty() { fields } else { format!("{{ {fields} }}") };
    format!("#[doc = {doc:?}] {name} {fields},")
}

/// Generates a match arm for each language. `form` wraps each text.
fn arms(
    languages: &[&Language],
    messages: &[Message],
    language: &str,
    form: impl Fn(String) -> String,
) -> String {
    let arm = |(n, one): (usize, &&Language)| {
        let texts = messages.iter().filter_map(|message| {
            let (name, text) = (camel(&message.key), message.texts.get(n)?);
            if message.args.is_empty() {
                let text = text.replace("{{", "{").replace("}}", "}");
                let text = form(format!("::std::borrow::ToOwned::to_owned({text:?})"));
                return Some(format!("Self::{name} => {text},"));
            }
            let args = message.args.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let text = form(format!("::std::format!({text:?})"));
            Some(format!("Self::{name} {{ {args} }} => {text},"))
        });
        let texts: String = texts.collect();
        format!("{language}::{} => match self {{ {texts} }},", camel(&one.code))
    };
    languages.iter().enumerate().map(arm).collect()
}

/// Generates `ALL` and `code` of an enum of languages.
pub(crate) fn languages(languages: &[Language], name: &str) -> String {
    let each = |write: &dyn Fn(&str, &str) -> String| -> String {
        languages.iter().map(|language| write(&camel(&language.code), &language.code)).collect()
    };
    let all = each(&|variant, _| format!("Self::{variant},"));
    let codes = each(&|variant, code| format!("Self::{variant} => {code:?},"));
    format!(
        "impl {name} {{
            /// All languages there are texts for.
            pub const ALL: &'static [Self] = &[{all}];
            /// The code in records, on the command line and in the names of files.
            #[must_use]
            pub const fn code(self) -> &'static str {{ match self {{ {codes} }} }}
        }}"
    )
}

/// Generates an array of files.
pub(crate) fn files(files: &[(String, PathBuf)]) -> String {
    let pair =
        |(name, path): &(String, PathBuf)| format!("({name:?}, ::core::include_str!({path:?})),");
    format!("[{}]", files.iter().map(pair).collect::<String>())
}

/// Generates a constant that makes the compiler rebuild the crate when a file changes.
fn watched(path: &Path) -> String {
    format!("const _: &str = ::core::include_str!({path:?});")
}

fn camel(key: &str) -> String {
    let mut name = String::new();
    for word in key.split(['_', '-']) {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}
