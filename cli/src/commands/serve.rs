//! `serve`: some roles against a NATS installation, until SIGTERM.

use proto::id::WorkerId;
use runtime::{actor::End, shutdown, telemetry};

use crate::{
    args::{Global, ServeArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    roles::{self, Company, Role},
};

/// Serves.
pub(super) async fn run(global: &Global, output: Output, args: ServeArgs) -> Outcome {
    let roles =
        roles::parse_roles(&args.roles).map_err(|e| CliError::input("roles", e.to_string()))?;
    let config = connect::config(global)?;
    telemetry::init(&config.log).map_err(|e| CliError::start(e.to_string()))?;
    let shutdown = shutdown::on_signal().map_err(|e| CliError::io("signals", &e))?;
    // The model is looked at first: a mistake there should not wait for a connection.
    let model = if roles.iter().copied().any(Role::needs_model) {
        let setup = roles::connect_model(&config.model, None).await;
        Some(setup.map_err(|e| CliError::setting(e.to_string()))?)
    } else {
        None
    };
    let broker = connect::broker(&config, worker(), true).await?;
    let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
    let asked = model.as_ref().map(|setup| setup.model.clone());
    let company = Company::start(&config, broker, &roles, asked, shutdown.clone())
        .await
        .map_err(|e| CliError::start(e.to_string()))?;
    output.note(&format!("{} serves {}", company.worker(), names.join(", ")));
    let end = company.ended().await;
    ended(end)
}

/// The exit code of a tree of actors.
pub(super) fn ended(end: End) -> Outcome {
    match end {
        End::Finished => Ok(Exit::Success),
        End::GaveUp { child, why } => Err(CliError::start(format!("{child} kept failing: {why}"))),
    }
}

fn worker() -> WorkerId {
    let random = uuid::Uuid::new_v4().simple().to_string();
    WorkerId::new(format!("serve-{}", random.get(..8).unwrap_or_default()))
        .expect("letters, digits and a dash are an id")
}
