//! The recorder's `.tags`: a stream of Cap'n Proto messages, each a `List(List(Tag))`.

pub mod encode;
mod fault;
mod kept;
mod message;
mod pointer;
mod read;

use std::sync::Arc;

use tagq_store::Tick;

use crate::{
    error::Error,
    formats::format::{Format, FormatFacts, Header, Reader, Sink, Summary},
    payload::Payload,
    settings::Settings,
};

/// The end of the names of files of messages.
pub(crate) const SUFFIX: &str = ".tags";

/// The name of the format, see [`FormatFacts::names`].
pub(crate) const NAME: &str = "tags";

/// The format of a recorder.
pub(crate) struct TagMessages;

impl Format for TagMessages {
    fn facts(&self) -> FormatFacts {
        FormatFacts {
            names: &[NAME],
            suffixes: &[SUFFIX],
            recognised: "the segment table of a Cap'n Proto message",
        }
    }

    /// A stream begins with a segment table. A file without bytes is one without messages.
    fn is_start(&self, start: &[u8]) -> bool {
        let segments = std::array::from_fn(|at| start.get(at).copied().unwrap_or(0));
        u32::from_le_bytes(segments) < message::SEGMENTS_MAX
    }

    fn reader(&self, _: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        Ok(Some(Arc::new(Self)))
    }
}

impl Reader for TagMessages {
    fn header(&self, _: &Payload<'_>, _: &Settings) -> Result<Header, Error> {
        Ok(Header { tick: Some(Tick::DEFAULT), tick_assumed: true, ..Header::default() })
    }

    fn read(
        &self,
        payload: &Payload<'_>,
        settings: &Settings,
        sink: &mut Sink<'_>,
    ) -> Result<Summary, Error> {
        read::read(payload, settings, sink)
    }
}
