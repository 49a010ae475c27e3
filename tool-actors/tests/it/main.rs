//! The tools from outside: the documentation's examples, the worker loop, the registry, and the
//! worker in Python.

mod docs;
mod registry;
mod support;
mod work;
