//! A connection to an installation: the log, the bus, key-value buckets and the object store.

use std::sync::Arc;

use crate::{bus::Bus, kv::Kv, log::Log, objects::Objects};

/// The log, the bus, key-value buckets and objects of one installation, cheap to clone.
#[derive(Clone, derive_more::Debug)]
#[debug("Broker({:?})", log.subjects())]
pub struct Broker {
    /// The logs of all jobs.
    pub log: Arc<dyn Log>,
    /// Ephemeral messages.
    pub bus: Arc<dyn Bus>,
    /// Small shared values with compare-and-set.
    pub kv: Arc<dyn Kv>,
    /// The object store, for large values.
    pub objects: Arc<dyn Objects>,
}
