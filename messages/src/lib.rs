//! The texts of Callboard for users and models: one file per language in `languages/`, compiled in.
//!
//! A language file has a table for each module that needs texts, and a message for each key: a text
//! with named arguments, written as in `format!`. [`texts!`] turns a table into an enum with a
//! variant for each key and a field for each argument, so a message without its arguments does not
//! compile. Neither does a file that lacks a key or an argument of another file, and a key that no
//! code names is reported as dead code. The language is a parameter of each call, nothing is read
//! or parsed at run time, and equal arguments always give equal bytes.
//!
//! A further language needs a file and a variant of `proto::lang::Language`.
//!
//! Existing libraries do less. rust-i18n shows the key if a text is missing, and does not compare
//! arguments; fluent-templates and i18n-embed look messages up and format them at run time, and put
//! marks around arguments; fluent-typed checks as much, but passes arguments by position and brings
//! in the Fluent runtime.
//!
//! Architecture invariant: this crate does not know the purpose of any message.

mod files;
mod generate;

use std::{env, path::PathBuf};

use proc_macro::{Group, Span, TokenStream, TokenTree};

/// Expands to the texts of one table: an `enum Text` with a method `text` that takes the language.
///
/// `texts!(table)` reads this crate's languages for `proto::lang::Language`. `texts!(table, Type,
/// "directory")` reads those of a directory of this crate, for another type.
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

/// Expands like [`texts!`] to a public enum whose messages travel between programs: `parts` gives a
/// message's name and its arguments, and `of_parts` the text of a name in a language.
#[proc_macro]
pub fn reasons(input: TokenStream) -> TokenStream {
    let read = files::read(&own().join("languages"));
    rust(
        place(&input),
        read.and_then(|files| {
            generate::reasons(&files, &input.to_string(), "::proto::lang::Language")
        }),
    )
}

/// Expands like [`texts!`] for a table that a language may lack: `text` then returns an `Option`.
/// For texts that a library already provides in one language.
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

/// Expands to `ALL` and `code` of the enum `Enum` in `languages!(Enum)`, with a variant for each
/// file.
#[proc_macro]
pub fn languages(input: TokenStream) -> TokenStream {
    let read = files::read(&own().join("languages"));
    rust(place(&input), read.map(|files| generate::languages(&files, &input.to_string())))
}

/// Expands to the files below a directory of the calling crate: one per language, or a directory
/// per language. The result is an array of pairs of name without extension (`en` or `en/system`)
/// and text.
#[proc_macro]
pub fn files(input: TokenStream) -> TokenStream {
    let caller = env::var("CARGO_MANIFEST_DIR").expect("cargo says whose code it compiles");
    let read = files::below(&PathBuf::from(caller).join(input.to_string().trim_matches('"')));
    rust(place(&input), read.map(|files| generate::files(&files)))
}

/// Returns the directory of this crate.
fn own() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the span of a macro's input. Generated code gets this span, so that the compiler's lints
/// treat it as code of the caller and report unused messages as dead code.
fn place(input: &TokenStream) -> Span {
    input.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span())
}

/// Returns the generated code, or a `compile_error!` with the reason.
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
