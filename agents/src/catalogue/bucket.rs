//! The layer of agents that were put in while the installation runs: read from values that anybody may
//! have written who may write there, or who had the server do it.

use proto::{agent::Layer, id::AgentName};

use super::{Catalogue, Written, bucket_place};
use crate::source::{Mistake, Mistakes, Own, Source};

/// A value of the bucket of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// The bytes of a value.
    Value(Vec<u8>),
    /// A value that the server was made to write.
    Foreign,
}

impl Catalogue {
    /// Puts values into the bucket's layer. One that cannot be read whole changes nothing but what
    /// [`Catalogue::ignored`] says of its name. The layer takes `max` agents, and as many values that
    /// are not; gives how many were passed over for that.
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

    /// Why the value that the bucket holds under this name is no agent, when it holds such a one.
    #[must_use]
    pub fn ignored(&self, name: &AgentName) -> Option<&Mistakes> {
        self.ignored.get(name)
    }
}

impl Stored {
    fn read(self, name: &AgentName) -> Result<Written, Mistakes> {
        let place = bucket_place(name);
        let text = match self {
            Self::Foreign => Err("was written by the server, on behalf of somebody"),
            Self::Value(bytes) => String::from_utf8(bytes).map_err(|_| "is no text in UTF-8"),
        };
        let text = text.map_err(|why| {
            let (place, field, why) = (place.clone(), String::new(), why.to_owned());
            Mistakes(vec![Mistake { place, line: 1, column: 1, field, why }])
        })?;
        let source = Source { name: name.clone(), place, text };
        match Own::read(&source) {
            Ok(own) => Ok(Written::Read { source, own: Box::new(own) }),
            Err(broken) => Err(broken.mistakes),
        }
    }
}
