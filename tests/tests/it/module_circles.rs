//! The check for circular dependencies between the modules of the pure crates. Two modules that
//! need each other are one module in two files: neither can be read, tested or moved alone.
//!
//! A module is a file. An edge leads from a file to the files that define the items that its code
//! names; test code is ignored.
//!
//! * every path that begins with `crate`, `self`, `super`, a child module or an imported module is
//!   followed, in `use` items as in expressions, types and macros;
//! * a re-export is followed to the file that defines the item, and is no edge itself, so a parent
//!   that only declares and re-exports its children depends on none of them;
//! * a parent whose own code names an item that it re-exports does need the child;
//! * a method call is no path and therefore no edge: the method belongs to its type, and the file
//!   that names the type has the edge.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proc_macro2::TokenStream;

use crate::{
    purity::{is_test_file, paths},
    sources::{self, Source},
};

/// The path of a module below its crate. The crate's root is empty.
type Module = Vec<String>;

/// The code of one module.
struct Code {
    /// The paths outside re-exports.
    paths: Vec<Vec<String>>,
    /// The paths of re-exported items.
    passed_on: Vec<Vec<String>>,
}

impl Code {
    fn of(text: &str) -> Self {
        let (mut code, mut re_exports) = (TokenStream::new(), TokenStream::new());
        let mut in_re_export = false;
        let mut tokens = text.parse::<TokenStream>().expect("the file is Rust").into_iter();
        while let Some(token) = tokens.next() {
            let rest: Vec<String> = tokens.clone().take(2).map(|token| token.to_string()).collect();
            let is_public = token.to_string() == "pub";
            let used = rest.iter().position(|word| word == "use");
            in_re_export |=
                is_public && (used == Some(0) || used == Some(1) && rest[0].starts_with('('));
            let is_end = token.to_string() == ";";
            if in_re_export { &mut re_exports } else { &mut code }.extend([token]);
            in_re_export &= !is_end;
        }
        Self { paths: segments(&code), passed_on: segments(&re_exports) }
    }
}

/// Returns the paths in some code. The prefix of a group is no path by itself.
fn segments(code: &TokenStream) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut paths = paths(&code.to_string()).into_iter().map(|path| path.segments).peekable();
    while let Some(mut path) = paths.next() {
        if paths.peek().is_some_and(|next| next.len() > path.len() && next.starts_with(&path)) {
            continue;
        }
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        found.push(path);
    }
    found
}

/// The modules of one crate.
struct Crate(BTreeMap<Module, Code>);

impl Crate {
    fn of(sources: &[Source]) -> Self {
        let module = |source: &Source| {
            let (_, below) = source.path.split_once("src/").unwrap_or(("", &source.path));
            let below = below.trim_end_matches(".rs").trim_end_matches("/mod");
            below.split('/').filter(|part| *part != "lib").map(str::to_owned).collect()
        };
        let sources = sources.iter().filter(|source| !is_test_file(&source.path));
        Self(sources.map(|source| (module(source), Code::of(&source.text))).collect())
    }

    /// Returns the absolute path of a path in a module; `None` for a local name.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let (mut base, mut rest) = (module.clone(), path);
        match path.first()?.as_str() {
            "crate" => (base, rest) = (Vec::new(), &path[1..]),
            "self" | "super" => {
                while let Some((first, after)) = rest.split_first() {
                    match first.as_str() {
                        "self" => {}
                        "super" => drop(base.pop()),
                        _ => break,
                    }
                    rest = after;
                }
            }
            child => {
                let child = [base.as_slice(), &[child.to_owned()]].concat();
                if path.len() == 1 || !self.0.contains_key(&child) {
                    return None;
                }
            }
        }
        (!rest.is_empty()).then(|| [base.as_slice(), rest].concat())
    }

    /// Returns the module that defines the item of an absolute path.
    fn definer(&self, path: &[String]) -> Module {
        let depth = (0..=path.len()).rev().find(|n| self.0.contains_key(&path[..*n]));
        let (module, rest) = path.split_at(depth.unwrap_or_default());
        let code = self.0.get(module).filter(|_| !rest.is_empty());
        let passed_on = code.into_iter().flat_map(|code| &code.passed_on);
        let named =
            |path: &&Vec<String>| path.last().is_some_and(|name| *name == rest[0] || name == "*");
        let on = passed_on.filter(|path| path.len() > 1).find(named);
        match on.and_then(|on| self.absolute(&module.to_vec(), on)) {
            Some(on) => self.definer(&[on.as_slice(), &rest[1..]].concat()),
            None => module.to_vec(),
        }
    }

    /// Returns the modules that a module's code names.
    fn arrows(&self, module: &Module) -> BTreeSet<Module> {
        let code = &self.0[module];
        let absolute = |path: &Vec<String>| self.absolute(module, path);
        let mut arrows: BTreeSet<Module> =
            code.paths.iter().filter_map(absolute).map(|path| self.definer(&path)).collect();
        let imported: BTreeMap<&String, Vec<String>> = code
            .paths
            .iter()
            .chain(&code.passed_on)
            .filter_map(|path| Some((path.last()?, self.absolute(module, path)?)))
            .collect();
        // An imported module, or a re-exported item that this module uses too.
        for path in &code.paths {
            let Some(on) = imported.get(&path[0]) else { continue };
            arrows.insert(self.definer(&[on.as_slice(), &path[1..]].concat()));
        }
        arrows.remove(module);
        arrows
    }

    /// Returns each circle of modules once, as its shortest path.
    fn circles(&self) -> Vec<String> {
        let arrows: BTreeMap<&Module, BTreeSet<Module>> =
            self.0.keys().map(|module| (module, self.arrows(module))).collect();
        let mut left: BTreeSet<Module> = self.0.keys().cloned().collect();
        let mut found = Vec::new();
        while let Some(start) = left.pop_first() {
            let Some(circle) = shortest(&arrows, &start) else { continue };
            left.retain(|module| !circle.contains(module));
            let names = circle.iter().chain([&start]);
            let names: Vec<String> =
                names.map(|module| format!("crate::{}", module.join("::"))).collect();
            found.push(names.join(" -> "));
        }
        found
    }
}

/// Returns the shortest path from a module back to itself, in reverse.
fn shortest(arrows: &BTreeMap<&Module, BTreeSet<Module>>, start: &Module) -> Option<Vec<Module>> {
    let mut came: BTreeMap<Module, Module> = BTreeMap::new();
    let mut next = VecDeque::from([start.clone()]);
    while let Some(module) = next.pop_front() {
        for to in arrows.get(&module).into_iter().flatten() {
            if to == start {
                let mut way = vec![module];
                while let Some(before) = way.last().and_then(|last| came.get(last)) {
                    way.push(before.clone());
                }
                way.reverse();
                return Some(way);
            }
            if !came.contains_key(to) {
                came.insert(to.clone(), module.clone());
                next.push_back(to.clone());
            }
        }
    }
    None
}

#[rstest::rstest]
#[case::the_job_machine("machine/src/")]
#[case::the_vocabulary("proto/src/")]
#[case::the_language_of_agents("agents/src/")]
fn modules_form_no_circle(#[case] root: &str) {
    let mut sources = sources::ending_with(".rs");
    sources.retain(|source| source.path.starts_with(root));
    assert_eq!(Crate::of(&sources).circles(), Vec::<String>::new());
}

#[rstest::rstest]
#[case::two_that_import_each_other(
    &[("a", "use crate::b::B;"), ("b", "use super::a::A;")],
    &["crate::a -> crate::b -> crate::a"]
)]
#[case::three_by_paths_in_code(
    &[("a", "fn f() { crate::b::g() }"), ("b", "fn g(c: crate::c::C) {}"), ("c", "use crate::{a, x}; fn h() { a::f() }")],
    &["crate::a -> crate::b -> crate::c -> crate::a"]
)]
#[case::through_a_re_export(
    &[("lib", "mod a; mod b; pub use self::{a::{A, O}, b::B};"), ("a", "use crate::B;"), ("b", "fn f() -> super::A { vec![] }")],
    &["crate::a -> crate::b -> crate::a"]
)]
#[case::a_parent_that_needs_its_child(
    &[("a", "mod b; pub use self::b::B; struct A(B);"), ("a/b", "use super::A;")],
    &["crate::a -> crate::a::b -> crate::a"]
)]
#[case::a_parent_that_passes_on(
    &[("a/mod", "mod b; mod c; pub use self::{b::B, c::*}; struct A;"), ("a/b", "use super::{A, C};"), ("a/c", "")],
    &[]
)]
#[case::tests(
    &[("a", "use crate::b::B;"), ("b", "#[cfg(test)] mod tests { use crate::a::A; }"), ("b/tests", "use crate::a::A;")],
    &[]
)]
#[case::the_same_name_elsewhere(
    &[("a", "use crate::b::B;"), ("b", "fn f(a: a::C) { std::a::f() }")],
    &[]
)]
fn a_circle_is_found_and_named(#[case] files: &[(&str, &str)], #[case] circles: &[&str]) {
    let source = |(path, text): &(&str, &str)| Source::of(&format!("x/src/{path}.rs"), text);
    let sources: Vec<Source> = files.iter().map(source).collect();
    assert_eq!(Crate::of(&sources).circles(), circles);
}
