use super::{Notes, Sight};
use crate::reading::{Cause, Gap};
use crate::truth::Truth;

impl<'m> Sight<'m> {
    pub fn common(&self, name: &str, notes: &mut Notes) -> (Truth, &'m str) {
        let commons = self.commons;
        let Some(common) = commons.get(name) else {
            return (Truth::Open(vec![Gap::new(name, Cause::Absent)]), "");
        };
        if let Some((truth, evidence)) = self.judged.borrow().get(name) {
            notes.extend(evidence);
            return (truth.clone(), &common.otherwise);
        }
        let mut own = Notes::default();
        let parts = common.when.iter().map(|(read, test)| match common.reads.get(read) {
            Some(read) => test.of(&self.reading(read, &mut own)),
            None => Truth::Open(vec![Gap::new(read, Cause::Absent)]),
        });
        let truth = Truth::all(parts.collect::<Vec<_>>());
        let evidence = own.into_evidence();
        notes.extend(&evidence);
        self.judged.borrow_mut().insert(name.to_owned(), (truth.clone(), evidence));
        (truth, &common.otherwise)
    }
}
