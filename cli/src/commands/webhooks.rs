//! `webhooks`: tests of receivers, and webhooks that are switched off.

use gateway::webhooks::{Tested, test};
use serde::Serialize;

use crate::{
    args::{Global, HookArg, WebhooksCommand},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, command: WebhooksCommand) -> Outcome {
    let config = connect::config(global)?;
    let (WebhooksCommand::Test(HookArg { name }) | WebhooksCommand::On(HookArg { name })) =
        &command;
    let Some(hook) = config.webhooks.out.get(name) else {
        return Err(CliError::not_found(Text::NoWebhook { name }));
    };
    match command {
        WebhooksCommand::Test(_) => {
            let tested = test(hook).await.map_err(CliError::setting)?;
            shown(output, name.as_str(), &tested)
        }
        WebhooksCommand::On(_) => {
            let subjects = connect::subjects(&config)?;
            broker::nats::switch_outbox(&(&config.nats).into(), &subjects, name, true)
                .await
                .map_err(|error| CliError::unavailable(connect::refused(&error)))?;
            output.say(Text::WebhookOn { name })?;
            Ok(Exit::Success)
        }
    }
}

/// A test as programs read it.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    webhook: &'a str,
    delivered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

fn shown(output: Output, name: &str, tested: &Tested) -> Outcome {
    let (status, error) = match tested {
        Tested::Delivered(status) => (Some(*status), None),
        Tested::Gone => (Some(410), None),
        Tested::Failed(why) => (None, Some(why.as_str())),
    };
    let delivered = matches!(tested, Tested::Delivered(_));
    output.one(&Shown { webhook: name, delivered, status, error }, name, |style| {
        match tested {
            Tested::Delivered(status) => Text::WebhookTested { name: &name, status },
            Tested::Gone => Text::WebhookGone { name: &name },
            Tested::Failed(why) => Text::WebhookFailed { name: &name, why },
        }
        .text(style.language)
    })?;
    Ok(if delivered { Exit::Success } else { Exit::Failed })
}
