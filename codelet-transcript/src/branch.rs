//! Which entries of a session that was rewound belong to the conversation as it stands.

use crate::Warning;

/// Where an entry says that it continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parent {
    /// Nowhere: it begins the conversation anew.
    Start,
    /// After this entry.
    After(usize),
    /// After what was written just before it: it is no entry of the tree.
    Listed,
    /// After one that the file does not hold: what was written just before it is the best guess.
    Lost,
}

/// A way through the tree of entries.
pub(crate) struct Branch {
    /// By entry: whether it is on the way.
    pub(crate) on: Vec<bool>,
    /// Entries on it whose parents were guessed.
    guessed: usize,
    /// The entry at which the way begins.
    first: usize,
}

/// The branch that ends at the given entry. Time is linear whatever the entries claim, cycles included.
pub(crate) fn ending_at(leaf: usize, parents: &[Parent]) -> Branch {
    let mut on = vec![false; parents.len()];
    let mut next = (leaf < parents.len()).then_some(leaf);
    let mut lowest = leaf;
    let (mut guessed, mut first) = (0, 0);
    while let Some(index) = next {
        on[index] = true;
        first = index;
        lowest = lowest.min(index);
        next = match parents[index] {
            Parent::Start => None,
            Parent::After(parent) if parent < on.len() && !on[parent] => Some(parent),
            // Everything from `lowest` on was either visited or left for another branch, so this only goes down.
            parent @ (Parent::After(_) | Parent::Lost | Parent::Listed) => {
                let before = lowest.checked_sub(1);
                guessed += usize::from(before.is_some() && parent == Parent::Lost);
                before
            }
        };
    }
    Branch { on, guessed, first }
}

impl Branch {
    /// The way of a list: over each of so many entries.
    pub(crate) fn of_all(entries: usize) -> Self {
        Branch {
            on: vec![true; entries],
            guessed: 0,
            first: 0,
        }
    }

    /// What a reader of the conversation has to know about the way, where it is odd. `speaks` says which entries say something.
    pub(crate) fn warnings(&self, speaks: impl Fn(usize) -> bool) -> Vec<Warning> {
        let left = (0..self.first)
            .filter(|index| !self.on[*index] && speaks(*index))
            .count();
        let anew = (left > 0).then_some(Warning::BegunAnew { left });
        let guessed = (self.guessed > 0).then_some(Warning::ParentGuessed { count: self.guessed });
        anew.into_iter().chain(guessed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Parent::{After, Listed, Lost, Start};
    use super::*;

    fn branch(parents: &[Parent]) -> Vec<usize> {
        let on = ending_at(parents.len() - 1, parents).on;
        (0..on.len()).filter(|index| on[*index]).collect()
    }

    #[test]
    fn an_abandoned_branch_is_left_out() {
        assert_eq!(branch(&[Start, After(0), After(1), After(0), After(3)]), [0, 3, 4]);
    }

    #[test]
    fn a_lost_parent_is_bridged_and_a_new_start_is_not() {
        assert_eq!(branch(&[Start, After(0), Lost, After(2)]), [0, 1, 2, 3]);
        assert_eq!(branch(&[Start, After(0), Start, After(2)]), [2, 3]);
    }

    #[test]
    fn what_a_new_start_leaves_out_and_what_was_guessed_is_told() {
        let told = |parents: &[Parent]| ending_at(parents.len() - 1, parents).warnings(|index| index != 1);
        assert_eq!(told(&[Start, After(0), After(1), After(0), After(3)]), []);
        assert_eq!(told(&[Lost, After(0), Listed]), []);
        assert_eq!(
            told(&[Start, After(0), Lost, After(2)]),
            [Warning::ParentGuessed { count: 1 }]
        );
        assert_eq!(
            told(&[Start, After(0), After(1), Start, After(3)]),
            [Warning::BegunAnew { left: 2 }]
        );
    }

    #[test]
    fn cycles_end() {
        assert_eq!(branch(&[Start, After(2), After(1)]), [0, 1, 2]);
        assert_eq!(branch(&[After(0)]), [0]);
        assert_eq!(branch(&[After(9), After(1)]), [0, 1]);
    }
}
