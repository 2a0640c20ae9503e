//! Formats of messages and rows, each in a file, and the list of all formats.

mod capnp;
pub mod chunked;
mod fastlanes;
mod flatbuffer;
pub mod mapped;
mod msgpack;
mod protobuf;
mod rows;
mod sbe;
mod text;
pub mod varint;

use self::chunked::Chunked;
use crate::{
    Result,
    columns::{arrow::ArrowIpc, parquet::Parquet, recorder::TagsZst, store::TagqStore},
    format::{Format, Message},
    framed::Framed,
};

/// The stream of varints.
pub const VARINT: Chunked<varint::Varint> = Chunked(varint::Varint);
/// Chunks of FastLanes.
const FASTLANES: Chunked<fastlanes::FastLanes> = Chunked(fastlanes::FastLanes);

/// All formats, in the order of the tables.
pub static ALL: [&dyn Format; 20] = [
    &Framed(text::Text::CRLF),
    &Framed(text::Text::LF),
    &Framed(rows::Rows9::LITTLE),
    &Framed(rows::Rows9::BIG),
    &Framed(rows::Rows16),
    &mapped::Mapped,
    &Framed(capnp::Unpacked),
    &Framed(capnp::Packed),
    &Framed(protobuf::Structs),
    &Framed(protobuf::Arrays),
    &Framed(flatbuffer::FlatBuffer),
    &Framed(msgpack::MessagePack),
    &Framed(sbe::Sbe),
    &Framed(VARINT),
    &Framed(FASTLANES),
    &Parquet,
    &ArrowIpc,
    &TagsZst,
    &TagqStore::PLAIN,
    &TagqStore::WITH_GAPS,
];

/// Returns the format of a name.
pub fn of_name(name: &str) -> Result<&'static dyn Format> {
    let format = ALL.into_iter().find(|format| format.name() == name);
    format.ok_or_else(|| format!("no format is called `{name}`").into())
}

/// Block codecs that are formats, too.
pub static BLOCK_CODECS: [(&str, &dyn Message); 3] =
    [("fastlanes", &FASTLANES), ("varint", &VARINT), ("parquet", &Parquet)];
