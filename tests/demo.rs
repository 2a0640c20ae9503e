//! `tagq demo`: every command that it prints works, and shows what it says.

use crate::support::{Output, Place};

#[test]
fn every_command_of_the_demo_shows_what_it_says() {
    let place = Place::new();
    let text = place.done("demo").text().to_owned();
    let commands = text.lines().filter_map(|line| line.strip_prefix("    tagq "));
    let commands: Vec<&str> =
        commands.map(|line| line.split("   # ").next().unwrap().trim_end()).collect();
    assert!(commands.len() > 5, "{text}");
    for command in &commands {
        let shown = place.done(command);
        assert!(!shown.text().is_empty(), "{command}");
    }
    let row = |command: &str| -> serde_json::Value {
        let command = commands.iter().find(|of| of.starts_with(command)).unwrap();
        let answer: Output = place.done(&format!("{command} --format json"));
        answer.json()["rows"].clone()
    };
    let delays = row("delays 1,2");
    let peak = delays[0]["peak_s"].as_f64().unwrap();
    assert!((peak - 5e-9).abs() < 5.0 * delays[0]["peak_err_s"].as_f64().unwrap(), "{delays}");
    let peaks = row("g2 1,2 --pulsed");
    let zero = peaks.as_array().unwrap().iter().find(|of| of["peak"] == 0).unwrap();
    let (g2, err) = (zero["g2"].as_f64().unwrap(), zero["g2_err"].as_f64().unwrap());
    assert!(g2.abs() < 4.0 * err && err < 0.05, "{zero}");
    let pixels = row("image --lifetime");
    let pixels = pixels.as_array().unwrap();
    // The corner is background, the middle is in the disc.
    for (line, truth) in [(0, 3e-9), (16, 1e-9)] {
        let pixel = pixels.iter().find(|of| of["line"] == line && of["pixel"] == line).unwrap();
        let [tau, err] = ["lifetime_s", "lifetime_s_err"].map(|key| pixel[key].as_f64().unwrap());
        assert!((tau - truth).abs() < 4.5 * err && err < 0.3e-9, "{pixel}");
    }
    // A folder with other files, as that of a run, gets none.
    std::fs::create_dir(place.path("night")).unwrap();
    std::fs::write(place.path("night/1.tags"), "").unwrap();
    let refused = place.tagq("demo night");
    assert!(refused.code != 0 && refused.stderr.contains("1.tags"), "{}", refused.stderr);
    assert_eq!(std::fs::read_dir(place.path("night")).unwrap().count(), 1);
    // A recording that is there stays.
    let before = std::fs::metadata(place.path("tagq-demo/pairs.tags.zst")).unwrap().modified();
    place.done("demo");
    let after = std::fs::metadata(place.path("tagq-demo/pairs.tags.zst")).unwrap().modified();
    assert_eq!(before.unwrap(), after.unwrap());
}
