//! Formats of messages and rows, each in a file, and the list of all formats.

mod capnp;
pub mod chunked;
mod flatbuffer;
pub mod mapped;
mod protobuf;
mod rows;
mod text;
pub mod varint;

use self::chunked::Chunked;
use crate::{
    Result,
    columns::{recorder::TagsZst, store::TagqStore},
    format::Format,
    framed::Framed,
};

/// The stream of varints.
pub const VARINT: Chunked<varint::Varint> = Chunked(varint::Varint);

/// All formats, in the order of the tables.
pub static ALL: [&dyn Format; 13] = [
    &Framed(text::Text::CRLF),
    &Framed(text::Text::LF),
    &Framed(rows::Rows9::LITTLE),
    &Framed(rows::Rows9::BIG),
    &mapped::Mapped,
    &Framed(capnp::Unpacked),
    &Framed(capnp::Packed),
    &Framed(protobuf::Structs),
    &Framed(flatbuffer::FlatBuffer),
    &Framed(VARINT),
    &TagsZst,
    &TagqStore::PLAIN,
    &TagqStore::WITH_GAPS,
];

/// Returns the format of a name.
pub fn of_name(name: &str) -> Result<&'static dyn Format> {
    let format = ALL.into_iter().find(|format| format.name() == name);
    format.ok_or_else(|| format!("no format is called `{name}`").into())
}
