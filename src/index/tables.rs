//! The page table, the chunk table and the text shards of an index as bytes.
//!
//! Input and output: [`Document`]s, [`Chunk`]s and their texts. Headings and anchors repeat from chunk to chunk, so each
//! chunk states only what differs from the one before it.
//! **Invariant:** chunks are grouped by page in the order of the page table; a decoded chunk names a page that is there.

use crate::error::Result;
use crate::lowercase::lowercase;
use crate::retrieval::codec::{ByteReader, put_bytes, put_varint};
use crate::retrieval::document::{Chunk, Document};
use crate::turn::Language;

/// The page table as bytes.
#[must_use]
pub fn documents_to_bytes(documents: &[Document]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, documents.len() as u64);
    for document in documents {
        put_bytes(&mut out, document.id.as_bytes());
        put_bytes(&mut out, document.title.as_bytes());
        put_bytes(&mut out, document.url.as_bytes());
        put_varint(&mut out, document.tags.len() as u64);
        document.tags.iter().for_each(|tag| put_bytes(&mut out, tag.as_bytes()));
        out.push(match document.language {
            Language::English => 0,
            Language::Chinese => 1,
        });
        for text in [&document.version, &document.section, &document.date] {
            put_optional(&mut out, text.as_deref());
        }
        out.extend_from_slice(&document.authority.to_le_bytes());
        out.extend_from_slice(&document.boost.to_le_bytes());
    }
    out
}

/// Reads what [`documents_to_bytes`] wrote.
///
/// # Errors
/// [`crate::error::IndexError::Damaged`] when a length does not fit or a number is out of range.
pub fn documents_from_bytes(bytes: &[u8]) -> Result<Vec<Document>> {
    let mut reader = ByteReader::new(bytes, "the page table");
    // Four lengths, a language, three flags and two numbers.
    let count = reader.count(16)?;
    let mut documents = Vec::with_capacity(count);
    for _ in 0..count {
        let id = reader.text()?.to_owned();
        let title = reader.text()?.to_owned();
        let url = reader.text()?.to_owned();
        let tag_count = reader.count(1)?;
        let mut tags = Vec::with_capacity(tag_count);
        for _ in 0..tag_count {
            tags.push(reader.text()?.to_owned());
        }
        let language = match reader.byte()? {
            0 => Language::English,
            1 => Language::Chinese,
            _ => return Err(reader.damaged()),
        };
        let version = optional(&mut reader)?;
        let section = optional(&mut reader)?;
        let date = optional(&mut reader)?;
        let authority = number(&mut reader)?;
        let boost = number(&mut reader)?;
        if !(0.0..=1.0).contains(&authority) || !(0.1..=10.0).contains(&boost) {
            return Err(reader.damaged());
        }
        documents.push(Document { id, title, url, tags, language, version, section, date, authority, boost });
    }
    reader.finish()?;
    Ok(documents)
}

/// The chunk table as bytes; the texts are not part of it.
#[must_use]
pub fn chunks_to_bytes(chunks: &[Chunk], documents: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = chunks;
    for document in 0..documents as u32 {
        let length = rest.iter().take_while(|chunk| chunk.document == document).count();
        let (of_page, after) = rest.split_at(length);
        rest = after;
        put_varint(&mut out, length as u64);
        let mut before = Chunk::default();
        for chunk in of_page {
            let pairs = before.heading_path.iter().zip(&chunk.heading_path);
            let shared = pairs.take_while(|(a, b)| a == b).count();
            put_varint(&mut out, shared as u64);
            put_varint(&mut out, (chunk.heading_path.len() - shared) as u64);
            chunk.heading_path[shared..].iter().for_each(|heading| put_bytes(&mut out, heading.as_bytes()));
            match &chunk.anchor {
                None => out.push(0),
                Some(_) if chunk.anchor == before.anchor => out.push(1),
                Some(anchor) if chunk.heading_path.last().is_some_and(|heading| slug(heading) == *anchor) => {
                    out.push(3)
                }
                Some(anchor) => {
                    out.push(2);
                    put_bytes(&mut out, anchor.as_bytes());
                }
            }
            before = chunk.clone();
        }
    }
    out
}

/// Reads what [`chunks_to_bytes`] wrote, for a page table of that length. The texts are empty.
///
/// # Errors
/// [`crate::error::IndexError::Damaged`] when a length does not fit.
pub fn chunks_from_bytes(bytes: &[u8], documents: usize) -> Result<Vec<Chunk>> {
    let mut reader = ByteReader::new(bytes, "the chunk table");
    let mut chunks: Vec<Chunk> = Vec::new();
    for document in 0..documents {
        // Two counts and an anchor flag.
        let count = reader.count(3)?;
        let mut heading_path: Vec<String> = Vec::new();
        let mut anchor: Option<String> = None;
        for ordinal in 0..count {
            let shared = reader.at_most(heading_path.len())?;
            heading_path.truncate(shared);
            let new = reader.count(1)?;
            for _ in 0..new {
                heading_path.push(reader.text()?.to_owned());
            }
            anchor = match reader.byte()? {
                0 => None,
                1 if anchor.is_some() => anchor,
                2 => Some(reader.text()?.to_owned()),
                3 => Some(slug(heading_path.last().ok_or_else(|| reader.damaged())?)),
                _ => return Err(reader.damaged()),
            };
            chunks.push(Chunk {
                document: document as u32,
                ordinal: ordinal as u32,
                heading_path: heading_path.clone(),
                anchor: anchor.clone(),
                text: String::new(),
            });
        }
    }
    reader.finish()?;
    Ok(chunks)
}

/// The anchor that most generators make of a heading: lower case, spaces as hyphens, punctuation dropped. Anchors that are
/// made otherwise are stored as they are.
fn slug(heading: &str) -> String {
    let kept: String = heading
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || matches!(c, '-' | '_') => Some(c),
            _ => None,
        })
        .collect();
    lowercase(&kept)
}

/// The first chunk of each text shard and, last, the number of chunks, as bytes.
#[must_use]
pub fn shard_starts_to_bytes(starts: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, starts.len().saturating_sub(1) as u64);
    starts.windows(2).for_each(|pair| put_varint(&mut out, u64::from(pair[1].saturating_sub(pair[0]))));
    out
}

/// Reads what [`shard_starts_to_bytes`] wrote and checks that the shards cover exactly `chunks` chunks.
///
/// # Errors
/// [`crate::error::IndexError::Damaged`] when they do not.
pub fn shard_starts_from_bytes(bytes: &[u8], chunks: usize) -> Result<Vec<u32>> {
    let mut reader = ByteReader::new(bytes, "the table of text shards");
    let length = reader.count(1)?;
    let mut starts = Vec::with_capacity(length + 1);
    let mut first = 0;
    starts.push(0);
    for _ in 0..length {
        let count = reader.at_most(chunks - first)?;
        if count == 0 {
            return Err(reader.damaged());
        }
        first += count;
        starts.push(first as u32);
    }
    if first != chunks {
        return Err(reader.damaged());
    }
    reader.finish()?;
    Ok(starts)
}

/// The texts of one shard as bytes: the lengths, then the texts, so that equal neighborhoods compress.
#[must_use]
pub fn texts_to_bytes(texts: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, texts.len() as u64);
    texts.iter().for_each(|text| put_varint(&mut out, text.len() as u64));
    texts.iter().for_each(|text| out.extend_from_slice(text.as_bytes()));
    out
}

/// Reads what [`texts_to_bytes`] wrote.
///
/// # Errors
/// [`crate::error::IndexError::Damaged`] when a length does not fit or a text is not UTF-8.
pub fn texts_from_bytes(bytes: &[u8]) -> Result<Vec<String>> {
    let mut reader = ByteReader::new(bytes, "a text shard");
    let count = reader.count(1)?;
    let mut lengths = Vec::with_capacity(count);
    for _ in 0..count {
        lengths.push(reader.at_most(bytes.len())?);
    }
    let mut texts = Vec::with_capacity(count);
    for length in lengths {
        let text = std::str::from_utf8(reader.take(length)?).map_err(|_| reader.damaged())?;
        texts.push(text.to_owned());
    }
    reader.finish()?;
    Ok(texts)
}

/// A number of 4 bytes, little-endian.
fn number(reader: &mut ByteReader<'_>) -> Result<f32> {
    let bytes = reader.take(4)?;
    Ok(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

fn put_optional(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        None => out.push(0),
        Some(text) => {
            out.push(1);
            put_bytes(out, text.as_bytes());
        }
    }
}

fn optional(reader: &mut ByteReader<'_>) -> Result<Option<String>> {
    match reader.byte()? {
        0 => Ok(None),
        1 => Ok(Some(reader.text()?.to_owned())),
        _ => Err(reader.damaged()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn documents() -> Vec<Document> {
        let page = |id: &str, language| Document {
            id: id.to_owned(),
            title: format!("{id} 标题"),
            url: format!("/{id}.html"),
            tags: vec!["python/venv".into(), "安装".into()],
            language,
            version: Some("2.4".into()),
            section: None,
            date: Some("2025-01-31".into()),
            authority: 0.5,
            boost: 1.5,
        };
        vec![page("guide/a", Language::English), page("empty", Language::English), page("指南", Language::Chinese)]
    }

    fn chunks() -> Vec<Chunk> {
        let chunk = |document, ordinal, path: &[&str], anchor: Option<&str>| Chunk {
            document,
            ordinal,
            heading_path: path.iter().map(|heading| (*heading).to_owned()).collect(),
            anchor: anchor.map(str::to_owned),
            text: String::new(),
        };
        vec![
            chunk(0, 0, &[], None),
            chunk(0, 1, &["Install", "Linux"], Some("linux")),
            chunk(0, 2, &["Install", "Linux"], Some("linux")),
            chunk(0, 3, &["Install"], Some("install")),
            chunk(2, 0, &["安装"], Some("安装")),
            chunk(2, 1, &["Use `v-model` twice"], Some("use-v-model-twice")),
            chunk(2, 2, &["Use it"], Some("use-it-1")),
        ]
    }

    #[test]
    fn tables_round_trip() {
        assert_eq!(documents_from_bytes(&documents_to_bytes(&documents())).unwrap(), documents());
        let bytes = chunks_to_bytes(&chunks(), 3);
        assert_eq!(chunks_from_bytes(&bytes, 3).unwrap(), chunks());
        assert!(chunks_from_bytes(&bytes, 2).is_err(), "a page less");
        assert!(chunks_from_bytes(&bytes, 4).is_err(), "a page more");
        let texts = ["", "安装 Milvus", "b"];
        assert_eq!(texts_from_bytes(&texts_to_bytes(&texts)).unwrap(), texts);
        let bytes = shard_starts_to_bytes(&[0, 3, 5]);
        assert_eq!(shard_starts_from_bytes(&bytes, 5).unwrap(), [0, 3, 5]);
        assert!(shard_starts_from_bytes(&bytes, 4).is_err() && shard_starts_from_bytes(&bytes, 6).is_err());
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for (authority, boost) in [(2.0, 1.0), (-0.1, 1.0), (0.5, 0.0), (0.5, f32::NAN), (f32::INFINITY, 1.0)] {
            let page = Document { authority, boost, ..documents()[0].clone() };
            assert!(documents_from_bytes(&documents_to_bytes(&[page])).is_err(), "{authority} {boost}");
        }
    }

    #[test]
    fn every_truncation_is_told() {
        type Refuses = fn(&[u8]) -> bool;
        let all: [(Vec<u8>, Refuses); 3] = [
            (documents_to_bytes(&documents()), |bytes| documents_from_bytes(bytes).is_err()),
            (chunks_to_bytes(&chunks(), 3), |bytes| chunks_from_bytes(bytes, 3).is_err()),
            (texts_to_bytes(&["one", "二"]), |bytes| texts_from_bytes(bytes).is_err()),
        ];
        for (bytes, refused) in all {
            for length in 0..bytes.len() {
                assert!(refused(&bytes[..length]), "{length}");
            }
        }
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), documents in 0usize..5) {
            let _ = documents_from_bytes(&bytes);
            let _ = chunks_from_bytes(&bytes, documents);
            let _ = texts_from_bytes(&bytes);
            let _ = shard_starts_from_bytes(&bytes, documents);
        }
    }
}
