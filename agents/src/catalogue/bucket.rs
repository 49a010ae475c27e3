//! The layer of agents that are added while the installation runs. Its values come from any program
//! that may write to the bucket, or may have the server write there.

use proto::{agent::Layer, id::AgentName};

use super::{Catalogue, Written, bucket_place};
use crate::source::{Mistake, Mistakes, Own, Source, Text};

/// A value of the bucket of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// Bytes that a client wrote.
    Value(Vec<u8>),
    /// A value that the server wrote for a sender without the permission.
    Foreign,
}

impl Catalogue {
    /// Reads values into the layer of the bucket. A value that cannot be read changes only the
    /// result of [`Catalogue::ignored`] for its name. The layer takes `max` agents, and records as
    /// many unreadable values. Returns the number of values beyond these bounds.
    pub fn follow(
        &mut self,
        stored: impl IntoIterator<Item = (AgentName, Stored)>,
        max: usize,
    ) -> usize {
        let (mut agents, mut passed_over) = (self.count(Layer::Bucket), 0);
        for (name, value) in stored {
            let is_new = !self.has(Layer::Bucket, &name);
            match value.read(&name) {
                Ok(_) if is_new && agents >= max => passed_over += 1,
                Ok(written) => {
                    agents += usize::from(is_new);
                    self.ignored.remove(&name);
                    self.layers.insert((name, Layer::Bucket), written);
                }
                Err(_) if !self.ignored.contains_key(&name) && self.ignored.len() >= max => {
                    passed_over += 1;
                }
                Err(mistakes) => {
                    self.ignored.insert(name, mistakes);
                }
            }
        }
        self.resolve_all();
        passed_over
    }

    /// Returns the mistakes of the bucket's value under this name, when that value is not an agent.
    #[must_use]
    pub fn ignored(&self, name: &AgentName) -> Option<&Mistakes> {
        self.ignored.get(name)
    }
}

impl Stored {
    fn read(self, name: &AgentName) -> Result<Written, Mistakes> {
        let place = bucket_place(name);
        let text = match self {
            Self::Foreign => Err(Text::Foreign),
            Self::Value(bytes) => String::from_utf8(bytes).map_err(|_| Text::NotUtf8),
        };
        let text = text.map_err(|why| {
            let (place, field, why) = (place.clone(), String::new(), why.into());
            Mistakes(vec![Mistake { place, line: 1, column: 1, field, why }])
        })?;
        let source = Source { name: name.clone(), place, text };
        match Own::read(&source) {
            Ok(own) => Ok(Written::Read { source, own: Box::new(own) }),
            Err(broken) => Err(broken.mistakes),
        }
    }
}
