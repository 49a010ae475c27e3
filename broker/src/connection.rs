//! One connection to where jobs live: the log and what stands beside it.

use std::sync::Arc;

use crate::{bus::Bus, kv::Kv, log::Log, objects::Objects};

/// The log, the bus, key-value buckets and objects of one installation, cheap to clone.
#[derive(Clone)]
pub struct Broker {
    /// Jobs' logs.
    pub log: Arc<dyn Log>,
    /// Messages that are not kept.
    pub bus: Arc<dyn Bus>,
    /// Small shared values.
    pub kv: Arc<dyn Kv>,
    /// Large values.
    pub objects: Arc<dyn Objects>,
}

impl std::fmt::Debug for Broker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Broker").field("subjects", self.log.subjects()).finish_non_exhaustive()
    }
}
