//! The supervisor on a log: its actors, and the front door.

mod actors;
mod company;
