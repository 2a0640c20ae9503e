//! The book in docs/book. Its commands are run page by page, each page in a new folder, and their output must
//! equal what the page shows.
//!
//! - A block `sh` is run by a shell. Its output goes to a terminal of 100 columns, and it must succeed.
//! - A block `text` after it shows the content of the terminal. A line `…` stands for omitted lines.
//! - A block `python` begins with its name, `# fit.py: …`, and is saved under this name.
//! - A figure in `figures/PAGE/` must equal the file of that name left by the page's commands, byte for byte.
//!
//! With `TAGQ_BOOK=write` outputs and figures are written into the pages instead (`cargo xtask book`).

mod page;

use std::{
    env, fs,
    ops::Range,
    path::Path,
    process::Command,
    sync::{Mutex, PoisonError},
    thread,
};

use crate::{
    support::{root, skipped},
    terminal::{self, Screen, Shows},
};
use page::{Block, Page, anchor, pages, source};

/// A line of the start page that is not run: it takes minutes, and the program is already built.
const INSTALL: &str = "cargo install --locked --path crates/cli";

/// Width at which most pages of the book are shown.
const SCREEN: Screen = Screen { rows: 50, columns: 100, shows: Shows::Stdout };

/// Stands for omitted lines.
const CUT: &str = "…";

#[test]
fn every_command_runs_and_prints_what_is_shown() {
    if let Err(error) = terminal::open(SCREEN) {
        return skipped(&format!("the book: no terminal: {error}"));
    }
    let write = env::var_os("TAGQ_BOOK").is_some_and(|word| word == "write");
    let python = Command::new("python3").arg("--version").output();
    let has_python = python.is_ok_and(|output| output.status.success());
    // The examples of the definitions stand in the file that a page includes.
    let definitions = Page::read("../../queries.md");
    let queue = Mutex::new(pages().into_iter().chain([definitions]));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(page) = next() {
            if !has_python && page.lines.iter().any(|line| line.contains("python3 ")) {
                skipped(&format!("docs/book/src/{}: no python3", page.name));
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            let new = run_page(&page, folder.path(), write);
            check_figures(&page, folder.path(), write);
            if write && new != page.lines {
                fs::write(source().join(&page.name), new.join("\n") + "\n").unwrap();
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        // Each thread prints its own failure.
        let failed = workers.into_iter().filter_map(|worker| worker.join().err()).count();
        assert_eq!(failed, 0, "see above; `cargo xtask book` writes new outputs and figures");
    });
}

/// Runs the blocks of a page in order. Returns its lines with the current outputs.
fn run_page(page: &Page, folder: &Path, write: bool) -> Vec<String> {
    let blocks = page.blocks();
    let mut replaced: Vec<(Range<usize>, Vec<String>)> = Vec::new();
    let mut before: Option<(&Block, Vec<String>)> = None;
    for block in &blocks {
        let (at, text) = (page.at(block), page.text(block));
        let last = before.take();
        match block.language.as_str() {
            "sh" => before = Some((block, run_block(&at, &text, folder))),
            "python" => {
                let name = text.strip_prefix("# ").and_then(|rest| rest.split_once(".py: "));
                let (name, _) =
                    name.unwrap_or_else(|| panic!("{at}: begins without `# NAME.py: `"));
                fs::write(folder.join(format!("{name}.py")), text).unwrap();
            }
            "text" => {
                let last = last.filter(|(command, _)| page.follows(block, command));
                let (_, printed) = last.unwrap_or_else(|| panic!("{at}: no command before it"));
                let shown = &page.lines[block.lines.clone()];
                let now = cut_like(shown, &printed);
                if write {
                    replaced.push((block.lines.clone(), now));
                } else {
                    compare(&at, shown, &now);
                }
            }
            "toml" | "" => {}
            other => panic!("{at}: a block of {other}, which no test looks at"),
        }
    }
    let mut lines = page.lines.clone();
    for (range, now) in replaced.into_iter().rev() {
        lines.splice(range, now);
    }
    lines
}

/// Runs a block of commands, which must succeed. Returns the lines on the terminal.
fn run_block(at: &str, text: &str, folder: &Path) -> Vec<String> {
    let mut commands = String::new();
    for line in text.lines() {
        let program = line.split_whitespace().next().unwrap_or_default();
        if line == INSTALL {
            installs_this_program(at);
        } else {
            assert!(
                !["cargo", "git", "pip"].contains(&program),
                "{at}: is not run by a test: {line}"
            );
            commands.push_str(line);
            commands.push('\n');
        }
    }
    let program = Path::new(env!("CARGO_BIN_EXE_tagq")).parent().unwrap();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([program.to_owned()].into_iter().chain(env::split_paths(&path)));
    let mut shell = Command::new("sh");
    shell.args(["-e", "-u", "-c", &commands]).current_dir(folder).env("PATH", path.unwrap());
    let ran = terminal::run(shell, folder, SCREEN).unwrap_or_else(|e| panic!("{at}: {e}"));
    assert!(ran.success, "{at}: failed:\n{}{}", ran.lines.join("\n"), ran.apart);
    ran.lines
}

/// Checks what `cargo install` needs: the package in this folder has the program, and a lock file.
fn installs_this_program(at: &str) {
    let manifest = fs::read_to_string(root().join("crates/cli/Cargo.toml")).unwrap();
    assert!(manifest.contains("[[bin]]\nname = \"tagq\"\n"), "{at}: installs no tagq");
    assert!(root().join("Cargo.lock").is_file(), "{at}: nothing is locked");
}

/// Returns the output with as many lines before and after the cut as the page shows.
fn cut_like(shown: &[String], printed: &[String]) -> Vec<String> {
    let Some(head) = shown.iter().position(|line| line == CUT) else { return printed.to_vec() };
    let tail = shown.len() - head - 1;
    if printed.len() <= head + tail {
        return printed.to_vec();
    }
    let mut lines = printed[..head].to_vec();
    lines.push(CUT.to_owned());
    lines.extend_from_slice(&printed[printed.len() - tail..]);
    lines
}

/// Panics with the first line that differs.
fn compare(at: &str, shown: &[String], now: &[String]) {
    let lines = shown.len().max(now.len());
    let line = |of: &[String], at: usize| of.get(at).cloned().unwrap_or_default();
    for number in 0..lines {
        let (shown, now) = (line(shown, number), line(now, number));
        assert!(shown == now, "{at}: line {} shows\n{shown}\nand is now\n{now}", number + 1);
    }
    assert_eq!(shown.len(), now.len(), "{at}: lines shown and printed");
}

/// Checks that the figures of a page are those that its commands left, and that there are no others.
fn check_figures(page: &Page, folder: &Path, write: bool) {
    let (home, shown) = (page.figures_folder(), page.figures());
    for name in &shown {
        let made = fs::read(folder.join(name));
        let made = made.unwrap_or_else(|e| panic!("{}: no command writes {name}: {e}", page.name));
        if write {
            fs::create_dir_all(&home).unwrap();
            fs::write(home.join(name), made).unwrap();
        } else {
            let kept = fs::read(home.join(name)).unwrap_or_default();
            assert!(kept == made, "{}: {name} is not what the page's commands draw", page.name);
        }
    }
    for file in fs::read_dir(&home).into_iter().flatten() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(shown.contains(&name), "{}: figures/{name} is not shown", page.name);
    }
}

#[test]
fn every_page_is_in_the_summary_and_every_link_leads_somewhere() {
    let pages = pages();
    let mut listed: Vec<String> = pages.iter().map(|page| page.name.clone()).collect();
    listed.push("SUMMARY.md".to_owned());
    listed.sort();
    let mut found = Vec::new();
    pages_below(&source(), "", &mut found);
    found.sort();
    assert_eq!(listed, found);
    let mut links = 0;
    for page in &pages {
        let folder = source().join(&page.name).parent().unwrap().to_owned();
        // Included text becomes part of the page, with its links.
        let taken_in = page.includes().into_iter().map(|path| {
            let text =
                fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            Page { name: page.name.clone(), lines: text.lines().map(str::to_owned).collect() }
        });
        let whole: Vec<Page> = taken_in.collect();
        for link in page.links().into_iter().chain(whole.iter().flat_map(Page::links)) {
            if link.starts_with("https://") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let to = if path.is_empty() { source().join(&page.name) } else { folder.join(path) };
            assert!(to.exists(), "{}: {link} leads nowhere", page.name);
            assert!(heading.is_empty() || has_heading(&to, heading), "{}: {link}", page.name);
            links += 1;
        }
    }
    assert!(links > 20, "{links}");
}

fn pages_below(folder: &Path, name: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let below = format!("{name}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            pages_below(&entry.path(), &format!("{below}/"), found);
        } else if entry.path().extension().is_some_and(|end| end == "md") {
            found.push(below);
        }
    }
}

/// Returns whether a page, or a file that it includes, has a heading of this name.
fn has_heading(path: &Path, heading: &str) -> bool {
    let name = path.strip_prefix(source()).ok().and_then(Path::to_str);
    let Some(name) = name else { return false };
    let page = Page::read(name);
    let taken_in = page.includes().into_iter().map(|path| fs::read_to_string(path).unwrap());
    let texts = [page.lines.join("\n")].into_iter().chain(taken_in).collect::<Vec<_>>();
    let headings = texts.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with('#'));
    headings.map(anchor).any(|anchor| anchor == heading)
}
