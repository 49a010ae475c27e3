//! What is written down must be readable for ever: golden samples of every kind of record.

mod golden;
