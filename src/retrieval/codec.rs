//! Reading and writing the sections of an index file.
//!
//! Input: bytes of unknown origin. Output: numbers, strings and slices, or [`IndexError::Damaged`].
//! **Invariant:** no length or id that was read is trusted: it is compared with what is left of the input before
//! anything is allocated, so that a damaged file costs an error and never memory or a panic.

use crate::error::{Error, IndexError, Result};

/// The error for a section that contradicts itself; `what` names the part.
pub(crate) fn damaged(what: &str) -> Error {
    Error::Index(IndexError::Damaged(what.to_owned()))
}

/// Appends an unsigned number in LEB128: 7 bits a byte, low bits first, 1..=10 bytes.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a length and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads what the `put_` functions wrote.
#[derive(Debug, Clone)]
pub(crate) struct ByteReader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> ByteReader<'a> {
    /// A reader of `bytes`; `what` names the section in error messages.
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    /// The error of this section.
    pub(crate) fn damaged(&self) -> Error {
        damaged(self.what)
    }

    /// Bytes not read yet.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// One byte.
    pub(crate) fn byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.rest.split_first().ok_or_else(|| self.damaged())?;
        self.rest = rest;
        Ok(first)
    }

    /// A number written by [`put_varint`].
    pub(crate) fn varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(self.damaged());
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.damaged())
    }

    /// A number of at most `limit`.
    pub(crate) fn at_most(&mut self, limit: usize) -> Result<usize> {
        let value = self.varint()?;
        usize::try_from(value).ok().filter(|value| *value <= limit).ok_or_else(|| self.damaged())
    }

    /// The number of items that follow, each of at least `least` bytes: refused when the input cannot hold them.
    pub(crate) fn count(&mut self, least: usize) -> Result<usize> {
        let limit = self.rest.len() / least.max(1);
        self.at_most(limit)
    }

    /// The next `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.damaged())?;
        self.rest = rest;
        Ok(taken)
    }

    /// Bytes written by [`put_bytes`].
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// The bytes up to the next zero, which is taken too.
    pub(crate) fn until_zero(&mut self) -> Result<&'a [u8]> {
        let length = self.rest.iter().position(|byte| *byte == 0).ok_or_else(|| self.damaged())?;
        let taken = self.take(length)?;
        self.rest = &self.rest[1..];
        Ok(taken)
    }

    /// UTF-8 text written by [`put_bytes`].
    pub(crate) fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| self.damaged())
    }

    /// Refuses what is left over.
    pub(crate) fn finish(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.damaged()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_and_long_ones_are_refused() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut reader = ByteReader::new(&bytes, "test");
            assert_eq!(reader.varint(), Ok(value));
            assert!(reader.finish().is_ok());
        }
        assert!(ByteReader::new(&[0xff; 11], "test").varint().is_err());
        assert!(ByteReader::new(&[0x80], "test").varint().is_err());
    }

    #[test]
    fn an_absurd_length_is_refused_before_it_is_allocated() {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, u64::MAX);
        assert!(ByteReader::new(&bytes, "test").bytes().is_err());
        assert!(ByteReader::new(&bytes, "test").count(1).is_err());
    }
}
