//! Block codecs: how small and how fast the store could be with blocks that are decoded.

use std::{hint::black_box, path::PathBuf, time::Instant};

use rayon::prelude::*;
use tagq_store::Tag;

use super::{
    Plan,
    child::{Measured, Step},
    parent::{Answers, Job, in_turn},
};
use crate::{
    Compression, Result, Source,
    format::Message,
    formats::BLOCK_CODECS,
    gaps::ZstdGaps,
    report::{Table, count, spread},
    source::{BATCH_TAGS, sum_of},
};

static GAPS: [(&str, &dyn Message); 2] =
    [("zstd1-gaps", &ZstdGaps(1)), ("zstd3-gaps", &ZstdGaps(3))];

fn all() -> impl Iterator<Item = (&'static str, &'static dyn Message)> {
    BLOCK_CODECS.iter().chain(&GAPS).copied()
}

/// Encodes and decodes all blocks by each codec, in turn.
pub fn measure(plan: &Plan) -> Result<Vec<Table>> {
    let job = |(name, _): (&str, _)| Job {
        step: Step::Codec,
        name: name.to_owned(),
        compression: Compression::None,
        source: &plan.source,
        path: PathBuf::from("-"),
        count: plan.decoded,
        cold: false,
    };
    let jobs: Vec<Job<'_>> = all().map(job).collect();
    let rounds = in_turn(&jobs, plan.runs, &mut Answers::default())?;
    let caption = format!(
        "Blocks of {} rows, {} tags; million rows a second, in memory",
        count(BATCH_TAGS as u64),
        count(plan.source.tags)
    );
    let mut table = Table::new("codecs", caption);
    table.head(&["codec", "B/tag", "encode, one core", "decode, one core", "decode, all cores"]);
    for (job, rounds) in jobs.iter().zip(&rounds) {
        table.raw_rounds(&job.name, Compression::None, "codec", rounds);
        table.rows.push(vec![
            job.name.clone(),
            format!("{:.3}", rounds.median("bytes_per_tag")),
            spread(rounds, "encode", 1e-6),
            spread(rounds, "decode_one", 1e-6),
            spread(rounds, "decode_all", 1e-6),
        ]);
    }
    Ok(vec![table])
}

/// Measures one codec, by decoding at least `decoded` tags.
pub fn run(name: &str, source: &Source, decoded: usize) -> Result<Measured> {
    let (_, codec) = all().find(|(of, _)| *of == name).ok_or("an unknown codec")?;
    let tags = source.tags as f64;
    let mut reader = source.read()?;
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    let start = Instant::now();
    while let Some(batch) = reader.next_batch()? {
        let mut block = Vec::new();
        codec.encode(batch, &mut block)?;
        blocks.push(block);
    }
    let encode = start.elapsed().saturating_sub(reader.taken()).as_secs_f64();
    let bytes: usize = blocks.iter().map(Vec::len).sum();
    let mut tags_of_block = Vec::with_capacity(BATCH_TAGS);
    let mut sum = 0_u64;
    for block in &blocks {
        tags_of_block.clear();
        codec.decode(block, &mut tags_of_block)?;
        sum = sum.wrapping_add(sum_of(&tags_of_block));
    }
    if sum != source.sum {
        return Err(format!("{name}: other tags").into());
    }
    // Few blocks are decoded several times, so that the start of threads does not count.
    let repeats = usize::try_from((decoded as u64).div_ceil(source.tags))?.max(1);
    let start = Instant::now();
    for block in blocks.iter().cycle().take(blocks.len() * repeats) {
        decode(codec, block, &mut tags_of_block)?;
    }
    let one = start.elapsed().as_secs_f64() / repeats as f64;
    let decode_blocks = |repeats: usize| {
        (0..repeats).into_par_iter().flat_map(|_| blocks.par_iter()).try_for_each_init(
            || Vec::with_capacity(BATCH_TAGS),
            |decoded, block| decode(codec, block, decoded),
        )
    };
    // Starts the threads.
    decode_blocks(1)?;
    let start = Instant::now();
    decode_blocks(repeats)?;
    let every = start.elapsed().as_secs_f64() / repeats as f64;
    let mut measured = Measured::value("bytes_per_tag", bytes as f64 / tags);
    for (name, seconds) in [("encode", encode), ("decode_one", one), ("decode_all", every)] {
        measured.values.push((name.into(), tags / seconds));
    }
    Ok(measured)
}

fn decode(codec: &dyn Message, block: &[u8], decoded: &mut Vec<Tag>) -> Result<()> {
    decoded.clear();
    codec.decode(block, decoded)?;
    black_box(decoded);
    Ok(())
}
