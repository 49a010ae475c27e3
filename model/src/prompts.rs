//! The templates of a crate's prompts, compiled once.
//!
//! Everything that is put into a template is put in as text: nothing that comes from a job, a tool
//! or a model is ever a template itself.

use minijinja::{Environment, UndefinedBehavior, Value, syntax::SyntaxConfig};

/// Prompts by language and name, from files such as `en/system`.
#[derive(Debug)]
pub struct Prompts(Environment<'static>);

impl Prompts {
    /// The prompts in these files, each a name and its source.
    ///
    /// # Panics
    /// Panics if a template does not compile. The files are part of the program, and a test of
    /// their crate compiles each.
    #[must_use]
    pub fn new(files: impl IntoIterator<Item = (&'static str, &'static str)>) -> Self {
        let mut env = Environment::new();
        env.set_undefined_behavior(UndefinedBehavior::Strict);
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .expect("the usual delimiters are valid");
        env.set_syntax(syntax);
        for (name, source) in files {
            env.add_template(name, source).expect("the templates are compiled by a test");
        }
        Self(env)
    }

    /// A prompt with values in it. `language` is the code of a language.
    ///
    /// # Panics
    /// Panics if the prompt does not exist or needs another value. A test of the crate that has the
    /// files renders each.
    #[must_use]
    pub fn render(&self, language: &str, name: &str, values: Value) -> String {
        self.0
            .get_template(&format!("{language}/{name}"))
            .and_then(|template| template.render(values))
            .expect("every template is rendered with these values by a test")
    }
}
