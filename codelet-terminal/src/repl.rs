//! The state of a session that is typed into: keys go in, wishes and rows come out. It touches no terminal and has no
//! clock of its own.

use crate::answers;
use crate::command::{self, Said};
use crate::complete::{self, Arguments, Candidate, Sought};
use crate::decision::Deciding;
use crate::editor::Editor;
use crate::front::Doing;
use crate::keeping::{Edited, Keeping};
use crate::keys::{Code, Key, Typed};
use crate::letters::{Heard, Letters, SETTLED, STARTLED};
use crate::reason::{Came, Reason};
use crate::render::permission::Choice;
use codelet_agent::asking::{Question, Word};
use codelet_agent::prompts::PromptSpec;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

mod deciding;

/// A second Ctrl-C counts as one of two for so long.
const TWICE: Duration = Duration::from_secs(2);
/// What is said of a text that went.
const CLEARED: &str = "cleared · Up restores it";
/// What is said of a text that was put where the user writes, once Enter sends it.
const SENDS: &str = "Enter sends it · Esc clears it";

/// The names of the files that can be named, in any order.
pub type Files = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// What a key leads to, beside what is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// This was sent.
    Send(String),
    /// The next permission is to hold.
    Permit,
    /// Whatever runs is to stop.
    Interrupt,
    /// The user leaves.
    Leave,
    /// The process is to end at once, as Ctrl-\ has it end everywhere.
    Quit,
    /// The process is to be suspended.
    Suspend,
    /// The text is to be written in an editor.
    Edit,
    /// The names of files are wanted.
    WantFiles,
    /// What was folded last is to be shown.
    Unfold,
    /// The screen is to be drawn anew.
    Redraw,
    /// A question was answered: this stays of it.
    Answered(String),
}

/// The state of the input.
pub struct Repl {
    /// What is being written.
    pub editor: Editor,
    /// What runs.
    pub doing: Doing,
    queue: VecDeque<String>,
    prompts: Vec<PromptSpec>,
    /// What may stand behind commands.
    pub arguments: Arguments,
    questions: VecDeque<Question>,
    /// The keys of the first question, once it is before the user.
    letters: Option<Letters>,
    /// The reason that is being written for a no.
    refusing: Option<Reason>,
    /// The patterns that are being changed before they are kept for the project.
    keeping: Option<Keeping>,
    /// What the session itself asks.
    deciding: Option<Deciding>,
    /// The last of some letters that came too early to be an answer and are nothing else.
    early: Option<Instant>,
    /// When a text was put where the user writes.
    filled: Option<Instant>,
    /// All of what is asked was unfolded.
    pub is_unfolded: bool,
    files: Option<Vec<String>>,
    /// The suggestion that was gone to with the arrow keys.
    chosen: Option<usize>,
    /// The suggestions were sent away until something else is written.
    dismissed: Option<String>,
    parting: Option<Instant>,
    /// A word to the user, until the next key.
    pub hint: Option<&'static str>,
}

impl Default for Repl {
    fn default() -> Self {
        Repl::new()
    }
}

impl Repl {
    /// Nothing is written and nothing runs.
    pub fn new() -> Self {
        Repl {
            editor: Editor::default(),
            doing: Doing::Nothing,
            queue: VecDeque::new(),
            prompts: Vec::new(),
            arguments: Arguments::default(),
            questions: VecDeque::new(),
            letters: None,
            refusing: None,
            keeping: None,
            deciding: None,
            early: None,
            filled: None,
            is_unfolded: false,
            files: None,
            chosen: None,
            dismissed: None,
            parting: None,
            hint: None,
        }
    }

    /// What was said while something ran.
    pub fn queued(&self) -> impl Iterator<Item = &str> {
        self.queue.iter().map(String::as_str)
    }

    /// Keeps what was said while something runs.
    pub fn queue(&mut self, said: String) {
        self.queue.push_back(said);
    }

    /// The first of it.
    pub fn unqueue(&mut self) -> Option<String> {
        self.queue.pop_front()
    }

    /// What was said meanwhile goes back to where it was written. Of several things, prompts make one text; in it, a
    /// command would be none or swallow what follows, so those are returned.
    pub fn give_back(&mut self) -> Vec<String> {
        if self.queue.is_empty() {
            return Vec::new();
        }
        let is_alone = self.queue.len() == 1 && self.editor.is_empty();
        let (mut texts, others): (Vec<String>, Vec<String>) = self
            .queue
            .drain(..)
            .partition(|said| is_alone || matches!(command::read(said), Said::Prompt(_)));
        if !self.editor.is_empty() {
            texts.push(self.editor.text());
        }
        self.editor.set("");
        self.editor.paste(&texts.join("\n"));
        others
    }

    /// Puts a text where the user writes, in place of what stands there. An Enter that was on its way then does not send it.
    pub fn fill(&mut self, text: &str, now: Instant) {
        if self.editor.clear() {
            self.hint = Some("your text was set aside · Up restores it");
        }
        self.editor.paste(text);
        self.filled = Some(now);
    }

    /// These prompts of servers can be named.
    pub fn take_prompts(&mut self, prompts: Vec<PromptSpec>) {
        self.prompts = prompts;
    }

    /// The names of files have come.
    pub fn take_files(&mut self, files: Vec<String>) {
        self.files = Some(files);
    }

    /// Asks something; after what is asked already.
    pub fn ask(&mut self, question: Question) {
        self.questions.push_back(question);
    }

    /// The question that waits for its answer. Those that nobody needs answered any more are dropped.
    pub fn question(&mut self, now: Instant) -> Option<&Question> {
        while self.questions.front().is_some_and(Question::is_moot) {
            if let Some(moot) = self.questions.pop_front() {
                // Either nobody waits, or what it needs was permitted meanwhile.
                moot.answer(Word::Once);
            }
            self.keep_reason();
            self.letters = None;
            self.keeping = None;
            self.is_unfolded = false;
        }
        if self.questions.is_empty() {
            self.letters = None;
        } else if self.letters.is_none() {
            self.letters = Some(Letters::new(now, Some(Choice::Always.key())));
        }
        self.questions.front()
    }

    /// When the question takes keys; before, they belong to what somebody was writing when it appeared.
    pub fn answerable_from(&self) -> Option<Instant> {
        self.letters.map(|letters| letters.answerable_from())
    }

    /// Whether the question takes keys now.
    pub fn is_answerable(&self, now: Instant) -> bool {
        self.editor.is_empty()
            && self.editor.searching().is_none()
            && self.answerable_from().is_some_and(|from| now >= from)
    }

    /// The answer that Enter would give now.
    pub fn picked(&self, now: Instant) -> Option<Choice> {
        Choice::of_key(self.letters?.picked(now)?)
    }

    /// When something becomes of a letter that may be an answer.
    pub fn settles_at(&self, now: Instant) -> Option<Instant> {
        let early = self.early.map(|early| early + SETTLED);
        let taken = self.keeping.as_ref().map(Keeping::takes_from);
        let filled = self.filled.map(|filled| filled + STARTLED);
        let deciding = self.deciding.as_ref().map(|deciding| deciding.letters);
        let letters = self.letters.into_iter().chain(deciding);
        let times = [early, taken, filled].into_iter().flatten();
        times
            .chain(letters.flat_map(|letters| letters.settle_at().collect::<Vec<_>>()))
            .filter(|at| *at > now)
            .min()
    }

    /// Time has passed: a letter that stood alone is the answer, or opens what is to be kept. What permits more than this once waits for Enter.
    pub fn settle(&mut self, now: Instant) -> Vec<Act> {
        if self.filled.take_if(|filled| now >= *filled + STARTLED).is_some() {
            self.hint = Some(SENDS);
        }
        // A question that nobody needs answered any more takes its letter with it.
        let is_asked = self.question(now).is_some() && self.is_answerable(now);
        if self.early.is_some_and(|early| now >= early + SETTLED) {
            self.early = None;
            // Left where they are, they would be sent with what is written next.
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

    /// How many questions wait for an answer.
    pub fn waiting(&self) -> usize {
        self.questions.iter().filter(|question| !question.is_moot()).count()
    }

    /// How many more questions wait.
    pub fn waiting_questions(&self) -> usize {
        self.questions.len().saturating_sub(1)
    }

    /// The reason that is being written for a no.
    pub(crate) fn refusing(&self) -> Option<&Reason> {
        self.refusing.as_ref()
    }

    /// The patterns that are being changed before they are kept for the project.
    pub(crate) fn keeping(&self) -> Option<&Keeping> {
        self.keeping.as_ref()
    }

    /// The question is gone: what was written for it is what is being written, or comes back with Up.
    fn keep_reason(&mut self) {
        if let Some(reason) = self.refusing.take().filter(|reason| !reason.is_empty()) {
            match self.editor.is_empty() {
                true => self.editor.paste(&reason.typed()),
                false => self.editor.remember(&reason.typed()),
            }
        }
    }

    /// What may be meant by what is being written, and which one is chosen.
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
        // What is complete needs no completion.
        match &sought {
            Sought::Command(word) if command::COMMANDS.iter().any(|entry| entry.word == *word) => None,
            Sought::Command(word) if self.prompts.iter().any(|prompt| prompt.command == *word) => None,
            _ => Some(sought),
        }
    }

    /// Takes what was typed.
    pub fn typed(&mut self, typed: Typed, now: Instant) -> Vec<Act> {
        // Whoever types knows what it does.
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
        // A paste never answers a question; a reason may be pasted.
        if self.question(now).is_some()
            && let Some(reason) = &mut self.refusing
        {
            return reason.paste(text);
        }
        if let Some(keeping) = &mut self.keeping {
            return keeping.paste(text);
        }
        self.unpick();
        self.editor.paste(text);
    }

    fn key(&mut self, key: Key, now: Instant) -> Vec<Act> {
        if let Key {
            code: Code::Char(letter),
            ctrl: true,
            alt: false,
            ..
        } = key
        {
            // What was picked before something else is done was no answer.
            self.unpick();
            self.early = None;
            let is_asked = self.question(now).is_some();
            let is_refusing = is_asked && (self.refusing.is_some() || self.keeping.is_some());
            let is_empty =
                self.editor.is_empty() && self.refusing.as_ref().is_none_or(Reason::is_empty) && self.keeping.is_none();
            match letter {
                'c' => return self.cancel(now),
                'd' if is_empty => return vec![Act::Leave],
                '\\' => return vec![Act::Quit],
                'z' => return vec![Act::Suspend],
                'l' => return vec![Act::Redraw],
                'o' => return vec![Act::Unfold],
                // These belong to what is written below the question.
                'g' | 'r' if is_refusing => return Vec::new(),
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
        match key {
            Key { code: Code::Esc, .. } => self.escape(),
            Key {
                code: Code::Tab,
                shift: true,
                ..
            } => vec![Act::Permit],
            Key {
                code: Code::Enter,
                alt: false,
                shift: false,
                ..
            } if self.filled.is_some() => Vec::new(),
            Key {
                code: Code::Enter,
                alt: false,
                shift: false,
                ..
            } => self.enter(),
            Key { code: Code::Up, .. } if !self.queue.is_empty() && self.editor.is_at_top() => {
                // The last that was queued is taken back to be changed. Were it only copied from what was said earlier, both would be
                // said.
                if let Some(text) = self.queue.pop_back() {
                    self.hint = self
                        .editor
                        .clear()
                        .then_some("taken from the queue · Up restores your text");
                    self.editor.paste(&text);
                }
                Vec::new()
            }
            key => {
                if self.editor.key(key) {
                    self.chosen = None;
                    self.dismissed = None;
                }
                Vec::new()
            }
        }
    }

    /// Esc interrupts what runs, whatever is written; otherwise it clears what is written.
    fn escape(&mut self) -> Vec<Act> {
        if self.doing != Doing::Nothing {
            return vec![Act::Interrupt];
        }
        self.clear();
        Vec::new()
    }

    /// Nothing is written any more, and it is said how that comes back.
    fn clear(&mut self) {
        if self.editor.clear() {
            self.hint = Some(CLEARED);
        }
    }

    fn cancel(&mut self, now: Instant) -> Vec<Act> {
        // Only one on an idle, empty line counts as the first of two.
        let first = self.parting.take();
        if self.editor.searching().is_some() {
            self.editor.search_key(Key::plain(Code::Esc));
            return Vec::new();
        }
        if self.doing != Doing::Nothing {
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

    /// A key for the question; `None` if it is none, so that writing goes on.
    fn answer_key(&mut self, key: Key, now: Instant) -> Option<Vec<Act>> {
        if self.refusing.is_some() {
            return Some(self.reason_key(key));
        }
        if self.keeping.is_some() {
            return Some(self.keeping_key(key, now));
        }
        if !self.is_answerable(now) {
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

    /// When an answer's letter came, if nothing but that letter was typed since the question appeared: somebody means to
    /// answer, and it is too soon.
    fn early_answer(&self, key: Key, now: Instant) -> Option<Instant> {
        let Key {
            code: Code::Char(letter),
            ctrl: false,
            alt: false,
            ..
        } = key
        else {
            return None;
        };
        Choice::of_key(letter)?;
        self.is_only_early(key).then_some(now)
    }

    /// Whether nothing but this letter was typed since the question appeared.
    fn is_only_early(&self, key: Key) -> bool {
        let text = self.editor.text();
        match self.early {
            None => text.is_empty(),
            Some(_) => text.chars().all(|written| key.code == Code::Char(written)),
        }
    }

    /// What was picked is the answer, or opens what is written before it is one: a reason, or patterns to be read and changed.
    fn answer_letter(&mut self, letter: char, now: Instant) -> Vec<Act> {
        self.letters.as_mut().and_then(Letters::unpick);
        let word = match Choice::of_key(letter) {
            None => return Vec::new(),
            Some(Choice::Once) => Word::Once,
            Some(Choice::Always) => Word::Always,
            Some(Choice::No) => Word::No(None),
            Some(Choice::NoBecause) => {
                self.refusing = Some(Reason::default());
                return Vec::new();
            }
            Some(Choice::Project) => {
                self.keeping = self.proposal().map(|proposal| Keeping::new(proposal, now));
                return Vec::new();
            }
        };
        self.answer(word)
    }

    /// Whether there is anything that always would permit.
    fn may_always(&self) -> bool {
        self.questions
            .front()
            .is_some_and(|question| !question.grants.is_empty())
    }

    /// What could be kept for the project.
    fn proposal(&self) -> Option<&str> {
        self.questions.front()?.proposal.as_deref()
    }

    /// The letter was the beginning of something written.
    fn unpick(&mut self) {
        let letter = self.letters.as_mut().and_then(Letters::unpick);
        self.give_letter(letter);
        self.take_back_letter();
    }

    /// A key for what is to be kept. It is an answer only once it permits what is asked.
    fn keeping_key(&mut self, key: Key, now: Instant) -> Vec<Act> {
        let (Some(keeping), Some(question)) = (&mut self.keeping, self.questions.front()) else {
            return Vec::new();
        };
        match keeping.key(key, now) {
            Edited::On => Vec::new(),
            Edited::Unread => {
                self.hint = Some("read the pattern first · then Enter keeps it");
                Vec::new()
            }
            Edited::Left => {
                self.keeping = None;
                Vec::new()
            }
            Edited::Taken(text) => match question.patterns(&text) {
                Ok(patterns) => self
                    .close_question()
                    .map_or_else(Vec::new, |question| vec![Act::Answered(question.keep(patterns))]),
                Err(why) => {
                    keeping.objection = Some(why);
                    Vec::new()
                }
            },
        }
    }

    fn reason_key(&mut self, key: Key) -> Vec<Act> {
        let Some(reason) = &mut self.refusing else {
            return Vec::new();
        };
        match reason.key(key) {
            Came::On => {}
            Came::Told(reason) => return self.answer(Word::No(Some(reason).filter(|text| !text.is_empty()))),
            Came::Left => {
                if let Some(left) = self.refusing.take().filter(|reason| !reason.is_empty()) {
                    self.editor.remember(&left.typed());
                    self.hint = Some(CLEARED);
                }
            }
        }
        Vec::new()
    }

    /// Answers; what stays to be seen of that is shown.
    fn answer(&mut self, word: Word) -> Vec<Act> {
        let Some(question) = self.close_question() else {
            return Vec::new();
        };
        let told = answers::answered(&question, &word);
        question.answer(word);
        told.into_iter().map(Act::Answered).collect()
    }

    /// The question that is being answered; the next one is put from the beginning.
    fn close_question(&mut self) -> Option<Question> {
        self.refusing = None;
        self.keeping = None;
        self.letters = None;
        self.is_unfolded = false;
        self.questions.pop_front()
    }

    /// A key for the suggestions; `None` if it is none.
    fn candidate_key(&mut self, key: Key, candidates: &[Candidate], chosen: usize) -> Option<Vec<Act>> {
        if key.ctrl || key.alt || key.shift && key.code == Code::Tab {
            return None;
        }
        match key.code {
            Code::Up => self.chosen = Some(chosen.checked_sub(1).unwrap_or(candidates.len() - 1)),
            Code::Down => self.chosen = Some((chosen + 1) % candidates.len()),
            Code::Tab => self.complete(&candidates[chosen].text),
            // What stands behind a command may be anything: only what was gone to is meant.
            Code::Enter
                if !key.shift && self.chosen.is_none() && matches!(self.sought(), Some(Sought::Argument(..))) =>
            {
                return Some(self.enter());
            }
            // A name that is written already is sent with the rest.
            Code::Enter if !key.shift && self.is_written(&candidates[chosen].text) => return Some(self.enter()),
            Code::Enter if !key.shift => {
                // A beginning is no choice: `/cle` and Enter would clear.
                let is_command = matches!(self.sought(), Some(Sought::Command(_) | Sought::Argument(..)))
                    && self.chosen.is_some()
                    && !candidates[chosen].wants_more;
                self.complete(&candidates[chosen].text);
                if is_command {
                    return Some(self.enter());
                }
            }
            Code::Esc if self.doing == Doing::Nothing => self.dismissed = Some(self.editor.text()),
            _ => return None,
        }
        Some(Vec::new())
    }

    /// How many characters a completion takes the place of.
    fn written(&self) -> Option<usize> {
        match self.sought()? {
            Sought::Command(word) => Some(word.chars().count() + 1),
            Sought::Argument(.., letters) => Some(letters.chars().count()),
            Sought::File(letters) => Some(letters.chars().count() + 1),
        }
    }

    /// Whether completing it to this would change nothing.
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
