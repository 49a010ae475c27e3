//! The workflows that submissions, agents and nodes find by name: those of the bucket, and below them
//! the built-in ones.
//!
//! Any program with the right may write to the bucket, so a value is read like a file. A value with
//! mistakes is refused by its name; the built-in workflow that it hides is never used in its place.

use std::collections::{BTreeMap, BTreeSet};

use proto::{
    agent::Layer,
    workflow::{Workflow, WorkflowName},
};

use super::{
    read::{Known, read},
    shipped,
};
use crate::source::{self, Mistake, Mistakes, Text};

/// Maximum number of workflows in the bucket beside those that replace built-in ones. Further values
/// are ignored.
pub const WORKFLOWS_MAX: usize = 256;

/// The workflows of an installation, by name.
#[derive(Debug, Clone, Default)]
pub struct Shelf {
    stored: BTreeMap<WorkflowName, Stored>,
}

/// A value of the bucket.
#[derive(Debug, Clone)]
struct Stored {
    revision: u64,
    text: String,
    brief: Result<Brief, Mistakes>,
}

/// The description of a workflow whose file can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brief {
    /// Version in the file.
    pub version: u32,
    /// Purpose, in one line.
    pub about: String,
    /// SHA-256 of the definition, in hex.
    pub digest: String,
    /// Workflows that nodes run as child jobs.
    pub runs: BTreeSet<WorkflowName>,
}

/// The description of one workflow, for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Name of the workflow.
    pub name: WorkflowName,
    /// Layer that the workflow comes from.
    pub layer: Layer,
    /// Revision of the bucket's value; absent for a built-in workflow.
    pub revision: Option<u64>,
    /// Text of the file.
    pub text: &'a str,
    /// Description, or the mistakes of the file.
    pub brief: Result<Brief, Mistakes>,
}

impl<'a> Entry<'a> {
    /// Reads the file of a version that is not in force.
    #[must_use]
    pub fn of_file(name: WorkflowName, text: &'a str) -> Self {
        let brief = brief(&name, text);
        Self { name, layer: Layer::Bucket, revision: None, text, brief }
    }

    /// Returns the name of the file in messages.
    #[must_use]
    pub fn place(&self) -> String {
        place(&self.name)
    }
}

/// Returns the name of a workflow's file in messages.
#[must_use]
pub fn place(name: &WorkflowName) -> String {
    format!("{name}.yaml")
}

impl Shelf {
    /// Reads a value of the bucket in place of a former one of the name. An older value than that is
    /// ignored. Returns `false` if the bucket has [`WORKFLOWS_MAX`] others already: the value is
    /// ignored.
    pub fn put(&mut self, name: WorkflowName, revision: u64, value: &[u8]) -> bool {
        if self.is_full_for(&name) {
            return false;
        }
        if self.revision(&name).is_some_and(|newer| newer > revision) {
            return true;
        }
        let (text, brief) = match std::str::from_utf8(value) {
            Ok(text) => (text.to_owned(), brief(&name, text)),
            Err(_) => (String::new(), Err(unreadable(&name, Text::NotUtf8))),
        };
        self.stored.insert(name, Stored { revision, text, brief });
        true
    }

    /// Removes the bucket's value of a name.
    pub fn remove(&mut self, name: &WorkflowName) {
        self.stored.remove(name);
    }

    /// Takes note of a value that no client wrote. A workflow that was read before it stays; without
    /// one the name is refused.
    pub fn put_foreign(&mut self, name: WorkflowName) {
        if !self.is_full_for(&name) {
            let brief = Err(unreadable(&name, Text::Foreign));
            let stored = Stored { revision: 0, text: String::new(), brief };
            self.stored.entry(name).or_insert(stored);
        }
    }

    /// Removes the bucket's values of all other names, and forgets the revisions of those that stay,
    /// because the bucket may have been made again.
    pub fn keep(&mut self, names: &BTreeSet<WorkflowName>) {
        self.stored.retain(|name, _| names.contains(name));
        self.stored.values_mut().for_each(|stored| stored.revision = 0);
    }

    /// Returns `true` if the bucket takes no value of this name because it has [`WORKFLOWS_MAX`]
    /// others.
    #[must_use]
    pub fn is_full_for(&self, name: &WorkflowName) -> bool {
        let is_built_in = |name: &WorkflowName| shipped::names().any(|shipped| shipped == *name);
        let counted = self.stored.keys().filter(|name| !is_built_in(name)).count();
        counted >= WORKFLOWS_MAX && !self.stored.contains_key(name) && !is_built_in(name)
    }

    /// Returns the revision of the bucket's value of a name.
    #[must_use]
    pub fn revision(&self, name: &WorkflowName) -> Option<u64> {
        self.stored.get(name).map(|stored| stored.revision)
    }

    /// Returns the names, sorted.
    pub fn names(&self) -> impl Iterator<Item = WorkflowName> {
        let names: BTreeSet<WorkflowName> =
            self.stored.keys().cloned().chain(shipped::names()).collect();
        names.into_iter()
    }

    /// Returns the description of a workflow, or `None` for an unknown name.
    #[must_use]
    pub fn entry(&self, name: &WorkflowName) -> Option<Entry<'_>> {
        if let Some(Stored { revision, text, brief }) = self.stored.get(name) {
            return Some(Entry {
                name: name.clone(),
                layer: Layer::Bucket,
                revision: Some(*revision),
                text,
                brief: brief.clone(),
            });
        }
        let text = self.text(name)?;
        let brief = brief(name, text);
        Some(Entry { name: name.clone(), layer: Layer::Preset, revision: None, text, brief })
    }

    /// Returns the text of a workflow's file, or `None` for an unknown name.
    #[must_use]
    pub fn text(&self, name: &WorkflowName) -> Option<&str> {
        let built_in = || shipped::sources().find(|(shipped, _)| *shipped == name.as_str());
        let stored = self.stored.get(name).map(|stored| stored.text.as_str());
        stored.or_else(|| built_in().map(|(_, text)| text))
    }

    /// Returns the workflows of the bucket that run another one, in the order of their names.
    pub fn users(&self, of: &WorkflowName) -> impl Iterator<Item = &WorkflowName> {
        let runs = |stored: &Stored| stored.brief.as_ref().is_ok_and(|it| it.runs.contains(of));
        self.stored.iter().filter(move |(_, stored)| runs(stored)).map(|(name, _)| name)
    }

    /// Returns the known name that is most similar to an unknown one, if any is similar.
    #[must_use]
    pub fn meant(&self, name: &WorkflowName) -> Option<WorkflowName> {
        let names: Vec<WorkflowName> = self.names().collect();
        let words: Vec<&str> = names.iter().map(WorkflowName::as_str).collect();
        let meant = source::meant(name.as_str(), &words)?.to_owned();
        names.into_iter().find(|name| name.as_str() == meant)
    }
}

/// Reads a file without a comparison of the names in it, which may be those of later tools.
fn brief(name: &WorkflowName, text: &str) -> Result<Brief, Mistakes> {
    let workflow = read(&place(name), text, &Known::default())?.workflow;
    let digest = workflow.digest();
    let runs = workflow.sub_workflows().cloned().collect();
    let Workflow { version, about, .. } = workflow;
    Ok(Brief { version, about, digest, runs })
}

fn unreadable(name: &WorkflowName, why: Text<'_>) -> Mistakes {
    let (place, field, why) = (place(name), String::new(), why.into());
    Mistakes(vec![Mistake { place, line: 1, column: 1, field, why }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> WorkflowName {
        WorkflowName::new(name).unwrap()
    }

    fn file(of: &str, runs: &str) -> String {
        format!(
            "workflow: {of}\nversion: 7\nabout: does it\nstart: go\n\
             nodes:\n  go: {{type: workflow, workflow: {runs}, next: end}}\n"
        )
    }

    #[test]
    fn a_stored_workflow_hides_the_built_in_one_until_it_is_removed() {
        let mut shelf = Shelf::default();
        let react = name("react");
        let built_in = shelf.entry(&react).unwrap().brief.unwrap();
        assert_eq!(shelf.entry(&react).unwrap().layer, Layer::Preset);
        assert!(shelf.put(react.clone(), 5, file("react", "human-review").as_bytes()));
        let entry = shelf.entry(&react).unwrap();
        assert_eq!((entry.layer, entry.revision), (Layer::Bucket, Some(5)));
        let stored = entry.brief.unwrap();
        assert_eq!((stored.version, stored.about.as_str()), (7, "does it"));
        assert_ne!(stored.digest, built_in.digest);
        assert_eq!(shelf.users(&name("human-review")).collect::<Vec<_>>(), [&react]);
        shelf.remove(&react);
        assert_eq!(shelf.entry(&react).unwrap().brief, Ok(built_in));
    }

    #[test]
    fn a_value_with_mistakes_is_refused_by_name_and_nothing_takes_its_place() {
        let mut shelf = Shelf::default();
        for value in [&b"workflow: react\nnodes: 5\n"[..], b"\xff"] {
            assert!(shelf.put(name("react"), 1, value));
            let entry = shelf.entry(&name("react")).unwrap();
            assert_eq!(entry.layer, Layer::Bucket);
            let mistakes = entry.brief.unwrap_err();
            assert!(mistakes.to_string().starts_with("react.yaml:"), "{mistakes}");
        }
    }

    #[test]
    fn names_are_those_of_both_layers_and_a_similar_one_is_found() {
        let mut shelf = Shelf::default();
        shelf.put(name("ticket"), 1, file("ticket", "react").as_bytes());
        let names: Vec<_> = shelf.names().map(|name| name.to_string()).collect();
        assert_eq!(names, ["human-review", "plan-and-execute", "react", "ticket"]);
        assert_eq!(shelf.meant(&name("tickets")), Some(name("ticket")));
        assert_eq!(shelf.meant(&name("0000")), None);
        assert!(shelf.text(&name("nothing")).is_none());
        shelf.keep(&BTreeSet::new());
        assert_eq!(shelf.revision(&name("ticket")), None);
    }

    #[test]
    fn a_full_bucket_takes_changes_and_no_further_names() {
        let mut shelf = Shelf::default();
        for n in 0..WORKFLOWS_MAX {
            assert!(shelf.put(name(&format!("w{n}")), 1, b""));
        }
        assert!(!shelf.put(name("further"), 1, b""));
        assert!(shelf.put(name("w0"), 2, b""));
        assert_eq!(shelf.revision(&name("w0")), Some(2));
        // No value that hides a built-in workflow is passed over.
        assert!(shelf.put(name("react"), 1, b""));
        assert_eq!(shelf.entry(&name("react")).unwrap().layer, Layer::Bucket);
    }

    #[test]
    fn an_older_value_replaces_no_newer_one_unless_the_bucket_is_read_again() {
        let mut shelf = Shelf::default();
        let mine = name("mine");
        assert!(shelf.put(mine.clone(), 7, file("mine", "react").as_bytes()));
        assert!(shelf.put(mine.clone(), 5, b"older"));
        assert_eq!(shelf.revision(&mine), Some(7));
        assert!(shelf.entry(&mine).unwrap().brief.is_ok());
        shelf.keep(&[mine.clone()].into());
        assert!(shelf.put(mine.clone(), 1, b"of a new bucket"));
        assert_eq!(shelf.revision(&mine), Some(1));
    }

    #[test]
    fn a_value_that_no_client_wrote_hides_the_built_in_workflow_and_no_readable_one() {
        let mut shelf = Shelf::default();
        shelf.put_foreign(name("react"));
        let entry = shelf.entry(&name("react")).unwrap();
        assert_eq!((entry.layer, entry.brief.is_err()), (Layer::Bucket, true));
        shelf.put(name("mine"), 3, file("mine", "react").as_bytes());
        shelf.put_foreign(name("mine"));
        assert!(shelf.entry(&name("mine")).unwrap().brief.is_ok());
    }
}
