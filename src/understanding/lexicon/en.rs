//! English words, in lower case.

use super::Phrases;

/// What stands in front of the thing when readers speak of themselves.
pub static READER_FRAMES: Phrases = phrases![
    "i'm on", "i am on", "we're on", "we are on", "i'm using", "i am using", "we're using", "we are using", "i use",
    "we use", "i'm running", "i am running", "we're running", "we run", "i run", "i have", "i've got", "we have",
    "my os is", "my system is", "my version is", "my machine runs", "i work with", "we work with", "i'm a user of",
    "i'm still on", "we're still on", "my project uses", "our project uses", "our stack is", "i write", "i code in",
    "i'm working with", "i installed",
];

/// Small words inside names: "Mothers of Invention", "Beauty and the Beast".
pub static NAME_JOINTS: Phrases = phrases![
    "of", "the", "and", "de", "van", "von", "for", "in", "&",
];

/// Pairs with a slash that are no paths.
pub static SLASHED: Phrases = phrases![
    "and/or", "he/she", "his/her", "yes/no", "on/off", "i/o", "n/a", "client/server", "w/o",
];

/// Words that begin questions and sentences, or are too general to name something. Sorted for binary search.
pub static COMMON: Phrases = phrases![
    "a", "about", "above", "actually", "add", "after", "again", "all", "almost", "already", "also", "although",
    "always", "am", "an", "and", "another", "any", "anyone", "anything", "anyway", "are", "aren't", "around", "as",
    "ask", "at", "back", "basically", "be", "because", "been", "before", "being", "below", "besides", "best",
    "better", "between", "both", "build", "but", "by", "call", "came", "can", "can't", "cannot", "change", "check",
    "click", "come", "could", "couldn't", "create", "day", "days", "define", "delete", "describe", "did", "didn't",
    "different", "do", "does", "doesn't", "doing", "don't", "done", "down", "during", "each", "easy", "either",
    "else", "enough", "error", "even", "ever", "every", "everything", "example", "explain", "far", "few", "final",
    "finally", "find", "first", "fix", "following", "for", "found", "from", "full", "further", "general", "get",
    "getting", "give", "given", "go", "going", "good", "got", "had", "has", "have", "haven't", "having", "he",
    "hello", "help", "her", "here", "hers", "hey", "hi", "him", "his", "hmm", "how", "however", "i", "i'd", "i'll",
    "i'm", "i've", "if", "important", "in", "install", "instead", "interesting", "into", "is", "isn't", "it",
    "it's", "its", "just", "keep", "know", "last", "later", "least", "less", "let", "let's", "like", "list", "load",
    "long", "look", "looking", "made", "main", "make", "makes", "many", "may", "maybe", "me", "mean", "might",
    "more", "most", "much", "must", "my", "name", "near", "need", "needs", "never", "new", "next", "no", "nobody",
    "none", "not", "nothing", "now", "of", "off", "often", "oh", "ok", "okay", "old", "on", "once", "one", "only",
    "open", "or", "other", "others", "our", "out", "over", "own", "page", "part", "people", "perhaps", "please",
    "possible", "probably", "put", "question", "quick", "rather", "read", "really", "remove", "right", "run",
    "said", "same", "save", "say", "see", "seems", "send", "set", "several", "shall", "she", "should", "show",
    "similar", "simple", "since", "so", "some", "someone", "something", "sorry", "start", "still", "stop", "such",
    "sure", "take", "tell", "than", "thank", "thanks", "that", "that's", "the", "their", "them", "then", "there",
    "there's", "these", "they", "they're", "thing", "things", "think", "this", "those", "though", "through", "time",
    "to", "today", "together", "too", "try", "trying", "two", "under", "understand", "until", "up", "update",
    "upon", "us", "use", "used", "user", "using", "usually", "very", "want", "was", "wasn't", "way", "we", "well",
    "went", "were", "what", "what's", "whatever", "when", "when's", "where", "where's", "whether", "which", "while",
    "who", "who's", "whole", "whom", "whose", "why", "will", "wish", "with", "within", "without", "won't", "work",
    "works", "would", "wouldn't", "write", "wrong", "yeah", "year", "years", "yes", "yet", "you", "your",
];

/// Whether a word is too general to be a name by its capital alone.
#[must_use]
pub fn is_common(word: &str) -> bool {
    COMMON.binary_search(&word).is_ok()
}

/// Follow-up triggers: plainer words.
pub static SIMPLIFY: Phrases = phrases![
    "simpler", "simplify", "simple", "simply", "more simply", "plain words", "plain english", "plain language",
    "plainer", "eli5", "like i'm five", "like i am five", "like i'm 5", "to a five year old", "for a beginner",
    "for beginners", "for dummies", "without jargon", "no jargon", "less jargon", "less technical", "too technical",
    "non-technical", "layman's terms", "lay terms", "an analogy", "analogy", "metaphor", "easier",
    "easier to understand", "i don't understand", "i do not understand", "i didn't understand", "don't get it",
    "i don't get it", "i'm lost", "i'm confused", "dumb it down", "easy words", "simple words", "simple terms",
    "too complicated", "over my head",
];

/// Follow-up triggers: go deeper, or say it again.
pub static DETAIL: Phrases = phrases![
    "more", "more detail", "more details", "in more detail", "in detail", "details", "detailed", "more detailed",
    "more information", "more info", "elaborate", "elaborate on", "continue", "go on", "go deeper", "dig deeper",
    "deeper", "in depth", "in-depth", "expand", "expand on", "extend", "further", "explain further", "repeat",
    "say again", "say that again", "once more", "one more time", "again", "tell me more", "keep going", "carry on",
    "what else", "anything else", "step by step", "full explanation", "longer answer", "a longer answer",
    "rephrase", "reword", "come again", "pardon", "and then", "more on this", "more on that", "more please",
    "the rest", "finish", "finish it", "the whole thing", "flesh out",
];

/// Follow-up triggers: a concrete case.
pub static EXAMPLE: Phrases = phrases![
    "for example", "for instance", "example", "examples", "an example", "another example", "code example",
    "an instance", "show me", "sample", "samples", "a sample", "sample code", "code sample", "concrete",
    "concretely", "concrete case", "use case", "demo", "demonstrate", "snippet", "code snippet", "in practice",
    "with code", "such as",
];

/// Follow-up triggers: condense.
pub static SUMMARY: Phrases = phrases![
    "summarize", "summarise", "summary", "sum up", "sum it up", "tl;dr", "tldr", "tl dr", "key points",
    "main points", "key takeaways", "takeaways", "takeaway", "in short", "in brief", "in a nutshell", "briefly",
    "brief", "shorter", "shorten", "condense", "recap", "bottom line", "in one sentence", "in a sentence",
    "one-liner", "gist", "the gist", "bullet points",
];

/// Words around a trigger that bring no topic of their own.
pub static FILLER: Phrases = phrases![
    "please", "pls", "can", "could", "would", "will", "you", "me", "i", "i'd", "i would", "we", "us", "a", "an",
    "the", "to", "in", "of", "for", "with", "on", "about", "at", "as", "by", "that", "this", "these", "those", "it",
    "them", "that's", "it's", "bit", "a bit", "little", "a little", "some", "any", "just", "now", "so", "ok",
    "okay", "then", "and", "but", "give", "get", "have", "make", "put", "use", "using", "want", "need", "like",
    "love", "what", "what's", "is", "are", "was", "do", "does", "did", "there", "your", "answer", "last",
    "previous", "explanation", "explain", "explained", "response", "above", "reply", "go", "one", "ones", "maybe", "also",
    "try", "say", "said", "tell", "describe", "let's", "see", "look", "way", "words", "terms", "english", "version",
    "how", "much", "be", "been", "even", "really", "still", "here", "my", "point", "part", "thanks", "thank you",
    "sorry", "hmm", "um", "well", "hey", "again", "everything", "all", "whole", "thing", "same", "everyone",
    "write", "something", "too", "very", "quick", "quickly",
];

/// Greetings, thanks, goodbyes, laughter, acknowledgements.
pub static CHITCHAT: Phrases = phrases![
    "hi", "hello", "hey", "hiya", "howdy", "yo", "greetings", "good morning", "good afternoon", "good evening",
    "good night", "good day", "thanks", "thank you", "thank u", "thx", "ty", "cheers", "much appreciated",
    "appreciate it", "i appreciate it", "bye", "goodbye", "good bye", "bye bye", "see you", "see ya", "cya",
    "farewell", "take care", "have a nice day", "have a good day", "have a good one", "haha", "hahaha", "ha ha",
    "lol", "lmao", "rofl", "hehe", "ok", "okay", "k", "kk", "alright", "all right", "got it", "i see", "understood",
    "makes sense", "that makes sense", "cool", "nice", "great", "awesome", "perfect", "excellent", "wonderful",
    "amazing", "brilliant", "sweet", "fine", "good", "good job", "well done", "nice one", "good to know",
    "no problem", "no worries", "you're welcome", "you rock", "fair enough", "sounds good", "wow", "oh", "ah",
    "aha", "hmm", "nice to meet you", "thanks a lot", "many thanks", "thanks a million", "welcome",
];

/// Those of [`CHITCHAT`] that greet.
pub static GREETINGS: Phrases = phrases![
    "hi", "hello", "hey", "hiya", "howdy", "yo", "greetings", "good morning", "good afternoon", "good evening",
    "good day", "nice to meet you", "welcome",
];

/// Those that thank.
pub static THANKS: Phrases = phrases![
    "thanks", "thank you", "thank u", "thx", "ty", "cheers", "much appreciated", "appreciate it", "i appreciate it",
    "thanks a lot", "many thanks", "thanks a million",
];

/// Those that say goodbye.
pub static GOODBYES: Phrases = phrases![
    "bye", "goodbye", "good bye", "bye bye", "see you", "see ya", "cya", "farewell", "take care", "have a nice day",
    "have a good day", "have a good one", "good night",
];

/// Those that laugh.
pub static LAUGHTER: Phrases = phrases!["haha", "hahaha", "ha ha", "lol", "lmao", "rofl", "hehe"];

/// Talk about the agent or the world, and not about the documentation.
pub static SMALL_TALK: Phrases = phrases![
    "how are you", "how are you doing", "how's it going", "how is it going", "what's up", "whats up", "who are you",
    "what are you", "what's your name", "what is your name", "are you a bot", "are you a robot", "are you human",
    "are you a human", "are you an ai", "are you real", "who made you", "who built you", "tell me a joke",
    "say something funny", "what can you do", "how old are you", "do you sleep", "are you there", "anyone there",
    "nice weather", "what's the weather", "how was your day", "what is your favorite color",
];

/// Words that may stand around chitchat without making it a question.
pub static COURTESY: Phrases = phrases![
    "so", "very", "much", "a", "lot", "for", "the", "your", "you", "help", "helping", "me", "answer", "answers",
    "explanation", "all", "that", "this", "it", "and", "then", "now", "there", "again", "everyone", "friend",
    "docent", "bot", "team", "guys", "really", "was", "is", "were", "helpful", "useful", "clear", "i", "my", "time",
    "today", "later", "tomorrow", "soon", "to", "know", "well", "just", "what", "needed", "wanted", "exactly", "of",
    "course", "have",
];

/// The answers did not help: anywhere in the message.
pub static FRUSTRATION: Phrases = phrases![
    "doesn't help", "does not help", "didn't help", "did not help", "not helpful", "unhelpful", "no help",
    "isn't helping", "not helping", "still doesn't work", "still does not work", "still not working",
    "still isn't working", "still fails", "still failing", "still broken", "still the same", "still get the same",
    "still getting the same", "still no luck", "same error again", "not what i asked", "not what i meant",
    "not what i want", "not what i wanted", "not what i need", "not what i'm looking for",
    "not answering my question", "doesn't answer", "didn't answer", "does not answer", "you don't understand",
    "you didn't understand", "you misunderstood", "you're not listening", "already tried that", "i already tried",
    "i've tried that", "tried that already", "makes no sense", "this is useless", "useless answer",
    "you are useless", "waste of time", "frustrating", "i give up", "going in circles", "for the third time",
    "that's wrong", "this is wrong",
];

/// The answers did not help: only when nothing else is said.
pub static FRUSTRATION_ALONE: Phrases = phrases![
    "wrong", "useless", "not working", "doesn't work", "it doesn't work", "didn't work",
    "it didn't work", "not that", "not this", "wtf", "ugh",
];

/// Wants the conversation summed up: what is to be summed up, beside a word of [`SUMMARY`].
pub static CONVERSATION: Phrases = phrases![
    "our conversation", "the conversation", "this conversation", "our chat", "the chat", "this chat",
    "our discussion", "the discussion", "this discussion", "what we discussed", "what we have discussed",
    "what we've discussed", "what we talked about", "what we've talked about", "what we've covered",
    "what we covered", "what have we covered", "what have we discussed", "everything so far", "so far",
    "this session", "the session",
];

/// Wants the conversation summed up, without a word of [`SUMMARY`].
pub static CONVERSATION_ALONE: Phrases = phrases![
    "what did we talk about", "what have we talked about", "what have we covered", "what did we discuss",
    "what have we discussed", "where were we",
];

/// Wants a person.
pub static HUMAN: Phrases = phrases![
    "talk to a human", "speak to a human", "speak with a human", "talk with a human", "chat with a human",
    "a real human", "human support", "human help", "human please", "human agent", "talk to a person",
    "speak to a person", "speak with a person", "real person", "actual person", "talk to someone",
    "speak to someone", "speak with someone", "talk to support", "contact support", "contact the support",
    "customer service", "customer support", "support team", "live agent", "live chat", "live support",
    "talk to an agent", "speak to an agent", "speak with an agent", "representative", "get a human", "connect me",
    "hand me over", "transfer me", "escalate this", "contact a human", "i want a human",
];

/// Leaves the guidance.
pub static EXIT: Phrases = phrases![
    "exit", "quit", "stop", "end", "leave", "close", "end chat", "end the chat", "stop the chat", "close the chat",
    "leave the chat", "end conversation", "end the conversation", "i'm done", "that's all", "that is all",
    "stop it",
];

/// Leaves the choice to the agent.
pub static INDIFFERENT: Phrases = phrases![
    "either", "either one", "either is fine", "either works", "any", "any of them", "any one", "anyone of them",
    "whichever", "whatever", "doesn't matter", "does not matter", "it doesn't matter", "don't care", "i don't care",
    "don't mind", "i don't mind", "up to you", "you choose", "you decide", "you pick", "your choice", "not sure",
    "no preference", "i don't know",
];

/// Agrees to an offer.
pub static AFFIRMATIVE: Phrases = phrases![
    "yes", "yep", "yeah", "yup", "ya", "sure", "of course", "certainly", "definitely", "absolutely", "please do",
    "go ahead", "yes please", "sure thing", "do it", "that would be great", "sounds good", "i would",
    "i'd like that", "correct", "right", "exactly", "that one", "indeed", "why not",
];

/// Declines an offer.
pub static NEGATIVE: Phrases = phrases![
    "no", "nope", "nah", "no thanks", "no thank you", "not really", "not now", "neither", "none", "none of them",
    "none of these", "none of those", "not interested",
];

/// Says that the question is settled.
pub static SATISFIED: Phrases = phrases![
    "that works", "it works", "works now", "it works now", "that worked", "it worked", "that helped", "that helps",
    "solved", "fixed it", "that fixed it", "problem solved", "very helpful", "really helpful", "so helpful",
    "that was helpful", "exactly what i needed", "just what i needed", "that's what i needed",
    "that answers my question", "answered my question", "got it working", "got it", "perfect", "thanks",
    "thank you",
];

/// Words that may stand around a choice.
pub static CHOICE_FILLER: Phrases = phrases![
    "#", "the", "one", "option", "number", "no", "item", "choice", "please", "pls", "i", "i'd", "i'll", "would", "like",
    "want", "take", "choose", "pick", "select", "open", "show", "me", "go", "with", "let's", "see", "tell", "about",
    "more", "give", "mean", "meant", "suggestion", "link", "page", "ok", "okay", "yes", "and", "a", "look", "at",
    "is", "it", "try", "that",
];

/// Ordinals and numbers up to ten, in order; the last form of each row is the figure.
pub const ORDINALS: [[&str; 4]; 10] = [
    ["first", "1st", "one", "1"],
    ["second", "2nd", "two", "2"],
    ["third", "3rd", "three", "3"],
    ["fourth", "4th", "four", "4"],
    ["fifth", "5th", "five", "5"],
    ["sixth", "6th", "six", "6"],
    ["seventh", "7th", "seven", "7"],
    ["eighth", "8th", "eight", "8"],
    ["ninth", "9th", "nine", "9"],
    ["tenth", "10th", "ten", "10"],
];

/// Asks what a word refers to, and not for something new.
pub static ASKS_MEANING: Phrases = phrases![
    "what does it mean", "what does that mean", "what does this mean", "what do they mean", "what do those mean",
    "what do these mean", "what do you mean", "what did you mean", "what do you mean by", "what did you mean by",
    "what is that", "what's that", "what is it", "what's it", "what is this", "what's this", "what are those",
    "what are they", "what are these", "which one do you mean",
];

/// Words of a question that cannot be searched for by themselves.
pub static EMPTY: Phrases = phrases![
    "how", "what", "why", "when", "where", "which", "who", "do", "does", "did", "is", "are", "was", "i", "you",
    "we", "it", "this", "that", "these", "those", "they", "them", "there", "a", "an", "the", "to", "of", "in", "on",
    "for", "with", "and", "or", "so", "should", "can", "could", "would", "will", "please", "help", "me", "my",
    "need", "want", "have", "got", "problem", "problems", "issue", "issues", "question", "questions", "trouble",
    "something", "wrong", "not", "work", "working", "works", "doesn't", "fix", "here", "now", "just", "thing",
];

/// Words that frame a question in front of what it is about.
pub static FRAME: Phrases = phrases![
    "how", "what", "why", "when", "where", "which", "who", "whose", "ok", "okay", "so", "and", "but", "then", "now", "hi",
    "hello", "hey", "please", "can", "could", "would", "should", "tell", "me", "us", "about", "explain", "describe", "show",
    "give", "know", "want", "need", "like", "there", "any", "some", "the", "a", "an", "way", "best", "possible", "it", "if",
    "more", "i'm", "trying", "help", "with", "to", "kind", "of", "type", "sort", "many", "much", "long", "often", "i'd",
    "name", "meaning", "purpose", "also", "actually", "exactly",
];

/// Auxiliary verbs and their short forms.
pub static AUXILIARIES: Phrases = phrases![
    "is", "are", "was", "were", "be", "been", "am", "do", "does", "did", "has", "have", "had", "can", "could", "will", "would",
    "should", "shall", "may", "might", "must", "isn't", "aren't", "wasn't", "weren't", "don't", "doesn't", "didn't", "can't",
    "couldn't", "won't", "wouldn't", "shouldn't", "haven't", "hasn't", "what's", "how's", "where's", "who's",
];

/// Verbs that stand behind the subject of a question: they end it.
pub static VERBS: Phrases = phrases![
    "work", "works", "support", "supports", "need", "needs", "require", "requires", "use", "uses", "used", "run", "runs",
    "mean", "means", "return", "returns", "expand", "expands", "handle", "handles", "make", "makes", "take", "takes", "get",
    "gets", "accept", "accepts", "compare", "compares", "differ", "differs", "allow", "allows", "store", "stores", "stored",
    "happen", "happens", "happened", "come", "comes", "go", "goes", "look", "looks", "become", "becomes", "fail", "fails",
    "change", "changes", "contain", "contains", "include", "includes", "provide", "provides", "supported", "released",
    "called", "located", "installed", "created", "started", "affect", "affects", "apply", "applies",
];

/// Words that end the phrase that a question is about.
pub static STOPS: Phrases = phrases![
    "in", "on", "at", "for", "from", "with", "without", "using", "via", "when", "while", "if", "that", "which", "so", "to",
    "by", "into", "as", "after", "before", "instead", "because", "through", "inside", "between", "during", "where", "who",
    "how", "of", "than", "like", "under", "over", "until", "but", "whether", "then", "not", "myself", "again",
];

/// Prepositions that open a fragment: "and on Windows?"
pub static PREPOSITIONS: Phrases = phrases![
    "on", "in", "for", "with", "without", "from", "at", "under", "inside", "via", "using", "through", "behind", "during",
    "after", "before", "as", "by",
];

/// Words behind which "her" is no possessive.
pub static FUNCTION_WORDS: Phrases = phrases![
    "a", "an", "the", "to", "in", "on", "at", "for", "with", "from", "as", "and", "or", "by", "of", "about", "after", "before",
    "when", "during", "into", "if", "that", "than", "because", "while", "but", "so", "up", "out", "off", "again", "too",
    "not",
];

/// Words that ask for one of two.
pub static COMPARING: Phrases = phrases![
    "better", "faster", "slower", "difference", "differences", "differ", "cheaper", "safer", "simpler", "prefer", "best",
    "easier", "smaller",
];

/// General nouns, verbs and adjectives of documentation: a question made of them alone asks about the topic.
pub static GENERAL: Phrases = phrases![
    "setting", "default", "option", "limit", "limitation", "price", "pricing", "cost", "requirement", "prerequisite", "version",
    "step", "component", "feature", "advantage", "disadvantage", "benefit", "drawback", "difference", "syntax", "performance",
    "size", "format", "license", "alternative", "effect", "parameter", "argument", "value", "type", "method", "property",
    "properties", "main", "supported", "required", "optional", "available", "recommended", "minimum", "maximum", "latest",
    "current", "stable", "free", "install", "installation", "uninstall", "configure", "configuration", "config", "upgrade",
    "update", "downgrade", "disable", "enable", "test", "testing", "debug", "deploy", "deployment", "usage", "common",
    "mistake", "pitfall", "practice", "command", "flag", "file", "folder", "directory", "path", "location", "name", "log",
    "output", "input", "return", "work", "long", "cause", "reason", "happened", "fast", "slow", "safe", "secure", "stop",
    "restart", "verify", "troubleshoot", "customize", "customise", "exist", "support", "code", "language", "platform", "range",
    "unit", "order", "rule", "scope", "warning", "side", "overview", "purpose", "compatible", "compatibility"
];
