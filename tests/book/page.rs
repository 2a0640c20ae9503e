//! A page of the book: its blocks of code, its figures and its links.

use std::{fs, ops::Range, path::PathBuf};

use crate::support::root;

/// Returns the folder of the pages.
pub(super) fn source() -> PathBuf {
    root().join("docs/book/src")
}

/// A page: its path below [`source`] and its lines.
pub(super) struct Page {
    pub name: String,
    pub lines: Vec<String>,
}

/// A fenced block: its language, and the lines between the fences.
#[derive(Debug)]
pub(super) struct Block {
    pub language: String,
    pub lines: Range<usize>,
}

impl Page {
    pub(super) fn read(name: &str) -> Self {
        let path = source().join(name);
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self { name: name.to_owned(), lines: text.lines().map(str::to_owned).collect() }
    }

    /// Returns the folder of the page's figures.
    pub(super) fn figures_folder(&self) -> PathBuf {
        let stem = self.name.trim_end_matches(".md").rsplit('/').next().unwrap();
        source().join("figures").join(stem)
    }

    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<(String, usize)> = None;
        for (at, line) in self.lines.iter().enumerate() {
            let Some(language) = line.strip_prefix("```") else { continue };
            open = match open {
                None => Some((language.to_owned(), at + 1)),
                Some((language, from)) => {
                    blocks.push(Block { language, lines: from..at });
                    None
                }
            };
        }
        assert!(open.is_none(), "{}: a block without an end", self.name);
        blocks
    }

    pub(super) fn text(&self, block: &Block) -> String {
        self.lines[block.lines.clone()].join("\n") + "\n"
    }

    /// Returns whether there are only blank lines between a block and the previous one.
    pub(super) fn follows(&self, block: &Block, before: &Block) -> bool {
        let between = before.lines.end + 1..block.lines.start - 1;
        self.lines[between].iter().all(|line| line.trim().is_empty())
    }

    /// Returns the position of a block, for messages.
    pub(super) fn at(&self, block: &Block) -> String {
        format!("docs/book/src/{}:{}", self.name, block.lines.start)
    }

    /// Returns the lines of prose.
    pub(super) fn prose(&self) -> impl Iterator<Item = &str> {
        let blocks = self.blocks();
        let is_code = move |at: usize| blocks.iter().any(|block| block.lines.contains(&at));
        self.lines.iter().enumerate().filter(move |(at, _)| !is_code(*at)).map(|(_, line)| &**line)
    }

    /// Returns the targets of links and pictures in the prose, as written.
    pub(super) fn links(&self) -> Vec<String> {
        let targets = |line: &str| -> Vec<String> {
            let rest = line.split("](").skip(1);
            rest.filter_map(|rest| rest.split_once(')')).map(|(to, _)| to.to_owned()).collect()
        };
        self.prose().flat_map(targets).collect()
    }

    /// Returns the files that the page includes.
    pub(super) fn includes(&self) -> Vec<PathBuf> {
        let folder = source().join(&self.name).parent().unwrap().to_owned();
        let path = |line: &str| {
            Some(folder.join(line.strip_prefix("{{#include ")?.strip_suffix("}}")?.trim()))
        };
        self.prose().filter_map(path).collect()
    }

    /// Returns the names of the figures on the page.
    pub(super) fn figures(&self) -> Vec<String> {
        let stem = self.figures_folder().file_name().unwrap().to_str().unwrap().to_owned();
        let below = format!("figures/{stem}/");
        let name = |link: String| Some(link.split_once(&below)?.1.to_owned());
        self.links().into_iter().filter_map(name).collect()
    }
}

/// Returns all pages, in the order of the summary.
pub(super) fn pages() -> Vec<Page> {
    let summary = Page::read("SUMMARY.md");
    summary.links().iter().map(|name| Page::read(name)).collect()
}

/// Returns a heading as it is named in a link: `#live-time-t`.
pub(super) fn anchor(heading: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || "-_ ".contains(c);
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    words.chars().filter(|&c| kept(c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}
