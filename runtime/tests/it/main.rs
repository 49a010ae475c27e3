//! What a broker promises, held against both of them; and what only one of them can show.

// The name every other crate of the workspace knows it by.
extern crate callboard_runtime as runtime;

mod contract;
mod memory;
