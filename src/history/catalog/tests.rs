//! Statements and what they make of a catalog.
