//! The artifacts of a job: the files that its calls published.

use std::collections::VecDeque;

use proto::{
    file::{Content, File, FileTold},
    id::{StepId, ToolName},
    limits::{ARTIFACTS_BYTES_MAX, ARTIFACTS_MAX},
    view::Artifact,
};

use crate::at::At;

/// The artifacts, oldest first. A name has one file, the newest. The oldest files are dropped beyond
/// the limits on their number and on the size of all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Artifacts(VecDeque<Kept>);

#[derive(Debug, Clone)]
struct Kept {
    told: Artifact,
    content: Content,
    bytes: u64,
}

impl Artifacts {
    /// Adds a file, in place of a former one of the name.
    pub(crate) fn add(&mut self, file: &File, step: &StepId, tool: &ToolName, at: At) {
        self.0.retain(|kept| kept.told.file.name != file.name);
        let told = Artifact {
            file: file.told(),
            step: step.clone(),
            tool: tool.clone(),
            seq: Some(at.seq),
            at: Some(at.time),
        };
        let bytes = file.bytes().unwrap_or_default();
        self.0.push_back(Kept { told, content: file.content.clone(), bytes });
        while self.0.len() > ARTIFACTS_MAX || self.bytes() > ARTIFACTS_BYTES_MAX {
            self.0.pop_front();
        }
    }

    /// Forgets the positions, which are those of another job's log.
    pub(crate) fn leave_behind(&mut self) {
        let told = self.0.iter_mut().map(|kept| &mut kept.told);
        told.for_each(|told| (told.seq, told.at) = (None, None));
    }

    /// Returns the artifacts, oldest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Artifact> {
        self.0.iter().map(|kept| &kept.told)
    }

    /// Returns the files with the places of their content, oldest first.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Artifact, File)> {
        self.0.iter().map(|kept| {
            let FileTold { name, media_type, .. } = kept.told.file.clone();
            (&kept.told, File { name, media_type, content: kept.content.clone() })
        })
    }

    fn bytes(&self) -> u64 {
        self.0.iter().fold(0, |sum, kept| sum.saturating_add(kept.bytes))
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proto::{
        file::{FileName, Piece},
        id::Seq,
    };

    use super::*;

    fn add(artifacts: &mut Artifacts, name: &str, bytes: u64, seq: u64) {
        let pieces = vec![Piece { sha256: "0".repeat(64), bytes }];
        let content = Content::Pieces(pieces);
        let file = File { name: FileName::new(name).unwrap(), media_type: None, content };
        let at = At { seq: Seq(seq), time: Timestamp::UNIX_EPOCH };
        artifacts.add(&file, &StepId::new("s1").unwrap(), &ToolName::new("t").unwrap(), at);
    }

    fn names(artifacts: &Artifacts) -> Vec<(&str, Option<u64>)> {
        let told = artifacts.all();
        told.map(|it| (it.file.name.as_str(), it.seq.map(|seq| seq.0))).collect()
    }

    #[test]
    fn a_name_has_the_newest_file() {
        let mut artifacts = Artifacts::default();
        add(&mut artifacts, "a", 1, 5);
        add(&mut artifacts, "b", 2, 6);
        add(&mut artifacts, "a", 3, 7);
        assert_eq!(names(&artifacts), [("b", Some(6)), ("a", Some(7))]);
        let bytes: Vec<_> = artifacts.files().map(|(_, file)| file.bytes()).collect();
        assert_eq!(bytes, [Some(2), Some(3)]);
        artifacts.leave_behind();
        assert_eq!(names(&artifacts), [("b", None), ("a", None)]);
    }

    #[test]
    fn the_oldest_files_are_dropped_beyond_their_number_and_their_size() {
        let mut artifacts = Artifacts::default();
        for n in 0..=ARTIFACTS_MAX as u64 {
            add(&mut artifacts, &n.to_string(), 1, n);
        }
        assert_eq!(artifacts.all().count(), ARTIFACTS_MAX);
        assert_eq!(names(&artifacts)[0], ("1", Some(1)));
        add(&mut artifacts, "large", ARTIFACTS_BYTES_MAX - 1, 200);
        let last = ARTIFACTS_MAX.to_string();
        assert_eq!(names(&artifacts), [(last.as_str(), Some(100)), ("large", Some(200))]);
        add(&mut artifacts, "beyond", ARTIFACTS_BYTES_MAX + 1, 201);
        assert_eq!(names(&artifacts), []);
    }
}
