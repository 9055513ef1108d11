//! Keeps `<think>` blocks out of an answer while it streams.
//!
//! Servers without a reasoning parser send a model's thoughts in front of its answer, as text. Only blocks at the start
//! count: later on, `<think>` is something that the answer talks about.
//! **Invariant:** what is emitted does not depend on where the text was cut.

/// The tags that models use, opening and closing.
const TAGS: &[(&str, &str)] = &[("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// The state between two deltas.
#[derive(Debug, Default)]
pub(super) struct ReasoningFilter {
    state: State,
    /// Text that may turn out to be a tag.
    held: String,
    /// The thoughts.
    pub(super) reasoning: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but white space and thoughts so far.
    #[default]
    Start,
    Thinking {
        closing: &'static str,
    },
    Answer,
}

impl ReasoningFilter {
    /// Takes a delta and emits what of it belongs to the answer.
    pub(super) fn push(&mut self, delta: &str, emit: &mut dyn FnMut(&str)) {
        if self.state == State::Answer {
            emit(delta);
            return;
        }
        self.held.push_str(delta);
        loop {
            match self.state {
                State::Start => {
                    let trimmed = self.held.trim_start();
                    if let Some((opening, closing)) = TAGS.iter().find(|(opening, _)| trimmed.starts_with(opening)) {
                        self.held = trimmed[opening.len()..].to_owned();
                        self.state = State::Thinking { closing };
                    } else if TAGS.iter().any(|(opening, _)| opening.starts_with(trimmed)) {
                        // Empty, or the start of a tag.
                        return;
                    } else {
                        emit(trimmed);
                        self.held.clear();
                        self.state = State::Answer;
                        return;
                    }
                }
                State::Thinking { closing } => {
                    if let Some(at) = self.held.find(closing) {
                        self.reasoning.push_str(&self.held[..at]);
                        self.held.drain(..at + closing.len());
                        self.state = State::Start;
                    } else {
                        // All but a possible start of the closing tag is thought.
                        let keep = (1..closing.len()).rev().find(|&n| self.held.ends_with(&closing[..n])).unwrap_or(0);
                        let thought = self.held.len() - keep;
                        self.reasoning.push_str(&self.held[..thought]);
                        self.held.drain(..thought);
                        return;
                    }
                }
                State::Answer => return,
            }
        }
    }

    /// Ends the text.
    pub(super) fn finish(&mut self, emit: &mut dyn FnMut(&str)) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Start => {
                let text = held.trim();
                if !text.is_empty() {
                    emit(text);
                }
            }
            State::Thinking { .. } => self.reasoning.push_str(&held),
            State::Answer => {}
        }
        self.state = State::Answer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, answer: &str, reasoning: &str) {
        let cuts = (0..=text.len()).filter(|&at| text.is_char_boundary(at));
        for cut in cuts {
            let mut out = String::new();
            let mut filter = ReasoningFilter::default();
            for piece in [&text[..cut], &text[cut..]] {
                filter.push(piece, &mut |part| out.push_str(part));
            }
            filter.finish(&mut |part| out.push_str(part));
            assert_eq!((out.as_str(), filter.reasoning.as_str()), (answer, reasoning), "cut at {cut}");
        }
    }

    #[test]
    fn blocks_at_the_start_are_thoughts() {
        check("<think>plan</think>Hi", "Hi", "plan");
        check("\n<think>\na < b</thin\n</think>\n\n好", "好", "\na < b</thin\n");
        check("<thinking>a</thinking><think>b</think>Hi", "Hi", "ab");
        check("<think>never ends", "", "never ends");
    }

    #[test]
    fn anything_else_is_the_answer() {
        check("Use `<think>` so: <think>x</think>", "Use `<think>` so: <think>x</think>", "");
        check("<thinner> is no tag", "<thinner> is no tag", "");
        check("  Hi ", "Hi ", "");
        check("<thi", "<thi", "");
        check("", "", "");
    }
}
