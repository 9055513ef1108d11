//! `docent eval questions.yml`: the questions that a site's author expects answers to, asked of the real agent.
//!
//! Input: a file of questions ([`question_file`]) and an index. Output: a verdict a question ([`verdict`]) and a report
//! for people or for a CI ([`report`]). **Invariant:** the agent is the one of the page, with the same defaults and no
//! endpoint, so that the verdicts repeat.

pub mod question_file;
pub mod report;
pub mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use self::question_file::{Question, QuestionFile};
use self::verdict::{Verdict, judge};
use super::local_agent::{self, LocalAgent, NoChat};
use super::model_files::ModelFolders;
use super::terminal;
use crate::agent::ChatOptions;
use crate::agent::turn_record::TurnRecord;
use crate::error::{Error, Result};

/// How the questions are asked and reported.
#[derive(Debug, clap::Args)]
// A part of `docent eval`, whose own arguments make a group of the same name.
#[group(skip)]
pub struct Args {
    /// The index to ask, when the file is one of questions: the folder that `docent index` wrote.
    #[arg(long, value_name = "DIR")]
    pub index: Option<PathBuf>,
    /// Write a JUnit report of the questions to this file.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a report of the questions as one HTML page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Asks the questions in `file`. The exit code is 1 when one falls short.
///
/// # Errors
/// [`Error::Input`] for a file that cannot be read or written, [`Error::Index`], [`Error::InvalidOption`].
pub fn run(file: &Path, args: &Args, models: &ModelFolders, as_json: bool) -> Result<ExitCode> {
    let questions = QuestionFile::read(file)?.questions;
    let index = args.index.as_deref().ok_or_else(|| Error::InvalidOption {
        name: "--index".to_owned(),
        reason: "a file of questions is asked of an index; name its folder".to_owned(),
    })?;
    let agent = local_agent::open(index, Some(models), &json!({}), None::<NoChat>, &mut |warning| {
        eprintln!("docent: {warning}");
    })?;
    let verdicts = terminal::block_on(ask_all(&agent, &questions))??;
    terminal::line(&if as_json { report::json(&verdicts)? } else { report::text(&verdicts) })?;
    if let Some(path) = &args.junit {
        report::write_junit(&verdicts, path)?;
    }
    if let Some(path) = &args.html {
        report::write_html(&verdicts, &file.display().to_string(), path)?;
    }
    Ok(if verdicts.iter().all(Verdict::passed) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn ask_all(agent: &LocalAgent<NoChat>, questions: &[Question]) -> Result<Vec<Verdict>> {
    let mut verdicts = Vec::with_capacity(questions.len());
    for question in questions {
        agent.reset()?;
        for before in &question.after {
            agent.chat(before, ChatOptions::default()).await?;
        }
        let turn = agent.chat(&question.question, ChatOptions::default()).await?;
        let record = last_record(agent)?;
        verdicts.push(judge(question, &turn, &record));
    }
    Ok(verdicts)
}

fn last_record(agent: &LocalAgent<NoChat>) -> Result<TurnRecord> {
    agent.last_record().ok_or_else(|| Error::Storage("the agent kept no record of the turn".to_owned()))
}
