//! The only evaluator of a workflow's expressions.
//!
//! Architecture invariant: the planner evaluates when a job decides, and a fold never does. Tests run
//! every fold with an evaluator that panics.

use agents::workflow::evaluate::Evaluator;

/// Creates the evaluator of a planner.
pub(super) fn evaluator() -> Evaluator {
    #[cfg(test)]
    {
        assert!(!forbidden::is_set(), "a fold evaluates an expression");
    }
    Evaluator::new()
}

#[cfg(test)]
pub(crate) use forbidden::without_evaluator;

/// The seam of tests that replaces the evaluator by a panic.
#[cfg(test)]
mod forbidden {
    use std::cell::Cell;

    thread_local! {
        static IS_SET: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn is_set() -> bool {
        IS_SET.get()
    }

    /// Lifts the ban, also after a panic.
    struct Lifted;

    impl Drop for Lifted {
        fn drop(&mut self) {
            IS_SET.set(false);
        }
    }

    /// Runs a fold on this thread with an evaluator that panics.
    pub(crate) fn without_evaluator<T>(fold: impl FnOnce() -> T) -> T {
        IS_SET.set(true);
        let _lifted = Lifted;
        fold()
    }
}
