//! The run of the scenarios, one after the other, each on processes of its own. Every table is
//! shown as soon as it is complete.

use std::path::PathBuf;

use crate::{
    Failed,
    broker::Keeping,
    busy,
    company::{Company, Setup},
    diamond, failover, graphs, http, large, listing,
    load::Submitter,
    options::{Options, Scenario},
    parked, peers, raw,
    report::{self, Diamonds, Report},
    say, sleeping, stages,
    table::Table,
    tables, telemetry, watching,
    workload::{Shape, Workload},
};

/// Runs the selected scenarios.
pub(crate) async fn all(
    options: &Options,
    report: &mut Report,
    show: impl Fn(&Table),
) -> Result<(), Failed> {
    let wants = |scenario| options.wants(scenario);
    in_both_forms(options, report, &show).await?;
    let program = || options.programs().into_iter().next().flatten();
    if wants(Scenario::E) {
        for processes in &options.scale {
            report.scale.push(scaled(options, program(), *processes).await?);
        }
        show(&tables::scale(&report.scale));
    }
    if wants(Scenario::F) {
        let measured = failed_over(options, program()).await?;
        show(&tables::failover(report.failover.insert(measured)));
    }
    if wants(Scenario::H) {
        let measured = over_http(options, program()).await?;
        tables::http(report.http.insert(measured)).iter().for_each(&show);
    }
    if wants(Scenario::L) {
        let company = Company::start(&diamond::setup(program(), Keeping::Default)).await?;
        let measured = listing::measure(&company, options).await?;
        tell_log(&company);
        show(&tables::listing(report.listing.insert(measured)));
    }
    if wants(Scenario::N) {
        let measured = graphs::measure(options, program()).await?;
        graphs::tables::graphs(report.graphs.insert(measured)).iter().for_each(&show);
    }
    if wants(Scenario::S) {
        say("s: slow work in one of two processes");
        let measured = busy::measure(options, program()).await?;
        show(&busy::table(report.busy.insert(measured)));
    }
    if wants(Scenario::T) {
        report.watched = telemetry::measure(options, program()).await?;
        show(&tables::watched(&report.watched));
    }
    if wants(Scenario::W) {
        let measured = watched(options, program()).await?;
        tables::watching(report.watching.insert(measured)).iter().for_each(&show);
    }
    if wants(Scenario::Peers) {
        for arguments in &options.peers_arguments {
            report.peers.extend(peers::measure(&options.peers, arguments).await?);
        }
        show(&peers::table(report));
    }
    Ok(())
}

/// Runs the scenarios that are measured with every distribution of the roles.
async fn in_both_forms(
    options: &Options,
    report: &mut Report,
    show: &impl Fn(&Table),
) -> Result<(), Failed> {
    let wants = |scenario| options.wants(scenario);
    let program = || options.programs().into_iter().next().flatten();
    if wants(Scenario::A) || wants(Scenario::B) || wants(Scenario::Raw) {
        for program in options.programs() {
            for setup in options.setups(program.as_ref(), Workload::Diamond) {
                report.diamonds.push(diamonds(options, setup).await?);
            }
        }
        show_diamonds(options, report, show);
    }
    if wants(Scenario::C) {
        for setup in options.setups_on(&diamond::setup(program(), Keeping::Default)) {
            say(&format!("c: parking, {}", setup.roles.as_str()));
            let company = Company::start(&setup).await?;
            diamond::warm_up(&company, &Submitter::new(&company)?).await?;
            let parked = parked::measure(&company, options).await?;
            tell_log(&company);
            tables::parked(&parked).iter().for_each(show);
            report.parked.push(parked);
        }
    }
    if wants(Scenario::D) {
        for setup in options.setups_on(&sleeping::setup(program())) {
            let company = Company::start(&setup).await?;
            for n in &options.sleeping {
                say(&format!("d: {n} jobs whose every activity takes a second"));
                report.sleeping.push(sleeping::measure(&company, options, *n).await?);
            }
            tell_log(&company);
        }
        show(&tables::sleeping(&report.sleeping));
    }
    if wants(Scenario::G) {
        for shape in Shape::ALL {
            for steps in &options.steps {
                let setup = large::setup(program(), *shape, *steps);
                for setup in options.setups_on(&setup) {
                    let roles = setup.roles.as_str();
                    say(&format!("g: {} of {steps} steps, {roles}", shape.as_str()));
                    let company = Company::start(&setup).await?;
                    report.large.push(large::measure(&company, options, *shape, *steps).await?);
                    tell_log(&company);
                }
            }
        }
        show(&tables::large(&report.large));
    }
    Ok(())
}

/// Shows warnings and errors of the processes, so that a figure that was measured during a failure
/// is not taken for a normal one.
pub(crate) fn tell_log(company: &Company) {
    let logged = company.logged();
    if !logged.is_empty() {
        say(&format!("the processes logged:\n{logged}"));
    }
}

/// Measures F on processes of its own.
async fn failed_over(
    options: &Options,
    program: Option<PathBuf>,
) -> Result<failover::Failover, Failed> {
    let setup = failover::setup(program);
    let mut company = Company::start(&setup).await?;
    diamond::warm_up(&company, &Submitter::new(&company)?).await?;
    failover::measure(&mut company, &setup, options).await
}

/// Measures H on processes of its own.
async fn over_http(options: &Options, program: Option<PathBuf>) -> Result<http::Http, Failed> {
    let setup = diamond::setup(program, Keeping::Default);
    let mut company = Company::start(&setup).await?;
    let measured = http::measure(&mut company, &setup, options).await?;
    tell_log(&company);
    Ok(measured)
}

/// Measures W on processes of its own.
async fn watched(
    options: &Options,
    program: Option<PathBuf>,
) -> Result<watching::Watching, Failed> {
    say("w: watching");
    let company = Company::start(&diamond::setup(program, Keeping::Default)).await?;
    let measured = watching::measure(&company, options).await?;
    tell_log(&company);
    Ok(measured)
}

/// Measures A with more processes.
async fn scaled(
    options: &Options,
    program: Option<PathBuf>,
    processes: usize,
) -> Result<Diamonds, Failed> {
    say(&format!("e: {processes} supervisors and workers"));
    let setup = Setup { processes, ..diamond::setup(program, Keeping::Default) };
    let company = Company::start(&setup).await?;
    diamond::warm_up(&company, &Submitter::new(&company)?).await?;
    let (throughput, _) = diamond::throughput(&company, options).await?;
    tell_log(&company);
    let server = company.servers.version().to_string();
    Ok(Diamonds { throughput: Some(throughput), ..Diamonds::new(server, setup) })
}

fn show_diamonds(options: &Options, report: &Report, show: &impl Fn(&Table)) {
    let of_a = report::rows(&report.diamonds, |d| d.throughput.as_ref());
    let raws = report::rows(&report.diamonds, |d| d.raw.as_ref());
    let raw_of = |name: &String| raws.iter().find(|(n, _)| n == name).map(|(_, raw)| *raw);
    let of_a: Vec<_> = of_a.into_iter().map(|(n, a)| (n.clone(), a, raw_of(&n))).collect();
    if !of_a.is_empty() {
        show(&report::throughput("A: throughput of diamonds", &of_a));
    }
    let of_b = report::rows(&report.diamonds, |d| d.latency.as_ref());
    if !of_b.is_empty() {
        show(&report::latency(&of_b));
    }
    if !raws.is_empty() {
        show(&report::raw(&raws));
    }
    let profiled = if options.profile { report.diamonds.len() } else { 1 };
    for diamonds in report.diamonds.iter().take(profiled) {
        report::transitions(diamonds).iter().for_each(show);
        report::stages(diamonds).filter(|_| options.profile).iter().for_each(show);
    }
}

/// Measures A, B and JetStream alone on one broker.
async fn diamonds(options: &Options, setup: Setup) -> Result<Diamonds, Failed> {
    let keeping = setup.keeping;
    say(&format!("starting: {}", setup.name()));
    let mut company = Company::start(&setup).await?;
    let mut measured = Diamonds::new(company.servers.version().to_string(), setup);
    say(&format!("warming up: {}", measured.server));
    diamond::warm_up(&company, &Submitter::new(&company)?).await?;
    if options.wants(Scenario::B) {
        say("b: one at a time");
        let (latency, done) = diamond::latency(&company, options).await?;
        measured.latency = Some(latency);
        measured.alone = Some(stages::of_done(&company.broker, &done).await?);
    }
    if options.wants(Scenario::A) {
        say("a: many in flight");
        let (throughput, last) = diamond::throughput(&company, options).await?;
        measured.throughput = Some(throughput);
        if options.profile {
            measured.loaded = Some(stages::of_logs(&company.broker, &last.last).await?);
        }
    }
    tell_log(&company);
    say("raw: JetStream alone");
    company.end_processes();
    measured.raw = Some(raw::measure(&company, keeping, options).await?);
    Ok(measured)
}
