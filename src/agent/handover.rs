//! The hand-over to a human: where to, and the conversation that goes along once the reader agrees.
//!
//! A mail carries it in its body, a page in the place of `{conversation}` in its address, an event as its detail.

use crate::chat::message::Role;
use crate::dialogue::conversation_memory::Message;
use crate::turn::{Contact, Handover, Language};

/// Bytes of an encoded transcript in a link; mail programs and servers refuse links of much more than 2,000.
const MAX_LINK_BYTES: usize = 1800;
/// Stands in the address of a contact's page for the conversation.
const CONVERSATION: &str = "{conversation}";

/// The offer: the contact alone.
#[must_use]
pub(super) fn offer(contact: Option<&Contact>) -> Handover {
    Handover { contact: contact.cloned(), link: contact.and_then(plain_link), transcript: None }
}

/// The hand-over itself: the contact, the transcript, and a link that carries it where the contact is a mail address or a
/// page whose address has a place for it.
#[must_use]
pub(super) fn agreed(contact: Option<&Contact>, summary: &str, messages: &[Message], language: Language) -> Handover {
    let transcript = transcript(summary, messages, language);
    let link = contact.and_then(|contact| match &contact.email {
        Some(address) if contact.url.is_none() => {
            let subject = match language {
                Language::English => "Question about the documentation",
                Language::Chinese => "关于文档的问题",
            };
            let (subject, body) = (encode(subject, MAX_LINK_BYTES), encode(&transcript, MAX_LINK_BYTES));
            Some(format!("mailto:{}?subject={subject}&body={body}", encode_address(address)))
        }
        _ => match &contact.url {
            Some(url) => Some(url.replace(CONVERSATION, &encode(&transcript, MAX_LINK_BYTES))),
            None => plain_link(contact),
        },
    });
    Handover { contact: contact.cloned(), link, transcript: Some(transcript) }
}

/// The link without anything of the conversation.
pub(super) fn plain_link(contact: &Contact) -> Option<String> {
    contact
        .url
        .as_ref()
        .map(|url| url.replace(CONVERSATION, ""))
        .or_else(|| contact.email.as_ref().map(|address| format!("mailto:{}", encode_address(address))))
}

/// The conversation as text, the newest messages kept where it is long.
fn transcript(summary: &str, messages: &[Message], language: Language) -> String {
    let (reader, agent) = match language {
        Language::English => ("Reader: ", "Agent: "),
        Language::Chinese => ("读者：", "助手："),
    };
    let mut text = String::new();
    if !summary.is_empty() {
        text.push_str(summary.trim());
        text.push_str("\n\n");
    }
    for message in messages {
        match message.role {
            Role::User => text.push_str(reader),
            Role::Assistant => text.push_str(agent),
            Role::System => continue,
        }
        text.push_str(message.content.trim());
        text.push('\n');
    }
    text.trim_end().to_owned()
}

/// Percent-encoding of a link's part (RFC 3986: all but the unreserved characters), cut at a character before `limit`.
fn encode(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let mut bytes = [0; 4];
        let mut piece = String::new();
        for byte in c.encode_utf8(&mut bytes).bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                piece.push(char::from(byte));
            } else {
                piece.push_str(&format!("%{byte:02X}"));
            }
        }
        if out.len() + piece.len() > limit {
            break;
        }
        out.push_str(&piece);
    }
    out
}

/// An address in a `mailto:` link: `@` stays, everything that could start another field does not.
fn encode_address(address: &str) -> String {
    encode(address.trim(), 320).replace("%40", "@")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: Role, content: &str) -> Message {
        Message { id: "a".into(), role, content: content.into(), timestamp: 0, meta: Default::default() }
    }

    #[test]
    fn a_mail_carries_the_conversation_only_after_the_reader_agreed() {
        let contact = Contact { email: Some("help@example.org".into()), ..Contact::default() };
        let messages = [message(Role::User, "怎么安装？ a&b"), message(Role::Assistant, "pip install")];
        let offered = offer(Some(&contact));
        assert_eq!((offered.link.as_deref(), offered.transcript), (Some("mailto:help@example.org"), None));
        let handed = agreed(Some(&contact), "", &messages, Language::English);
        assert_eq!(handed.transcript.as_deref(), Some("Reader: 怎么安装？ a&b\nAgent: pip install"));
        let link = handed.link.unwrap();
        assert!(link.starts_with("mailto:help@example.org?subject=Question%20about"), "{link}");
        assert!(link.contains("a%26b") && !link.contains("a&b"), "{link}");
    }

    #[test]
    fn a_page_gets_the_conversation_in_its_address_where_it_has_a_place_for_it() {
        let messages = [message(Role::User, "a & b?")];
        for (url, offered, handed) in [
            (
                "/help?text={conversation}&from=docs",
                "/help?text=&from=docs",
                "/help?text=Reader%3A%20a%20%26%20b%3F&from=docs",
            ),
            ("/help", "/help", "/help"),
        ] {
            let contact = Contact { url: Some(url.into()), ..Contact::default() };
            assert_eq!(offer(Some(&contact)).link.as_deref(), Some(offered));
            let link = agreed(Some(&contact), "", &messages, Language::English).link;
            assert_eq!(link.as_deref(), Some(handed));
        }
    }

    #[test]
    fn a_long_transcript_keeps_the_mail_link_short_and_whole() {
        let contact = Contact { email: Some("a@b.c".into()), ..Contact::default() };
        let long = [message(Role::User, &"安装".repeat(4000))];
        let link = agreed(Some(&contact), "", &long, Language::Chinese).link.unwrap();
        assert!(link.len() < 2200, "{}", link.len());
        assert_eq!(link.rsplit("body=").next().unwrap().matches('%').count() % 3, 0);
    }

    #[test]
    fn an_address_cannot_add_fields() {
        let contact = Contact { email: Some("a@b.c?cc=d@e.f".into()), ..Contact::default() };
        assert_eq!(offer(Some(&contact)).link.as_deref(), Some("mailto:a@b.c%3Fcc%3Dd@e.f"));
    }
}
