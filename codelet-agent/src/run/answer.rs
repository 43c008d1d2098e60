//! Checks on final answers, if the user requires more than text.

/// Checks final answers. One that fails is no answer: the model is told why, and asked again.
pub trait AnswerCheck: Send + Sync {
    /// Returns the answer in the form to hand on.
    ///
    /// # Errors
    /// If it fails, with the reason for the model and the user.
    fn check(&self, answer: &str) -> Result<String, String>;
}
