//! A route: its method, its path, and what the router and the documentation need to know about it.

use axum::{
    handler::Handler,
    http::Method,
    routing::{MethodFilter, MethodRouter, on},
};
use proto::door::Verb;

use crate::Desk;

/// A route with its handler.
pub(super) struct Route {
    pub(super) spec: Spec,
    pub(super) methods: MethodRouter<Desk>,
}

/// The description of a route.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) method: Method,
    /// Path, with the names of its parameters in braces.
    pub(super) path: &'static str,
    /// Verbs of the front door that the request needs. A route without one needs no role.
    pub(super) verbs: Vec<Verb>,
    /// Names of the query's parameters.
    pub(super) query: &'static [&'static str],
    /// `true` if the request honours `If-Match`.
    pub(super) is_conditional: bool,
}

impl Route {
    /// Creates a route that reads.
    pub(super) fn get<T: 'static>(path: &'static str, handler: impl Handler<T, Desk>) -> Self {
        Self::new(Method::GET, path, on(MethodFilter::GET, handler))
    }

    /// Creates a route that adds something.
    pub(super) fn post<T: 'static>(path: &'static str, handler: impl Handler<T, Desk>) -> Self {
        Self::new(Method::POST, path, on(MethodFilter::POST, handler))
    }

    /// Creates a route that sets something.
    pub(super) fn put<T: 'static>(path: &'static str, handler: impl Handler<T, Desk>) -> Self {
        Self::new(Method::PUT, path, on(MethodFilter::PUT, handler))
    }

    /// Creates a route that removes something.
    pub(super) fn delete<T: 'static>(path: &'static str, handler: impl Handler<T, Desk>) -> Self {
        Self::new(Method::DELETE, path, on(MethodFilter::DELETE, handler))
    }

    fn new(method: Method, path: &'static str, methods: MethodRouter<Desk>) -> Self {
        let spec = Spec { method, path, verbs: Vec::new(), query: &[], is_conditional: false };
        Self { spec, methods }
    }

    /// Adds a verb that the request needs.
    pub(super) fn verb(mut self, verb: Verb) -> Self {
        self.spec.verbs.push(verb);
        self
    }

    /// Sets the parameters of the query.
    pub(super) fn query(mut self, names: &'static [&'static str]) -> Self {
        self.spec.query = names;
        self
    }

    /// Lets the request name the revision that it changes.
    pub(super) fn conditional(mut self) -> Self {
        self.spec.is_conditional = true;
        self
    }
}

impl Spec {
    /// `true` for the route of a request. `HEAD` has the route of `GET`.
    pub(super) fn is(&self, method: &Method, path: &str) -> bool {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        self.method == *method && self.path == path
    }
}
