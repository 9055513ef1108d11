//! The container that every index file uses: a magic, a version, a table of sections, the sections, one hash over it all.
//!
//! Input of [`write`]: sections. Output: the bytes of a file. Input of [`Container::open`]: the bytes of a file. Output: its
//! sections, each decompressed when it is asked for.
//!
//! Layout, all numbers little-endian:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic `\x89DOCENT\n` (the first byte is no ASCII and no UTF-8, the last one shows a newline conversion) |
//! | 8 | 4 | format version |
//! | 12 | 4 | kind of the file: `core`, `vect`, `post` or `text` |
//! | 16 | 8 | length of the whole file |
//! | 24 | 8 | XXH3-64 of the whole file without these 8 bytes |
//! | 32 | 4 | number of sections |
//! | 36 | 4 | zero |
//! | 40 | 32 each | section: tag (4), encoding (2: 0 as is, 1 deflate), alignment (2), offset (8), length (8), raw length (8) |
//! | … | | the sections, each at a multiple of its alignment, zeros between them |
//!
//! **Invariant:** nothing is allocated from a number in the file before the length and the hash of the whole file were
//! checked, and a section never grows by more than deflate can make it grow.

use std::borrow::Cow;

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use xxhash_rust::xxh3::Xxh3;

use crate::error::IndexError;

/// First bytes of every index file.
pub const MAGIC: [u8; 8] = *b"\x89DOCENT\n";
/// Version that this build writes and reads. A reader reads its own version only: an index is cheap to build again.
pub const VERSION: u32 = 2;

/// Bytes before the section table.
const HEADER: usize = 40;
/// Bytes of one entry of the section table.
const ENTRY: usize = 32;
/// Offset of the hash in the header.
const HASH_AT: usize = 24;
/// Alignment of the sections, in bytes: enough for 64-bit numbers.
const ALIGNMENT: usize = 8;
/// Most sections a file may have; ours have fewer than ten.
const MAX_SECTIONS: usize = 64;
/// A deflate stream grows by at most this factor when it is inflated (258 bytes from two bits, RFC 1951).
const MAX_GROWTH: u64 = 1032;
/// Effort of the deflate encoder, 0..=10: the builder has time, the page does not.
const DEFLATE_LEVEL: u8 = 9;
/// A section is stored compressed when that saves at least one part in this many: vectors are hardly compressible, and
/// inflating them for one per cent would cost the page more than it saves.
const WORTHWHILE: usize = 12;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Metadata, documents, chunks without texts, the lexical index.
    Core,
    /// Vectors and their graph.
    Vectors,
    /// The postings of a run of terms.
    Postings,
    /// The texts of a run of chunks.
    Texts,
}

impl Kind {
    const fn tag(self) -> [u8; 4] {
        match self {
            Self::Core => *b"core",
            Self::Vectors => *b"vect",
            Self::Postings => *b"post",
            Self::Texts => *b"text",
        }
    }

    /// The name of the kind, as files and messages use it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Vectors => "vectors",
            Self::Postings => "postings",
            Self::Texts => "texts",
        }
    }
}

/// A section to be written.
#[derive(Debug, Clone)]
pub struct Section {
    /// Four ASCII letters, unique in the file.
    pub tag: [u8; 4],
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Writes a file. Identical input gives identical bytes.
///
/// # Errors
/// [`IndexError::Damaged`] when there are more sections than the format allows.
pub fn write(kind: Kind, sections: &[Section]) -> Result<Vec<u8>, IndexError> {
    if sections.len() > MAX_SECTIONS {
        return Err(IndexError::Damaged(format!("{} sections, at most {MAX_SECTIONS}", sections.len())));
    }
    let mut table = Vec::with_capacity(sections.len() * ENTRY);
    let mut body: Vec<u8> = Vec::new();
    let start = HEADER + sections.len() * ENTRY;
    for section in sections {
        let compressed = compress_to_vec(&section.bytes, DEFLATE_LEVEL);
        let worthwhile = compressed.len() + section.bytes.len() / WORTHWHILE < section.bytes.len();
        let (encoding, stored): (u16, &[u8]) = if worthwhile { (1, &compressed) } else { (0, &section.bytes) };
        let padded = (start + body.len()).next_multiple_of(ALIGNMENT) - start;
        body.resize(padded, 0);
        table.extend_from_slice(&section.tag);
        table.extend_from_slice(&encoding.to_le_bytes());
        table.extend_from_slice(&(ALIGNMENT as u16).to_le_bytes());
        table.extend_from_slice(&((start + padded) as u64).to_le_bytes());
        table.extend_from_slice(&(stored.len() as u64).to_le_bytes());
        table.extend_from_slice(&(section.bytes.len() as u64).to_le_bytes());
        body.extend_from_slice(stored);
    }
    let mut bytes = Vec::with_capacity(start + body.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&kind.tag());
    bytes.extend_from_slice(&((start + body.len()) as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&(sections.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&table);
    bytes.extend_from_slice(&body);
    let hash = hash_without_itself(&bytes);
    bytes[HASH_AT..HASH_AT + 8].copy_from_slice(&hash.to_le_bytes());
    Ok(bytes)
}

/// An entry of the section table whose range has been checked.
#[derive(Debug, Clone, Copy)]
struct Entry {
    tag: [u8; 4],
    deflated: bool,
    offset: usize,
    length: usize,
    raw_length: usize,
}

/// An index file whose length, hash and section table have been checked.
#[derive(Debug)]
pub struct Container<'a> {
    bytes: &'a [u8],
    hash: u64,
    entries: Vec<Entry>,
}

impl<'a> Container<'a> {
    /// Checks a file and reads its section table. Nothing of the sections is copied.
    ///
    /// # Errors
    /// An [`IndexError`] for each way in which a file can be wrong: nothing in it, something else in it (an error page,
    /// a compressed file), another version, cut short, damaged, or an index file of another kind.
    pub fn open(bytes: &'a [u8], kind: Kind) -> Result<Self, IndexError> {
        if bytes.is_empty() {
            return Err(IndexError::Empty);
        }
        let prefix = bytes.len().min(MAGIC.len());
        if bytes[..prefix] != MAGIC[..prefix] {
            return Err(name_what_it_is(bytes));
        }
        if bytes.len() < HEADER {
            return Err(IndexError::Truncated { expected: HEADER as u64, found: bytes.len() as u64 });
        }
        let version = read_u32(bytes, 8);
        if version != VERSION {
            return Err(IndexError::Version { found: version, supported: VERSION });
        }
        let expected = read_u64(bytes, 16);
        let found = bytes.len() as u64;
        if expected > found {
            return Err(IndexError::Truncated { expected, found });
        }
        if expected < found {
            return Err(damaged(format!("{} bytes too many", found - expected)));
        }
        let hash = read_u64(bytes, HASH_AT);
        if hash_without_itself(bytes) != hash {
            return Err(damaged("its bytes do not match its hash"));
        }
        let tag: [u8; 4] = [bytes[12], bytes[13], bytes[14], bytes[15]];
        if tag != kind.tag() {
            return Err(damaged(format!("it holds `{}`, not {}", tag.escape_ascii(), kind.name())));
        }
        Ok(Self { bytes, hash, entries: read_table(bytes)? })
    }

    /// The hash of the file, as it stands in its header and in its name.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The bytes of a section, inflated where they are stored compressed; borrowed where they are not.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] when the section is missing or does not inflate to the length that the table states.
    pub fn section(&self, tag: [u8; 4]) -> Result<Cow<'a, [u8]>, IndexError> {
        self.optional_section(tag)?.ok_or_else(|| damaged(format!("section `{}` is missing", tag.escape_ascii())))
    }

    /// As [`Container::section`]; `None` when the file has no such section.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] when the section does not inflate to the length that the table states.
    pub fn optional_section(&self, tag: [u8; 4]) -> Result<Option<Cow<'a, [u8]>>, IndexError> {
        let Some(entry) = self.entries.iter().find(|entry| entry.tag == tag) else {
            return Ok(None);
        };
        let stored = &self.bytes[entry.offset..entry.offset + entry.length];
        if !entry.deflated {
            return Ok(Some(Cow::Borrowed(stored)));
        }
        match decompress_to_vec_with_limit(stored, entry.raw_length) {
            Ok(raw) if raw.len() == entry.raw_length => Ok(Some(Cow::Owned(raw))),
            _ => Err(damaged(format!("section `{}` does not inflate to its length", tag.escape_ascii()))),
        }
    }
}

/// The hash that a file states of itself: what its name and the core file know it by. `None` for what is no index file.
#[must_use]
pub fn stated_hash(bytes: &[u8]) -> Option<u64> {
    (bytes.len() >= HEADER && bytes.starts_with(&MAGIC)).then(|| read_u64(bytes, HASH_AT))
}

fn read_table(bytes: &[u8]) -> Result<Vec<Entry>, IndexError> {
    let count = read_u32(bytes, 32) as usize;
    let table_end = HEADER + count.min(MAX_SECTIONS + 1) * ENTRY;
    if count > MAX_SECTIONS || table_end > bytes.len() {
        return Err(damaged(format!("{count} sections in {} bytes", bytes.len())));
    }
    let mut entries: Vec<Entry> = Vec::with_capacity(count);
    let mut free_from = table_end as u64;
    for at in (HEADER..table_end).step_by(ENTRY) {
        let tag: [u8; 4] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let encoding = u16::from_le_bytes([bytes[at + 4], bytes[at + 5]]);
        let alignment = u64::from(u16::from_le_bytes([bytes[at + 6], bytes[at + 7]]));
        let (offset, length, raw_length) =
            (read_u64(bytes, at + 8), read_u64(bytes, at + 16), read_u64(bytes, at + 24));
        let named = || format!("section `{}`", tag.escape_ascii());
        let end = offset.checked_add(length).filter(|end| *end <= bytes.len() as u64);
        let Some(end) = end.filter(|_| offset >= free_from) else {
            return Err(damaged(format!("{} lies outside the file or over another one", named())));
        };
        if !alignment.is_power_of_two() || !offset.is_multiple_of(alignment) {
            return Err(damaged(format!("{} is not aligned", named())));
        }
        let possible = match encoding {
            0 => raw_length == length,
            1 => raw_length <= length.saturating_mul(MAX_GROWTH),
            _ => return Err(damaged(format!("{} has the unknown encoding {encoding}", named()))),
        };
        // A page has 32 bits for addresses; a length beyond them cannot be held, whatever the factor allows.
        let Some(raw_length) = u32::try_from(raw_length).ok().filter(|_| possible) else {
            return Err(damaged(format!("{} states an impossible length", named())));
        };
        if entries.iter().any(|entry| entry.tag == tag) {
            return Err(damaged(format!("{} is there twice", named())));
        }
        free_from = end;
        entries.push(Entry {
            tag,
            deflated: encoding == 1,
            offset: offset as usize,
            length: length as usize,
            raw_length: raw_length as usize,
        });
    }
    Ok(entries)
}

/// Says what was found in the place of an index, by its first bytes.
pub(crate) fn name_what_it_is(bytes: &[u8]) -> IndexError {
    let not = |found, advice| IndexError::NotAnIndex { found, advice };
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return not(
            "a gzip file",
            "let the server name it with `Content-Encoding: gzip`, or upload the files as `docent index` wrote them",
        );
    }
    if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || bytes.starts_with(b"PK\x03\x04") {
        return not("a compressed file", "upload the files as `docent index` wrote them");
    }
    if bytes.starts_with(b"version https://git-lfs") {
        return not("a Git LFS pointer", "fetch the files with `git lfs pull` before the site is published");
    }
    if bytes.starts_with(b"\xef\xbf\xbdDOCENT") || bytes.starts_with(b"\xc2\x89DOCENT") {
        return not(
            "an index that was converted as text",
            "mark the files as binary (`*.bin binary` in .gitattributes) and upload them again",
        );
    }
    let start: Vec<u8> = bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(bytes)
        .iter()
        .skip_while(|byte| byte.is_ascii_whitespace())
        .take(1)
        .copied()
        .collect();
    match start.first() {
        Some(b'<') => not("an HTML or XML page", "check the address: the server answered with a page of its own"),
        Some(b'{' | b'[') => {
            not("JSON", "give the address of manifest.json as the index; this file must be one that it names")
        }
        _ if std::str::from_utf8(&bytes[..bytes.len().min(64)]).is_ok_and(|text| !text.contains('\0')) => {
            not("a text", "check the address, or build the index again with `docent index`")
        }
        _ => not(
            "something unknown (perhaps compressed without a `Content-Encoding` header)",
            "upload the files as `docent index` wrote them",
        ),
    }
}

/// XXH3-64 of the file without the 8 bytes in which the hash itself stands.
fn hash_without_itself(bytes: &[u8]) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(&bytes[..HASH_AT]);
    hasher.update(&bytes[HASH_AT + 8..]);
    hasher.digest()
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from(read_u32(bytes, at)) | (u64::from(read_u32(bytes, at + 4)) << 32)
}

fn damaged(what: impl Into<String>) -> IndexError {
    IndexError::Damaged(what.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sections() -> Vec<Section> {
        vec![
            Section { tag: *b"META", bytes: b"{\"model\":null}".to_vec() },
            Section { tag: *b"TEXT", bytes: "重复的文字 repeated text. ".repeat(40).into_bytes() },
            Section { tag: *b"NONE", bytes: Vec::new() },
        ]
    }

    fn file() -> Vec<u8> {
        write(Kind::Core, &sections()).unwrap()
    }

    /// Sets a field of the header or of the table and makes the hash right again, so that the check behind it is reached.
    fn with(at: usize, value: &[u8]) -> Vec<u8> {
        let mut bytes = file();
        bytes[at..at + value.len()].copy_from_slice(value);
        let hash = hash_without_itself(&bytes);
        bytes[HASH_AT..HASH_AT + 8].copy_from_slice(&hash.to_le_bytes());
        bytes
    }

    #[test]
    fn sections_come_back_as_they_were() {
        let bytes = file();
        let container = Container::open(&bytes, Kind::Core).unwrap();
        for section in sections() {
            assert_eq!(*container.section(section.tag).unwrap(), section.bytes);
        }
        assert!(container.optional_section(*b"WHAT").unwrap().is_none());
        assert_eq!(container.section(*b"WHAT").unwrap_err().code(), "index_damaged");
        assert_eq!(stated_hash(&bytes), Some(container.hash()));
        assert!(bytes.len() < 500, "the repeated text is stored compressed");
        assert_eq!(bytes, file(), "identical input, identical bytes");
    }

    #[test]
    fn every_truncation_is_told() {
        let bytes = file();
        assert_eq!(Container::open(&[], Kind::Core).unwrap_err(), IndexError::Empty);
        for length in 1..bytes.len() {
            let error = Container::open(&bytes[..length], Kind::Core).unwrap_err();
            assert!(matches!(error, IndexError::Truncated { .. }), "{length}: {error}");
        }
    }

    #[test]
    fn every_flipped_bit_is_told() {
        let bytes = file();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Container::open(&flipped, Kind::Core).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn numbers_that_contradict_the_file_are_told_even_when_the_hash_fits() {
        let first = HEADER;
        let cases: &[(&str, usize, Vec<u8>)] = &[
            ("2000000000 sections", 32, 2_000_000_000u32.to_le_bytes().to_vec()),
            ("60 sections", 32, 60u32.to_le_bytes().to_vec()),
            ("outside the file", first + 8, u64::MAX.to_le_bytes().to_vec()),
            ("outside the file", first + 8, 0u64.to_le_bytes().to_vec()),
            ("outside the file", first + 16, (u64::MAX - 8).to_le_bytes().to_vec()),
            ("impossible length", first + 24, u64::MAX.to_le_bytes().to_vec()),
            ("impossible length", first + ENTRY + 24, (1u64 << 31).to_le_bytes().to_vec()),
            ("unknown encoding", first + 4, 7u16.to_le_bytes().to_vec()),
            ("not aligned", first + 6, 0u16.to_le_bytes().to_vec()),
            ("not aligned", first + 6, 4096u16.to_le_bytes().to_vec()),
            ("there twice", first + ENTRY, b"META".to_vec()),
            ("not core", 12, b"vect".to_vec()),
        ];
        for (expected, at, value) in cases {
            let error = Container::open(&with(*at, value), Kind::Core).unwrap_err().to_string();
            assert!(error.contains(expected), "{expected}: {error}");
        }
        let lies = with(first + ENTRY + 24, &1001u64.to_le_bytes());
        let container = Container::open(&lies, Kind::Core).unwrap();
        assert!(container.section(*b"TEXT").unwrap_err().to_string().contains("does not inflate"));
    }

    #[test]
    fn other_versions_are_refused_with_both_numbers() {
        let error = Container::open(&with(8, &99u32.to_le_bytes()), Kind::Core).unwrap_err();
        assert_eq!(error, IndexError::Version { found: 99, supported: VERSION });
    }

    #[test]
    fn what_is_no_index_is_named() {
        let cases: &[(&[u8], &str)] = &[
            (b"<!doctype html><title>404</title>", "HTML"),
            (b"\xef\xbb\xbf\n  <html>", "HTML"),
            (b"\x1f\x8b\x08\0\0\0\0\0", "gzip"),
            (b"PK\x03\x04\x14\0", "compressed"),
            (b"\x28\xb5\x2f\xfd\x04\0", "compressed"),
            (b"{\"files\":{}}", "JSON"),
            (b"version https://git-lfs.github.com/spec/v1\n", "LFS"),
            (b"\xc2\x89DOCENT\n\x01\0", "as text"),
            (b"Not found", "a text"),
            (b"\x0b\x02\x80\xff\xfe\0\x13", "unknown"),
            (&[0; 4096], "unknown"),
        ];
        for (bytes, expected) in cases {
            let error = Container::open(bytes, Kind::Core).unwrap_err();
            assert_eq!(error.code(), "index_not_an_index", "{expected}: {error}");
            assert!(error.to_string().contains(expected), "{expected}: {error}");
        }
        let mut longer = file();
        longer.push(0);
        assert!(Container::open(&longer, Kind::Core).unwrap_err().to_string().contains("1 bytes too many"));
    }

    proptest! {
        #[test]
        fn random_bytes_never_open(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(Container::open(&bytes, Kind::Core).is_err());
        }

        #[test]
        fn random_headers_with_the_right_hash_never_panic(at in 8usize..140, value in proptest::collection::vec(any::<u8>(), 1..16)) {
            if (at..at + value.len()).any(|i| (HASH_AT..HASH_AT + 8).contains(&i)) { return Ok(()); }
            let bytes = with(at, &value);
            if let Ok(container) = Container::open(&bytes, Kind::Core) {
                for tag in [*b"META", *b"TEXT", *b"NONE"] { let _ = container.section(tag); }
            }
        }
    }
}
