//! A memory that keeps everything and loads what fits.

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
/// The loaded messages depend only on the stored ones: the same history gives the same messages, from any such memory with the
/// same settings and after any restart. Between two edits they only grow at the end. Edits happen between two runs; for long runs
/// use [`CompactionHook`](crate::CompactionHook) with a plain memory, through which it sees all messages. An agent has one of
/// the two, not both.
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

    /// The tool that reads back what was removed from this conversation, as it was last loaded.
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
