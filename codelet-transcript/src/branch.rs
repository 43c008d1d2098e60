//! Finds the entries of a rewound session that belong to the current conversation.

use crate::Warning;

/// The entry that an entry continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parent {
    /// None: it starts a new conversation.
    Start,
    /// This entry.
    After(usize),
    /// The entry before it in the file: it is not part of the tree.
    Listed,
    /// One that the file does not hold: the entry before it in the file is the best guess.
    Lost,
}

/// A path through the tree of entries.
pub(crate) struct Branch {
    /// For each entry, whether it is on the path.
    pub(crate) on: Vec<bool>,
    /// The number of entries on the path whose parents were guessed.
    guessed: usize,
    /// The entry at which the path begins.
    first: usize,
}

/// Returns the branch that ends at the given entry. Takes linear time whatever the entries claim, cycles included.
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
            // Everything from `lowest` on was either visited or skipped for another branch, so this only goes down.
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
    /// The path of a list: over all `entries` entries.
    pub(crate) fn of_all(entries: usize) -> Self {
        Branch {
            on: vec![true; entries],
            guessed: 0,
            first: 0,
        }
    }

    /// Returns warnings about anything unusual in the path. `speaks` returns whether an entry has content.
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
