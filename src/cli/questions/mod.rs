//! `docent eval questions.yml`: the questions that a site's author expects answers to, asked of the real agent.
//!
//! Input: a file of questions ([`question_file`]) and an index. Output: a verdict a question ([`verdict`]) and a report
//! for people or for a CI ([`report`]). **Invariant:** the agent is the one of the page, with the same defaults and no
//! endpoint, so that the verdicts repeat.

pub mod question_file;
pub mod report;
pub mod verdict;
