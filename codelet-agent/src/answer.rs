//! What a final answer has to be, where the user wants more of it than words.

/// Checks final answers. One that does not pass is no answer: the model is told why, and asked again.
pub trait AnswerCheck: Send + Sync {
    /// The answer as it is handed on.
    ///
    /// # Errors
    /// When it does not pass: why, for the model and the user.
    fn check(&self, answer: &str) -> Result<String, String>;
}
