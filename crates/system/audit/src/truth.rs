//! Three-valued logic: conclusions from incomplete readings (S. C. Kleene, Introduction to Metamathematics, §64).

use crate::reading::{Cause, Gap, Known, Many, Reading, Value};
use crate::rule::Test;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    Yes,
    No,
    Open(Vec<Gap>),
}

impl From<bool> for Truth {
    fn from(met: bool) -> Truth {
        if met { Truth::Yes } else { Truth::No }
    }
}

impl Truth {
    /// Returns No if any part is No; otherwise a gap leaves the result open.
    pub fn all(parts: impl IntoIterator<Item = Truth>) -> Truth {
        let mut gaps = Vec::new();
        for part in parts {
            match part {
                Truth::Yes => {}
                Truth::No => return Truth::No,
                Truth::Open(more) => gaps.extend(more),
            }
        }
        if gaps.is_empty() { Truth::Yes } else { Truth::Open(gaps) }
    }

    /// Returns Yes if any part is Yes; otherwise a gap leaves the result open.
    pub fn any(parts: impl IntoIterator<Item = Truth>) -> Truth {
        !Truth::all(parts.into_iter().map(|part| !part))
    }
}

impl std::ops::Not for Truth {
    type Output = Truth;

    fn not(self) -> Truth {
        match self {
            Truth::Yes => Truth::No,
            Truth::No => Truth::Yes,
            open => open,
        }
    }
}

impl Test {
    pub fn of(&self, reading: &Reading) -> Truth {
        match reading {
            Reading::One(known) => self.of_one(known),
            Reading::Many(many) => self.of_many(many),
        }
    }

    fn of_one(&self, known: &Known) -> Truth {
        let present = self.present.map(|wanted| match known {
            Ok(_) => Truth::from(wanted),
            Err(gap) if gap.cause == Cause::Absent => Truth::from(!wanted),
            Err(gap) => Truth::Open(vec![gap.clone()]),
        });
        let value = self.asks_value().then(|| match known {
            Ok(value) => self.of_value(value),
            Err(gap) => Truth::Open(vec![gap.clone()]),
        });
        // These tests need a list. A single value has no elements, but a list that could not be read may be a single
        // gap.
        let misused = (self.empty.is_some() || self.all.is_some() || self.any.is_some()).then(|| match known {
            Ok(_) => Truth::Open(vec![Gap::new("a single value", Cause::Garbled("list"))]),
            Err(gap) => Truth::Open(vec![gap.clone()]),
        });
        Truth::all(present.into_iter().chain(value).chain(misused))
    }

    fn of_value(&self, value: &Value) -> Truth {
        let text = value.text();
        let texts = [
            self.is.as_ref().map(|word| text == word.0),
            self.not.as_ref().map(|word| text != word.0),
            self.one_of.as_ref().map(|words| words.iter().any(|word| text == word.0)),
            self.contains.as_ref().map(|part| text.contains(part.as_str())),
            self.lacks.as_ref().map(|part| !text.contains(part.as_str())),
        ];
        let bounds = [self.min.map(|min| (min, i64::MAX)), self.max.map(|max| (i64::MIN, max))];
        let numbers = bounds.into_iter().flatten().map(|(min, max)| match value.number() {
            Some(number) => Truth::from((min..=max).contains(&number)),
            None => Truth::Open(vec![Gap::new(format!("`{text}`"), Cause::Garbled("number"))]),
        });
        Truth::all(texts.into_iter().flatten().map(Truth::from).chain(numbers))
    }

    fn of_many(&self, many: &Many) -> Truth {
        let open = |gap: &Gap| Truth::Open(vec![gap.clone()]);
        let present = self.present.map(|wanted| match &many.missing {
            Some(gap) if many.items.is_empty() && gap.cause == Cause::Absent => Truth::from(!wanted),
            Some(gap) if many.items.is_empty() => open(gap),
            _ => Truth::from(wanted),
        });
        let empty = self.empty.map(|wanted| match &many.missing {
            _ if !many.items.is_empty() => many.some_exists(!wanted),
            Some(gap) => open(gap),
            None => Truth::from(wanted),
        });
        let rest = || many.missing.as_ref().map(open);
        let each = |test: &Test| many.items.iter().map(|item| test.of_one(&item.value)).collect::<Vec<_>>();
        // An empty list must not satisfy "all governors are performance".
        let some = Truth::from(!many.items.is_empty() || many.missing.is_some());
        let all = self.all.as_ref().map(|test| Truth::all(each(test).into_iter().chain(rest()).chain([some.clone()])));
        let any = self.any.as_ref().map(|test| Truth::any(each(test).into_iter().chain(rest())));
        let misused = self.asks_value().then(|| Truth::Open(vec![Gap::new("a list", Cause::Garbled("single value"))]));
        Truth::all([present, empty, all, any, misused].into_iter().flatten())
    }
}

impl Many {
    /// Returns `met` if the list has any element that was read; otherwise the result is open, with the gaps of its
    /// elements.
    fn some_exists(&self, met: bool) -> Truth {
        if self.items.iter().any(|item| item.value.is_ok()) {
            return Truth::from(met);
        }
        Truth::Open(self.items.iter().filter_map(|item| item.value.clone().err()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn test(text: &str) -> Test {
        #[derive(serde::Deserialize)]
        struct Holder {
            t: Test,
        }
        toml::from_str::<Holder>(&format!("t = {text}")).unwrap().t
    }

    fn gap(cause: Cause) -> Known {
        Err(Gap::new("/x", cause))
    }

    fn text(word: &str) -> Known {
        Ok(Value::Text(word.into()))
    }

    fn many(values: Vec<Known>, missing: Option<Gap>) -> Reading {
        let mut many = Many { items: Vec::new(), missing };
        values.into_iter().for_each(|value| many.push("", value));
        Reading::Many(many)
    }

    #[test]
    fn single_values_are_compared() {
        let one = |word: &str| Reading::One(text(word));
        assert_eq!(test("\"tsc\"").of(&one("tsc")), Truth::Yes);
        assert_eq!(test("0").of(&Reading::One(Ok(Value::Number(0)))), Truth::Yes);
        assert_eq!(test("{ not = \"tsc\" }").of(&one("hpet")), Truth::Yes);
        assert_eq!(test("{ one_of = [\"a\", 1] }").of(&one("1")), Truth::Yes);
        assert_eq!(test("{ contains = \"RT\", lacks = \"X\" }").of(&one("PREEMPT_RT")), Truth::Yes);
        assert_eq!(test("{ min = 3 }").of(&one("2")), Truth::No);
        assert!(matches!(test("{ max = 3 }").of(&one("x")), Truth::Open(_)));
    }

    #[test]
    fn a_gap_is_neither_met_nor_missed() {
        for cause in [Cause::Denied, Cause::Failed(5), Cause::Garbled("number"), Cause::Hidden("x".into())] {
            for condition in ["\"a\"", "{ not = \"a\" }", "{ present = true }", "{ present = false }", "{ max = 1 }"] {
                assert!(matches!(test(condition).of(&Reading::One(gap(cause.clone()))), Truth::Open(_)), "{condition}");
            }
        }
        let absent = Reading::One(gap(Cause::Absent));
        assert_eq!(test("{ present = false }").of(&absent), Truth::Yes);
        assert_eq!(test("{ present = true, is = \"a\" }").of(&absent), Truth::No);
        assert!(matches!(test("{ not = \"a\" }").of(&absent), Truth::Open(_)));
    }

    #[test]
    fn one_element_decides_where_it_can() {
        let denied = || gap(Cause::Denied);
        let cut = || Some(Gap::new("/x", Cause::Denied));
        assert_eq!(test("{ all = \"a\" }").of(&many(vec![denied(), text("b")], None)), Truth::No);
        assert!(matches!(test("{ all = \"a\" }").of(&many(vec![denied(), text("a")], None)), Truth::Open(_)));
        assert!(matches!(test("{ all = \"a\" }").of(&many(vec![text("a")], cut())), Truth::Open(_)));
        assert_eq!(test("{ any = \"a\" }").of(&many(vec![text("a")], cut())), Truth::Yes);
        assert_eq!(test("{ empty = false }").of(&many(vec![text("a")], cut())), Truth::Yes);
        assert!(matches!(test("{ empty = true }").of(&many(vec![], cut())), Truth::Open(_)));
        assert!(matches!(test("{ empty = false }").of(&many(vec![denied()], None)), Truth::Open(_)));
        assert_eq!(test("{ empty = true }").of(&many(vec![], None)), Truth::Yes);
        assert_eq!(test("{ all = \"a\" }").of(&many(vec![], None)), Truth::No);
        assert!(matches!(test("\"a\"").of(&many(vec![text("a")], None)), Truth::Open(_)));
    }

    fn truth() -> impl Strategy<Value = Truth> {
        prop_oneof![Just(Truth::Yes), Just(Truth::No), Just(Truth::Open(vec![Gap::new("/x", Cause::Denied)]))]
    }

    proptest! {
        /// A decided answer does not change when gaps are filled.
        #[test]
        fn answers_survive_filling_the_gaps(parts in proptest::collection::vec(truth(), 0..6), fill in any::<bool>()) {
            let filled = || parts.iter().cloned().map(|p| if matches!(p, Truth::Open(_)) { Truth::from(fill) } else { p });
            for (before, after) in [
                (Truth::all(parts.clone()), Truth::all(filled())),
                (Truth::any(parts.clone()), Truth::any(filled())),
            ] {
                prop_assert!(matches!(before, Truth::Open(_)) || before == after);
            }
        }
    }
}
