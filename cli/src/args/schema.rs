//! Arguments of `schema`.

use clap::Args;

/// `schema`.
#[derive(Debug, Clone, Args)]
#[command(after_help = SCHEMA_HELP)]
pub(crate) struct SchemaArgs {
    /// Name of a schema, such as agent or record.called [default: lists the names]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

const SCHEMA_HELP: &str = "\
Schemas are written in draft 2020-12. `record`, `request` and `reply` hold those of all kinds and verbs.

Examples:
  callboard schema                                 the names of all schemas
  callboard schema agent > agent.schema.json       for an editor: # yaml-language-server: $schema=…
  callboard schema record.called";
