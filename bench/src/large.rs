//! Scenario G: jobs with large plans, one at a time. It measures what a step costs in plans of
//! several sizes and shapes.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Serialize;

use crate::{
    Failed,
    broker::Keeping,
    company::{Company, Roles, Setup},
    diamond,
    figures::{Spread, ms, ms_each, percentile},
    load::Submitter,
    options::Options,
    usage::{Cpu, Part},
    workload::{Shape, Workload},
};

/// The figures of plans of one size and shape.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Large {
    /// The distribution of the roles.
    pub(crate) roles: Roles,
    /// The shape of the plans.
    pub(crate) shape: Shape,
    /// The number of steps of each plan.
    pub(crate) steps: usize,
    /// Median time of a job, in milliseconds.
    pub(crate) job_ms: Spread,
    /// CPU time per step of each part, in milliseconds.
    pub(crate) cpu_ms_per_step: BTreeMap<Part, Spread>,
    /// CPU time per step of all parts except the submitter, in milliseconds.
    pub(crate) cpu_ms: Spread,
    /// The number of measured jobs.
    pub(crate) n: usize,
}

/// Returns the setup of G, with the defaults of a user.
pub(crate) fn setup(program: Option<PathBuf>, shape: Shape, steps: usize) -> Setup {
    Setup::new(program, Keeping::Default, Workload::Large(shape, steps))
}

/// Runs jobs one after the other, in several rounds after a job that is not measured.
pub(crate) async fn measure(
    company: &Company,
    options: &Options,
    shape: Shape,
    steps: usize,
) -> Result<Large, Failed> {
    let submitter = Submitter::new(company)?;
    diamond::warm(company, &submitter, 1).await?;
    let (mut cpu, mut all, mut job_ms) =
        (BTreeMap::<Part, Vec<f64>>::new(), Vec::new(), Vec::new());
    let measured = u64::try_from(steps * options.large)?;
    for _ in 0..options.rounds {
        let before = Cpu::read(&company.pids());
        let done = submitter.alone(options.large).await?;
        let (used, _) = Cpu::read(&company.pids()).since(&before);
        let mut took: Vec<_> = done.iter().map(|done| ms(done.took)).collect();
        job_ms.push(percentile(&mut took, 0.5));
        let ours = used.iter().filter(|(part, _)| **part != Part::Submitter);
        all.push(ms_each(ours.map(|(_, used)| *used).sum(), measured));
        for (part, used) in used {
            cpu.entry(part).or_default().push(ms_each(used, measured));
        }
    }
    Ok(Large {
        roles: company.roles,
        shape,
        steps,
        job_ms: Spread::of(job_ms),
        cpu_ms_per_step: cpu.into_iter().map(|(part, ms)| (part, Spread::of(ms))).collect(),
        cpu_ms: Spread::of(all),
        n: options.rounds * options.large,
    })
}
