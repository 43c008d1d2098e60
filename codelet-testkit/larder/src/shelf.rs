//! What stands on one shelf, and which of it to eat first.

use crate::date::Day;
use crate::item::{Item, ItemId, Quantity};
use std::collections::BTreeMap;

/// A shelf: items by id, in the order in which they were put there.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shelf {
    name: String,
    items: BTreeMap<ItemId, Item>,
    next: u32,
}

/// Why something could not be taken from a shelf.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShelfError {
    /// Nothing on the shelf has this id.
    NoSuchItem(ItemId),
    /// There is less of it than was asked for.
    TooLittle { id: ItemId, wanted: Quantity, there: Quantity },
    /// Grams cannot be taken from pieces.
    UnitMismatch { id: ItemId, wanted: Quantity, there: Quantity },
}

impl Shelf {
    /// An empty shelf.
    pub fn new(name: &str) -> Self {
        Shelf { name: name.to_owned(), ..Shelf::default() }
    }

    /// The shelf's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Puts an item on the shelf and returns the id under which it stands there.
    pub fn put(&mut self, item: Item) -> ItemId {
        let id = ItemId(self.next);
        self.next += 1;
        self.items.insert(id, item);
        id
    }

    /// Takes a quantity of an item; the item leaves the shelf when nothing of it is left.
    pub fn take(&mut self, id: ItemId, wanted: Quantity) -> Result<Item, ShelfError> {
        let item = self.items.get_mut(&id).ok_or(ShelfError::NoSuchItem(id))?;
        let there = item.quantity;
        if !wanted.same_unit(there) {
            return Err(ShelfError::UnitMismatch { id, wanted, there });
        }
        if wanted.amount() > there.amount() {
            return Err(ShelfError::TooLittle { id, wanted, there });
        }
        let taken = Item { quantity: wanted, ..item.clone() };
        item.quantity = there.minus(wanted);
        if item.quantity.amount() == 0 {
            self.items.remove(&id);
        }
        Ok(taken)
    }

    /// What is past its date on this day, oldest first.
    pub fn expired(&self, today: Day) -> Vec<(ItemId, &Item)> {
        let mut old: Vec<_> = self.iter().filter(|(_, item)| item.best_before < today).collect();
        old.sort_by_key(|(_, item)| item.best_before);
        old
    }

    /// What will be past its date within this many days, the most urgent first.
    pub fn soon(&self, today: Day, days: i64) -> Vec<(ItemId, &Item)> {
        let mut soon: Vec<_> = self
            .iter()
            .filter(|(_, item)| today.until(item.best_before) < days)
            .collect();
        soon.sort_by_key(|(id, item)| (item.best_before, *id));
        soon
    }

    /// Everything, in the order in which it came.
    pub fn iter(&self) -> impl Iterator<Item = (ItemId, &Item)> {
        self.items.iter().map(|(id, item)| (*id, item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milk(date: &str) -> Item {
        Item::new("milk", Quantity::Millilitres(1000), date.parse().unwrap())
    }

    #[test]
    fn taking_everything_clears_the_place() {
        let mut shelf = Shelf::new("fridge");
        let id = shelf.put(milk("2031-04-05"));
        shelf.take(id, Quantity::Millilitres(1000)).unwrap();
        assert_eq!(shelf.iter().count(), 0);
    }

    #[test]
    fn what_is_already_expired_is_not_expiring_soon() {
        let mut shelf = Shelf::new("fridge");
        shelf.put(milk("2031-04-01"));
        shelf.put(milk("2031-04-06"));
        let today = "2031-04-05".parse().unwrap();
        assert_eq!(shelf.soon(today, 3).len(), 1);
    }
}
