//! [`Objects`] in memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;

use super::{Call, Faults};
use crate::{
    log::LogError,
    objects::{ObjectError, Objects},
};

/// The object store.
#[derive(Debug)]
pub(super) struct MemoryObjects {
    faults: Arc<Faults>,
    objects: Mutex<HashMap<String, Bytes>>,
}

impl MemoryObjects {
    pub(super) fn new(faults: Arc<Faults>) -> Self {
        Self { faults, objects: Mutex::default() }
    }

    fn reach(&self) -> Result<(), ObjectError> {
        match self.faults.failure(Call::Objects) {
            None => Ok(()),
            Some(LogError::Full(why)) => Err(ObjectError::Full(why)),
            Some(error) => Err(ObjectError::Unavailable(error.to_string())),
        }
    }
}

#[async_trait]
impl Objects for MemoryObjects {
    async fn put(&self, bytes: Bytes) -> Result<String, ObjectError> {
        self.reach()?;
        let sha256 = proto::digest::of_bytes(&bytes);
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.insert(sha256.clone(), bytes);
        Ok(sha256)
    }

    async fn get(&self, sha256: &str) -> Result<Bytes, ObjectError> {
        self.reach()?;
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.get(sha256).cloned().ok_or_else(|| ObjectError::Missing(sha256.to_owned()))
    }
}
