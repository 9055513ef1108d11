//! A push parser for server-sent events that takes bytes.
//!
//! Input: the body in pieces of any size, cut anywhere, also inside a character. Output: the events, in order.
//! The grammar is that of the HTML standard, section 9.2.6 "Interpreting an event stream"
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation>).
//! **Invariant:** the events do not depend on where the body was cut.

use crate::error::{Error, Result};

/// Limit of one event's data and of one line, in bytes. A chat delta is a few hundred bytes; a whole completion in one
/// event stays far below. Beyond it the body is not a stream of deltas, and buffering it would only cost memory.
pub const MAX_EVENT_BYTES: usize = 1 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The event's type; empty means `message`.
    pub event: String,
    /// Its data, lines joined by line feeds.
    pub data: String,
    /// The id, on the event that carries one.
    pub id: Option<String>,
}

/// The state between two pieces.
#[derive(Debug, Default)]
pub struct SseParser {
    /// The line that is not complete yet, as bytes: a piece may end inside a character.
    line: Vec<u8>,
    /// The last byte was a CR that ended a line: a LF that follows belongs to it.
    after_cr: bool,
    /// Whether the first line was seen, so that only a leading byte order mark is dropped.
    started: bool,
    event: SseEvent,
    /// Whether the event has a data line. `data` alone gives an event with empty data, no data line gives none.
    has_data: bool,
    retry_ms: Option<u64>,
    stray_error: Option<String>,
}

impl SseParser {
    /// A parser at the start of a body.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece and hands each event that it completes to `on_event`.
    ///
    /// # Errors
    /// [`Error::Protocol`] when a line or an event exceeds [`MAX_EVENT_BYTES`]; the parser is of no use afterwards.
    pub fn feed(&mut self, bytes: &[u8], on_event: &mut dyn FnMut(SseEvent)) -> Result<()> {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.push_to_line(&rest[..end])?;
            self.end_line(on_event)?;
            let was_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if was_cr {
                // A CR ends the line at once; whether a LF belongs to it is only known with the next byte.
                if rest.is_empty() {
                    self.after_cr = true;
                } else {
                    rest = rest.strip_prefix(b"\n").unwrap_or(rest);
                }
            }
        }
        self.push_to_line(rest)
    }

    /// Ends the body. The standard drops an event without its blank line; many servers end that way, so `lenient` gives it.
    ///
    /// # Errors
    /// [`Error::Protocol`] as for [`SseParser::feed`].
    pub fn finish(mut self, lenient: bool) -> Result<Option<SseEvent>> {
        if !lenient {
            return Ok(None);
        }
        let mut last = None;
        if !self.line.is_empty() {
            self.end_line(&mut |event| last = Some(event))?;
        }
        self.dispatch(&mut |event| last = Some(event));
        Ok(last)
    }

    /// The reconnection time that the server asked for, in milliseconds.
    #[must_use]
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// The value of a line `error: …`. That is no field of the standard, but older llama.cpp servers report so.
    #[must_use]
    pub fn stray_error(&self) -> Option<&str> {
        self.stray_error.as_deref()
    }

    fn push_to_line(&mut self, bytes: &[u8]) -> Result<()> {
        if self.line.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(too_large());
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, on_event: &mut dyn FnMut(SseEvent)) -> Result<()> {
        let bytes = std::mem::take(&mut self.line);
        let mut line: &[u8] = &bytes;
        if !self.started {
            self.started = true;
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(on_event);
            return Ok(());
        }
        // Decoded a line at a time: a line end is never part of a longer character, so this equals decoding the whole.
        let line = String::from_utf8_lossy(line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.event.data.len() + value.len() >= MAX_EVENT_BYTES {
                    return Err(too_large());
                }
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event.event),
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok();
            }
            "error" => self.stray_error = Some(value.to_owned()),
            // Comments (an empty name) and unknown fields.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, on_event: &mut dyn FnMut(SseEvent)) {
        let event = std::mem::take(&mut self.event);
        if std::mem::take(&mut self.has_data) {
            on_event(event);
        }
    }
}

fn too_large() -> Error {
    Error::Protocol(format!("one event of the stream is larger than {MAX_EVENT_BYTES} bytes"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(pieces: &[&[u8]], lenient: bool) -> Vec<SseEvent> {
        let mut events = Vec::new();
        let mut parser = SseParser::new();
        for piece in pieces {
            parser.feed(piece, &mut |event| events.push(event)).unwrap();
        }
        events.extend(parser.finish(lenient).unwrap());
        events
    }

    /// Checks the data of the events, for the whole body, at every cut, and byte by byte.
    fn check(body: &[u8], expected: &[&str]) {
        let data = |events: Vec<SseEvent>| events.into_iter().map(|event| event.data).collect::<Vec<_>>();
        for cut in 0..=body.len() {
            assert_eq!(data(parse(&[&body[..cut], &body[cut..]], false)), expected, "cut at {cut}");
        }
        let single: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(data(parse(&single, false)), expected);
    }

    #[test]
    fn line_ends_of_all_kinds() {
        check(b"data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\n\r\n", &["a", "b", "c", "d"]);
        check(b"\n\n\r\ndata: a\n\n\n\n", &["a"]);
        check(b"data: a\r\r", &["a"]);
    }

    #[test]
    fn fields_as_in_the_standard() {
        check(b"data:a\n\ndata:  b\n\ndata:\tc\n\n", &["a", " b", "\tc"]);
        check(b"data: YHOO\ndata: +2\ndata: 10\n\n", &["YHOO\n+2\n10"]);
        check(b"data\n\ndata\ndata\n\ndata:\n\n", &["", "\n", ""]);
        check(b": hi\n\ndata: a\n:ping\ndata: b\n\nevent: x\n\n", &["a\nb"]);
        check(b"foo: bar\njusttext\n data: no\nretry: 5x\nid: 1\x002\ndata: a: b\n\n", &["a: b"]);
        check(b"data: a\n\ndata: [DONE]", &["a"]);
    }

    #[test]
    fn event_names_and_ids_do_not_leak_into_the_next_event() {
        let events = parse(&[b"event: error\nid: 7\ndata: a\n\ndata: b\n\nevent:\ndata: c\n\n"], false);
        assert_eq!(events[0], SseEvent { event: "error".into(), data: "a".into(), id: Some("7".into()) });
        assert_eq!(events[1], SseEvent { data: "b".into(), ..SseEvent::default() });
        assert_eq!(events[2], SseEvent { data: "c".into(), ..SseEvent::default() });
    }

    #[test]
    fn characters_cut_anywhere_survive() {
        check("data: 你好，🌍👩‍💻\n\n".as_bytes(), &["你好，🌍👩‍💻"]);
        check("data: a\u{2028}b\n\n".as_bytes(), &["a\u{2028}b"]);
        check(b"data: a\xffb\n\n", &["a\u{FFFD}b"]);
        check(b"\xEF\xBB\xBFdata: a\n\n\xEF\xBB\xBFdata: b\n\n", &["a"]);
        check(b"data: \0\n\n", &["\0"]);
    }

    #[test]
    fn a_lenient_end_gives_the_last_event() {
        assert_eq!(parse(&[b"data: a\n\ndata: [DONE]"], true)[1].data, "[DONE]");
        assert_eq!(parse(&[b"data: a\n\ndata: b\n"], true)[1].data, "b");
        assert_eq!(parse(&[b"data: a\n\n"], true).len(), 1);
        assert_eq!(parse(&[b"event: x\n"], true).len(), 0);
    }

    #[test]
    fn an_error_line_and_a_retry_time_are_kept_aside() {
        let mut parser = SseParser::new();
        parser.feed(b"retry: 1500\nerror: {\"code\":500}\n\n", &mut |_| panic!("no event")).unwrap();
        assert_eq!(parser.retry_ms(), Some(1500));
        assert_eq!(parser.stray_error(), Some("{\"code\":500}"));
    }

    #[test]
    fn a_line_or_an_event_without_end_is_refused() {
        let mut parser = SseParser::new();
        let piece = vec![b'x'; 100_000];
        let error = (0..11).find_map(|_| parser.feed(&piece, &mut |_| {}).err()).unwrap();
        assert_eq!(error.code(), "protocol");
        let mut parser = SseParser::new();
        let mut line = b"data: ".to_vec();
        line.extend_from_slice(&piece);
        line.push(b'\n');
        assert!((0..11).any(|_| parser.feed(&line, &mut |_| {}).is_err()));
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_the_cuts(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("data: ".to_owned()), Just("data".to_owned()), Just("event: e".to_owned()), Just("\n".to_owned()),
                    Just("\r".to_owned()), Just("\r\n".to_owned()), Just(":".to_owned()), Just("\u{FEFF}".to_owned()),
                    Just("你🌍".to_owned()), "[ -~]{0,6}",
                ],
                0..30,
            ),
            sizes in proptest::collection::vec(1usize..9, 1..60),
        ) {
            let body = parts.concat().into_bytes();
            let mut pieces = Vec::new();
            let mut rest: &[u8] = &body;
            for size in sizes {
                let (piece, after) = rest.split_at(size.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            for lenient in [false, true] {
                prop_assert_eq!(parse(&pieces, lenient), parse(&[&body], lenient));
            }
        }

        #[test]
        fn any_bytes_parse_without_panic(body in proptest::collection::vec(any::<u8>(), 0..300), cut in 0usize..300) {
            let cut = cut.min(body.len());
            prop_assert_eq!(parse(&[&body[..cut], &body[cut..]], true), parse(&[&body], true));
        }
    }
}
