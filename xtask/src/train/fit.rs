//! Fits weights that predict how likely a segment is marked: logistic regression with a ridge penalty, by Newton's
//! method.

use super::engine::{FEATURES, Weights};
use super::lesson::{Lesson, Lessons, Part};
use super::weights::{self, Values};

/// Ridge penalties that are tried. The penalty of a weight is the ridge times the spread of its feature: with one
/// penalty for all weights rare signs count for nothing, with the square of the spread chance finds its way into them.
pub const RIDGES: [f64; 2] = [200.0, 300.0];
const STEPS: usize = 25;
/// Maximum change of a weight per step.
const STRIDE: f64 = 3.0;
/// The fit has converged when no weight changes by more than this.
const STILL: f64 = 1e-3;
/// The index of the constant feature.
const CONSTANT: usize = 0;
/// The ridge of the constant, practically none.
const FREE: f64 = 1e-3;

/// What is added to fitted weights, by the name of the feature. A teacher marks a fact wherever it stands; a reader goes on better from
/// the sentence in which the model said it than from the thought in which it was found. Chosen by what is told of held-out
/// conversations (docs/decisions/0006-which-lines-are-quoted.md).
const PREFERRED: [(&str, f64); 2] = [("S", 0.4), ("T", -1.0)];

/// The weights with what is added to them.
fn preferred(mut values: Values) -> Values {
    for (name, value) in FEATURES.iter().zip(&mut values) {
        *value += PREFERRED
            .iter()
            .filter(|(of, _)| of == name)
            .map(|(_, more)| more)
            .sum::<f64>();
    }
    values
}

/// Weights trained on all lessons.
pub struct Learned {
    /// The ridge.
    pub ridge: f64,
    pub values: Values,
    /// The penalty of each weight.
    penalties: Values,
}

impl Learned {
    /// Trains on all lessons.
    pub fn of(lessons: &Lessons<'_>, ridge: f64) -> Self {
        let mut penalties = lessons.spread().map(|spread| (ridge * spread).max(FREE));
        penalties[CONSTANT] = FREE;
        Learned {
            ridge,
            values: preferred(newton(&lessons.parts(&|_| false), [0.0; FEATURES.len()], &penalties)),
            penalties,
        }
    }

    /// Weights trained without some of the lessons.
    pub fn without(&self, lessons: &Lessons<'_>, is_left_out: &dyn Fn(&Lesson) -> bool) -> Weights {
        weights::of(&preferred(newton(
            &lessons.parts(is_left_out),
            self.values,
            &self.penalties,
        )))
    }
}

/// The maximum likelihood weights, from a first guess.
fn newton(parts: &[Part<'_>], first: Values, penalties: &Values) -> Values {
    let mut values = first;
    for _ in 0..STEPS {
        let Slope { first, second } = Slope::at(&values, parts, penalties);
        let step = solve(second, first);
        let widest = step.iter().fold(0.0, |widest: f64, change| widest.max(change.abs()));
        let share = if widest > STRIDE { STRIDE / widest } else { 1.0 };
        for (value, change) in values.iter_mut().zip(&step) {
            *value += share * change;
        }
        if widest < STILL {
            break;
        }
    }
    values
}

/// The derivatives of the likelihood with respect to the weights.
struct Slope {
    first: Vec<f64>,
    /// The negated second derivatives: the lower half of a symmetric matrix, row by row.
    second: Vec<f64>,
}

impl Slope {
    /// The derivatives at the given weights.
    fn at(values: &Values, parts: &[Part<'_>], penalties: &Values) -> Self {
        let size = values.len();
        let mut slope = Slope {
            first: vec![0.0; size],
            second: vec![0.0; size * size],
        };
        for (at, (value, penalty)) in values.iter().zip(penalties).enumerate() {
            slope.first[at] = -penalty * value;
            slope.second[at * size + at] = *penalty;
        }
        let mut row = Vec::with_capacity(size);
        for part in parts {
            let counts = part.weights.iter().zip(&part.marks);
            for (entries, (&weight, mark)) in part.rows.iter().zip(counts).filter(|(_, (weight, _))| **weight > 0.0) {
                row.clear();
                row.extend(
                    entries
                        .iter()
                        .map(|&(feature, value)| (usize::from(feature), f64::from(value))),
                );
                let score: f64 = row.iter().map(|&(column, value)| values[column] * value).sum();
                let likely = 1.0 / (1.0 + (-score.clamp(-30.0, 30.0)).exp());
                slope.add(
                    &row,
                    mark - weight * likely,
                    (weight * likely * (1.0 - likely)).max(1e-9),
                );
            }
        }
        slope
    }

    /// Adds a row; its columns are ascending.
    fn add(&mut self, row: &[(usize, f64)], error: f64, bend: f64) {
        let size = self.first.len();
        for (at, &(column, value)) in row.iter().enumerate() {
            self.first[column] += error * value;
            let line = &mut self.second[column * size..][..=column];
            for &(other, factor) in &row[..=at] {
                line[other] += bend * value * factor;
            }
        }
    }
}

/// Solves a system with a symmetric positive definite matrix, given by its lower half, row by row.
fn solve(mut matrix: Vec<f64>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for row in 0..size {
        for column in 0..=row {
            let (above, below) = (column * size, row * size);
            let known: f64 = (0..column).map(|at| matrix[above + at] * matrix[below + at]).sum();
            let rest = matrix[below + column] - known;
            matrix[below + column] = match row == column {
                true => rest.max(f64::MIN_POSITIVE).sqrt(),
                false => rest / matrix[above + column],
            };
        }
    }
    for row in 0..size {
        let known: f64 = (0..row).map(|at| matrix[row * size + at] * right[at]).sum();
        right[row] = (right[row] - known) / matrix[row * size + row];
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|at| matrix[at * size + row] * right[at]).sum();
        right[row] = (right[row] - known) / matrix[row * size + row];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::rows::Rows;

    #[test]
    fn a_system_is_solved() {
        let solved = solve(
            vec![4.0, 0.0, 0.0, 2.0, 5.0, 0.0, 1.0, 3.0, 6.0],
            vec![11.0, 21.0, 25.0],
        );
        for (value, expected) in solved.iter().zip([1.0, 2.0, 3.0]) {
            assert!((value - expected).abs() < 1e-9, "{solved:?}");
        }
    }

    #[test]
    fn weights_are_found_again_that_marked_made_up_rows() {
        let truth = [-1.0, 1.5, -0.5];
        let made: Vec<[f32; 3]> = (0..400)
            .map(|at| [1.0, (at % 7) as f32 / 3.0, (at % 5) as f32 / 2.0])
            .collect();
        let likely = |row: &[f32; 3]| {
            let score: f64 = row
                .iter()
                .zip(truth)
                .map(|(value, weight)| f64::from(*value) * weight)
                .sum();
            1.0 / (1.0 + (-score).exp())
        };
        let rows: Rows = made.iter().map(<[f32; 3]>::as_slice).collect();
        let part = Part {
            rows: &rows,
            weights: vec![100.0; made.len()],
            marks: made.iter().map(|row| 100.0 * likely(row)).collect(),
        };
        let found = newton(&[part], [0.0; FEATURES.len()], &[1e-6; FEATURES.len()]);
        for (value, expected) in found.iter().zip(truth) {
            assert!((value - expected).abs() < 1e-3, "{found:?}");
        }
        assert!(found[truth.len()..].iter().all(|value| *value == 0.0), "{found:?}");
    }
}
