//! Notes that `tagq export` leaves in a table.

use tagq_store::{Recording, Tick};

use crate::formats::format::Header;

/// Returns the header that these notes make, and what they say of the recording. A note that is damaged counts as
/// none.
pub(super) fn read<'a>(notes: impl IntoIterator<Item = (&'a str, &'a str)>) -> (Header, Recording) {
    let (mut header, mut recording) = (Header::default(), Recording::default());
    for (key, value) in notes {
        match key {
            "tagq.tick" => header.tick = Tick::from_fraction(value).ok(),
            "tagq.micro_tick" => header.micro_tick = Tick::from_fraction(value).ok(),
            "tagq.tick_assumed" => header.tick_assumed = value == "true",
            "tagq.recording" => {
                recording = serde_json::from_str(value).map(Recording::checked).unwrap_or_default();
            }
            _ => {}
        }
    }
    header.sync_period = recording.pulses.map(|pulses| pulses.period);
    header.has_facts = !recording.facts.is_empty();
    header.channel_names.clone_from(&recording.channel_names);
    (header, recording)
}
