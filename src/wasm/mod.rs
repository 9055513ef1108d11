//! The boundary to JavaScript: the only module that names it.
