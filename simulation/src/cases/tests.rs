//! Tests of cases: their files, their expectations, and the faults that they find.
