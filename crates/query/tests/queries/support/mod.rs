//! Tags for the tests of several queries.

use proptest::prelude::*;
use tagq_query::{Recording, Source};
use tagq_store::{
    Block, ChannelRows, Channels, MicroColumn, Tags,
    format::{MICRO_NONE, MICRO_NONE_U16, PerFile},
};

/// The (time, channel) pairs of each source.
pub(crate) type Sources = Vec<Vec<(i64, u16)>>;

/// Generates sources of few tags with many equal times. With `in_order` each begins after the previous one.
pub(crate) fn sources(in_order: bool) -> impl Strategy<Value = Sources> {
    let label = prop_oneof![4 => 0_u16..4, 1 => prop::sample::select(vec![254_u16, 255, 1_255])];
    let source = prop::collection::vec((-60_i64..60, label), 0..90);
    prop::collection::vec(source, 1..3).prop_map(move |mut sources| {
        if in_order {
            let all: Vec<_> = sources.concat();
            let cut = sources[0].len();
            let mut all = all;
            all.sort_by_key(|&(time, _)| time);
            sources = vec![all[..cut].to_vec(), all[cut..].to_vec()];
        }
        for source in &mut sources {
            source.sort_by_key(|&(time, _)| time);
        }
        sources
    })
}

/// Returns the sources with two-byte labels.
pub(crate) fn recording(sources: &Sources) -> Recording<'static> {
    recordings(sources, None).remove(0)
}

/// Returns the sources with two-byte labels, with one-byte labels if they fit, and both with an index of
/// blocks if requested. The tags are leaked, because the test process is short.
pub(crate) fn recordings(sources: &Sources, block_rows: Option<usize>) -> Vec<Recording<'static>> {
    let fits = sources.iter().flatten().all(|&(_, label)| label < 256);
    let mut recordings = Vec::new();
    for is_narrow in if fits { &[false, true][..] } else { &[false] } {
        let sources_of = |tags: &Vec<(i64, u16)>| source(tags, *is_narrow);
        recordings.push(Recording::new(sources.iter().map(sources_of).collect()));
    }
    let Some(block_rows) = block_rows else { return recordings };
    let blocks = blocks(sources, block_rows);
    for plain in recordings.clone() {
        let mut row = 0;
        let with_blocks = |source: Source<'static>| {
            let first = row;
            row += source.tags.len() as u64;
            source.with_blocks(blocks.clone(), first)
        };
        let sources = plain.sources.into_iter().map(with_blocks).collect();
        recordings.push(Recording::new(sources));
    }
    recordings
}

fn source(tags: &[(i64, u16)], is_narrow: bool) -> Source<'static> {
    let time: &'static [i64] = tags.iter().map(|&(time, _)| time).collect::<Vec<_>>().leak();
    let channels = if is_narrow {
        let labels = tags.iter().map(|&(_, label)| label.to_le_bytes()[0]);
        Channels::U8((&*labels.collect::<Vec<_>>().leak()).into())
    } else {
        Channels::U16((&*tags.iter().map(|&(_, label)| label).collect::<Vec<_>>().leak()).into())
    };
    let mut source = Recording::from_tags(Tags { time: time.into(), channels }).sources.remove(0);
    let micro = || tags.iter().map(|&(time, label)| micro_of(time, label));
    let is_short = |micro: Option<u32>| micro.is_none_or(|micro| micro < MICRO_NONE_U16.into());
    source.micro = Some(if micro().all(is_short) {
        let short = micro().map(|micro| micro.map_or(Ok(MICRO_NONE_U16), u16::try_from).unwrap());
        MicroColumn::U16((&*short.collect::<Vec<_>>().leak()).into())
    } else {
        let wide = micro().map(|micro| micro.unwrap_or(MICRO_NONE));
        MicroColumn::U32((&*wide.collect::<Vec<_>>().leak()).into())
    });
    source
}

/// Returns the micro time of a tag: some of channel 2 are longer than two bytes.
pub(crate) fn micro_of(time: i64, label: u16) -> Option<u32> {
    let micro = u32::try_from(7 * time.rem_euclid(50) % 50).ok()? + u32::from(label % 3);
    let is_long = label == 2 && micro % 4 == 0;
    (micro % 10 != 9).then_some(if is_long { micro * 50_000_017 } else { micro })
}

/// Returns blocks over all sources; block borders are independent of source borders.
fn blocks(sources: &Sources, block_rows: usize) -> Vec<Block> {
    let all: Vec<(i64, u16)> = sources.concat();
    let block = |(number, tags): (usize, &[(i64, u16)])| {
        let mut labels: Vec<u16> = tags.iter().map(|&(_, label)| label).collect();
        labels.sort_unstable();
        let rows_of = |label| tags.iter().filter(|&&(_, other)| other == label).count() as u64;
        let mut channels: Vec<ChannelRows> =
            labels.iter().map(|&channel| ChannelRows { channel, rows: rows_of(channel) }).collect();
        channels.dedup_by_key(|known| known.channel);
        let start = (number * block_rows) as u64;
        Block {
            rows: start..start + tags.len() as u64,
            time_min: tags[0].0,
            time_max: tags[tags.len() - 1].0,
            checksums: PerFile::default(),
            channels,
        }
    };
    all.chunks(block_rows).enumerate().map(block).collect()
}
