//! Tests of the whole. One binary, so that it is linked once; one module for each thing that must
//! hold.

mod architecture;
mod markdown;
mod purity;
mod sources;
mod tidy;
