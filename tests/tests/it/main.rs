//! Tests of the whole. One binary, so that it is linked once; one module for each thing that must
//! hold.

mod architecture;
mod documents;
mod markdown;
mod purity;
mod session;
mod sources;
mod tidy;
