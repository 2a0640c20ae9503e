//! Output that appears on a terminal but not in a file.

use std::path::Path;

use crate::{
    support::{command, fixture_copy, skipped, tagq},
    terminal::{self, Ran, Screen, Shows, screen_after},
};

const SMALL: Screen = Screen { rows: 24, columns: 80, shows: Shows::Stdout };

/// Returns the output of a command, or `None` if no terminal can be opened.
fn on_terminal(folder: &Path, words: &str, screen: Screen) -> Option<Ran> {
    if let Err(error) = terminal::open(screen) {
        skipped(&format!("no terminal: {error}"));
        return None;
    }
    let mut command = command();
    command.current_dir(folder).args(words.split_whitespace());
    let ran = terminal::run(command, folder, screen).unwrap();
    assert!(ran.success, "{words}: {}{}", ran.lines.join("\n"), ran.apart);
    Some(ran)
}

#[test]
fn beside_a_figure_no_table_leaves_the_screen() {
    let folder = tempfile::tempdir().unwrap();
    fixture_copy(folder.path());
    let words = "g2 1,2 --bin 1t --range 20ns --plot a.svg --force run";
    let Some(small) = on_terminal(folder.path(), words, SMALL) else { return };
    let last = small.lines.last().unwrap();
    assert_eq!(last, "257 rows, as in the figure; --format table prints them");
    assert!(small.lines.len() < 24, "{}", small.lines.join("\n"));
    let high = Screen { rows: 300, ..SMALL };
    let high = on_terminal(folder.path(), words, high).unwrap();
    assert!(high.lines.last().unwrap().ends_with("more (--all)"), "{}", high.lines.join("\n"));
}

#[test]
fn delays_have_room() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.tags.zst");
    let simulate = ["simulate", "--channels", "1,2,3,4", "--delay", "4=-1.5us"];
    assert_eq!(tagq(simulate.map(Into::into).into_iter().chain([file.into_os_string()])).code, 0);
    let words = "delays 1,2,3,4 run.tags.zst";
    let Some(ran) = on_terminal(folder.path(), words, SMALL) else { return };
    let text = ran.lines.join("\n");
    assert!(ran.lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    assert!(
        text.contains("3,4  -9600  -1.500000(45) µs  99,908(316)   662.4   953.5 µs   4.778"),
        "{text}"
    );
    assert!(text.contains("2,4; a longer --range reaches farther"), "{text}");
}

#[test]
fn a_long_scan_draws_how_far_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let channels = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16";
    let notes = Screen { shows: Shows::Stderr, ..SMALL };
    let mut drawn = String::new();
    // Try longer runs until one is long enough for this machine.
    for duration in ["200ms", "2s", "10s", "60s"] {
        let simulate = ["simulate", "--channels", channels, "--duration", duration];
        let name = format!("{duration}.tags.zst");
        let file = folder.path().join(&name).into_os_string();
        let files = simulate.map(Into::into).into_iter().chain([file.clone()]);
        assert_eq!(tagq(files).code, 0);
        assert_eq!(tagq(["ingest".into(), file]).code, 0);
        let words = format!("coincidences --choose 3 --window 1ms --no-cache {name}");
        let Some(ran) = on_terminal(folder.path(), &words, notes) else { return };
        drawn = ran.lines.join("\n");
        let parts = ["counting in ", " tags █", " %, ", "tags/s, ", " left"];
        if parts.iter().all(|part| drawn.contains(part)) {
            return;
        }
    }
    panic!("{drawn}");
}

#[test]
fn the_bar_of_an_ingest_stays_on_its_line_and_leaves_none() {
    const FRAMES: usize = 4;
    let folder = tempfile::tempdir().unwrap();
    let notes = |columns| Screen { columns, shows: Shows::Stderr, ..SMALL };
    // Try longer runs until one is drawn often enough on this machine.
    'longer: for duration in ["200ms", "2s", "10s", "60s"] {
        let name = format!("{duration}.tags.zst");
        let file = folder.path().join(&name).into_os_string();
        let simulate = ["simulate", "--rate", "1MHz", "--duration", duration].map(Into::into);
        assert_eq!(tagq(simulate.into_iter().chain([file])).code, 0);
        let words = format!("ingest --rebuild {name}");
        let Some(ran) = on_terminal(folder.path(), &words, notes(80)) else { return };
        if ran.written.matches("ingesting ").count() < FRAMES {
            continue;
        }
        for columns in [24, 80, 81, 100, 120, 200] {
            let ran = on_terminal(folder.path(), &words, notes(columns)).unwrap();
            if !ran.written.contains("ingesting ") {
                continue 'longer;
            }
            let (lines, most) = screen_after(&ran.written, columns.into());
            let note: usize = lines.iter().map(|line| line.chars().count()).sum();
            assert!(lines[0].starts_with("note: "), "{columns}: {lines:?}");
            // The note at the end alone, and before it one bar, which a narrow terminal wraps.
            let rows = note.div_ceil(columns.into());
            // It is broken between words: two lines that follow each other are longer than one together.
            assert!((rows..=2 * rows).contains(&lines.len()), "{columns}: {lines:?}");
            let fits =
                |line: &String| line.chars().count() <= columns.into() || !line.contains(' ');
            assert!(lines.iter().all(fits), "{columns}: {lines:?}");
            let rows = lines.len();
            let of_bar = if columns < 80 { 80_usize.div_ceil(columns.into()) } else { 1 };
            assert!(most <= of_bar.max(rows), "{columns}: {most} lines: {:?}", ran.written);
        }
        return;
    }
    panic!("no ingest took long enough");
}
