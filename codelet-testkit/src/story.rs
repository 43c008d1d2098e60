//! The bundled session: twelve prompts on an invented pantry program, with actual faults in its sources, edits that
//! actually fix them, a plan, rules of the user, and one task still unfinished at the end.

use crate::prng::Prng;
use crate::project::Project;
use crate::scribe::Scribe;
use codelet_context::message::{Message, ReminderKind};

const MANIFEST: &str = "[package]\nname = \"larder\"\nversion = \"0.3.0\"\nedition = \"2024\"\n\n[dependencies]\n";
const LIB: &str = "//! Larder: what is in the kitchen, and which of it to eat first.\n\npub mod date;\npub mod item;\npub mod report;\npub mod shelf;\npub mod store;\n";
const RULES: &str = "Answer briefly. Never convert between grams, millilitres and pieces. Errors name the line. Each change that a user can see gets a line in CHANGELOG.md. Run the tests before you say that something works.";

/// The session, the same on every machine.
pub fn larder_session() -> Vec<Message> {
    let mut scribe = Scribe::new(project());
    scribe.system("You are a coding agent in a terminal. You read before you change, you change little, and you run the tests after each change.");
    look_around(&mut scribe);
    leap_year(&mut scribe);
    expiring_soon(&mut scribe);
    umlauts(&mut scribe);
    recipes(&mut scribe);
    slow_lookup(&mut scribe);
    separators(&mut scribe);
    comments(&mut scribe);
    commit(&mut scribe);
    negative_days(&mut scribe);
    documentation(&mut scribe);
    shopping_list(&mut scribe);
    scribe.messages
}

fn project() -> Project {
    // A fixed seed, since the fixture generated from it is checked in.
    let mut project = Project::generate(7, 6_000, &mut Prng::new(11));
    project.put("Cargo.toml", MANIFEST.to_owned());
    project.put(
        "CHANGELOG.md",
        "# Changes\n\n## 0.3.0\n- Shelves have names.\n".to_owned(),
    );
    for (path, text) in [
        ("src/lib.rs", LIB),
        ("src/date.rs", include_str!("../larder/src/date.rs")),
        ("src/item.rs", include_str!("../larder/src/item.rs")),
        ("src/report.rs", include_str!("../larder/src/report.rs")),
        ("src/shelf.rs", include_str!("../larder/src/shelf.rs")),
        ("src/store.rs", include_str!("../larder/src/store.rs")),
        ("tests/lists.rs", include_str!("../larder/tests/lists.rs")),
    ] {
        project.put(path, text.to_owned());
    }
    project
}

fn look_around(s: &mut Scribe) {
    s.prompt(
        Some((ReminderKind::Instructions, RULES)),
        "Have a look at this project and tell me in a few lines how it is laid out. The three test failures are known; don't mend anything yet.",
    );
    let listing = s.project.paths().join("\n");
    s.say("I start with the file list and the manifest.");
    s.together(|s| {
        s.run("git ls-files", true, listing);
        s.read("Cargo.toml");
    });
    s.together(|s| {
        s.read("src/lib.rs");
        s.read("src/item.rs");
        s.read("src/shelf.rs");
    });
    s.together(|s| {
        s.read("src/date.rs");
        s.read("src/store.rs");
    });
    s.test(
        "cargo test",
        "",
        &[
            ("a_century_is_a_leap_year_only_every_fourth_time", LEAP_FAILS),
            ("what_is_already_expired_is_not_expiring_soon", SOON_FAILS),
            ("a_long_name_with_umlauts_is_cut_between_characters", UMLAUT_FAILS),
        ],
    );
    s.answer("`item` is a thing with a `Quantity` (grams, millilitres or pieces) and a best-before `Day`; `shelf` keeps items by `ItemId`; `store` reads and writes a shelf as lines of `name;amount;unit;date`; `report` prints what to eat first. Seven more modules (`aisle` to `coupon`) deal with shops. Three tests fail: leap years in `date.rs`, `Shelf::soon`, and the cut of long names in `report.rs`.");
}

const LEAP_FAILS: &str = "thread 'date::tests::a_century_is_a_leap_year_only_every_fourth_time' panicked at src/date.rs:107:9:\nassertion failed: Day::new(1900, 2, 29).is_err()";
const SOON_FAILS: &str = "thread 'shelf::tests::what_is_already_expired_is_not_expiring_soon' panicked at src/shelf.rs:108:9:\nassertion `left == right` failed\n  left: 2\n right: 1";
const UMLAUT_FAILS: &str = "thread 'a_long_name_with_umlauts_is_cut_between_characters' panicked at src/report.rs:33:27:\nend byte index 18 is not a char boundary; it is inside 'ö' (bytes 17..19) of `Königsberger Klößße`";

fn leap_year(s: &mut Scribe) {
    s.prompt(None, "Good. Now the leap years, please.");
    s.test(
        "cargo test date",
        "date::",
        &[("a_century_is_a_leap_year_only_every_fourth_time", LEAP_FAILS)],
    );
    s.think("is_leap only looks at year % 4. The Gregorian rule needs the century as well: divisible by 100 is no leap year unless divisible by 400.");
    s.read_lines("src/date.rs", 68, 82);
    s.edit(
        "src/date.rs",
        "    year % 4 == 0\n",
        "    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)\n",
    );
    s.test("cargo test date", "date::", &[]);
    s.answer("`is_leap` now follows the Gregorian rule: 1900 is none, 2000 is one. The date tests pass.");
}

fn expiring_soon(s: &mut Scribe) {
    s.prompt(None, "The list shows yoghurt that went off last week under \"soon\". What is past its date belongs in the first part only.");
    s.test(
        "cargo test shelf",
        "shelf::",
        &[("what_is_already_expired_is_not_expiring_soon", SOON_FAILS)],
    );
    s.read("src/shelf.rs");
    s.say("`until` is negative for days that are over, and the filter only has an upper bound.");
    s.edit(
        "src/shelf.rs",
        "            .filter(|(_, item)| today.until(item.best_before) < days)\n",
        "            .filter(|(_, item)| (0..days).contains(&today.until(item.best_before)))\n",
    );
    s.edit(
        "CHANGELOG.md",
        "# Changes\n",
        "# Changes\n\n## Unreleased\n- What is past its date is no longer listed as expiring soon.\n",
    );
    s.test("cargo test shelf", "shelf::", &[]);
    s.answer("`Shelf::soon` now asks for 0 to `days` days, so expired items are listed once. One line in CHANGELOG.md. The shelf tests pass.");
}

fn umlauts(s: &mut Scribe) {
    s.prompt(
        None,
        "And the crash with the Königsberger Klöße. Cut names by characters, the width stays 18.",
    );
    s.read("src/report.rs");
    s.read("tests/lists.rs");
    s.edit(
        "src/report.rs",
        "    let name = &item.name[..item.name.len().min(NAME_WIDTH)];\n",
        "    let name: String = item.name.char().take(NAME_WIDTH).collect();\n",
    );
    s.run("cargo test --test lists", false, "   Compiling larder v0.3.0 (/home/ada/larder)\nerror[E0599]: no method named `char` found for struct `String` in the current scope\n  --> src/report.rs:33:34\n   |\n33 |     let name: String = item.name.char().take(NAME_WIDTH).collect();\n   |                                  ^^^^ help: there is a method `chars` with a similar name\n\nFor more information about this error, try `rustc --explain E0599`.\nerror: could not compile `larder` (lib) due to 1 previous error\n");
    s.say("A slip: the method is `chars`.");
    s.edit("src/report.rs", "item.name.char()", "item.name.chars()");
    s.test("cargo test --test lists", "lists::", &[]);
    s.test("cargo test", "", &[]);
    s.answer("Names are cut after 18 characters instead of 18 bytes. All tests pass now.");
}

const RECIPE: &str = r#"//! What can be cooked, and what is missing for it.

use crate::item::Quantity;
use crate::shelf::Shelf;

/// A dish and what it takes.
#[derive(Clone, PartialEq, Debug)]
pub struct Recipe {
    /// Its name.
    pub name: String,
    /// Name and quantity of each ingredient.
    pub ingredients: Vec<(String, Quantity)>,
}

impl Recipe {
    /// The ingredients that the shelves cannot give. An item in another unit does not count: units are never converted.
    pub fn missing(&self, shelves: &[Shelf]) -> Vec<(String, Quantity)> {
        let mut missing = Vec::new();
        for (name, wanted) in &self.ingredients {
            let there: u32 = shelves
                .iter()
                .flat_map(Shelf::iter)
                .filter(|(_, item)| item.name == *name && item.quantity.same_unit(*wanted))
                .map(|(_, item)| item.quantity.amount())
                .sum();
            if there < wanted.amount() {
                missing.push((name.clone(), wanted.less(there)));
            }
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Item;

    #[test]
    fn what_is_there_twice_is_added_up() {
        let mut shelf = Shelf::new("pantry");
        let day = "2031-04-05".parse().unwrap();
        shelf.put(Item::new("flour", Quantity::Grams(300), day));
        shelf.put(Item::new("flour", Quantity::Grams(400), day));
        let bread = Recipe { name: "bread".into(), ingredients: vec![("flour".into(), Quantity::Grams(750))] };
        assert_eq!(bread.missing(&[shelf]), [("flour".into(), Quantity::Grams(50))]);
    }

    #[test]
    fn eggs_in_pieces_are_no_grams_of_egg() {
        let mut shelf = Shelf::new("fridge");
        shelf.put(Item::new("eggs", Quantity::Pieces(6), "2031-04-05".parse().unwrap()));
        let cake = Recipe { name: "cake".into(), ingredients: vec![("eggs".into(), Quantity::Grams(120))] };
        assert_eq!(cake.missing(&[shelf]).len(), 1);
    }
}
"#;

fn recipes(s: &mut Scribe) {
    s.prompt(None, "Next: recipes. A recipe lists ingredients with quantities, and `missing(&shelves)` says what has to be bought. Add up equal names over all shelves. Plan it first, and remember: no unit conversion, ever.");
    s.todo(&[
        ('>', "recipe module with `missing`"),
        (' ', "tests: added up, other unit"),
        (' ', "file format for recipes"),
        (' ', "shopping list from several recipes"),
    ]);
    s.together(|s| {
        s.read("src/item.rs");
        s.read("src/shelf.rs");
    });
    s.grep("same_unit");
    s.think("Quantity has minus(other) but I need `wanted minus there` where there may be less. I add `less(amount: u32)` to Quantity, it keeps the unit.");
    s.write("src/recipe.rs", RECIPE);
    s.edit("src/lib.rs", "pub mod item;\n", "pub mod item;\npub mod recipe;\n");
    s.run("cargo test recipe", false, "   Compiling larder v0.3.0 (/home/ada/larder)\nerror[E0599]: no method named `less` found for reference `&Quantity` in the current scope\n  --> src/recipe.rs:27:51\n   |\n27 |                 missing.push((name.clone(), wanted.less(there)));\n   |                                                    ^^^^ method not found in `&Quantity`\n\nerror: could not compile `larder` (lib) due to 1 previous error\n");
    s.edit(
        "src/item.rs",
        "    /// What is left after taking `other`, which has the same unit.\n    pub fn minus(self, other: Quantity) -> Quantity {\n        let left = self.amount().saturating_sub(other.amount());\n",
        "    /// What is left after taking `other`, which has the same unit.\n    pub fn minus(self, other: Quantity) -> Quantity {\n        self.less(other.amount())\n    }\n\n    /// This much less of it, in the same unit.\n    pub fn less(self, amount: u32) -> Quantity {\n        let left = self.amount().saturating_sub(amount);\n",
    );
    s.test("cargo test recipe", "recipe::", &[]);
    s.edit(
        "CHANGELOG.md",
        "## Unreleased\n",
        "## Unreleased\n- Recipes: `Recipe::missing` says what has to be bought.\n",
    );
    s.todo(&[
        ('x', "recipe module with `missing`"),
        ('x', "tests: added up, other unit"),
        (' ', "file format for recipes"),
        (' ', "shopping list from several recipes"),
    ]);
    s.test("cargo test", "", &[]);
    s.answer("`src/recipe.rs` has `Recipe { name, ingredients }` and `missing`. `Quantity::less` is new and `minus` uses it. All tests pass. Open: a file format for recipes, and the shopping list.");
}

fn slow_lookup(s: &mut Scribe) {
    s.prompt(None, "Before that, something urgent: with the 40,000 barcodes of the new supplier the start takes 11 seconds. It must be below half a second. Where does it come from?");
    s.run("cargo build --release 2>&1", true, build_output(90));
    s.run("hyperfine --runs 3 'target/release/larder today --barcodes supplier.csv'", true, "Benchmark 1: target/release/larder today --barcodes supplier.csv\n  Time (mean ± σ):     11.214 s ±  0.087 s    [User: 11.180 s, System: 0.031 s]\n  Range (min … max):   11.121 s … 11.293 s    3 runs\n");
    s.together(|s| {
        s.read("src/barcode.rs");
        s.read("src/aisle.rs");
    });
    s.grep("starts_with");
    s.read("src/basket.rs");
    s.read("src/brand.rs");
    s.run("perf report --stdio --percent-limit 2", true, "# Overhead  Command  Shared Object  Symbol\n    94.31%  larder   larder         [.] larder::barcode::Barcode::find_row\n     2.87%  larder   libc.so.6      [.] __memcmp_avx2_movbe\n");
    s.think("94 % in find_row, which walks all rows for each barcode: 40,000 × 40,000. The rows are a BTreeMap, so a range query finds the prefix in logarithmic time.");
    let rows = "    rows: BTreeMap<String, u32>,\n}\n\nimpl Barcode {\n";
    s.edit("src/barcode.rs", rows, &format!("{rows}    /// The first row whose key begins with this barcode; the map is ordered, so no other row is looked at.\n    pub fn find_row(&self, barcode: &str) -> Option<(&String, &u32)> {{\n        let row = self.rows.range(barcode.to_owned()..).next()?;\n        row.0.starts_with(barcode).then_some(row)\n    }}\n\n"));
    s.test("cargo test barcode", "barcode::", &[]);
    s.run("hyperfine --runs 3 'target/release/larder today --barcodes supplier.csv'", true, "Benchmark 1: target/release/larder today --barcodes supplier.csv\n  Time (mean ± σ):     143.2 ms ±   1.9 ms    [User: 131.0 ms, System: 11.8 ms]\n  Range (min … max):   141.4 ms … 145.2 ms    3 runs\n");
    s.edit(
        "CHANGELOG.md",
        "## Unreleased\n",
        "## Unreleased\n- Starting with 40,000 barcodes takes 0.14 s instead of 11 s.\n",
    );
    s.answer("`Barcode::find_row` compared every barcode with every row. It now asks the ordered map for the range: 11.2 s → 0.14 s. The barcode tests pass.");
}

fn separators(s: &mut Scribe) {
    s.prompt(None, "A user has an item called `salt; coarse` and the file cannot be read back any more. Old files must still be readable, so do not change the separator: write `\\;` and read it.");
    s.read("src/store.rs");
    s.edit("src/store.rs", "        let mut fields = line.split(SEPARATOR);\n        let (Some(name), Some(amount), Some(unit), Some(date)) =\n            (fields.next(), fields.next(), fields.next(), fields.next())\n        else {\n            return Err(error());\n        };\n", "        let fields = split(line);\n        let [name, amount, unit, date] = fields.as_slice() else {\n            return Err(error());\n        };\n");
    s.edit(
        "src/store.rs",
        "        let quantity = match unit {\n",
        "        let quantity = match unit.as_str() {\n",
    );
    s.edit(
        "src/store.rs",
        "            item.name,\n",
        "            item.name.replace(SEPARATOR, \"\\\\\\\\;\"),\n",
    );
    s.edit("src/store.rs", "/// Writes a shelf as text.\n", "/// The fields of a line; a separator after a backslash belongs to its field.\nfn split(line: &str) -> Vec<String> {\n    let mut fields = vec![String::new()];\n    let mut letters = line.chars().peekable();\n    while let Some(letter) = letters.next() {\n        match letter {\n            '\\\\' if letters.next_if_eq(&SEPARATOR).is_some() => fields.last_mut().unwrap().push(SEPARATOR),\n            SEPARATOR => fields.push(String::new()),\n            _ => fields.last_mut().unwrap().push(letter),\n        }\n    }\n    fields\n}\n\n/// Writes a shelf as text.\n");
    s.edit("tests/lists.rs", "#[test]\nfn the_list_says_tomorrow_and_in_two_days() {\n", "#[test]\nfn a_name_with_a_separator_survives_its_file() {\n    let text = \"salt\\\\; coarse;500;g;2033-01-01\\n\";\n    let shelf = store::parse(text, \"pantry\").unwrap();\n    assert_eq!(shelf.iter().next().unwrap().1.name, \"salt; coarse\");\n    assert_eq!(store::render(&shelf), text);\n}\n\n#[test]\nfn the_list_says_tomorrow_and_in_two_days() {\n");
    s.test("cargo test --test lists", "lists::", &[("a_name_with_a_separator_survives_its_file", "thread 'a_name_with_a_separator_survives_its_file' panicked at tests/lists.rs:18:5:\nassertion `left == right` failed\n  left: \"salt\\\\\\\\; coarse;500;g;2033-01-01\\n\"\n right: \"salt\\\\; coarse;500;g;2033-01-01\\n\"")]);
    s.say("One backslash too many in what I write.");
    s.read_lines("src/store.rs", 62, 96);
    s.edit(
        "src/store.rs",
        "item.name.replace(SEPARATOR, \"\\\\\\\\;\")",
        "item.name.replace(SEPARATOR, r\"\\;\")",
    );
    s.test("cargo test --test lists", "lists::", &[]);
    s.edit(
        "CHANGELOG.md",
        "## Unreleased\n",
        "## Unreleased\n- Names may contain a semicolon; it is written as `\\;`. Old files read as before.\n",
    );
    s.test("cargo test", "", &[]);
    s.answer("`store` writes `\\;` inside names and reads it back; files without it read as before. New test `a_name_with_a_separator_survives_its_file`. All tests pass.");
}

fn comments(s: &mut Scribe) {
    s.prompt(None, "Blank lines and lines that begin with # should be allowed in the file too. I don't mind that they are lost when it is saved.");
    s.grep("StoreError::Line");
    s.edit("src/store.rs", "    for (index, line) in text.lines().enumerate() {\n", "    for (index, line) in text.lines().enumerate() {\n        if line.trim().is_empty() || line.starts_with('#') {\n            continue;\n        }\n");
    s.test("cargo test", "", &[]);
    s.edit(
        "CHANGELOG.md",
        "## Unreleased\n",
        "## Unreleased\n- Blank lines and `#` comments are allowed in shelf files.\n",
    );
    s.answer("Both are skipped, and errors still name the right line. Tests pass.");
}

fn commit(s: &mut Scribe) {
    s.prompt(None, "Commit what we have, one commit, and push.");
    s.run("git status --short", true, " M CHANGELOG.md\n M src/barcode.rs\n M src/date.rs\n M src/item.rs\n M src/lib.rs\n M src/report.rs\n M src/shelf.rs\n M src/store.rs\n M tests/lists.rs\n?? src/recipe.rs\n");
    s.run("git add -A && git commit -qm 'Recipes, leap years, names with semicolons, fast barcodes' && git log --oneline -1", true, "7be41c9 Recipes, leap years, names with semicolons, fast barcodes\n");
    s.run("git push 2>&1", false, "remote: error: GH006: Protected branch update failed for refs/heads/main.\nremote: error: Changes must be made through a pull request.\nTo git.example:ada/larder.git\n ! [remote rejected] main -> main (protected branch hook declined)\nerror: failed to push some refs to 'git.example:ada/larder.git'\n");
    s.run(
        "git switch -c recipes && git push -u origin recipes 2>&1",
        true,
        push_output(),
    );
    s.answer("Committed as 7be41c9. `main` is protected, so I pushed the branch `recipes`; the pull request is yours to open.");
}

fn negative_days(s: &mut Scribe) {
    s.prompt(None, "Right, main is protected, always push branches. Now: `Day::plus(-3)` gives the same day back. Make it work for negative numbers, and don't loop over single days.");
    s.read("src/date.rs");
    s.think("number() gives days since a fixed day; the inverse is the usual civil-from-days computation. plus(days) = from_number(number() + days). Then next() is not needed any more.");
    s.edit("src/date.rs", "        let mut day = self;\n        for _ in 0..days {\n            day = day.next();\n        }\n        day\n", "        Day::from_number(self.number() + days)\n");
    s.edit("src/date.rs", "    fn next(self) -> Day {\n        if self.day < days_in_month(self.year, self.month) {\n            Day { day: self.day + 1, ..self }\n        } else if self.month < 12 {\n            Day { month: self.month + 1, day: 1, ..self }\n        } else {\n            Day { year: self.year + 1, month: 1, day: 1 }\n        }\n    }\n", "    /// The inverse of [`Day::number`].\n    fn from_number(number: i64) -> Day {\n        let era = number.div_euclid(146_097);\n        let of_era = number.rem_euclid(146_097);\n        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;\n        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);\n        let shifted = (5 * of_year + 2) / 153;\n        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };\n        let year = year_of_era + era * 400 + i64::from(month <= 2);\n        Day { year: year as i32, month: month as u8, day: (of_year - (153 * shifted + 2) / 5 + 1) as u8 }\n    }\n");
    s.edit("src/date.rs", "        assert_eq!(eve.plus(2).to_string(), \"2031-01-02\");\n", "        assert_eq!(eve.plus(2).to_string(), \"2031-01-02\");\n        assert_eq!(eve.plus(-366).to_string(), \"2029-12-30\");\n");
    s.test("cargo test date", "date::", &[]);
    s.answer("`Day::plus` computes the day directly and takes negative numbers; `next` is gone. The date tests pass.");
}

fn documentation(s: &mut Scribe) {
    s.prompt(
        None,
        "Check the documentation of the shop modules for places that could panic or overflow. Just list them.",
    );
    for path in [
        "src/aisle.rs", "src/barcode.rs", "src/basket.rs", "src/brand.rs", "src/calorie.rs", "src/carton.rs",
        "src/coupon.rs",
    ] {
        s.read(path);
    }
    s.run(
        "cargo doc --no-deps 2>&1 && cargo clippy -- -W clippy::arithmetic_side_effects 2>&1 | tail -60",
        true,
        clippy_output(),
    );
    s.answer("Nothing panics in release builds. `row % n` is safe, the divisors are constants. Sums in the `…_of` functions of `basket.rs` and `carton.rs` may overflow in debug builds with more than 4 billion units. The rest saturates or wraps on purpose.");
}

fn shopping_list(s: &mut Scribe) {
    s.prompt(None, "Fine as it is. Go on with the plan: the file format for recipes, then the shopping list. Recipes are paragraphs: the name on the first line, then one `amount unit name` a line.");
    s.todo(&[
        ('x', "recipe module with `missing`"),
        ('x', "tests: added up, other unit"),
        ('>', "file format for recipes"),
        (' ', "shopping list from several recipes"),
    ]);
    s.read("src/recipe.rs");
    s.read_lines("src/store.rs", 28, 66);
    s.say("The unit names are the same as in shelf files, so I move that match to `Quantity`.");
    s.edit("src/item.rs", "impl Quantity {\n", "impl Quantity {\n    /// An amount in a unit as files write it: `g`, `ml` or `pc`.\n    pub fn of(amount: u32, unit: &str) -> Option<Quantity> {\n        Some(match unit {\n            \"g\" => Quantity::Grams(amount),\n            \"ml\" => Quantity::Millilitres(amount),\n            \"pc\" => Quantity::Pieces(amount),\n            _ => return None,\n        })\n    }\n\n");
    s.edit("src/recipe.rs", "#[cfg(test)]\n", "/// Reads recipes: paragraphs of a name and lines of `amount unit name`. The error is the number of the line.\npub fn parse(text: &str) -> Result<Vec<Recipe>, usize> {\n    let mut recipes: Vec<Recipe> = Vec::new();\n    let mut inside = false;\n    for (index, line) in text.lines().enumerate() {\n        if line.trim().is_empty() {\n            inside = false;\n        } else if !inside {\n            inside = true;\n            recipes.push(Recipe { name: line.trim().to_owned(), ingredients: Vec::new() });\n        } else if let Some(recipe) = recipes.last_mut() {\n            recipe.ingredients.push(ingredient(line).ok_or(index + 1)?);\n        }\n    }\n    Ok(recipes)\n}\n\nfn ingredient(line: &str) -> Option<(String, Quantity)> {\n    let mut words = line.trim().splitn(3, ' ');\n    let amount = words.next()?.parse().ok()?;\n    let quantity = Quantity::of(amount, words.next()?)?;\n    Some((words.next()?.to_owned(), quantity))\n}\n\n#[cfg(test)]\n");
    s.test("cargo test recipe", "recipe::", &[]);
    s.todo(&[
        ('x', "recipe module with `missing`"),
        ('x', "tests: added up, other unit"),
        ('x', "file format for recipes"),
        ('>', "shopping list from several recipes"),
    ]);
    s.think("The shopping list must not count the same flour for two recipes: take from a copy of the shelves, recipe by recipe.");
    s.together(|s| {
        s.read("src/shelf.rs");
        s.grep("fn missing");
    });
}

/// The output of a build whose progress overwrites itself.
fn build_output(crates: usize) -> String {
    let mut text = String::new();
    for number in 0..crates {
        text.push_str(&format!(
            "\u{1b}[1m\u{1b}[32m   Compiling\u{1b}[0m shop-part-{number} v0.{}.1\n",
            number % 9
        ));
        text.push_str(&format!(
            "\r\u{1b}[36m    Building\u{1b}[0m [{:=<1$}>] {number}/{crates}",
            "",
            number / 4
        ));
    }
    text.push_str("\r\u{1b}[32m    Finished\u{1b}[0m `release` profile [optimized] target(s) in 38.10s\n");
    text
}

fn push_output() -> String {
    let mut text = String::from("Switched to a new branch 'recipes'\nEnumerating objects: 31, done.\n");
    for done in 0..=31 {
        text.push_str(&format!("\rWriting objects: {:3}% ({done}/31)", done * 100 / 31));
    }
    text.push_str(", 9.84 KiB | 9.84 MiB/s, done.\nTo git.example:ada/larder.git\n * [new branch]      recipes -> recipes\nbranch 'recipes' set up to track 'origin/recipes'.\n");
    text
}

fn clippy_output() -> String {
    let mut text =
        String::from(" Documenting larder v0.3.0 (/home/ada/larder)\n    Finished `dev` profile target(s) in 0.88s\n");
    for (file, line) in [("basket", 41), ("basket", 77), ("carton", 52), ("carton", 118)] {
        text.push_str(&format!("warning: arithmetic operation that can potentially result in unexpected side-effects\n  --> src/{file}.rs:{line}:17\n   |\n{line} |                 {file} += row % 12;\n   |                 ^^^^^^^^^^^^^^^^^^\n\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use codelet_context::message::Part;

    #[test]
    fn every_edit_of_the_bundled_session_finds_its_text() {
        let messages = larder_session();
        let failed: Vec<_> = messages
            .iter()
            .flat_map(Message::tool_results)
            .flat_map(|result| result.texts())
            .filter(|text| text.body.as_str().contains("not found in src"))
            .filter(|text| text.body.as_str().starts_with("String to replace"))
            .collect();
        assert!(failed.is_empty(), "{failed:?}");
    }

    #[test]
    fn the_bundled_session_has_twelve_prompts_and_ends_in_the_middle_of_work() {
        let messages = larder_session();
        assert_eq!(messages.iter().filter(|m| m.is_prompt()).count(), 12);
        assert!(matches!(
            messages.last().map(|m| m.parts.as_slice()),
            Some([Part::ToolResult(_), ..])
        ));
    }
}
