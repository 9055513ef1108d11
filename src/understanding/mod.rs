//! What a message means in its conversation: intent, follow-up kind, selection, stand-alone query.
