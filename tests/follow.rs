//! `tagq ingest --follow` and `tagq simulate --live`, as processes.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{Killed, command, interrupt, interruptible, tagq};

#[test]
fn a_follower_takes_what_is_recorded_until_it_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let out = run.join("live.tags.zst");
    let mut follower = Killed(
        interruptible()
            .args(["ingest", "--follow"])
            .arg(&run)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    // Four frames, one every 250 ms.
    let mut recorder = command()
        .args(["simulate", "--live", "40kHz", "--rate", "20kHz", "--duration", "1s"])
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let store = run.join(".tagq");
    let committed = || -> Option<u64> {
        let text = fs::read_to_string(store.join("manifest.json")).ok()?;
        serde_json::from_str::<Value>(&text).unwrap()["rows"].as_u64()
    };
    // While the file grows it holds the lock: another ingest is refused.
    let begun = Instant::now();
    while committed().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(30), "no commit");
        std::thread::yield_now();
    }
    let rebuild = || tagq(["ingest".as_ref(), "--rebuild".as_ref(), run.as_os_str()]);
    let refused = rebuild();
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    let holder = format!(": process {} on ", follower.0.id());
    assert!(cfg!(windows) || refused.stderr.contains(&holder), "{}", refused.stderr);
    let told = BufReader::new(recorder.stdout.take().unwrap()).lines();
    let told: Vec<Value> = told.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert!(recorder.wait().unwrap().success());
    let tags = told.last().unwrap()["tags"].as_u64().unwrap();
    assert!(told.len() >= 4 && (38_000..42_000).contains(&tags), "{told:?}");
    // All tags are there after the file has not changed for two seconds.
    let begun = Instant::now();
    while committed() != Some(tags) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?} of {tags}", committed());
        assert!(follower.0.try_wait().unwrap().is_none(), "it goes on");
        std::thread::yield_now();
    }
    // It gives the lock back.
    let query = tagq(["rates".as_ref(), run.as_os_str()]);
    assert_eq!(query.json()["run"]["tags"], tags);
    while rebuild().code != 0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", rebuild().stderr);
    }
    assert_eq!(committed(), Some(tags));
    interrupt(&mut follower.0);
    let mut told = String::new();
    follower.0.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    // On Windows it was ended by force.
    assert!(cfg!(windows) || told.contains("of 1 source "), "{told}");
}

#[test]
fn what_cannot_be_followed_is_said() {
    let nowhere = tagq(["ingest", "--follow", "/nowhere"]);
    assert_eq!((nowhere.code, nowhere.stderr.contains("/nowhere")), (1, true));
    let two = tagq(["ingest", "--follow", "a", "b"]);
    assert_eq!((two.code, two.stderr.contains("one file or folder")), (2, true));
    let stream = tagq(["ingest", "--follow", "-"]);
    assert_eq!((stream.code, stream.stderr.contains("to its end")), (2, true));
}
