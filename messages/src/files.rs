//! The language files, read and compared with each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

/// A language and its file.
#[derive(Debug)]
pub(crate) struct Language {
    /// Code of the language, which is the name of the file.
    pub(crate) code: String,
    /// Path of the file.
    pub(crate) path: PathBuf,
    /// Messages, by table and key.
    tables: Table,
}

/// A message in every language.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) key: String,
    /// Arguments by name; `true` if they are formatted with `{:?}`.
    pub(crate) args: BTreeMap<String, bool>,
    /// Texts, in the order of the languages.
    pub(crate) texts: Vec<String>,
}

/// Reads the language files of a directory, ordered by code.
pub(crate) fn read(directory: &Path) -> Result<Vec<Language>, String> {
    let mut languages = Vec::new();
    for path in listed(directory)? {
        let text = fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        languages.push(parse(path, &text)?);
    }
    Ok(languages)
}

/// Parses one language file.
pub(crate) fn parse(path: PathBuf, text: &str) -> Result<Language, String> {
    let tables = text.parse::<Table>().map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(Language { code: stem(&path), path, tables })
}

/// Returns the languages that have the table.
pub(crate) fn having<'a>(languages: &'a [Language], table: &str) -> Vec<&'a Language> {
    languages.iter().filter(|language| language.tables.contains_key(table)).collect()
}

/// Returns the messages of a table.
///
/// # Errors
/// Returns an error for the first key that a language lacks, or has with other arguments.
pub(crate) fn messages(languages: &[&Language], table: &str) -> Result<Vec<Message>, String> {
    let found = |language: &&Language| match language.tables.get(table) {
        Some(Value::Table(texts)) => Ok(texts.clone()),
        _ => Err(format!("{}.toml has no table [{table}]", language.code)),
    };
    let tables = languages.iter().map(found).collect::<Result<Vec<_>, _>>()?;
    let keys: BTreeSet<&String> = tables.iter().flat_map(Table::keys).collect();
    keys.into_iter().map(|key| message(languages, &tables, table, key)).collect()
}

fn message(
    languages: &[&Language],
    tables: &[Table],
    table: &str,
    key: &str,
) -> Result<Message, String> {
    let mut message = Message { key: key.to_owned(), args: BTreeMap::new(), texts: Vec::new() };
    for (language, texts) in languages.iter().zip(tables) {
        let at = format!("{}.toml: {table}.{key}", language.code);
        let text = texts.get(key).ok_or_else(|| format!("{at}: is missing"))?;
        let text = text.as_str().ok_or_else(|| format!("{at}: must be a text"))?;
        let args = arguments(text).map_err(|why| format!("{at}: {why}"))?;
        if !message.texts.is_empty() && args != message.args {
            let (has, others) = (args.keys(), message.args.keys());
            return Err(format!(
                "{at}: has the arguments {has:?}, other languages have {others:?}"
            ));
        }
        message.args = args;
        message.texts.push(text.to_owned());
    }
    Ok(message)
}

/// Returns the arguments of a text in the syntax of `format!`.
fn arguments(text: &str) -> Result<BTreeMap<String, bool>, String> {
    let mut found = BTreeMap::new();
    let plain = text.replace("{{", "").replace("}}", "");
    for part in plain.split('{').skip(1) {
        let (inside, _) = part.split_once('}').ok_or("a brace is not closed")?;
        let (name, form) = inside.split_once(':').unwrap_or((inside, ""));
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Err(format!("{{{inside}}} names no argument"));
        }
        let debug = form.ends_with('?');
        if found.insert(name.to_owned(), debug).is_some_and(|before| before != debug) {
            return Err(format!("{name} is shown in two ways"));
        }
    }
    Ok(found)
}

/// Returns the name and the path of each file below a directory.
///
/// # Errors
/// Returns an error if the directories of the languages have different files.
pub(crate) fn below(directory: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let mut all = Vec::new();
    let mut names: Option<Vec<String>> = None;
    for language in listed(directory)? {
        if language.is_file() {
            all.push((stem(&language), language));
            continue;
        }
        let files = listed(&language)?;
        let here: Vec<_> = files.iter().map(|file| stem(file)).collect();
        if names.as_ref().is_some_and(|names| *names != here) {
            return Err(format!("{}: other languages have other files", language.display()));
        }
        let named = here.iter().map(|name| format!("{}/{name}", stem(&language)));
        all.extend(named.zip(files));
        names = Some(here);
    }
    Ok(all)
}

fn listed(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let why = |why| format!("{}: {why}", directory.display());
    let entries = fs::read_dir(directory).map_err(why)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(why))
        .collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the messages of three files, of which the first two agree.
    fn of_three(third: &str) -> Result<Vec<Message>, String> {
        let texts = ["[t]\nhi = 'Hi {name}'", "[t]\nhi = '{name}，你好'", third];
        let files = texts.iter().zip(["en", "zh", "xx"]);
        let files = files.map(|(text, code)| parse(PathBuf::from(format!("{code}.toml")), text));
        let files = files.collect::<Result<Vec<_>, _>>()?;
        messages(&files.iter().collect::<Vec<_>>(), "t")
    }

    #[test]
    fn a_third_language_is_a_file_with_the_same_keys_and_arguments() {
        let taken = of_three("[t]\nhi = 'Salut {name} !'").unwrap();
        assert_eq!(taken[0].texts, ["Hi {name}", "{name}，你好", "Salut {name} !"]);
        for (third, why) in [
            ("[u]", "xx.toml has no table [t]"),
            ("[t]", "xx.toml: t.hi: is missing"),
            ("[t]\nhi = 1", "xx.toml: t.hi: must be a text"),
            ("[t]\nhi = 'Salut'", "has the arguments []"),
            ("[t]\nhi = 'Salut {nom}'", "has the arguments [\"nom\"]"),
            ("[t]\nhi = 'Salut {name:?}'", "has the arguments [\"name\"]"),
            ("[t]\nhi = 'Salut {}'", "{} names no argument"),
            ("[t]\nhi = 'Salut {name'", "a brace is not closed"),
            ("[t]\nhi = '{name}'\nbye = 'x'", "en.toml: t.bye: is missing"),
            ("[t]\nhi = '{name}'\nhi = '{name}'", "duplicate key"),
        ] {
            let refused = of_three(third).unwrap_err();
            assert!(refused.contains(why), "{third}: {refused}");
        }
    }

    #[test]
    fn braces_that_are_meant_as_they_are_name_nothing() {
        let args = arguments("{{{{{a}…}}}} {b:?} {{c}} {d:.4}").unwrap();
        let args: Vec<_> = args.iter().map(|(name, debug)| (name.as_str(), *debug)).collect();
        assert_eq!(args, [("a", false), ("b", true), ("d", false)]);
    }
}
