//! Readers of server-sent events over HTTP, each on a connection of its own: those that read, and
//! those that only ask.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures::StreamExt;
use proto::id::JobId;
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
};

use super::{Write, since};
use crate::{
    Failed,
    watching::{AT_ONCE, LOOK, PATIENCE},
};

/// Number of readers that begin at the same time.
const BEGIN_AT_ONCE: usize = 50;

/// One reader: what it has, and when it came.
struct Reader {
    /// The place of its job in the list of jobs.
    job: usize,
    /// The position of its last event.
    last: AtomicU64,
    /// The position of each record, with the time of its first event.
    came: Mutex<Vec<(u64, Instant)>>,
}

/// Readers that take every frame. They end when this value is dropped.
pub(super) struct Readers {
    readers: Vec<Arc<Reader>>,
    /// Ends the readers with this value.
    _tasks: JoinSet<()>,
}

impl Readers {
    /// Starts `readers` readers of the jobs in turn, and waits until each has its job's view.
    pub(super) async fn start(
        gateway: SocketAddr,
        jobs: &Arc<[JobId]>,
        readers: usize,
    ) -> Result<Self, Failed> {
        let (mut all, mut tasks) = (Vec::with_capacity(readers), JoinSet::new());
        let (ready, mut readies) = tokio::sync::mpsc::channel(AT_ONCE);
        // Each that begins at the same moment leaves holes in the memory of the gateway.
        let begin = Arc::new(Semaphore::new(BEGIN_AT_ONCE));
        for n in 0..readers {
            let job = n % jobs.len();
            let (last, came) = (AtomicU64::new(0), Mutex::new(Vec::new()));
            let reader = Arc::new(Reader { job, last, came });
            all.push(Arc::clone(&reader));
            let url = format!("http://{gateway}/v1/jobs/{}/events", jobs[job]);
            let (ready, begin) = (ready.clone(), Arc::clone(&begin));
            tasks.spawn(async move {
                let turn = begin.acquire_owned().await.ok();
                let failed = match read(&url, &reader, &ready, turn).await {
                    Ok(()) => "a stream ended".into(),
                    Err(error) => error,
                };
                // Nobody listens once every reader has its view; later ends are missing records.
                let _ = ready.send(Err(failed)).await;
            });
        }
        let all_ready = async {
            for _ in 0..readers {
                readies.recv().await.ok_or("a reader has gone")??;
            }
            Ok::<_, Failed>(())
        };
        let waited = tokio::time::timeout(PATIENCE, all_ready).await;
        waited.map_err(|_| "the readers did not get their jobs in time")??;
        Ok(Self { readers: all, _tasks: tasks })
    }

    /// Waits until every reader has the records, and returns the times from each stored record to
    /// each of its readers in milliseconds, with the time from the first record to the last arrival.
    pub(super) async fn times(&self, written: &[Write]) -> Result<(Vec<f64>, Duration), Failed> {
        let mut newest = BTreeMap::new();
        for write in written {
            let last = newest.entry(write.job).or_insert(0);
            *last = write.seq.0.max(*last);
        }
        let has = |reader: &Arc<Reader>| {
            newest.get(&reader.job).is_none_or(|seq| reader.last.load(Ordering::Acquire) >= *seq)
        };
        let all = async {
            while !self.readers.iter().all(has) {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(PATIENCE, all).await.map_err(|_| "readers miss records")?;
        let stored: BTreeMap<_, _> =
            written.iter().map(|write| ((write.job, write.seq.0), write.stored)).collect();
        let first = written.iter().map(|write| write.stored).min().ok_or("nothing was written")?;
        let (mut times, mut end) = (Vec::with_capacity(written.len()), first);
        for reader in &self.readers {
            let came = std::mem::take(&mut *lock(&reader.came));
            for (seq, at) in came {
                if let Some(stored) = stored.get(&(reader.job, seq)) {
                    times.push(since(*stored, at));
                    end = end.max(at);
                }
            }
        }
        Ok((times, end.duration_since(first)))
    }
}

/// Reads a stream to its end, and reports the view.
async fn read(
    url: &str,
    reader: &Reader,
    ready: &tokio::sync::mpsc::Sender<Result<(), Failed>>,
    mut turn: Option<OwnedSemaphorePermit>,
) -> Result<(), Failed> {
    // A client of its own has a connection of its own.
    let http = reqwest::Client::builder().no_proxy().build()?;
    let reply = http.get(url).send().await?.error_for_status()?;
    let (mut bytes, mut line, mut is_ready) = (reply.bytes_stream(), Vec::new(), false);
    while let Some(some) = bytes.next().await {
        for byte in some? {
            if byte != b'\n' {
                line.push(byte);
                continue;
            }
            if let Some(seq) = position(&line) {
                if reader.last.swap(seq, Ordering::Release) != seq {
                    lock(&reader.came).push((seq, Instant::now()));
                }
            } else if line == b"event: view" && !is_ready {
                is_ready = true;
                drop(turn.take());
                let _ = ready.send(Ok(())).await;
            }
            line.clear();
        }
    }
    Ok(())
}

/// Returns the record of an event from the line with its id.
fn position(line: &[u8]) -> Option<u64> {
    let id = std::str::from_utf8(line).ok()?.strip_prefix("id: ")?;
    id.split('.').next()?.parse().ok()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connections that ask for a stream and never read.
pub(super) struct Silent {
    _connections: Vec<TcpStream>,
}

impl Silent {
    /// Opens the connections, for the jobs in turn.
    pub(super) async fn start(
        gateway: SocketAddr,
        jobs: &Arc<[JobId]>,
        silent: usize,
    ) -> Result<Self, Failed> {
        let mut connections = Vec::with_capacity(silent);
        for n in 0..silent {
            let job = &jobs[n % jobs.len()];
            let mut connection = TcpStream::connect(gateway).await?;
            let head = format!("GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: {gateway}\r\n\r\n");
            connection.write_all(head.as_bytes()).await?;
            connections.push(connection);
        }
        Ok(Self { _connections: connections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_of_a_record_is_read_from_the_id_of_its_events() {
        let of = |line: &str| position(line.as_bytes());
        assert_eq!([of("id: 41.0"), of("id: 41.12")], [Some(41), Some(41)]);
        assert_eq!([of("data: {\"id\":\"41.0\"}"), of("id: "), of("")], [None, None, None]);
    }
}
