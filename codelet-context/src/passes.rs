//! Which lines are looked at in which pass, while a threshold falls.

/// Lines that wait for the pass in which the threshold is down to what they are worth. In each pass they are handed out
/// from the last to the first.
#[derive(Default)]
pub(crate) struct Passes {
    /// The threshold of each pass.
    thresholds: Vec<f32>,
    /// Passes for each power of two.
    per_octave: f32,
    /// The lines that wait for each pass.
    waiting: Vec<Vec<u32>>,
    /// For each line: the pass that it waits for, or [`NEVER`].
    pass_of: Vec<u8>,
    /// The pass under way, counted from 1.
    pass: usize,
    /// The lines of this pass that are left, ascending.
    left: Vec<u32>,
    /// Those that were woken meanwhile, the last one on top.
    woken: std::collections::BinaryHeap<u32>,
    /// The line that was handed out last.
    at: u32,
}

const NEVER: u8 = u8::MAX;
/// By so much the bits of a float grow when it is doubled.
const OCTAVE: f32 = (1 << (f32::MANTISSA_DIGITS - 1)) as f32;

impl Passes {
    /// Thresholds fall from `top` by the factor `fall` down to `lowest` times `top`; each line waits for its bound.
    pub fn new(bounds: &[f32], top: f32, fall: f32, lowest: f32) -> Self {
        let mut thresholds = Vec::new();
        let mut threshold = top;
        while threshold > top * lowest && thresholds.len() < usize::from(NEVER) {
            threshold *= fall;
            thresholds.push(threshold);
        }
        let mut passes = Passes {
            waiting: vec![Vec::new(); thresholds.len()],
            per_octave: -1.0 / fall.log2(),
            thresholds,
            pass_of: vec![NEVER; bounds.len()],
            ..Passes::default()
        };
        for (line, &bound) in bounds.iter().enumerate() {
            if bound > 0.0 {
                passes.wait(line as u32, passes.pass_for(bound));
            }
        }
        passes
    }

    /// Begins the next pass and returns its threshold, or `None` after the last one.
    pub fn next_pass(&mut self) -> Option<f32> {
        let threshold = *self.thresholds.get(self.pass)?;
        self.left = std::mem::take(&mut self.waiting[self.pass]);
        self.left.sort_unstable();
        self.pass += 1;
        self.at = u32::MAX;
        Some(threshold)
    }

    /// The next line of this pass.
    pub fn next_line(&mut self) -> Option<u32> {
        loop {
            let line = match (self.left.last(), self.woken.peek()) {
                (Some(left), Some(woken)) if woken > left => self.woken.pop(),
                (Some(_), _) => self.left.pop(),
                (None, _) => self.woken.pop(),
            }?;
            // A line that was woken may have left its place for an earlier pass.
            if usize::from(self.pass_of[line as usize]) + 1 == self.pass {
                self.pass_of[line as usize] = NEVER;
                self.at = line;
                return Some(line);
            }
        }
    }

    /// A line waits for a later pass.
    pub fn sleep(&mut self, line: u32, most: f32) {
        self.wait(line, self.pass_for(most).max(self.pass));
    }

    /// A line may be worth more than it was: it is looked at in this pass if its turn is yet to come, else in the next.
    pub fn wake(&mut self, line: u32, most: f32) {
        let now = self.pass - 1;
        let pass = self.pass_for(most).max(if line < self.at { now } else { self.pass });
        if usize::from(self.pass_of[line as usize]) <= pass {
            return;
        }
        if pass == now {
            self.pass_of[line as usize] = now as u8;
            self.woken.push(line);
        } else {
            self.wait(line, pass);
        }
    }

    fn wait(&mut self, line: u32, pass: usize) {
        if let Some(waiting) = self.waiting.get_mut(pass) {
            waiting.push(line);
            self.pass_of[line as usize] = pass as u8;
        }
    }

    /// The first pass whose threshold is not above this.
    ///
    /// The bits of a positive float, read as a number, grow nearly as its logarithm does. So the place is guessed from them,
    /// and is one beside the guess at most; it is the same wherever the logarithm is worked out otherwise.
    fn pass_for(&self, most: f32) -> usize {
        let Some(&first) = self.thresholds.first() else {
            return 0;
        };
        let octaves = (i64::from(first.to_bits()) - i64::from(most.max(0.0).to_bits())) as f32 / OCTAVE;
        let mut pass = ((octaves * self.per_octave) as usize).min(self.thresholds.len());
        while pass > 0 && self.thresholds[pass - 1] <= most {
            pass -= 1;
        }
        while self.thresholds.get(pass).is_some_and(|&threshold| threshold > most) {
            pass += 1;
        }
        pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_line_waits_for_the_first_threshold_that_is_not_above_it(
            top in 1e-6f32..1e6,
            part in prop_oneof![0f32..2.0, 0f32..1e-5, Just(0.0), Just(1.0)],
            fall in 0.3f32..0.95,
        ) {
            let passes = Passes::new(&[], top, fall, 1e-7);
            let searched = |most: f32| passes.thresholds.partition_point(|&threshold| threshold > most);
            for most in [top * part, -part].into_iter().chain(passes.thresholds.iter().copied()) {
                prop_assert_eq!(passes.pass_for(most), searched(most));
            }
        }

        #[test]
        fn lines_are_handed_out_once_from_the_last_to_the_first(bounds in proptest::collection::vec(0f32..1.0, 0..40)) {
            let top = bounds.iter().copied().fold(0.0, f32::max);
            let mut passes = Passes::new(&bounds, top, 0.8, 1e-7);
            let mut handed = Vec::new();
            while let Some(threshold) = passes.next_pass() {
                let mut last = u32::MAX;
                while let Some(line) = passes.next_line() {
                    prop_assert!(line < last && bounds[line as usize] >= threshold);
                    last = line;
                    handed.push(line);
                }
            }
            handed.sort_unstable();
            let above = |bound: f32| bound > 0.0 && bound >= top * 1e-7;
            let wanted: Vec<u32> = (0..bounds.len() as u32).filter(|&line| above(bounds[line as usize])).collect();
            prop_assert_eq!(handed, wanted);
        }
    }
}
