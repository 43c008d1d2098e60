//! The recorded conversations, replayed: the presets keep their promises, and the cache model predicts bills.

use codelet_context::economics::Preset;
use codelet_context::price;
use codelet_replay::policy::{Policy, Settings};
use codelet_replay::session::Session;
use codelet_replay::totals::{Played, checked, totals};
use codelet_testkit::corpus;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const FAITHFUL: Policy = Policy::Preset(Preset::Faithful);
/// Longer files are left to `codelet replay`: the whole corpus takes minutes in an unoptimized build.
const LONGEST: u64 = 2_000_000;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() {
            files(&path, found);
        } else if matches!(ending, Some("json" | "jsonl" | "traj")) && path.metadata().unwrap().len() <= LONGEST {
            found.push(path);
        }
    }
}

/// Replays every file in a directory that is not too long, on two cores.
fn play_all(folder: &Path, policies: &[Policy], settings: &Settings) -> Vec<Played> {
    let mut found = Vec::new();
    files(folder, &mut found);
    let (next, played) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(file) = found.get(next.fetch_add(1, Ordering::Relaxed)) {
            let recording = codelet_transcript::record(&std::fs::read(file).unwrap(), None).unwrap();
            let session = Session::new(file.file_stem().unwrap().to_string_lossy(), recording);
            if !session.requests.is_empty() {
                let result = Played::new(&session, String::new(), policies, settings);
                played.lock().unwrap().push(result);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    played.into_inner().unwrap()
}

#[test]
fn faithful_costs_no_more_than_never_editing_and_forgets_next_to_nothing() {
    let Some(corpus) = corpus() else { return };
    for card in ["5m", "no-write-fee"] {
        let settings = Settings::new(200_000, price::find(card).unwrap().clone());
        let played = play_all(&corpus.join("raw"), &[Policy::Never, FAITHFUL], &settings);
        let totals = totals(&played);
        let [never, faithful] = totals.as_slice() else {
            panic!("{totals:?}")
        };
        let (share, worst) = (faithful.ratio.unwrap(), faithful.worst.unwrap());
        let forgotten = never.sums.recall() - faithful.sums.recall();
        eprintln!(
            "{card}: {} sessions, {share:.3} of never editing, 95th percentile {worst:.4}, {:.2} % less is still shown",
            played.len(),
            forgotten * 100.0
        );
        assert!(played.len() >= 20, "{} sessions", played.len());
        assert!(share <= 1.0 && worst <= 1.02, "{card}: {share}, {worst}");
        // The promise is for the usual card; without a fee for writing, edits come sooner.
        assert!(
            forgotten <= if card == "5m" { 0.015 } else { 0.02 },
            "{card}: {forgotten}"
        );
        assert_eq!(faithful.sums.unplanned, 0, "{card}");
    }
}

#[test]
fn the_cache_model_predicts_what_was_billed_once_it_is_told_of_losses() {
    let Some(corpus) = corpus() else { return };
    let settings = Settings::new(200_000, price::usual());
    let played = play_all(&corpus.join("raw/claude-code"), &[Policy::Never], &settings);
    let found = checked(&played).unwrap();
    eprintln!("{found:?}");
    assert!(found.sessions >= 5, "{found:?}");
    assert!(found.told.0 <= 0.03 && found.told.1 <= 0.1, "{found:?}");
    // Few events are given: a model that is given each request could predict anything. The recording alone tells less:
    // half of the sessions are as accurate, and the error of the others must not grow.
    let told = found.warm_heads + found.lost;
    assert!(told * 33 <= found.requests, "{found:?}");
    assert!(found.blind.0 <= 0.03 && found.blind.1 <= 0.25, "{found:?}");
}
