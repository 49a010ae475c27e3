//! `serve`: runs roles against a NATS installation until SIGTERM. Waits for a server that cannot be
//! reached at the start.

use std::collections::BTreeSet;

use runtime::telemetry::Sink;

use super::process::Process;
use crate::{
    args::{Global, ServeArgs},
    connect,
    failure::{CliError, Outcome},
    output::Output,
    roles::{self, Company, ModelSetup, ModelSetupError, Role},
    settings::Config,
};

pub(super) async fn run(global: &Global, output: Output, args: ServeArgs) -> Outcome {
    let roles =
        roles::parse_roles(&args.roles).map_err(|e| CliError::input("roles", e.to_string()))?;
    let config = connect::config(global)?;
    let identity = roles::identity(&roles);
    let process = Process::begin(&config, Sink::StandardError, &identity).await?;
    // The model is set up before the connection, so that a mistake is reported at once.
    let model = model(&config, &roles).await?;
    let worker = identity.worker.clone();
    let broker =
        connect::wait_for_broker(&config, worker, global.timeout, &process.shutdown).await?;
    let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
    let asked = model.as_ref().map(|setup| setup.model.clone());
    let company =
        Company::start(&config, &identity, broker.clone(), &roles, asked, process.shutdown.clone())
            .await?;
    // A log in JSON must stay JSON on every line; it contains an equivalent entry.
    if runtime::telemetry::is_for_people(&config.log) {
        output.note(format!("{} serves {}", company.worker(), names.join(", ")));
    }
    process.at_work(&company);
    let ended = async {
        let end = company.ended().await;
        broker.log.close().await;
        end
    };
    process.end(ended).await
}

/// Sets up the model of the roles that use one. Tools work without a model, except the one that
/// asks it.
async fn model(config: &Config, roles: &BTreeSet<Role>) -> Result<Option<ModelSetup>, CliError> {
    let any = |of: fn(Role) -> bool| roles.iter().copied().any(of);
    if !any(Role::uses_model) {
        return Ok(None);
    }
    match roles::connect_model(config, None).await {
        Ok(setup) => Ok(Some(setup)),
        Err(ModelSetupError::Unconfigured) if !any(Role::needs_model) => Ok(None),
        Err(error) => Err(CliError::setting(error.to_string())),
    }
}
