//! Writes tags in any of the forms that are read: pieces encoded on several threads, written in order.
//!
//! `form` is the list of forms of files; each is a [`TagForm`], and so are those of tables in other crates.

mod encode;
mod form;
mod interface;
mod writer;

pub use form::{Content, Form, Packing};
pub use interface::{Keeps, Output, TagForm, TagSink, Times};
pub use writer::TagWriter;
