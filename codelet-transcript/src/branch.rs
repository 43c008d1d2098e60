//! Which entries of a session that was rewound belong to the conversation as it stands.

/// Where an entry says that it continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parent {
    /// Nowhere: it begins the conversation anew.
    Start,
    /// After this entry.
    After(usize),
    /// After one that the file does not hold: what was written just before it is the best guess.
    Lost,
}

/// Marks the branch that ends at the given entry. Time is linear whatever the entries claim, cycles included.
pub(crate) fn ending_at(leaf: usize, parents: &[Parent]) -> Vec<bool> {
    let mut on = vec![false; parents.len()];
    let mut next = (leaf < parents.len()).then_some(leaf);
    let mut lowest = leaf;
    while let Some(index) = next {
        on[index] = true;
        lowest = lowest.min(index);
        next = match parents[index] {
            Parent::Start => None,
            Parent::After(parent) if parent < on.len() && !on[parent] => Some(parent),
            // Everything from `lowest` on was either visited or left for another branch, so this only goes down.
            Parent::After(_) | Parent::Lost => lowest.checked_sub(1),
        };
    }
    on
}

#[cfg(test)]
mod tests {
    use super::Parent::{After, Lost, Start};
    use super::*;

    fn branch(parents: &[Parent]) -> Vec<usize> {
        let on = ending_at(parents.len() - 1, parents);
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
    fn cycles_end() {
        assert_eq!(branch(&[Start, After(2), After(1)]), [0, 1, 2]);
        assert_eq!(branch(&[After(0)]), [0]);
        assert_eq!(branch(&[After(9), After(1)]), [0, 1]);
    }
}
