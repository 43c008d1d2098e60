//! An exam: knowledge needed to take over a conversation, and false claims that a summary must not make.

use super::evidence::{Evidence, pattern};
use fancy_regex::Regex;
use serde_json::Value;

/// Questions about the first part of a conversation.
pub struct Exam {
    /// Its name.
    pub name: String,
    /// The file of the conversation, relative to the directory of the recorded conversations.
    pub file: String,
    /// The first message that is asked about.
    pub from: usize,
    /// The message before which the part ends.
    pub cut: usize,
    /// The questions.
    pub questions: Vec<Question>,
    /// False claims.
    pub traps: Vec<Regex>,
}

/// A question, and the evidence for its answer.
pub struct Question {
    /// The kind of knowledge it asks for.
    pub kind: String,
    /// True if the answer is far from the end.
    pub is_far: bool,
    /// The evidence for its answer.
    pub evidence: Evidence,
}

impl Exam {
    /// Parses an exam.
    ///
    /// # Errors
    /// If a field is missing, or a pattern is invalid.
    pub fn read(text: &str) -> Result<Self, String> {
        let exam: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let word = |name: &str| exam[name].as_str().map(str::to_owned).ok_or(format!("no {name}"));
        let list = |name: &str| exam[name].as_array().into_iter().flatten();
        let claim = |trap: &Value| pattern(trap["claim"].as_str().ok_or("a trap without a claim")?);
        Ok(Exam {
            name: word("name")?,
            file: word("conversation")?,
            from: number(&exam["from"]).unwrap_or(0),
            cut: number(&exam["cut"]).ok_or("no cut")?,
            questions: list("questions").map(Question::read).collect::<Result<_, _>>()?,
            traps: list("traps").map(claim).collect::<Result<_, _>>()?,
        })
    }

    /// Checks that the texts of the conversation contain every answer, and no false claim.
    ///
    /// # Errors
    /// If they do not.
    pub fn check(&self, texts: &[String]) -> Result<(), String> {
        let untold = |question: &Question| !question.evidence.is_told(texts);
        if let Some(at) = self.questions.iter().position(untold) {
            return Err(format!("the conversation does not answer question {}", at + 1));
        }
        match self.trapped(texts) {
            0 => Ok(()),
            count => Err(format!("the conversation itself makes {count} of the false claims")),
        }
    }

    /// The number of false claims in the texts.
    pub fn trapped(&self, kept: &[String]) -> usize {
        let makes = |trap: &&Regex| kept.iter().any(|text| trap.is_match(text).unwrap_or(false));
        self.traps.iter().filter(makes).count()
    }
}

impl Question {
    fn read(question: &Value) -> Result<Self, String> {
        let one = |pattern: &Value| pattern.as_str().map(str::to_owned);
        let group = |group: &Value| match group {
            Value::Array(several) => several.iter().map(one).collect(),
            only => one(only).map(|only| vec![only]),
        };
        let groups = question["evidence"].as_array().into_iter().flatten().map(group);
        let groups: Vec<Vec<String>> = groups.collect::<Option<_>>().ok_or("evidence that is no text")?;
        Ok(Question {
            kind: question["kind"].as_str().ok_or("a question without a kind")?.to_owned(),
            is_far: question["far"] == Value::Bool(true),
            evidence: Evidence::new(&groups, number(&question["near"]).unwrap_or(700))?,
        })
    }
}

fn number(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAM: &str = r#"{"name": "a", "conversation": "some/a.json", "cut": 9, "questions": [
        {"kind": "wish", "far": true, "near": 20, "evidence": [["never push", "no push"], "main"]}],
        "traps": [{"id": "t1", "claim": "was pushed"}]}"#;

    #[test]
    fn an_exam_is_read_with_its_patterns() {
        let exam = Exam::read(EXAM).unwrap();
        assert_eq!((exam.from, exam.cut, exam.file.as_str()), (0, 9, "some/a.json"));
        let kept = ["Never push to main.".to_owned(), "It was pushed.".to_owned()];
        assert!(exam.questions[0].is_far && exam.questions[0].evidence.is_told(&kept));
        assert_eq!((exam.trapped(&kept), exam.trapped(&kept[..1])), (1, 0));
        assert_eq!(exam.check(&kept[..1]), Ok(()));
        assert!(exam.check(&kept).is_err() && exam.check(&kept[1..]).is_err());
    }

    #[test]
    fn a_pattern_that_is_none_is_named() {
        let broken = EXAM.replace("never push", "(never");
        assert!(Exam::read(&broken).is_err_and(|error| error.contains("(never")));
        assert_eq!(Exam::read("{}").err().as_deref(), Some("no name"));
    }
}
