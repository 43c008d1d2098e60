//! Seed inputs for the fuzzers: the fixtures and small files of each format for the readers, encoded conversations for
//! the rest.

use codelet_testkit::Prng;
use std::fs;
use std::path::Path;

/// Maximum size in bytes; a larger seed would slow down every input derived from it.
const MOST: u64 = 64 << 10;
/// The header of a file for `compact_file`: a budget of 930 tokens.
const BUDGET: [u8; 2] = [2, 30];
/// Fuzz targets that decode a conversation from bytes.
const CONVERSATIONS: [&str; 2] = ["compact", "apply_all"];

/// A seed: its format if known, its name, and its content.
struct Seed {
    form: Option<String>,
    name: String,
    bytes: Vec<u8>,
}

/// Writes `fuzz/corpus/TARGET/*`, and for each format `fuzz/corpus/read/FORM/*`.
pub fn write(root: &Path) -> Result<String, Vec<String>> {
    write_all(root).map_err(|error| vec![format!("fuzz/corpus: {error}")])
}

fn write_all(root: &Path) -> std::io::Result<String> {
    let seeds = seeds(root)?;
    let forms = codelet_transcript::Format::ALL.iter().map(|form| form.name());
    let mut written = 0;
    let mut put = |folder: &str, name: &str, bytes: &[u8]| {
        let folder = root.join("fuzz/corpus").join(folder);
        fs::create_dir_all(&folder)?;
        written += 1;
        fs::write(folder.join(name), bytes)
    };
    for form in forms.filter(|form| *form != "shape") {
        for seed in seeds
            .iter()
            .filter(|seed| seed.form.as_deref().is_none_or(|of| of == form))
        {
            put(&format!("read/{form}"), &seed.name, &seed.bytes)?;
        }
    }
    for seed in &seeds {
        if seed.form.as_deref() == Some("shape") {
            put("shape", &seed.name, &seed.bytes)?;
            continue;
        }
        put("read/any", &seed.name, &seed.bytes)?;
        put("compact_file", &seed.name, &[&BUDGET, &seed.bytes[..]].concat())?;
    }
    for target in CONVERSATIONS {
        for seed in 0..64 {
            let mut prng = Prng::new(seed);
            let length = 16 << (seed % 6);
            let bytes: Vec<u8> = (0..length).map(|_| prng.next_u64() as u8).collect();
            put(target, &format!("seed-{seed}"), &bytes)?;
        }
    }
    Ok(format!("{written} seeds written"))
}

/// The fixtures, for any format, the files of `fuzz/seeds/FORM/`, and the tests' small session in each format.
fn seeds(root: &Path) -> std::io::Result<Vec<Seed>> {
    let mut all = Vec::new();
    let mut add = |folder: &Path, form: &dyn Fn(&Path) -> Option<String>| {
        for file in fs::read_dir(folder)? {
            let path = file?.path();
            let is_text = path.extension().is_some_and(|kind| kind == "md") && form(&path).is_none();
            let meta = fs::metadata(&path)?;
            if !meta.is_file() || meta.len() > MOST || is_text {
                continue;
            }
            let form = form(&path);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name = form
                .iter()
                .map(|form| format!("{form}-"))
                .chain([name.into_owned()])
                .collect();
            let bytes = fs::read(&path)?;
            all.push(Seed { form, name, bytes });
        }
        Ok::<(), std::io::Error>(())
    };
    let words = |name: Option<&std::ffi::OsStr>| name.map(|name| name.to_string_lossy().into_owned());
    add(&root.join("fixtures"), &|_| None)?;
    add(&root.join("codelet-transcript/tests/forms"), &|path| {
        words(path.file_stem())
    })?;
    for folder in fs::read_dir(root.join("fuzz/seeds"))? {
        let folder = folder?;
        add(&folder.path(), &|_| words(Some(&folder.file_name())))?;
    }
    Ok(all)
}
