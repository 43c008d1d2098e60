//! What the user has decided: the answers to questions and plans, and the calls that were not to be made.

use super::COMMAND;
use crate::failing::shorten;
use crate::message::{ActionKind, Parameters, ToolCall, ToolResult, values_within};
use crate::said::QUESTION_MARKS;
use crate::{answer, cut};
use serde_json::{Map, Value};

mod beside;
mod unanswered;

/// Decisions that are kept, and bytes of a question or an answer.
const DECISIONS: usize = 20;
const ANSWER: usize = 600;

/// What is told of a plan that was approved, and what stands before what the user said beside.
const APPROVED: &str = "approved";
const AND: &str = ", and: ";

/// What the user decided when asked, or of a call that was to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What was asked, the plan that was laid before the user, or the call.
    pub question: String,
    /// What the user answered; may be empty where a call was refused, and is where nobody has answered.
    pub answer: String,
    /// The user has not let the call be made.
    pub is_refusal: bool,
    /// Among the answers that were offered are questions, so that one that is given asks for nothing.
    pub offers_questions: bool,
}

impl Decision {
    /// A question to the user with its answer, or a plan that the user approved.
    pub(super) fn of_answer(call: &ToolCall, result: &ToolResult) -> Option<Decision> {
        let parameters = &call.parameters;
        if beside::hands_over(parameters.as_map()) {
            return Decision::of_reply(call, result);
        }
        let question = asked(parameters.as_map());
        if question.trim().is_empty() {
            return None;
        }
        let said = said(result)?;
        let is_plan = parameters.as_map().contains_key("plan");
        let answer = match approval(said).filter(|_| is_plan) {
            Some(approval) => approval,
            None => beside::in_tag(said).unwrap_or_else(|| unanswered::answer_in(said)),
        };
        Some(Decision {
            question: shorten(&question, ANSWER),
            answer: shorten(&answer, ANSWER),
            is_refusal: false,
            offers_questions: offers_questions(parameters.as_map()),
        })
    }

    /// Whether what a call to ask the user was answered is an answer, perhaps that there is none. A plan can be refused as any
    /// call can; of a question the user can only refuse to be asked.
    pub(super) fn is_answer(parameters: &Parameters, result: &ToolResult) -> bool {
        let Some(said) = said(result) else { return false };
        let is_plan = parameters.as_map().contains_key("plan");
        if !is_plan && (unanswered::is_unanswered(said) || unanswered::listed(said).is_some()) {
            return true;
        }
        if beside::hands_over(parameters.as_map()) {
            return !answer::was_refused(result);
        }
        result.success != Some(false) && !answer::was_refused(result)
    }

    /// A call that the user has not let be made, with the words of the refusal.
    pub(super) fn of_refusal(call: &ToolCall, words: &str) -> Decision {
        Decision {
            question: shorten(&described(call), ANSWER),
            answer: shorten(words, ANSWER),
            is_refusal: true,
            offers_questions: false,
        }
    }

    /// Whether the user has approved a plan.
    pub(crate) fn is_approval(&self) -> bool {
        let behind = self.answer.strip_prefix(APPROVED);
        behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(AND))
    }

    /// Adds it to those before it, of which the one goes that says least if they are too many.
    pub(super) fn note_in(self, decisions: &mut Vec<Decision>) {
        if decisions.len() == DECISIONS {
            // A no without a word says least.
            let wordless = decisions.iter().position(|decision| decision.answer.is_empty());
            decisions.remove(wordless.unwrap_or(0));
        }
        decisions.push(self);
    }
}

/// That a plan was approved, with what the user said beside. What a harness tells the model to do then was done long ago.
fn approval(said: &str) -> Option<String> {
    /// What stands before the user's words.
    const LEADS: [&str; 2] = [" and said: ", "\nUser feedback: "];
    const APPROVING: [&str; 4] = ["approved", "accepted", "confirmed", "agreed"];
    let first = said.trim_start().split(['.', '!', '\n']).next().unwrap_or_default();
    let mut words = first.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    if !words.any(|word| APPROVING.contains(&&*word)) {
        return None;
    }
    let beside = LEADS.iter().find_map(|lead| Some(said.split_once(lead)?.1.trim()));
    Some(beside.map_or_else(|| APPROVED.to_owned(), |words| format!("{APPROVED}{AND}{words}")))
}

/// The text that answers a question.
fn said(result: &ToolResult) -> Option<&str> {
    let mut texts = result.texts().map(|text| text.body.as_str());
    texts.find(|text| !text.trim().is_empty())
}

/// What the user is asked by parameters; may be empty.
fn asked(map: &Map<String, Value>) -> String {
    match (map.get("questions"), map.get("question"), map.get("plan")) {
        (Some(Value::Array(questions)), ..) => {
            let texts = questions
                .iter()
                .filter_map(|question| question.get("question")?.as_str());
            texts.take(DECISIONS).collect::<Vec<_>>().join(" / ")
        }
        (_, Some(Value::String(text)), _) | (.., Some(Value::String(text))) => text.clone(),
        // Under another name it is the longest of the sentences.
        _ => {
            let sentences = texts(map).filter(|text| text.trim().contains(' '));
            sentences.max_by_key(|text| text.len()).unwrap_or_default().to_owned()
        }
    }
}

/// Whether one of the answers that a tool offers the user is a question: whatever stands in its lists, besides what is asked.
fn offers_questions(map: &Map<String, Value>) -> bool {
    const ASKED: [&str; 3] = ["question", "questions", "header"];
    let is_question = |text: &str| text.trim_end().ends_with(QUESTION_MARKS);
    let mut maps = vec![(map, false)];
    while let Some((map, is_offered)) = maps.pop() {
        for (name, value) in map {
            let is_asked = ASKED.contains(&name.as_str());
            let (values, is_offered) = match value {
                Value::Array(all) => (&all[..], !is_asked),
                value => (std::slice::from_ref(value), is_offered && !is_asked),
            };
            for value in values {
                match value {
                    Value::String(text) if is_offered && is_question(text) => return true,
                    Value::Object(map) => maps.push((map, is_offered)),
                    _ => {}
                }
            }
        }
    }
    false
}

/// The texts of an object and of the objects in it.
fn texts(map: &Map<String, Value>) -> impl Iterator<Item = &str> {
    values_within(map).filter_map(Value::as_str)
}

/// A call in a line: the tool with what it was to run, to change or to ask.
fn described(call: &ToolCall) -> String {
    let action = &call.action;
    let map = call.parameters.as_map();
    let asked = || {
        ["question", "plan"]
            .iter()
            .find_map(|name| map.get(*name).and_then(Value::as_str))
    };
    let about = action
        .command
        .as_deref()
        .or_else(|| action.paths.first().map(|path| &**path));
    let about = about.or_else(asked).or_else(|| map.values().find_map(Value::as_str));
    let tool = cut::plain_name(&call.tool);
    match (about, action.kind) {
        (Some(line), ActionKind::Command) => format!("`{}`", shorten(line.trim(), COMMAND)),
        (Some(about), _) => format!("{tool} {}", shorten(about.trim(), COMMAND)),
        (None, _) => tool,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::Gatherer;
    use super::super::tests::Talk;
    use super::offers_questions;
    use crate::message::{Action, ActionKind, ToolCall, ToolResult};
    use crate::refusal::Refusal;
    use serde_json::json;

    #[test]
    fn a_question_among_the_answers_that_are_offered_is_known() {
        let table = [
            (json!({"question": "Which?", "options": ["a", "b"]}), false),
            (json!({"question": "Which?", "options": ["a", "b?"]}), true),
            (json!({"questions": ["a?", "b?"]}), false),
            (
                json!({"questions": [{"question": "Which?", "header": "x?", "options": [{"label": "a"}]}]}),
                false,
            ),
            (
                json!({"questions": [{"question": "Which?", "options": [{"label": "What is new?"}]}]}),
                true,
            ),
            (json!({"plan": "Shall we?"}), false),
        ];
        for (parameters, expected) in table {
            assert_eq!(
                offers_questions(parameters.as_object().unwrap()),
                expected,
                "{parameters}"
            );
        }
    }

    #[test]
    fn a_question_that_nobody_answered_is_no_decision_and_no_refusal() {
        let ask = || Action::on(ActionKind::Ask, []);
        let parameters = || json!({"question": "Which database?"});
        for answer in [
            "User dismissed ask_user dialog without answering.",
            "User skipped the question.",
            "{\"answers\":{\"q1\":{\"answers\":[]}}}",
            "<answer>\n</answer>",
        ] {
            for success in [None, Some(true)] {
                let decisions = Talk::new().call(ask(), parameters(), success, answer).facts().decisions;
                assert_eq!(decisions.len(), 1, "{answer}");
                assert!(decisions[0].answer.is_empty() && !decisions[0].is_refusal, "{answer}");
            }
        }
        // What the user chose is the answer where nothing else was asked for.
        let chosen = "User selected \"No\"";
        let decisions = Talk::new().call(ask(), parameters(), None, chosen).facts().decisions;
        assert_eq!((decisions[0].answer.as_str(), decisions[0].is_refusal), (chosen, false));
        // A plan that was not approved is one by its status.
        for (success, refusal, expected) in [
            (
                Some(false),
                Some(Refusal::User("shorter".into())),
                &[(true, "shorter")][..],
            ),
            (Some(false), None, &[]),
            (None, None, &[(false, "User chose to stay in plan mode")]),
        ] {
            let mut result = ToolResult::new("1", success, "User chose to stay in plan mode");
            result.refusal = refusal;
            let call =
                ToolCall::new("1", "plan", json!({"plan": "1. do it"}).as_object().unwrap().clone()).doing(ask());
            let mut gatherer = Gatherer::new();
            gatherer.take(&call, &result, None);
            let decisions = gatherer.facts().decisions;
            let told: Vec<_> = decisions.iter().map(|d| (d.is_refusal, d.answer.as_str())).collect();
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn of_a_plan_that_was_approved_nothing_is_kept_but_that_and_what_the_user_said() {
        let ask = || Action::on(ActionKind::Ask, []);
        for (said, expected) in [
            (
                "User has approved your plan. You can now start coding. Start with updating your todo list\n\nYour plan has been \
                 saved to: /w/plans/a.md\n\n## Approved Plan:\n1. do it",
                "approved",
            ),
            (
                "The user approved the plan and said: leave the docs alone",
                "approved, and: leave the docs alone",
            ),
            ("Plan accepted.\nUser feedback: use sqlite", "approved, and: use sqlite"),
            ("Looks good, but use sqlite", "Looks good, but use sqlite"),
        ] {
            let talk = Talk::new().call(ask(), json!({"plan": "1. do it"}), Some(true), said);
            let decisions = talk.facts().decisions;
            assert_eq!(decisions[0].answer, expected);
            assert_eq!(decisions[0].is_approval(), expected.starts_with("approved"));
        }
    }

    #[test]
    fn what_the_user_decided_when_asked_is_kept() {
        let ask = || Action::on(ActionKind::Ask, []);
        let talk = Talk::new()
            .call(
                ask(),
                json!({"questions": [{"question": "Which database?", "options": []}]}),
                Some(true),
                "Which database? = sqlite",
            )
            .call(
                ask(),
                json!({"plan": "1. do it"}),
                Some(true),
                "The user has approved the plan",
            )
            .call(ask(), json!({"plan": "2. not that"}), Some(false), "rejected")
            .call(ask(), json!({"url": "x"}), Some(true), "page")
            // In words of its own.
            .call(
                ask(),
                json!({"payload": {"query": "Round twice or once?"}}),
                Some(true),
                r#"{"reply":"Once"}"#,
            )
            .call(
                Action::default(),
                json!({"question": "May I push?"}),
                Some(true),
                "Yes. The user has approved it.",
            );
        let decisions = talk.facts().decisions;
        let shown: Vec<_> = decisions
            .iter()
            .map(|d| (d.question.as_str(), d.answer.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("Which database?", "Which database? = sqlite"),
                ("1. do it", "approved"),
                ("Round twice or once?", "Once")
            ]
        );
    }
}
