//! Which lines are looked at in which pass, while a threshold falls.

/// Lines that wait for the pass in which the threshold is down to what they are worth. In each pass they are handed out
/// from the last to the first.
#[derive(Default)]
pub(crate) struct Passes {
    /// The threshold of each pass.
    thresholds: Vec<f32>,
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
    fn pass_for(&self, most: f32) -> usize {
        self.thresholds.partition_point(|&threshold| threshold > most)
    }
}
