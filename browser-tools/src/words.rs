//! The texts of the browser's tools.

messages::texts!(browser);
