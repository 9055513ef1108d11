//! The index files: reading documentation, cutting it into chunks, building the files and opening them again.

pub mod format;
