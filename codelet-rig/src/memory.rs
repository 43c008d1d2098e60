//! A memory that keeps everything and gives back what fits.

use crate::fold::{EditPoints, Fold};
use crate::folds::Folds;
use crate::recall::Recall;
use crate::settings::Settings;
use rig_core::id::ConversationId;
use rig_core::memory::{ConversationMemory, MemoryError};
use rig_core::message::Message;
use rig_core::wasm_compat::WasmBoxedFuture;

/// A [`ConversationMemory`] around any other: that one keeps everything, and what is loaded fits into the window.
///
/// What is loaded is a function of what is stored: the same history gives the same messages, from any such memory with the same
/// settings and after any restart. Between two edits it only grows at its end. Edits happen between two runs; a run that is long by
/// itself is [`CompactionHook`](crate::CompactionHook)'s, which sees all messages if the agent's memory is the plain one. So
/// an agent has the one or the other.
#[derive(Clone)]
pub struct CompactedMemory<M> {
    inner: M,
    settings: Settings,
    folds: Folds<ConversationId>,
}

impl<M> CompactedMemory<M> {
    /// Wraps a memory.
    pub fn new(inner: M, settings: Settings) -> Self {
        CompactedMemory {
            inner,
            settings,
            folds: Folds::default(),
        }
    }

    /// The memory that keeps everything.
    pub fn inner(&self) -> &M {
        &self.inner
    }

    /// The tool that reads back what was removed from this conversation when it was last loaded.
    pub fn recall(&self, conversation: &ConversationId) -> Recall {
        let (folds, conversation) = (self.folds.clone(), conversation.clone());
        Recall::new(move |_| folds.archive(&conversation).into_iter().collect())
    }

    fn compacted(&self, conversation: &ConversationId, messages: &[Message]) -> Vec<Message> {
        let known = self.folds.of(conversation, messages);
        let new = || Fold::new(&self.settings, EditPoints::Runs, self.settings.overhead, None);
        let mut fold = known.unwrap_or_else(new);
        fold.advance(messages, None);
        let here = fold.here();
        self.folds.put(conversation.clone(), fold, here.archive().clone());
        here.shown()
    }
}

impl<M: ConversationMemory> ConversationMemory for CompactedMemory<M> {
    fn load<'a>(&'a self, conversation: &'a ConversationId) -> WasmBoxedFuture<'a, Result<Vec<Message>, MemoryError>> {
        Box::pin(async move {
            let messages = self.inner.load(conversation).await?;
            Ok(self.compacted(conversation, &messages))
        })
    }

    fn append<'a>(
        &'a self,
        conversation: &'a ConversationId,
        messages: Vec<Message>,
    ) -> WasmBoxedFuture<'a, Result<(), MemoryError>> {
        self.inner.append(conversation, messages)
    }

    fn clear<'a>(&'a self, conversation: &'a ConversationId) -> WasmBoxedFuture<'a, Result<(), MemoryError>> {
        Box::pin(async move {
            self.inner.clear(conversation).await?;
            self.folds.forget(conversation);
            Ok(())
        })
    }
}
