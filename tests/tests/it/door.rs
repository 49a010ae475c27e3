//! Tests of the front door on the in-memory broker, with requests as any program would send them.

mod agents;
mod artifacts;
mod conversing;
mod costs;
mod dead;
mod directing;
mod explaining;
mod families;
mod hall;
mod looking;
mod on_nats;
mod people;
mod planned;
mod previewing;
mod repeating;
mod selecting;
mod signaling;
mod submitting;
mod turning;
mod watching;
mod workflows;
