//! What the agent remembers: the messages, their summary, the state of the dialogue.
