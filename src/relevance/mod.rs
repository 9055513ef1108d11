//! The four relevances that the policy decides on.
