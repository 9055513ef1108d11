//! The index files: format, chunking, building.
