//! The composition of roles in this process: their actors, and the tree that supervises them. The
//! actor crates meet only here.

mod company;
mod language_model;
mod role;

pub use self::{
    company::{Company, StartError, identity},
    language_model::{ModelSetup, ModelSetupError, connect_model},
    role::{Role, UnknownRole, parse_roles},
};
