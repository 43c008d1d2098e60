//! The state of a session that is typed into: keys go in, wishes and rows come out. It touches no terminal and has no
//! clock of its own.

use crate::answers;
use crate::command::{self, Said};
use crate::complete::{self, Candidate, Sought};
use crate::editor::Editor;
use crate::front::Doing;
use crate::keys::{Code, Key, Typed};
use crate::render::permission::Choice;
use codelet_agent::asking::{Question, Word};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A second Ctrl-C counts as one of two for so long.
const TWICE: Duration = Duration::from_secs(2);
/// A question takes no key that was on its way when it appeared.
const STARTLED: Duration = Duration::from_millis(400);
/// A letter answers a question when nothing follows it for so long: who goes on typing is writing, not answering.
const SETTLED: Duration = Duration::from_millis(350);
/// Enter so soon after a letter was not pressed by a hand that has read anything: it is the end of a pasted line.
const BURST: Duration = Duration::from_millis(80);

/// The names of the files that can be named, in any order.
pub type Files = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// What a key leads to, beside what is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// This was sent.
    Send(String),
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

/// Reasons for a no are written here.
#[derive(Debug)]
struct Refusing {
    reason: String,
}

/// A letter that may be an answer.
#[derive(Clone, Copy, Debug)]
struct Picked {
    choice: Choice,
    letter: char,
    at: Instant,
}

/// The state of the input.
pub struct Repl {
    /// What is being written.
    pub editor: Editor,
    /// What runs.
    pub doing: Doing,
    queue: VecDeque<String>,
    questions: VecDeque<Question>,
    /// When the first question was put before the user.
    asked: Option<Instant>,
    refusing: Option<Refusing>,
    picked: Option<Picked>,
    /// The last of some letters that came too early to be an answer and are nothing else.
    early: Option<Instant>,
    /// All of what is asked was unfolded.
    pub is_unfolded: bool,
    files: Option<Vec<String>>,
    chosen: usize,
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
            questions: VecDeque::new(),
            asked: None,
            refusing: None,
            picked: None,
            early: None,
            is_unfolded: false,
            files: None,
            chosen: 0,
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
            self.asked = None;
            self.refusing = None;
            self.picked = None;
            self.is_unfolded = false;
        }
        if self.questions.is_empty() {
            self.asked = None;
        } else if self.asked.is_none() {
            self.asked = Some(now);
        }
        self.questions.front()
    }

    /// When the question takes keys; before, they belong to what somebody was writing when it appeared.
    pub fn answerable_from(&self) -> Option<Instant> {
        self.asked.map(|asked| asked + STARTLED)
    }

    /// Whether the question takes keys now.
    pub fn is_answerable(&self, now: Instant) -> bool {
        self.editor.is_empty()
            && self.editor.searching().is_none()
            && self.answerable_from().is_some_and(|from| now >= from)
    }

    /// The answer that Enter would give now.
    pub fn picked(&self, now: Instant) -> Option<Choice> {
        let picked = self.picked.filter(|picked| now >= picked.at + BURST)?;
        Some(picked.choice)
    }

    /// When something becomes of a letter that may be an answer.
    pub fn settles_at(&self, now: Instant) -> Option<Instant> {
        let early = self.early.map(|early| early + SETTLED);
        let burst = self.picked.map(|picked| picked.at + BURST);
        let last = self.picked.filter(|picked| picked.choice != Choice::Always);
        [early, burst, last.map(|picked| picked.at + SETTLED)]
            .into_iter()
            .flatten()
            .filter(|at| *at > now)
            .min()
    }

    /// Time has passed: a letter that stood alone is the answer. What permits more than this once waits for Enter.
    pub fn settle(&mut self, now: Instant) -> Vec<Act> {
        // A question that nobody needs answered any more takes its letter with it.
        let is_asked = self.question(now).is_some() && self.is_answerable(now);
        if self.early.is_some_and(|early| now >= early + SETTLED) {
            self.early = None;
            // Left where they are, they would be sent with what is written next.
            if self.waiting() > 0 {
                self.editor.set("");
            }
        }
        match self.picked {
            Some(picked) if is_asked && picked.choice != Choice::Always && now >= picked.at + SETTLED => {
                self.decide(picked.choice)
            }
            _ => Vec::new(),
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
    pub fn refusing(&self) -> Option<&str> {
        self.refusing.as_ref().map(|refusing| refusing.reason.as_str())
    }

    /// What may be meant by what is being written, and which one is chosen.
    pub fn candidates(&self) -> (Vec<Candidate>, usize) {
        let found = match self.sought() {
            Some(Sought::Command(word)) => complete::commands(&word),
            Some(Sought::File(letters)) => match &self.files {
                Some(files) => complete::files(&letters, files),
                None => Vec::new(),
            },
            None => Vec::new(),
        };
        let chosen = self.chosen.min(found.len().saturating_sub(1));
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
            _ => Some(sought),
        }
    }

    /// Takes what was typed.
    pub fn typed(&mut self, typed: Typed, now: Instant) -> Vec<Act> {
        self.hint = None;
        let mut acts = self.settle(now);
        match typed {
            Typed::Paste(text) => {
                self.early = None;
                self.paste(&text, now);
            }
            Typed::Key(key) => acts.extend(self.key(key, now)),
        }
        if self.files.is_none() && matches!(self.sought(), Some(Sought::File(_))) {
            acts.push(Act::WantFiles);
        }
        acts
    }

    fn paste(&mut self, text: &str, now: Instant) {
        // A paste never answers a question; a reason may be pasted.
        if self.question(now).is_some()
            && let Some(refusing) = &mut self.refusing
        {
            refusing
                .reason
                .extend(text.chars().filter(|c| !c.is_control()).take(1_000));
            return;
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
            match letter {
                'c' => return self.cancel(now),
                'd' if self.editor.is_empty() => return vec![Act::Leave],
                '\\' => return vec![Act::Quit],
                'z' => return vec![Act::Suspend],
                'l' => return vec![Act::Redraw],
                'o' => return vec![Act::Unfold],
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
                code: Code::Enter,
                alt: false,
                shift: false,
                ..
            } => self.enter(),
            Key { code: Code::Up, .. } if self.editor.is_empty() && !self.queue.is_empty() => {
                // The last that was queued is taken back to be changed.
                if let Some(text) = self.queue.pop_back() {
                    self.editor.paste(&text);
                }
                Vec::new()
            }
            key => {
                if self.editor.key(key) {
                    self.chosen = 0;
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
        self.editor.set("");
        Vec::new()
    }

    fn cancel(&mut self, now: Instant) -> Vec<Act> {
        let is_second = self.parting.is_some_and(|first| now.duration_since(first) < TWICE);
        self.parting = Some(now);
        if self.editor.searching().is_some() {
            self.editor.search_key(Key::plain(Code::Esc));
            return Vec::new();
        }
        if self.doing != Doing::Nothing {
            if is_second {
                return vec![Act::Leave];
            }
            return vec![Act::Interrupt];
        }
        if !self.editor.is_empty() {
            self.editor.set("");
            self.parting = None;
            return Vec::new();
        }
        if is_second {
            return vec![Act::Leave];
        }
        self.hint = Some("Ctrl-C again leaves");
        Vec::new()
    }

    fn enter(&mut self) -> Vec<Act> {
        if self.editor.takes_backslash() {
            return Vec::new();
        }
        if self.editor.text().trim().is_empty() {
            return Vec::new();
        }
        self.chosen = 0;
        self.dismissed = None;
        vec![Act::Send(self.editor.take())]
    }

    /// A key for the question; `None` if it is none, so that writing goes on.
    fn answer_key(&mut self, key: Key, now: Instant) -> Option<Vec<Act>> {
        if self.refusing.is_some() {
            return Some(self.reason_key(key));
        }
        if let Some(picked) = self.picked {
            return self.picked_key(picked, key, now);
        }
        if !self.is_answerable(now) {
            self.early = self.early_answer(key, now);
            return None;
        }
        match key {
            Key { code: Code::Esc, .. } => Some(vec![Act::Interrupt]),
            // Enter alone is no answer.
            Key { code: Code::Enter, .. } => Some(Vec::new()),
            Key {
                code: Code::Char(letter),
                ctrl: false,
                alt: false,
                ..
            } => {
                let choice = Choice::of_key(letter)?;
                if choice == Choice::Always && !self.may_always() {
                    return None;
                }
                self.picked = Some(Picked {
                    choice,
                    letter,
                    at: now,
                });
                Some(Vec::new())
            }
            _ => None,
        }
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
        let text = self.editor.text();
        let is_alone = match self.early {
            None => text.is_empty(),
            Some(_) => text.chars().all(|written| written == letter),
        };
        is_alone.then_some(now)
    }

    /// A key after a letter that may be an answer.
    fn picked_key(&mut self, picked: Picked, key: Key, now: Instant) -> Option<Vec<Act>> {
        match key {
            Key {
                code: Code::Esc | Code::Backspace,
                ..
            } => {
                self.picked = None;
                Some(Vec::new())
            }
            Key { code: Code::Enter, .. } if now >= picked.at + BURST => Some(self.decide(picked.choice)),
            Key { code: Code::Enter, .. } => {
                self.unpick();
                Some(Vec::new())
            }
            Key {
                code: Code::Char(letter),
                ctrl: false,
                alt: false,
                ..
            } if picked.choice == Choice::Always
                && now >= picked.at + SETTLED
                && matches!(Choice::of_key(letter), Some(Choice::Once | Choice::No)) =>
            {
                self.picked = None;
                self.answer_key(key, now)
            }
            _ => {
                self.unpick();
                None
            }
        }
    }

    /// What was picked is the answer, or the beginning of one.
    fn decide(&mut self, choice: Choice) -> Vec<Act> {
        let word = match choice {
            Choice::Once => Word::Once,
            Choice::Always => Word::Always,
            Choice::No => Word::No(None),
            Choice::NoBecause => {
                self.picked = None;
                self.refusing = Some(Refusing { reason: String::new() });
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

    /// The letter was the beginning of something written.
    fn unpick(&mut self) {
        if let Some(picked) = self.picked.take() {
            self.editor.key(Key::plain(Code::Char(picked.letter)));
        }
    }

    fn reason_key(&mut self, key: Key) -> Vec<Act> {
        let Some(refusing) = &mut self.refusing else {
            return Vec::new();
        };
        match key.code {
            Code::Esc => self.refusing = None,
            Code::Backspace => {
                refusing.reason.pop();
            }
            Code::Char(c) if !key.ctrl && !key.alt && refusing.reason.len() < 4_000 => refusing.reason.push(c),
            Code::Enter => {
                let reason = refusing.reason.trim().to_owned();
                let reason = Some(reason).filter(|reason| !reason.is_empty());
                return self.answer(Word::No(reason));
            }
            _ => {}
        }
        Vec::new()
    }

    fn answer(&mut self, word: Word) -> Vec<Act> {
        self.picked = None;
        self.refusing = None;
        self.asked = None;
        self.is_unfolded = false;
        let Some(question) = self.questions.pop_front() else {
            return Vec::new();
        };
        let told = answers::answered(&question, &word);
        question.answer(word);
        vec![Act::Answered(told)]
    }

    /// A key for the suggestions; `None` if it is none.
    fn candidate_key(&mut self, key: Key, candidates: &[Candidate], chosen: usize) -> Option<Vec<Act>> {
        if key.ctrl || key.alt {
            return None;
        }
        match key.code {
            Code::Up => self.chosen = chosen.checked_sub(1).unwrap_or(candidates.len() - 1),
            Code::Down => self.chosen = (chosen + 1) % candidates.len(),
            Code::Tab => self.complete(&candidates[chosen].text),
            // A name that is written already is sent with the rest.
            Code::Enter if !key.shift && self.is_written(&candidates[chosen].text) => return Some(self.enter()),
            Code::Enter if !key.shift => {
                let is_command = matches!(self.sought(), Some(Sought::Command(_)));
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
        self.chosen = 0;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use codelet_agent::asking::Asking;
    use codelet_agent::permission::{Asked, Gate as _, Rules, Verdict};
    use codelet_agent::tool::Need;
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    struct At {
        repl: Repl,
        now: Instant,
    }

    impl At {
        fn new() -> Self {
            At {
                repl: Repl::new(),
                now: Instant::now(),
            }
        }

        fn wait(&mut self, ms: u64) {
            self.now += Duration::from_millis(ms);
        }

        fn key(&mut self, key: Key) -> Vec<Act> {
            self.wait(1);
            self.repl.typed(Typed::Key(key), self.now)
        }

        fn code(&mut self, code: Code) -> Vec<Act> {
            self.key(Key::plain(code))
        }

        fn write(&mut self, text: &str) -> Vec<Act> {
            text.chars().flat_map(|c| self.code(Code::Char(c))).collect()
        }
    }

    #[test]
    fn enter_sends_and_nothing_is_not_sent() {
        let mut at = At::new();
        assert_eq!(at.code(Code::Enter), []);
        at.write("hello");
        assert_eq!(at.code(Code::Enter), [Act::Send("hello".to_owned())]);
        assert!(at.repl.editor.is_empty());
    }

    #[test]
    fn alt_enter_and_a_backslash_make_a_new_line() {
        let mut at = At::new();
        at.write("one");
        at.key(Key {
            alt: true,
            ..Key::plain(Code::Enter)
        });
        at.write("two\\");
        assert_eq!(at.code(Code::Enter), []);
        at.write("three");
        assert_eq!(at.code(Code::Enter), [Act::Send("one\ntwo\nthree".to_owned())]);
    }

    #[test]
    fn esc_interrupts_what_runs_and_keeps_what_is_written() {
        let mut at = At::new();
        at.write("half a thought");
        at.repl.doing = Doing::Run;
        assert_eq!(at.code(Code::Esc), [Act::Interrupt]);
        assert_eq!(at.repl.editor.text(), "half a thought");
        at.repl.doing = Doing::Nothing;
        assert_eq!(at.code(Code::Esc), []);
        assert!(at.repl.editor.is_empty());
    }

    #[test]
    fn ctrl_c_clears_then_leaves_the_second_time() {
        let mut at = At::new();
        at.write("x");
        assert_eq!(at.key(Key::ctrl('c')), []);
        assert_eq!(at.key(Key::ctrl('c')), []);
        assert!(at.repl.hint.is_some());
        at.wait(5_000);
        assert_eq!(at.key(Key::ctrl('c')), []);
        assert_eq!(at.key(Key::ctrl('c')), [Act::Leave]);
        at.wait(5_000);
        at.repl.doing = Doing::Run;
        assert_eq!(at.key(Key::ctrl('c')), [Act::Interrupt]);
    }

    #[test]
    fn what_is_queued_comes_back_with_up_and_after_an_interruption() {
        let mut at = At::new();
        at.repl.queue("one".to_owned());
        at.repl.queue("two".to_owned());
        at.code(Code::Up);
        assert_eq!(at.repl.editor.text(), "two");
        assert_eq!(at.repl.queued().collect::<Vec<_>>(), ["one"]);
        assert!(at.repl.give_back().is_empty());
        assert_eq!(at.repl.editor.text(), "one\ntwo");
    }

    #[test]
    fn commands_that_were_typed_ahead_are_not_mixed_into_a_text() {
        let mut at = At::new();
        for said in ["one", "/compact", "!ls", "two"] {
            at.repl.queue(said.to_owned());
        }
        assert_eq!(at.repl.give_back(), ["/compact", "!ls"]);
        assert_eq!(at.repl.editor.text(), "one\ntwo");
        at.repl.editor.set("");
        at.repl.queue("/compact".to_owned());
        assert!(at.repl.give_back().is_empty());
        assert_eq!(at.repl.editor.text(), "/compact");
    }

    #[test]
    fn a_command_is_completed_with_tab_and_sent_with_enter() {
        let mut at = At::new();
        at.write("/und");
        at.code(Code::Tab);
        assert_eq!(at.repl.editor.text(), "/undo-compact ");
        at.repl.editor.set("");
        at.write("/und");
        assert_eq!(at.code(Code::Enter), [Act::Send("/undo-compact ".to_owned())]);
    }

    #[test]
    fn a_file_is_completed_once_the_names_are_there() {
        let mut at = At::new();
        let acts = at.write("see @mai");
        assert!(acts.contains(&Act::WantFiles));
        at.repl
            .take_files(vec!["src/main.rs".to_owned(), "src/lib.rs".to_owned()]);
        assert_eq!(at.code(Code::Enter), []);
        assert_eq!(at.repl.editor.text(), "see @src/main.rs ");
    }

    #[test]
    fn a_file_name_that_is_written_whole_is_sent_with_one_enter() {
        let mut at = At::new();
        at.repl
            .take_files(vec!["src/main.rs".to_owned(), "src/lib.rs".to_owned()]);
        at.write("/pin @src/main.rs");
        assert_eq!(at.code(Code::Enter), [Act::Send("/pin @src/main.rs".to_owned())]);
        // Only its end is written: the whole name comes first.
        at.write("/pin @main.rs");
        assert_eq!(at.code(Code::Enter), []);
        assert_eq!(at.code(Code::Enter), [Act::Send("/pin @src/main.rs ".to_owned())]);
        // Another one was chosen.
        at.repl.take_files(vec!["a.rs".to_owned(), "la.rs".to_owned()]);
        at.write("@a.rs");
        at.code(Code::Down);
        assert_eq!(at.code(Code::Enter), []);
        assert_eq!(at.repl.editor.text(), "@la.rs ");
    }

    /// A question at the gate; what the call is told in the end.
    fn question(act: impl FnOnce(&mut At)) -> (At, Option<Verdict>) {
        let (gate, mut questions) = Asking::new(Rules::default());
        let needs = [Need::Run {
            command: "cargo test".to_owned(),
        }];
        let mut judged = pin!(gate.judge(Asked {
            tool: "Bash",
            description: "cargo test",
            needs: &needs,
        }));
        let mut context = Context::from_waker(Waker::noop());
        assert!(judged.as_mut().poll(&mut context).is_pending());
        let mut at = At::new();
        at.repl.doing = Doing::Run;
        at.repl.ask(questions.try_recv().unwrap());
        assert!(at.repl.question(at.now).is_some());
        act(&mut at);
        match judged.as_mut().poll(&mut context) {
            Poll::Ready(verdict) => (at, Some(verdict)),
            Poll::Pending => (at, None),
        }
    }

    #[test]
    fn a_question_is_answered_each_way() {
        let no = |why: &str| Some(Verdict::No(why.to_owned()));
        for (keys, verdict) in [
            ("y", Some(Verdict::Yes)),
            ("y \r", Some(Verdict::Yes)),
            ("a \r", Some(Verdict::Yes)),
            ("n", no("the user said no")),
            ("a n", no("the user said no")),
            ("a", None),
            ("a\u{1b}\r", None),
            ("\r\r", None),
            ("x", None),
        ] {
            let (_, said) = question(|at| {
                at.wait(1_000);
                for c in keys.chars() {
                    match c {
                        ' ' => at.wait(400),
                        '\r' => drop(at.code(Code::Enter)),
                        '\u{1b}' => drop(at.code(Code::Esc)),
                        c => drop(at.code(Code::Char(c))),
                    }
                }
                at.wait(400);
                at.repl.settle(at.now);
            });
            assert_eq!(said, verdict, "{keys:?}");
        }
        let (_, said) = question(|at| {
            at.wait(1_000);
            at.write("r");
            at.wait(400);
            at.write("use make");
            at.code(Code::Enter);
        });
        assert_eq!(said, no("the user said no, and: use make"));
    }

    #[test]
    fn keys_that_were_on_their_way_answer_nothing() {
        let (at, said) = question(|at| {
            at.write("yany");
        });
        assert_eq!((at.repl.editor.text().as_str(), said), ("yany", None));
        // The same letter again and again is an answer that came too early: it answers nothing, and is not sent either.
        let (at, said) = question(|at| {
            at.write("yyy");
            at.wait(1_000);
            at.repl.settle(at.now);
        });
        assert_eq!((at.repl.editor.text().as_str(), said), ("", None));
        let (at, said) = question(|at| {
            at.write("yy");
            at.write("es");
            at.wait(1_000);
            at.repl.settle(at.now);
        });
        assert_eq!((at.repl.editor.text().as_str(), said), ("yyes", None));
        let (at, said) = question(|at| {
            at.repl.editor.set("half ");
            at.wait(1_000);
            at.write("y");
        });
        assert_eq!((at.repl.editor.text().as_str(), said), ("half y", None));
        let (_, said) = question(|at| {
            at.wait(1_000);
            at.repl.typed(Typed::Paste("y\n".to_owned()), at.now);
        });
        assert_eq!(said, None);
        // Somebody who goes on typing writes, however slowly, and so does a paste without brackets.
        for (text, pause, written) in [
            ("run it", 120, "run it"),
            ("also this", 120, "also this"),
            ("yes, but", 300, "yes, but"),
            ("a\rn", 1, "an"),
        ] {
            let (at, said) = question(|at| {
                at.wait(1_000);
                for c in text.chars() {
                    at.wait(pause);
                    at.code(if c == '\r' { Code::Enter } else { Code::Char(c) });
                }
                at.wait(1_000);
                at.repl.settle(at.now);
            });
            assert_eq!((at.repl.editor.text().as_str(), said), (written, None));
        }
    }
}
