//! [`Objects`] in memory.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;
use proto::id::Seq;

use super::{Call, MemoryOptions};
use crate::{
    log::LogError,
    objects::{Kept, ObjectError, Objects},
};

#[derive(Debug)]
pub(super) struct MemoryObjects {
    options: MemoryOptions,
    objects: Mutex<Values>,
}

#[derive(Debug, Default)]
struct Values {
    last: u64,
    by_name: HashMap<String, Value>,
}

#[derive(Debug)]
struct Value {
    bytes: Bytes,
    seq: Seq,
    stored: Timestamp,
}

impl MemoryObjects {
    pub(super) fn new(options: MemoryOptions) -> Self {
        Self { options, objects: Mutex::default() }
    }

    fn reach(&self) -> Result<MutexGuard<'_, Values>, ObjectError> {
        match self.options.faults.failure(Call::Objects) {
            None => Ok(self.objects.lock().unwrap_or_else(PoisonError::into_inner)),
            Some(LogError::Full(why)) => Err(ObjectError::Full(why)),
            Some(error) => Err(ObjectError::Unavailable(error.to_string())),
        }
    }

    fn age(&self, value: &Value) -> Duration {
        // The age is zero if the time of day jumps back.
        self.options.clock.now().duration_since(value.stored).try_into().unwrap_or_default()
    }
}

#[async_trait]
impl Objects for MemoryObjects {
    async fn put(&self, bytes: Bytes) -> Result<String, ObjectError> {
        let mut objects = self.reach()?;
        let sha256 = proto::digest::of_bytes(&bytes);
        let there = objects.by_name.get(&sha256);
        if there.is_none_or(|value| self.age(value) > self.options.objects_renewed_after) {
            objects.last += 1;
            let (seq, stored) = (Seq(objects.last), self.options.clock.now());
            objects.by_name.insert(sha256.clone(), Value { bytes, seq, stored });
        }
        Ok(sha256)
    }

    async fn get(&self, sha256: &str) -> Result<Bytes, ObjectError> {
        let objects = self.reach()?;
        let value = objects.by_name.get(sha256).map(|value| value.bytes.clone());
        value.ok_or_else(|| ObjectError::Missing(sha256.to_owned()))
    }

    async fn list(&self) -> Result<Vec<Kept>, ObjectError> {
        let objects = self.reach()?;
        let all = objects.by_name.iter().map(|(sha256, value)| Kept {
            sha256: sha256.clone(),
            bytes: value.bytes.len() as u64,
            age: self.age(value),
            until: value.seq,
        });
        let mut all: Vec<Kept> = all.collect();
        all.sort_by_key(|kept| kept.until);
        Ok(all)
    }

    async fn remove(&self, seen: &Kept) -> Result<(), ObjectError> {
        let mut objects = self.reach()?;
        if objects.by_name.get(&seen.sha256).is_some_and(|value| value.seq <= seen.until) {
            objects.by_name.remove(&seen.sha256);
        }
        Ok(())
    }
}
