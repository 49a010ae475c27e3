//! Tests of the whole. They are one binary, so that it is linked once, with one module for each
//! property.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

mod admin;
mod agents;
mod architecture;
mod attachments;
mod browsing;
mod chaos;
mod chat;
mod cluster;
mod configuration;
mod dashboards;
mod deployment;
mod documents;
mod door;
mod editor;
mod events;
mod family;
mod files;
mod forging;
mod fsck;
mod gateway;
mod given_plans;
mod histories;
mod injections;
mod languages;
mod late;
mod limits;
mod log_readers;
mod lost_streams;
mod markdown;
mod mcp_servers;
mod module_circles;
mod named_workflows;
mod packages;
mod parking;
mod paused;
mod peers;
mod permissions;
mod prices;
mod protocols;
mod purge;
mod purity;
mod real_clock;
mod reference;
mod requirements;
mod scale_out;
mod scenarios;
mod schemas;
mod script_model;
mod session;
mod shell;
mod slash_commands;
mod sources;
mod structured;
mod summaries;
mod supervisor;
mod tidy;
mod tools_by_hand;
mod tracing;
mod turning;
mod upgrade;
mod user_texts;
mod verbs;
mod voice;
mod workflows;
