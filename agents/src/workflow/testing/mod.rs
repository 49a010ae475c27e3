//! Tools for tests of workflows: workflows drawn by chance, and an interpreter that runs one without
//! the job machine, as the oracle of property tests.

mod draw;
mod interpret;

pub use self::{
    draw::{drawn, drawn_file, known},
    interpret::{Ended, Failure, Ready, Run, Script, Visit, run},
};

#[cfg(test)]
mod tests;
