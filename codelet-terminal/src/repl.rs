//! The state of the interactive input: keys go in, wishes and rows come out. Touches no terminal and has no clock.

use crate::answers;
use crate::command::{self, Said};
use crate::complete::{self, Arguments, Candidate, Sought};
use crate::decision::Deciding;
use crate::editor::Editor;
use crate::field::{Content, Field, FieldKey};
use crate::front::Activity;
use crate::keys::{Key, KeyCode, Typed};
use crate::letters::{Heard, Letters, SETTLED, STARTLED};
use crate::render::permission::Choice;
use codelet_agent::asking::{Question, Word};
use codelet_agent::prompts::PromptSpec;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

mod deciding;

/// Window within which a second Ctrl-C counts as the second of two.
const TWICE: Duration = Duration::from_secs(2);
/// The hint after the input was cleared.
const CLEARED: &str = "cleared · Up restores it";
/// The hint for a prefilled input once Enter sends it.
const SENDS: &str = "Enter sends it · Esc clears it";

/// Returns the names of the files that can be mentioned, in any order.
pub type Files = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// The effect of a key, beside what is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Send this input.
    Send(String),
    /// Switch to the next permission.
    Permit,
    /// Interrupt whatever runs.
    Interrupt,
    /// The user leaves.
    Leave,
    /// End the process at once, as Ctrl-\ does everywhere.
    Quit,
    /// Suspend the process.
    Suspend,
    /// Open the input in the user's editor.
    Edit,
    /// File names are needed.
    WantFiles,
    /// Show the last folded output.
    Unfold,
    /// Redraw the screen.
    Redraw,
    /// A question was answered: the line that remains of it.
    Answered(String),
}

/// The state of the input.
pub struct Repl {
    /// The input's text.
    pub editor: Editor,
    /// The current activity.
    pub doing: Activity,
    queue: VecDeque<String>,
    prompts: Vec<PromptSpec>,
    /// The arguments of commands for completion.
    pub arguments: Arguments,
    questions: VecDeque<Question>,
    /// The answer keys of the first question, once it is shown.
    letters: Option<Letters>,
    /// The text of an answer that is being typed: the reason for refusing, or the patterns to be saved.
    field: Option<Field>,
    /// The session's own question.
    deciding: Option<Deciding>,
    /// The time of the last of some letters that came too early to be an answer and are nothing else.
    early: Option<Instant>,
    /// The time at which the input was prefilled.
    filled: Option<Instant>,
    /// The question's full text was unfolded.
    pub is_unfolded: bool,
    /// The question stands directly above its answers.
    pub is_asked_above: bool,
    files: Option<Vec<String>>,
    /// The suggestion selected with the arrow keys.
    chosen: Option<usize>,
    /// The text for which suggestions were dismissed; they come back when it changes.
    dismissed: Option<String>,
    parting: Option<Instant>,
    /// A hint to the user, until the next key.
    pub hint: Option<&'static str>,
}

impl Default for Repl {
    fn default() -> Self {
        Repl::new()
    }
}

impl Repl {
    /// An empty, idle input.
    pub fn new() -> Self {
        Repl {
            editor: Editor::default(),
            doing: Activity::Nothing,
            queue: VecDeque::new(),
            prompts: Vec::new(),
            arguments: Arguments::default(),
            questions: VecDeque::new(),
            letters: None,
            field: None,
            deciding: None,
            early: None,
            filled: None,
            is_unfolded: false,
            is_asked_above: false,
            files: None,
            chosen: None,
            dismissed: None,
            parting: None,
            hint: None,
        }
    }

    /// The queued input.
    pub fn queued(&self) -> impl Iterator<Item = &str> {
        self.queue.iter().map(String::as_str)
    }

    /// Queues input that arrives while something runs.
    pub fn queue(&mut self, said: String) {
        self.queue.push_back(said);
    }

    /// Removes and returns the first queued input.
    pub fn unqueue(&mut self) -> Option<String> {
        self.queue.pop_front()
    }

    /// Moves queued input back into the editor. Several prompts are joined into one text; in it, a command would be no
    /// command or swallow what follows, so commands are returned instead.
    pub fn give_back(&mut self) -> Vec<String> {
        if self.queue.is_empty() {
            return Vec::new();
        }
        let is_alone = self.queue.len() == 1 && self.editor.is_empty();
        let (texts, others): (Vec<String>, Vec<String>) = self
            .queue
            .drain(..)
            .partition(|said| is_alone || matches!(command::read(said), Said::Prompt(_)));
        if !texts.is_empty() {
            self.editor.paste_before(&texts.join("\n"));
        }
        others
    }

    /// Prefills the input, replacing its text. An Enter that was already under way does not send it.
    pub fn fill(&mut self, text: &str, now: Instant) {
        if self.editor.clear() {
            self.hint = Some("your text was set aside · Up restores it");
        }
        self.editor.paste(text);
        self.filled = Some(now);
    }

    /// Sets the servers' prompts that can be used as commands.
    pub fn take_prompts(&mut self, prompts: Vec<PromptSpec>) {
        self.prompts = prompts;
    }

    /// Takes the file names that were requested.
    pub fn take_files(&mut self, files: Vec<String>) {
        self.files = Some(files);
    }

    /// Asks a question, after those already pending.
    pub fn ask(&mut self, question: Question) {
        self.questions.push_back(question);
    }

    /// Returns the question that is currently asked. Drops those that need no answer any more.
    pub fn question(&mut self, now: Instant) -> Option<&Question> {
        while self.questions.front().is_some_and(Question::is_moot) {
            if let Some(moot) = self.questions.pop_front() {
                // Either nobody waits for it, or it was permitted in the meantime.
                moot.answer(Word::Once);
            }
            self.keep_reason();
            self.letters = None;
            self.is_unfolded = false;
        }
        if self.questions.is_empty() {
            self.letters = None;
        } else if self.letters.is_none() {
            self.letters = Some(Letters::new(now, Some(Choice::Always.key())));
        }
        self.questions.front()
    }

    /// The time from which keys answer the question; until then they belong to what the user was typing when it
    /// appeared.
    pub fn answerable_from(&self) -> Option<Instant> {
        self.letters.map(|letters| letters.answerable_from())
    }

    /// Returns whether keys answer the question now.
    pub fn is_answerable(&self, now: Instant) -> bool {
        self.editor.is_empty()
            && self.editor.searching().is_none()
            && self.answerable_from().is_some_and(|from| now >= from)
    }

    /// The answer that Enter would give now.
    pub fn picked(&self, now: Instant) -> Option<Choice> {
        Choice::of_key(self.letters?.picked(now)?)
    }

    /// The time at which a pending letter or hint takes effect.
    pub fn settles_at(&self, now: Instant) -> Option<Instant> {
        let early = self.early.map(|early| early + SETTLED);
        let taken = self.field.as_ref().map(Field::takes_from);
        let filled = self.filled.map(|filled| filled + STARTLED);
        let deciding = self.deciding.as_ref().map(|deciding| deciding.letters);
        let letters = self.letters.into_iter().chain(deciding);
        let times = [early, taken, filled].into_iter().flatten();
        times
            .chain(letters.flat_map(|letters| letters.settle_at().collect::<Vec<_>>()))
            .filter(|at| *at > now)
            .min()
    }

    /// Handles elapsed time: a letter that nothing followed becomes the answer, or opens the patterns to be saved.
    /// Permitting more than this call waits for Enter.
    pub fn settle(&mut self, now: Instant) -> Vec<Act> {
        if self.filled.take_if(|filled| now >= *filled + STARTLED).is_some() {
            self.hint = Some(SENDS);
        }
        // A question that needs no answer any more takes its letter with it.
        let is_asked = self.question(now).is_some() && self.is_answerable(now);
        if self.early.is_some_and(|early| now >= early + SETTLED) {
            self.early = None;
            // Otherwise they would be sent with the next input.
            if self.waiting() > 0 || self.deciding().is_some() {
                self.editor.set("");
            }
        }
        let settled = self.letters.and_then(|letters| letters.settled(now));
        match settled.filter(|_| is_asked) {
            Some(letter) => self.answer_letter(letter, now),
            None => self.settle_decision(now),
        }
    }

    /// The number of questions that wait for an answer.
    pub fn waiting(&self) -> usize {
        self.questions.iter().filter(|question| !question.is_moot()).count()
    }

    /// The number of questions after the current one.
    pub fn waiting_questions(&self) -> usize {
        self.questions.len().saturating_sub(1)
    }

    /// The text of an answer that is being typed.
    pub(crate) fn field(&self) -> Option<&Field> {
        self.field.as_ref()
    }

    /// The question is gone: a reason typed for it moves to the input, or comes back with Up.
    fn keep_reason(&mut self) {
        let field = self.field.take();
        if let Some(reason) = field.filter(|field| field.content == Content::Reason && !field.is_empty()) {
            match self.editor.is_empty() {
                true => self.editor.paste(&reason.typed()),
                false => self.editor.remember(&reason.typed()),
            }
        }
    }

    /// The suggestions for the input, and the index of the selected one.
    pub fn candidates(&self) -> (Vec<Candidate>, usize) {
        let found = match self.sought() {
            Some(Sought::Command(word)) => complete::commands(&word, &self.prompts),
            Some(Sought::Argument(word, place, letters)) => self.arguments.candidates(&word, place, &letters),
            Some(Sought::File(letters)) => match &self.files {
                Some(files) => complete::files(&letters, files),
                None => Vec::new(),
            },
            None => Vec::new(),
        };
        let chosen = self.chosen.unwrap_or(0).min(found.len().saturating_sub(1));
        (found, chosen)
    }

    fn sought(&self) -> Option<Sought> {
        if self.editor.searching().is_some() || self.dismissed.as_deref() == Some(&self.editor.text()) {
            return None;
        }
        let before = self.editor.before_cursor();
        let is_all = self.editor.text().starts_with(before) && !self.editor.text().contains('\n');
        let sought = complete::sought(before, is_all)?;
        // A complete word needs no completion.
        match &sought {
            Sought::Command(word) if command::COMMANDS.iter().any(|entry| entry.word == *word) => None,
            Sought::Command(word) if self.prompts.iter().any(|prompt| prompt.command == *word) => None,
            _ => Some(sought),
        }
    }

    /// Handles a key or a paste.
    pub fn typed(&mut self, typed: Typed, now: Instant) -> Vec<Act> {
        // A key pressed this late was pressed knowingly.
        self.filled.take_if(|filled| now >= *filled + STARTLED);
        self.hint = None;
        let mut acts = self.settle(now);
        match typed {
            Typed::Paste(text) => {
                self.early = None;
                self.paste(&text, now);
            }
            Typed::Key(key) => acts.extend(self.key(key, now)),
            Typed::Focus(_) => {}
        }
        if self.files.is_none() && matches!(self.sought(), Some(Sought::File(_))) {
            acts.push(Act::WantFiles);
        }
        acts
    }

    fn paste(&mut self, text: &str, now: Instant) {
        // A paste never answers a question, but a reason may be pasted.
        if self.question(now).is_some()
            && let Some(field) = &mut self.field
        {
            return field.paste(text);
        }
        self.unpick();
        self.editor.paste(text);
    }

    fn key(&mut self, key: Key, now: Instant) -> Vec<Act> {
        if let KeyCode::Char(letter) = key.code
            && key.ctrl
            && !key.alt
        {
            // A letter that is followed by something else was no answer.
            self.unpick();
            self.early = None;
            let is_asked = self.question(now).is_some();
            let is_in_field = is_asked && self.field.is_some();
            let is_left_alone = |field: &Field| field.content == Content::Reason && field.is_empty();
            let is_empty = self.editor.is_empty() && self.field.as_ref().is_none_or(is_left_alone);
            match letter {
                'c' => return self.cancel(now),
                'd' if is_empty => return vec![Act::Leave],
                '\\' => return vec![Act::Quit],
                'z' => return vec![Act::Suspend],
                'l' => return vec![Act::Redraw],
                'o' => return vec![Act::Unfold],
                // These keys belong to the input below the question.
                'g' | 'r' if is_in_field => return Vec::new(),
                'g' if self.editor.searching().is_none() => return vec![Act::Edit],
                'r' => {
                    self.editor.search();
                    return Vec::new();
                }
                _ => {}
            }
        }
        if self.question(now).is_some()
            && let Some(acts) = self.answer_key(key, now)
        {
            return acts;
        }
        if let Some(acts) = self.decision_key(key, now) {
            return acts;
        }
        if self.editor.searching().is_some() && self.editor.search_key(key) {
            return Vec::new();
        }
        let (candidates, chosen) = self.candidates();
        if !candidates.is_empty()
            && let Some(acts) = self.candidate_key(key, &candidates, chosen)
        {
            return acts;
        }
        match key.code {
            KeyCode::Esc => self.escape(),
            KeyCode::Tab if key.shift => vec![Act::Permit],
            KeyCode::Enter if !key.alt && !key.shift => match self.filled {
                Some(_) => Vec::new(),
                None => self.enter(),
            },
            KeyCode::Up if !self.queue.is_empty() && self.editor.is_at_top() => {
                // Takes the last queued input back for editing. A copy from the history would send both.
                if let Some(text) = self.queue.pop_back() {
                    self.hint = self
                        .editor
                        .clear()
                        .then_some("taken from the queue · Up restores your text");
                    self.editor.paste(&text);
                }
                Vec::new()
            }
            _ => {
                if self.editor.key(key) {
                    self.chosen = None;
                    self.dismissed = None;
                }
                Vec::new()
            }
        }
    }

    /// Esc interrupts whatever runs, even if there is input; otherwise it clears the input.
    fn escape(&mut self) -> Vec<Act> {
        if self.doing != Activity::Nothing {
            return vec![Act::Interrupt];
        }
        self.clear();
        Vec::new()
    }

    /// Clears the input, with a hint on how to restore it.
    fn clear(&mut self) {
        if self.editor.clear() {
            self.hint = Some(CLEARED);
        }
    }

    fn cancel(&mut self, now: Instant) -> Vec<Act> {
        // Only a Ctrl-C on an idle, empty line counts as the first of two.
        let first = self.parting.take();
        if self.editor.searching().is_some() {
            self.editor.search_key(Key::plain(KeyCode::Esc));
            return Vec::new();
        }
        if self.doing != Activity::Nothing {
            return vec![Act::Interrupt];
        }
        if !self.editor.is_empty() {
            self.clear();
            return Vec::new();
        }
        self.parting = Some(now);
        if first.is_some_and(|first| now.duration_since(first) < TWICE) {
            return vec![Act::Leave];
        }
        self.hint = Some("Ctrl-C again to quit");
        Vec::new()
    }

    fn enter(&mut self) -> Vec<Act> {
        if self.editor.takes_backslash() {
            return Vec::new();
        }
        if self.editor.text().trim().is_empty() {
            return Vec::new();
        }
        self.chosen = None;
        self.dismissed = None;
        vec![Act::Send(self.editor.take())]
    }

    /// Handles a key for the question; `None` if it is none, so that it is typed.
    fn answer_key(&mut self, key: Key, now: Instant) -> Option<Vec<Act>> {
        if self.field.is_some() {
            return Some(self.field_key(key, now));
        }
        if !self.is_answerable(now) {
            let word = self.letters.as_mut()?.word(key, &self.editor.text(), now);
            if let Some(letter) = word {
                self.editor.set("");
                return Some(self.answer_letter(letter, now));
            }
            self.early = self.early_answer(key, now);
            return None;
        }
        let (may_always, may_keep) = (self.may_always(), self.proposal().is_some());
        let is_offered = |letter| match Choice::of_key(letter) {
            Some(Choice::Always) => may_always,
            Some(Choice::Project) => may_keep,
            choice => choice.is_some(),
        };
        let heard = self.letters.as_mut()?.key(key, now, is_offered);
        if matches!(heard, Heard::Writing(_) | Heard::Returned(_)) {
            self.take_back_letter();
        }
        self.heard(heard, |repl, letter| repl.answer_letter(letter, now))
    }

    /// The time of an answer's letter that came too early, if nothing but that letter was typed since the question
    /// appeared: the user means to answer.
    fn early_answer(&self, key: Key, now: Instant) -> Option<Instant> {
        let KeyCode::Char(letter) = key.code else { return None };
        (key.types() && Choice::of_key(letter).is_some() && self.is_only_early(key)).then_some(now)
    }

    /// Returns whether nothing but this letter was typed since the question appeared.
    fn is_only_early(&self, key: Key) -> bool {
        let text = self.editor.text();
        match self.early {
            None => text.is_empty(),
            Some(_) => text.chars().all(|written| key.code == KeyCode::Char(written)),
        }
    }

    /// Handles a chosen letter: answers, or opens the reason or the patterns that must be typed or read first.
    fn answer_letter(&mut self, letter: char, now: Instant) -> Vec<Act> {
        self.letters.as_mut().and_then(Letters::unpick);
        let word = match Choice::of_key(letter) {
            None => return Vec::new(),
            Some(Choice::Once) => Word::Once,
            Some(Choice::Always) => Word::Always,
            Some(Choice::No) => Word::No(None),
            Some(Choice::NoBecause) => {
                self.field = Some(Field::new(Content::Reason, "", now));
                return Vec::new();
            }
            Some(Choice::Project) => {
                let proposal = self.proposal();
                self.field = proposal.map(|proposal| Field::new(Content::Patterns, proposal, now));
                return Vec::new();
            }
        };
        self.answer(word)
    }

    /// Returns whether there is anything that an "always" would permit.
    fn may_always(&self) -> bool {
        self.questions
            .front()
            .is_some_and(|question| !question.grants.is_empty())
    }

    /// The pattern that could be saved for the project.
    fn proposal(&self) -> Option<&str> {
        self.questions.front()?.proposal.as_deref()
    }

    /// The pending letter was the beginning of typed text.
    fn unpick(&mut self) {
        let letter = self.letters.as_mut().and_then(Letters::unpick);
        self.give_letter(letter);
        self.take_back_letter();
    }

    /// Handles a key for the text of an answer. Patterns are an answer only if they permit the call in question.
    fn field_key(&mut self, key: Key, now: Instant) -> Vec<Act> {
        let (Some(field), Some(question)) = (&mut self.field, self.questions.front()) else {
            return Vec::new();
        };
        match (field.key(key, now), field.content) {
            (FieldKey::On, _) => {}
            (FieldKey::Unread, _) => self.hint = Some("read the pattern first · then Enter saves it"),
            (FieldKey::Left, _) => {
                let left = self.field.take();
                if let Some(reason) = left.filter(|field| field.content == Content::Reason && !field.is_empty()) {
                    self.editor.remember(&reason.typed());
                    self.hint = Some(CLEARED);
                }
            }
            (FieldKey::Taken(reason), Content::Reason) => {
                return self.answer(Word::No(Some(reason).filter(|text| !text.is_empty())));
            }
            (FieldKey::Taken(text), Content::Patterns) => match question.patterns(&text) {
                Ok(patterns) => {
                    let question = self.close_question();
                    return question.map_or_else(Vec::new, |question| vec![Act::Answered(question.keep(patterns))]);
                }
                Err(why) => field.objection = Some(why),
            },
        }
        Vec::new()
    }

    /// Answers the question; returns the line that remains of it.
    fn answer(&mut self, word: Word) -> Vec<Act> {
        let Some(question) = self.close_question() else {
            return Vec::new();
        };
        let told = answers::answered(&question, &word);
        question.answer(word);
        told.into_iter().map(Act::Answered).collect()
    }

    /// Removes and returns the current question and resets the state of its answer.
    fn close_question(&mut self) -> Option<Question> {
        self.field = None;
        self.letters = None;
        self.is_unfolded = false;
        self.questions.pop_front()
    }

    /// Handles a key for the suggestions; `None` if it is none.
    fn candidate_key(&mut self, key: Key, candidates: &[Candidate], chosen: usize) -> Option<Vec<Act>> {
        if key.ctrl || key.alt || key.shift && key.code == KeyCode::Tab {
            return None;
        }
        match key.code {
            KeyCode::Up => self.chosen = Some(chosen.checked_sub(1).unwrap_or(candidates.len() - 1)),
            KeyCode::Down => self.chosen = Some((chosen + 1) % candidates.len()),
            KeyCode::Tab => self.complete(&candidates[chosen].text),
            // A command may take any argument: only an explicit selection counts.
            KeyCode::Enter
                if !key.shift && self.chosen.is_none() && matches!(self.sought(), Some(Sought::Argument(..))) =>
            {
                return Some(self.enter());
            }
            // A name that is already complete is sent with the rest.
            KeyCode::Enter if !key.shift && self.is_written(&candidates[chosen].text) => return Some(self.enter()),
            KeyCode::Enter if !key.shift => {
                // A prefix is no choice: `/cle` and Enter would clear.
                let is_command = matches!(self.sought(), Some(Sought::Command(_) | Sought::Argument(..)))
                    && self.chosen.is_some()
                    && !candidates[chosen].wants_more;
                self.complete(&candidates[chosen].text);
                if is_command {
                    return Some(self.enter());
                }
            }
            KeyCode::Esc if self.doing == Activity::Nothing => self.dismissed = Some(self.editor.text()),
            _ => return None,
        }
        Some(Vec::new())
    }

    /// The number of characters that a completion replaces.
    fn written(&self) -> Option<usize> {
        match self.sought()? {
            Sought::Command(word) => Some(word.chars().count() + 1),
            Sought::Argument(.., letters) => Some(letters.chars().count()),
            Sought::File(letters) => Some(letters.chars().count() + 1),
        }
    }

    /// Returns whether completing to this text would change nothing.
    fn is_written(&self, text: &str) -> bool {
        self.written() == Some(text.chars().count()) && self.editor.before_cursor().ends_with(text)
    }

    fn complete(&mut self, text: &str) {
        let Some(written) = self.written() else { return };
        self.editor.replace_before(written, &format!("{text} "));
        self.chosen = None;
    }
}

#[cfg(test)]
mod tests;
