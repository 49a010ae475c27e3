//! The resources that the process itself uses, read at each export or scrape.

use std::time::Instant;

use super::metrics::meter;

/// Registers the instruments. They live as long as the meter provider.
pub(super) fn observe() {
    let started = Instant::now();
    let meter = meter();
    let _ = meter
        .f64_observable_counter("process.cpu.time")
        .with_unit("s")
        .with_description("Processor time of this process.")
        .with_callback(|seen| {
            if let Some(seconds) = cpu_seconds() {
                seen.observe(seconds, &[]);
            }
        })
        .build();
    let _ = meter
        .u64_observable_gauge("process.memory.usage")
        .with_unit("By")
        .with_description("Resident memory of this process.")
        .with_callback(|seen| {
            if let Some(bytes) = resident_bytes() {
                seen.observe(bytes, &[]);
            }
        })
        .build();
    let _ = meter
        .f64_observable_gauge("process.uptime")
        .with_unit("s")
        .with_description("Time since this process started.")
        .with_callback(move |seen| seen.observe(started.elapsed().as_secs_f64(), &[]))
        .build();
}

fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name may contain blanks and parentheses; the numbers follow the last one.
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace().skip(11);
    let (user, system): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let ticks = u32::try_from(rustix::param::clock_ticks_per_second()).ok()?;
    Some((f64::from(user) + f64::from(system)) / f64::from(ticks))
}

fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * u64::try_from(rustix::param::page_size()).ok()?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_uses_something() {
        assert!(resident_bytes().unwrap() > 100_000);
        assert!(cpu_seconds().unwrap() >= 0.0);
    }
}
