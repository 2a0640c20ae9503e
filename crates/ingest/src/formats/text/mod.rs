//! Text: a line for each tag. By default it is `channel TAB time` with times in ticks; a header, comments and options
//! may say otherwise.

pub(crate) mod columns;
pub(crate) mod fields;
mod hint;
mod labels;
mod layout;
mod line;
mod read;
mod split;
mod start;
mod stated;
mod stopped;
pub(crate) mod writer;

use std::sync::Arc;

use crate::{
    error::Error,
    formats::format::{Format, FormatFacts, Header, Reader, Sink, Summary},
    payload::Payload,
    settings::Settings,
};

pub use columns::TextColumns;
pub use fields::LineFault;
pub use writer::TextWriter;

/// The end of the names of files with tabs between the fields.
pub(crate) const TABS_SUFFIX: &str = ".tsv";
/// The end of the names of files with commas between the fields.
pub(crate) const COMMAS_SUFFIX: &str = ".csv";

/// The name of the format, see [`FormatFacts::names`].
pub(crate) const NAME: &str = "text";

/// Text of any program.
pub(crate) struct Text;

impl Format for Text {
    fn facts(&self) -> FormatFacts {
        FormatFacts {
            names: &[NAME],
            suffixes: &[TABS_SUFFIX, COMMAS_SUFFIX],
            recognised: "lines of numbers",
        }
    }

    fn is_start(&self, start: &[u8]) -> bool {
        start::is_text(start)
    }

    fn reader(&self, _: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        Ok(Some(Arc::new(Self)))
    }
}

impl Reader for Text {
    fn header(&self, payload: &Payload<'_>, settings: &Settings) -> Result<Header, Error> {
        read::header(payload, settings)
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
