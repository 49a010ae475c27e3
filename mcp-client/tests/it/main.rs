//! The MCP client against scripted servers: a program that misbehaves on demand, and an HTTP server.

mod calls;
mod http;
mod lists;
mod reference;
mod stage;
