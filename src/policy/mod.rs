//! Which action comes next, and why.
