//! Puts roles to work in this process: which actors each role is made of, and the tree that keeps
//! them running. The only place where the actor crates meet.

mod company;
mod language_model;
mod role;

pub use self::{
    company::{Company, StartError, identity},
    language_model::{ModelSetup, ModelSetupError, connect_model},
    role::{Role, UnknownRole, parse_roles},
};
