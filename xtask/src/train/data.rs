//! Locates the exams and the recorded conversations, which are not part of the repository.

use super::compactions;
use super::conversation::{self, Conversation};
use super::exam::Exam;
use super::lesson::Lesson;
use super::share;
use super::trial::Trial;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Directories of exams and of recorded conversations.
pub struct Data {
    exams: PathBuf,
    corpus: PathBuf,
}

impl Data {
    /// Finds them in `CODELET_EXAM` and `CODELET_CORPUS`, or in `shared` beside the workspace.
    ///
    /// # Errors
    /// If one of them is missing.
    pub fn find(root: &Path) -> Result<Self, Vec<String>> {
        let place = |variable: &str, name: &str| {
            let beside = || root.join("../shared").join(name);
            std::env::var_os(variable).map_or_else(beside, PathBuf::from)
        };
        let (exams, corpus) = (place("CODELET_EXAM", "exam"), place("CODELET_CORPUS", "corpus"));
        let exams = exams.join("dev");
        let folders = [
            (&exams, "exams", "CODELET_EXAM"),
            (&corpus, "recorded conversations", "CODELET_CORPUS"),
        ];
        let missing = folders.iter().filter(|(folder, ..)| !folder.is_dir());
        let missing: Vec<String> = missing
            .map(|(folder, what, variable)| format!("no {what} at {} (set {variable})", folder.display()))
            .collect();
        match missing.is_empty() {
            true => Ok(Data { exams, corpus }),
            false => Err(missing),
        }
    }

    /// Reads the exams, each with its conversation.
    ///
    /// # Errors
    /// If any cannot be read; all of those are named.
    pub fn trials(&self) -> Result<Vec<Trial>, Vec<String>> {
        let mut files = Vec::new();
        json_files(&self.exams, &mut files)?;
        let numbered: Vec<(usize, &PathBuf)> = files.iter().enumerate().collect();
        all(share::map(&numbered, |(number, file)| {
            self.trial(*number, file)
                .map_err(|error| format!("{}: {error}", file.display()))
        }))
    }

    fn trial(&self, number: usize, file: &Path) -> Result<Trial, String> {
        let exam = Exam::read(&read(file)?)?;
        let beside = self.exams.join(&exam.file);
        let recorded = match beside.is_file() {
            true => beside,
            false => self.corpus.join("neutral").join(&exam.file),
        };
        let messages = conversation::messages(&read(&recorded)?)?;
        let asked = messages.get(exam.from..exam.cut.min(messages.len()));
        let conversation = Conversation::of(asked.ok_or("it begins after its end")?)?;
        exam.check(&conversation.texts)?;
        let careful = self.exams.join("summaries").join(format!("{}.txt", exam.name));
        let careful = std::fs::read_to_string(careful).ok();
        Ok(Trial::new(number, exam, conversation, careful))
    }

    /// Reads the compactions in the recorded conversations, and in those of one more directory.
    ///
    /// # Errors
    /// If any conversation cannot be read; all of those are named.
    pub fn compactions(&self, more: Option<&Path>) -> Result<Vec<Lesson>, Vec<String>> {
        let folders = [self.corpus.join("neutral"), self.corpus.join("extra")];
        let (mut files, mut seen) = (Vec::new(), BTreeSet::new());
        for folder in folders.iter().map(PathBuf::as_path).chain(more) {
            let mut found = Vec::new();
            json_files(folder, &mut found)?;
            for path in found {
                let name = path
                    .strip_prefix(folder)
                    .unwrap_or(&path)
                    .to_string_lossy()
                    .into_owned();
                if seen.insert(name.clone()) {
                    files.push((files.len(), name, path));
                }
            }
        }
        let lessons = all(share::map(&files, |(number, name, path)| {
            let lessons = read(path).and_then(|text| compactions::lessons(name, &text, *number));
            lessons.map_err(|error| format!("{}: {error}", path.display()))
        }))?;
        Ok(lessons.into_iter().flatten().collect())
    }
}

/// All results, or all errors.
fn all<T>(results: Vec<Result<T, String>>) -> Result<Vec<T>, Vec<String>> {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(one) => found.push(one),
            Err(error) => wrong.push(error),
        }
    }
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Adds the JSON files of a directory and its subdirectories, sorted by name.
fn json_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Vec<String>> {
    let wrong = |error: std::io::Error| vec![format!("{}: {error}", folder.display())];
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        entries.push(entry.map_err(wrong)?.path());
    }
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            json_files(&entry, files)?;
        } else if entry.extension().is_some_and(|extension| extension == "json") {
            files.push(entry);
        }
    }
    Ok(())
}
