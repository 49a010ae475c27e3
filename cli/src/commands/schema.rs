//! `schema`: prints the JSON Schemas of what other programs write and read.

use proto::schema::Name;

use crate::{
    args::SchemaArgs,
    exit::Exit,
    failure::{CliError, Outcome},
    output::{Format, Output},
    words::Text,
};

pub(super) fn run(output: Output, args: &SchemaArgs) -> Outcome {
    let Some(named) = &args.name else { return list(output) };
    let name = Name::parse(named).ok_or_else(|| {
        CliError::input("schema", Text::NoSchema { name: named }).hint(Text::SchemaNames)
    })?;
    match output.format {
        Format::Ids => output.line(named),
        Format::Jsonl => output.json(&name.document()),
        Format::Table | Format::Json => {
            let text = serde_json::to_string_pretty(&name.document());
            output.line(&text.map_err(|error| CliError::internal(error.to_string()))?)
        }
    }?;
    Ok(Exit::Success)
}

fn list(output: Output) -> Outcome {
    let names: Vec<String> = Name::all().map(|name| name.to_string()).collect();
    let lines = || names.iter().map(|name| format!("{name}\n")).collect();
    output.list(&names, &names, Clone::clone, |_| lines())
}
