//! First inputs for the fuzzers: the fixtures and small files of each form for the readers, spelt conversations for the rest.

use codelet_testkit::Prng;
use std::path::{Path, PathBuf};

/// Fuzz targets that read a file or a text.
const READERS: &[&str] = &[
    "shape",
    "read_any",
    "read_anthropic",
    "read_openai",
    "read_responses",
    "read_gemini",
    "read_claude_code",
    "read_codex",
    "read_opencode",
    "read_pi",
    "read_copilot",
    "read_qwen_code",
    "read_mini_swe_agent",
    "read_swe_agent",
    "read_corpus",
    "read_form",
];
/// Fuzz targets that read a file behind the two bytes of a target: a budget of 930 tokens.
const FILES: &[&str] = &["compact_file"];
const BUDGET: [u8; 2] = [2, 30];
/// Fuzz targets that take a conversation spelt in bytes.
const CONVERSATIONS: &[&str] = &["compact", "apply_all"];
/// A larger seed would slow every input made from it.
const MOST: u64 = 64 << 10;

/// Fuzz targets that take the small files of every form, not only those of their own.
const ANY: &[&str] = &["read_any", "read_form", "compact_file"];

/// Writes `fuzz/corpus/TARGET/*`.
pub fn write(root: &Path) -> Result<String, Vec<String>> {
    let mut written = 0;
    let io = |error: std::io::Error| vec![format!("fuzz/corpus: {error}")];
    let small = small(root).map_err(io)?;
    for target in READERS.iter().chain(FILES) {
        let folder = root.join("fuzz/corpus").join(target);
        std::fs::create_dir_all(&folder).map_err(io)?;
        for entry in std::fs::read_dir(root.join("fixtures")).map_err(io)? {
            let entry = entry.map_err(io)?;
            let meta = entry.metadata().map_err(io)?;
            let is_text = entry.path().extension().is_some_and(|kind| kind == "md");
            if meta.is_file() && meta.len() <= MOST && !is_text {
                let mut seed = std::fs::read(entry.path()).map_err(io)?;
                if FILES.contains(target) {
                    seed.splice(0..0, BUDGET);
                }
                std::fs::write(folder.join(entry.file_name()), seed).map_err(io)?;
                written += 1;
            }
        }
        for (form, name, path) in &small {
            if form == target || ANY.contains(target) {
                let mut seed = std::fs::read(path).map_err(io)?;
                if FILES.contains(target) {
                    seed.splice(0..0, BUDGET);
                }
                std::fs::write(folder.join(format!("{form}-{name}")), seed).map_err(io)?;
                written += 1;
            }
        }
    }
    for target in CONVERSATIONS {
        let folder = root.join("fuzz/corpus").join(target);
        std::fs::create_dir_all(&folder).map_err(io)?;
        for seed in 0..64 {
            let mut prng = Prng::new(seed);
            let length = 16 << (seed % 6);
            let bytes: Vec<u8> = (0..length).map(|_| prng.next_u64() as u8).collect();
            std::fs::write(folder.join(format!("seed-{seed}")), bytes).map_err(io)?;
            written += 1;
        }
    }
    Ok(format!("{written} seeds written"))
}

/// The files of `fuzz/seeds/TARGET/`: target, name and path.
fn small(root: &Path) -> std::io::Result<Vec<(String, String, PathBuf)>> {
    let mut all = Vec::new();
    for folder in std::fs::read_dir(root.join("fuzz/seeds"))? {
        let folder = folder?;
        for file in std::fs::read_dir(folder.path())? {
            let file = file?;
            let name = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
            all.push((name(&folder), name(&file), file.path()));
        }
    }
    // One small session of each form.
    for file in std::fs::read_dir(root.join("codelet-transcript/tests/forms"))? {
        let file = file?;
        all.push((
            "forms".to_owned(),
            file.file_name().to_string_lossy().into_owned(),
            file.path(),
        ));
    }
    Ok(all)
}
