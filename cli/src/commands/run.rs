//! `run`: submits or attaches to a job, and watches it to its end.

use super::{
    attachments, submit,
    watch::{Asking, Session},
};
use crate::{
    args::{Global, RunArgs},
    connect,
    failure::{CliError, Outcome},
    output::{self, Format, Output},
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, args: RunArgs) -> Outcome {
    if args.waiting.raw && std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        return Err(CliError::usage(Text::RawAtTerminal).hint(Text::Redirect));
    }
    let request = match &args.goal {
        Some(goal) => {
            Some((submit::request(goal, &args.job)?, attachments::read(&args.job.files)?))
        }
        None => None,
    };
    let client = connect::client(global, output).await?;
    let job = match (request, &args.attach) {
        (Some((mut request, files)), _) => {
            request.files = attachments::upload(&client, files).await?;
            let submitted = submit::store(&client, output, request).await?;
            let job = &submitted.job;
            output.note(match submitted.created {
                true => Text::Submitted { job },
                false => Text::SubmittedBefore { job },
            });
            submitted.job
        }
        (None, Some(named)) => connect::job(&client, named).await?.job,
        (None, None) => return Err(CliError::usage(Text::GoalOrAttach)),
    };
    if output.format == Format::Ids {
        output.line(job.as_str())?;
    }
    let interactive = output.format == Format::Table && output::is_interactive();
    let session = Session {
        client: &client,
        output,
        job,
        waiting: args.waiting,
        asking: Asking::of(global.yes, interactive),
        silent: false,
    };
    session.watch().await.map(|(exit, _)| exit)
}
