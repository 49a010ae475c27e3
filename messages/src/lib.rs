//! The words of Callboard for people and models, one file per language in `languages/`, compiled in.
//!
//! A language file has a table for each module that speaks, and a message for each key: a text with
//! named arguments, written as in `format!`. [`texts!`] makes an enum of a table with a variant for
//! each key and a field for each argument, so a message without its arguments does not compile. It
//! also does not compile when a file lacks a key or an argument that another file has, and a key that
//! no code names is dead code. A language is a parameter of each call, nothing is read or parsed at
//! run time, and the same arguments always give the same bytes.
//!
//! A further language is a further file and its variant of `proto::lang::Language`.
//!
//! Libraries were examined first. rust-i18n shows the key when a text is missing and does not compare
//! arguments; fluent-templates and i18n-embed look messages up and format them at run time, and put
//! marks around arguments; fluent-typed checks as much, but passes arguments by position and brings
//! the Fluent runtime into the vocabulary.
//!
//! Must never: know what a message is for.

mod files;
mod generate;

use std::{env, path::PathBuf};

use proc_macro::{Group, Span, TokenStream, TokenTree};

/// The texts of one table as `enum Text`, with a method `text` that takes the language.
///
/// `texts!(table)` reads this crate's languages for `proto::lang::Language`.
/// `texts!(table, Type, "directory")` reads others, below this crate, for another type.
#[proc_macro]
pub fn texts(input: TokenStream) -> TokenStream {
    let (at, input) = (place(&input), input.to_string());
    let mut words = input.split(',').map(str::trim);
    let table = words.next().unwrap_or_default();
    let language = words.next().unwrap_or("::proto::lang::Language");
    let directory = words.next().unwrap_or("languages").trim_matches('"');
    let read = files::read(&own().join(directory));
    rust(at, read.and_then(|files| generate::texts(&files, table, language)))
}

/// As [`texts!`], of a table that a language may lack: `text` then gives nothing in it. For words that
/// a library already has in one language.
#[proc_macro]
pub fn translations(input: TokenStream) -> TokenStream {
    let read = files::read(&own().join("languages"));
    rust(
        place(&input),
        read.and_then(|files| {
            generate::translations(&files, &input.to_string(), "::proto::lang::Language")
        }),
    )
}

/// All languages there are files for, as `ALL` and `code` of the enum `languages!(Enum)` names.
#[proc_macro]
pub fn languages(input: TokenStream) -> TokenStream {
    let read = files::read(&own().join("languages"));
    rust(place(&input), read.map(|files| generate::languages(&files, &input.to_string())))
}

/// The files below a directory of the caller's crate, one for each language or a directory of them,
/// as an array of pairs: name without ending (`en` or `en/system`) and text.
#[proc_macro]
pub fn files(input: TokenStream) -> TokenStream {
    let caller = env::var("CARGO_MANIFEST_DIR").expect("cargo says whose code it compiles");
    let read = files::below(&PathBuf::from(caller).join(input.to_string().trim_matches('"')));
    rust(place(&input), read.map(|files| generate::files(&files)))
}

/// The directory of this crate.
fn own() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The place of what a macro was given: code that stands there is judged as if it were written there,
/// so that the compiler says of a message that no code names that it is dead.
fn place(input: &TokenStream) -> Span {
    input.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span())
}

/// The generated code, or an error of the compiler that says what is wrong.
fn rust(at: Span, code: Result<String, String>) -> TokenStream {
    let code = code.unwrap_or_else(|why| format!("::core::compile_error!({why:?});"));
    moved(at, code.parse().expect("what is generated is Rust"))
}

fn moved(at: Span, code: TokenStream) -> TokenStream {
    let token = |mut token: TokenTree| {
        if let TokenTree::Group(group) = &token {
            let inside = moved(at, group.stream());
            token = TokenTree::Group(Group::new(group.delimiter(), inside));
        }
        token.set_span(at);
        token
    };
    code.into_iter().map(token).collect()
}
