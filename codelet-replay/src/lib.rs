//! Plays recorded conversations through policies of editing their history, and says what each would have cost.
