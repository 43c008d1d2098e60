//! The effect of each event on a session, and the lines that it finishes.

use super::super::look::Role;
use super::super::tool::{Answered, Running};
use super::{Phase, Renderer, Topic, countdown, paused_for};
use codelet_agent::event::{Event, Progress};
use codelet_agent::model::Billed;
use codelet_context::notice::Notice;
use codelet_context::tokens::Tokens;
use ratatui::text::Line;
use std::sync::Arc;
use std::time::Duration;

impl Renderer {
    pub(super) fn happened(&mut self, event: &Event, now: Duration) -> Vec<Line<'static>> {
        match event {
            Event::Asking { occupancy, limit, .. } => self.asked_the_model((*occupancy, *limit), now),
            Event::Thinking(text) => self.thought_on(text, now),
            Event::Text(text) => self.wrote(text, now),
            Event::Calling { tool } => self.began_calling(tool, now),
            Event::Void => self.void(now),
            Event::Billed { billed, cost } => {
                self.billed(billed, *cost);
                Vec::new()
            }
            Event::Waiting {
                cause,
                left,
                next_try,
                first_token,
                paused,
            } => self.waits(cause, (*left, *next_try), (*first_token, *paused), now),
            Event::ToolStarted {
                id, tool, description, ..
            } => {
                self.tool_started(Running::new(id.clone(), tool.clone(), description, now), now)
            }
            Event::ToolPrinted { id, text } => self.tool_printed(id, text),
            Event::Task { id, progress } => {
                self.task_went_on(id, progress);
                Vec::new()
            }
            Event::ToolFinished {
                id,
                tool,
                success,
                failed_in_pipe,
                bytes,
                elapsed,
                printed,
                remarks,
                diff,
                stopped,
            } => {
                let answer = Answered {
                    success: *success,
                    failed_in_pipe,
                    bytes: *bytes,
                    elapsed: *elapsed,
                    printed,
                    remarks: *remarks,
                    diff,
                    stopped: *stopped,
                };
                self.tool_finished(id, tool, answer, now)
            }
            Event::Compacted { notice, .. } => self.window_compacted(notice),
            Event::TakenBack(turn) => self.notice(&format!(
                "The provider would refuse this prompt again, so it and everything after it were removed from the conversation. /recall {} shows it; if prompts are still refused, /clear starts over.",
                turn.handle
            )),
            Event::Notice(text) => self.notice(text),
            // The call was shown when it started, and the outcome of a refused one already.
            Event::ToolPermitted { .. } | Event::Refused { .. } => Vec::new(),
            Event::Over(ending) => self.over(ending, now),
        }
    }

    fn asked_the_model(&mut self, tokens: (Tokens, Tokens), now: Duration) -> Vec<Line<'static>> {
        let out = self.flush();
        self.status.tokens = Some(tokens);
        self.told_cause.clear();
        self.has_said = false;
        self.done.said = 0;
        self.set_doing(Phase::Asking, now);
        out
    }

    fn thought_on(&mut self, text: &str, now: Duration) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        if self.doing != Phase::Thinking {
            out = self.flush();
            self.thought_began = now;
            self.set_doing(Phase::Thinking, now);
        }
        self.think(text);
        out
    }

    fn wrote(&mut self, text: &str, now: Duration) -> Vec<Line<'static>> {
        let mut out = self.end_thinking(now);
        self.set_doing(Phase::Writing, now);
        self.done.said += text.len();
        for piece in text.split_inclusive('\n') {
            let lines = self.answer.push(piece);
            out.extend(self.said(lines));
            if self.answer.is_between_blocks() {
                out.extend(self.release());
            }
        }
        out
    }

    fn began_calling(&mut self, tool: &str, now: Duration) -> Vec<Line<'static>> {
        let mut out = self.end_thinking(now);
        out.extend(self.flush());
        self.set_doing(Phase::Calling(tool.to_owned()), now);
        out
    }

    fn billed(&mut self, billed: &Billed, cost: Option<f64>) {
        match cost {
            Some(cost) => *self.status.dollars.get_or_insert(0.0) += cost,
            None => self.status.is_partly_unpriced = true,
        }
        let (read, all) = self.status.cached.unwrap_or_default();
        let usage = billed.usage;
        self.status.cached = Some((
            read.saturating_add(usage.cache_read),
            all.saturating_add(usage.prompt()),
        ));
        if let Some((current, _)) = &mut self.status.tokens
            && usage.prompt() > 0
        {
            *current = usage.total();
        }
    }

    fn waits(
        &mut self,
        cause: &str,
        (left, next_try): (Duration, Option<u32>),
        (first_token, paused): (Option<Duration>, Option<Duration>),
        now: Duration,
    ) -> Vec<Line<'static>> {
        let doing = Phase::Waiting {
            cause: cause.to_owned(),
            left,
            next_try,
            first_token,
            paused,
        };
        self.set_doing(doing, now);
        // A plain terminal has no rows below its lines: it prints each try and cause once.
        if self.look.is_plain() && self.told_cause != cause {
            cause.clone_into(&mut self.told_cause);
            let told = match paused {
                Some(paused) => paused_for(paused, left, next_try),
                None => countdown(cause, left, next_try),
            };
            // The rest of a sentence that the provider stopped in goes on below.
            return match self.is_within_block() {
                true => self.rows_of(Role::Warning, "waiting:", &told),
                false => self.labelled(Role::Warning, "waiting:", &told),
            };
        }
        Vec::new()
    }

    fn tool_started(&mut self, running: Running, now: Duration) -> Vec<Line<'static>> {
        let mut out = self.end_thinking(now);
        out.extend(self.flush());
        self.running.push(running);
        if self.doing != Phase::Tools {
            self.set_doing(Phase::Tools, now);
        }
        out
    }

    fn tool_printed(&mut self, id: &Arc<str>, text: &str) -> Vec<Line<'static>> {
        let is_alone = self.running.len() == 1;
        let Some(running) = self.running.iter_mut().find(|running| running.id == *id) else {
            return Vec::new();
        };
        running.print(text);
        // With several calls at once, nobody could tell which one printed these lines.
        if !(self.look.is_plain() && is_alone) {
            return Vec::new();
        }
        let lines = running.come(text, &self.look);
        if lines.is_empty() {
            return lines;
        }
        let mut out = self.topic(Topic::Tools);
        out.extend(lines);
        out
    }

    /// The task's cost since its last report is added to the session's.
    fn task_went_on(&mut self, id: &Arc<str>, progress: &Progress) {
        let Some(running) = self.running.iter_mut().find(|running| running.id == *id) else {
            return;
        };
        let (before, now) = (running.progress.take().unwrap_or_default().bill, progress.bill);
        running.progress = Some(progress.clone());
        if now.requests - now.unpriced > before.requests - before.unpriced {
            *self.status.dollars.get_or_insert(0.0) += now.cost.total() - before.cost.total();
        }
        self.status.is_partly_unpriced |= now.unpriced > before.unpriced;
    }

    fn tool_finished(
        &mut self,
        id: &Arc<str>,
        tool: &Arc<str>,
        answer: Answered<'_>,
        now: Duration,
    ) -> Vec<Line<'static>> {
        let at = self.running.iter().position(|running| running.id == *id);
        let running = match at {
            Some(at) => self.running.remove(at),
            None => Running::new(id.clone(), tool.clone(), "", now),
        };
        self.done.calls += u64::from(answer.stopped.is_none());
        if self.running.is_empty() {
            self.set_doing(Phase::Asking, now);
        }
        let mut out = self.topic(Topic::Tools);
        let (lines, folded) = running.answered(answer, &self.look);
        out.extend(lines);
        if let Some(folded) = folded {
            self.fold(&running.label(), folded, Role::Text);
        }
        out
    }

    fn window_compacted(&mut self, notice: &Notice) -> Vec<Line<'static>> {
        if notice.changed {
            self.status.tokens = self.status.tokens.map(|(_, limit)| (notice.after, limit));
        }
        self.compacted(notice)
    }
}
