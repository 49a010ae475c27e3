//! The console in a real Chromium: the first paint, a long log, the layout of a large plan, and a
//! page that follows a job while others read it too.

use std::{net::SocketAddr, time::UNIX_EPOCH};

use callboard_browser::{Browser, Look, Page, program};
use proto::id::{JobId, Seq};
use serde::Serialize;

use super::Write;
use crate::{
    Failed,
    figures::{Spread, percentile},
    options::Options,
};

/// The number of layouts of the large plan in a round; the browser's clock is coarse.
const LAYOUTS: usize = 20;
/// The number of frames in which a log is scrolled from its end to its beginning.
const FRAMES: usize = 240;

/// The figures of the console, in milliseconds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Pages {
    /// From the request for the list of jobs until its first paint, with an empty cache.
    pub(crate) first_paint_ms: Spread,
    /// From that request until the rows are there.
    pub(crate) usable_ms: Spread,
    /// The number of records of the long job.
    pub(crate) records: usize,
    /// From the request for the log of the long job until its last event is there.
    pub(crate) open_ms: Spread,
    /// Times between two frames while that log is scrolled: medians and 99th percentiles.
    pub(crate) frame_ms: [f64; 2],
    /// The layout of a plan of 500 steps and about 4,000 dependencies.
    pub(crate) layout_ms: Spread,
}

/// Starts a browser; `None` where Chromium is missing.
pub(super) async fn start() -> Result<Option<Browser>, Failed> {
    let chromium = tokio::task::spawn_blocking(program::chromium).await?;
    match chromium {
        Some(chromium) => Ok(Some(Browser::start(chromium).await)),
        None => Ok(None),
    }
}

/// Measures the pages, each round in a profile of its own.
pub(super) async fn measure(
    browser: &Browser,
    gateway: SocketAddr,
    (long, last): &(JobId, Seq),
    options: &Options,
) -> Result<Pages, Failed> {
    let url = |path: &str| format!("http://{gateway}{path}");
    let (mut paint, mut usable, mut open, mut frames) = (vec![], vec![], vec![], vec![]);
    let mut layouts = vec![];
    for _ in 0..options.rounds {
        let page = browser.page(&Look::default()).await;
        page.open(&url("/jobs")).await;
        usable.push(
            page.until("rows of jobs", "document.querySelector('.job-row') && performance.now()")
                .await,
        );
        paint.push(page.until("a first paint", FIRST_PAINT).await);
        layouts.push(layout(&page).await?);
        page.close().await;

        let page = browser.page(&Look::default()).await;
        page.open(&url(&format!("/jobs/{long}?tab=log"))).await;
        open.push(page.until("the last event", &shows(*last)).await);
        let some: Vec<f64> = page.value(&scroll()).await;
        frames.extend(some);
        page.close().await;
    }
    Ok(Pages {
        first_paint_ms: Spread::of(paint),
        usable_ms: Spread::of(usable),
        records: options.records,
        open_ms: Spread::of(open),
        frame_ms: [0.5, 0.99].map(|share| percentile(&mut frames, share)),
        layout_ms: Spread::of(layouts),
    })
}

const FIRST_PAINT: &str = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime";

/// Returns an expression that is the time since the request once an event of the record, or a later
/// one, is visible.
fn shows(seq: Seq) -> String {
    format!(
        "[...document.querySelectorAll('.log-id')].some((id) => parseInt(id.textContent) >= {}) && \
         performance.now()",
        seq.0
    )
}

/// Returns an expression that scrolls the log through and resolves to the times between frames.
fn scroll() -> String {
    format!(
        "new Promise((done) => {{
          const box = document.querySelector('.virtual');
          const end = box.scrollHeight;
          const times = [];
          let before;
          const frame = (now) => {{
            if (before !== undefined) times.push(now - before);
            before = now;
            if (times.length >= {FRAMES}) return done(times);
            box.scrollTop = end * (1 - times.length / {FRAMES});
            requestAnimationFrame(frame);
          }};
          requestAnimationFrame(frame);
        }})"
    )
}

/// Measures the layout of a large plan by the console's own module.
async fn layout(page: &Page) -> Result<f64, Failed> {
    let expression = format!(
        "(async () => {{
          const app = document.querySelector('script[type=module]').src;
          const {{ layout }} = await import(new URL('layout.js', app));
          const nodes = Array.from({{ length: 500 }}, (_, n) => ({{
            id: `s${{n}}`,
            depends_on: Array.from({{ length: Math.min(n, 8) }}, (_, k) => `s${{(n * 7 + k * 13) % n}}`),
          }}));
          const box = {{ width: 200, height: 56, gapX: 40, gapY: 16 }};
          layout(nodes, box);
          const began = performance.now();
          for (let n = 0; n < {LAYOUTS}; n++) layout(nodes, box);
          return (performance.now() - began) / {LAYOUTS};
        }})()"
    );
    Ok(page.value(&expression).await)
}

/// A page that follows the log of a job, and notes when each record is in its document.
pub(super) struct Followed {
    page: Page,
}

impl Followed {
    /// Opens the log of the job, and waits until it is there.
    pub(super) async fn start(
        browser: &Browser,
        gateway: SocketAddr,
        job: &JobId,
    ) -> Result<Self, Failed> {
        let page = browser.page(&Look::default()).await;
        page.open(&format!("http://{gateway}/jobs/{job}?tab=log")).await;
        page.find(".log-row", "").await;
        let _: bool = page.value(NOTE).await;
        Ok(Self { page })
    }

    /// Waits until the page shows the last of the records, and returns the times from each stored
    /// record until it, or a later one, was in the document, in milliseconds.
    pub(super) async fn times(&self, written: &[Write]) -> Result<Vec<f64>, Failed> {
        let newest = written.iter().map(|write| write.seq).max().ok_or("nothing was written")?;
        let _: f64 = self.page.until("the last record", &shows(newest)).await;
        let noted: Vec<(u64, f64)> = self.page.value("__noted").await;
        let mut times = Vec::with_capacity(written.len());
        for write in written {
            let shown = noted.iter().find(|(seq, _)| *seq >= write.seq.0);
            let (_, shown) = shown.ok_or("the page misses a record")?;
            let stored = write.at.duration_since(UNIX_EPOCH)?.as_secs_f64() * 1000.0;
            times.push((shown - stored).max(0.0));
        }
        Ok(times)
    }
}

/// Notes the newest record in the document after each change, with the time.
const NOTE: &str = "
(() => {
  globalThis.__noted = [];
  let newest = 0;
  new MutationObserver(() => {
    for (const id of document.querySelectorAll('.log-id')) {
      const seq = parseInt(id.textContent);
      if (seq > newest) {
        newest = seq;
        __noted.push([seq, performance.timeOrigin + performance.now()]);
      }
    }
  }).observe(document, { subtree: true, childList: true, characterData: true });
  return true;
})()";
