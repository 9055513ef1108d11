//! Which action comes next, and why.

pub mod decision_facts;
pub mod logistic_policy;
pub mod policy_config;
pub mod policy_decision_maker;
