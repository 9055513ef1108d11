//! JSON in and out, each through one door.
//!
//! Input: a text or a [`Value`]; output: a type of this crate, or a [`Fault`] that names the place (`policy.topK`,
//! `variants[0].weight`). And back: any value that can be serialized as a text.
//!
//! serde compiles what reads a type once for each reader, and what writes it once for each writer. With one reader and
//! one writer that is once, which halves this part of what a page downloads; that is why nothing else in the crate
//! that goes into the page calls `serde_json` with a type of its own. The reader asks an object for a struct's fields in the
//! struct's order, as if it were a list of them: serde's code for that is half as large as its code for fields in any order.
//!
//! **Invariant:** a struct is read from an object only, never from a list; numbers are written with as many digits as it
//! takes to read the same number again. A type that is read here has no field with `alias`, of which serde does not say
//! what it stands for, and no option that is something by default.

use std::fmt::{self, Display};

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::{Serialize, forward_to_deserialize_any};
use serde_json::{Map, Value};

/// Why a value cannot be read: the place and the reason.
///
/// It is one pointer wide, because every function that reads a field hands it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(Box<Place>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    path: String,
    reason: String,
}

impl Fault {
    /// Where, as `a.b[0].c`; empty for the whole.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// What is wrong there.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The same fault, seen from the list around it.
    #[cold]
    fn in_item(self, index: usize) -> Self {
        self.inside(format!("[{index}]"))
    }

    /// The same fault, seen from the object around it.
    #[cold]
    fn in_field(self, name: &str) -> Self {
        self.inside(name.to_owned())
    }

    fn inside(mut self, mut outer: String) -> Self {
        if !self.0.path.is_empty() && !self.0.path.starts_with('[') {
            outer.push('.');
        }
        outer.push_str(&self.0.path);
        self.0.path = outer;
        self
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path().is_empty() {
            f.write_str(self.reason())
        } else {
            write!(f, "{}: {}", self.path(), self.reason())
        }
    }
}

impl std::error::Error for Fault {}

/// The reason of a fault that [`InOrder::explain`] makes a better one of.
const WRONG_LENGTH: &str = "a list of another length is needed";

impl de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Self(Box::new(Place { path: String::new(), reason: message.to_string() }))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid type: {}, expected {expected}", named(&found)))
    }

    fn invalid_length(_: usize, _: &dyn Expected) -> Self {
        Self::custom(WRONG_LENGTH)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid value: {}, expected {expected}", named(&found)))
    }
}

/// A value as messages name it. serde's own naming brings the standard library's printing of floats, 17 kB.
fn named(found: &Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => format!("boolean `{value}`"),
        Unexpected::Unsigned(number) => format!("integer `{number}`"),
        Unexpected::Signed(number) => format!("integer `{number}`"),
        Unexpected::Float(number) => format!("floating point `{}`", to_text(number)),
        Unexpected::Str(text) => format!("string {text:?}"),
        Unexpected::Unit => "null".to_owned(),
        Unexpected::Seq => "sequence".to_owned(),
        Unexpected::Map => "map".to_owned(),
        _ => "another kind of value".to_owned(),
    }
}

/// Parses a text.
///
/// # Errors
/// [`Fault`] with line and column where it is not JSON.
pub fn parse(text: &str) -> Result<Value, Fault> {
    serde_json::from_str(text).map_err(de::Error::custom)
}

/// Reads a value of a type of this crate from a text.
///
/// # Errors
/// As [`from_value`], and when the text is not JSON.
pub fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    from_value(&parse(text)?)
}

/// Reads a value of a type of this crate.
///
/// # Errors
/// [`Fault`] when the value is not of that type, or has a field that the type does not have.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, Fault> {
    T::deserialize(Reader { value, unknown: Unknown::Refused, absent: false })
}

/// Reads a value that another program wrote, or a later version of this one: fields that are not known are passed over.
///
/// # Errors
/// [`Fault`] when the value is not of that type.
pub fn from_foreign<T: DeserializeOwned>(value: &Value) -> Result<T, Fault> {
    T::deserialize(Reader { value, unknown: Unknown::PassedOver, absent: false })
}

/// A value as a text without spaces; empty for what JSON cannot hold, such as a map with keys that are no texts, which
/// no type of this crate has.
pub fn to_text(value: &(impl Serialize + ?Sized)) -> String {
    let mut text = Vec::new();
    let written = value.serialize(&mut serde_json::Serializer::new(&mut text));
    if written.is_err() {
        return String::new();
    }
    String::from_utf8(text).unwrap_or_default()
}

/// A number as messages name it. The standard library's printing of floats is as large as the rest of this module.
#[must_use]
pub fn number(value: f32) -> String {
    let name = match value {
        _ if value.is_finite() => return to_text(&value),
        _ if value.is_nan() => "NaN",
        f32::INFINITY => "inf",
        _ => "-inf",
    };
    name.to_owned()
}

/// What becomes of fields that a struct does not have.
#[derive(Clone, Copy, PartialEq)]
enum Unknown {
    Refused,
    PassedOver,
}

/// Reads from a parsed value.
struct Reader<'a> {
    value: &'a Value,
    unknown: Unknown,
    /// Whether the field is not there, for which a null stands in: only an option takes it.
    absent: bool,
}

impl<'a> Reader<'a> {
    fn unexpected(&self) -> Unexpected<'a> {
        match self.value {
            Value::Null => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => Unexpected::Unsigned(number),
                (_, Some(number)) => Unexpected::Signed(number),
                _ => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        }
    }

    /// Another value of the same document.
    fn at(&self, value: &'a Value) -> Self {
        Self { value, unknown: self.unknown, absent: false }
    }

    fn refuse<T>(&self, expected: &dyn Expected) -> Result<T, Fault> {
        Err(de::Error::invalid_type(self.unexpected(), expected))
    }

    fn number<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Value::Number(number) = self.value else { return self.refuse(&visitor) };
        match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => visitor.visit_u64(number),
            (_, Some(number)) => visitor.visit_i64(number),
            _ => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    fn list<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Array(items) => visitor.visit_seq(Items { items: items.iter(), index: 0, unknown: self.unknown }),
            _ => self.refuse(&visitor),
        }
    }

    fn text<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::String(text) => visitor.visit_borrowed_str(text),
            _ => self.refuse(&visitor),
        }
    }

    fn object<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Object(fields) => {
                visitor.visit_map(Fields { fields: fields.iter(), current: None, unknown: self.unknown })
            }
            _ => self.refuse(&visitor),
        }
    }

    /// A struct's fields, from the object that has them.
    fn fields<V: Visitor<'a>>(self, names: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Object(object) => {
                self.check_names(object, names)?;
                let mut fields = InOrder { object, names: names.iter(), missing: None, unknown: self.unknown };
                visitor.visit_seq(&mut fields).map_err(|fault| fields.explain(fault))
            }
            _ => self.refuse(&visitor),
        }
    }

    fn check_names(&self, object: &Map<String, Value>, names: &'static [&'static str]) -> Result<(), Fault> {
        if self.unknown == Unknown::PassedOver {
            return Ok(());
        }
        match object.keys().find(|key| !names.contains(&key.as_str())) {
            Some(key) => Err(<Fault as de::Error>::unknown_field(key, names).in_field(key)),
            None => Ok(()),
        }
    }
}

/// Methods that read one kind of value.
macro_rules! read_by {
    ($($read:ident: $($method:ident)+;)+) => {$($(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.$read(visitor)
        }
    )+)+};
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Null => self.deserialize_unit(visitor),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(_) => self.number(visitor),
            Value::String(_) => self.text(visitor),
            Value::Array(_) => self.list(visitor),
            Value::Object(_) => self.object(visitor),
        }
    }

    read_by! {
        number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
            deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64;
        text: deserialize_char deserialize_str deserialize_string deserialize_identifier;
        list: deserialize_seq;
        object: deserialize_map;
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Bool(value) => visitor.visit_bool(*value),
            _ => self.refuse(&visitor),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Null if !self.absent => visitor.visit_unit(),
            _ => self.refuse(&visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.list(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.fields(names, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.value {
            Value::String(name) => visitor.visit_enum(Variant { name, content: self.at(&Value::Null) }),
            Value::Object(fields) => match (fields.iter().next(), fields.len()) {
                (Some((name, content)), 1) => visitor
                    .visit_enum(Variant { name, content: self.at(content) })
                    .map_err(|fault| fault.in_field(name)),
                _ => Err(de::Error::custom("an object with one field is needed")),
            },
            _ => self.refuse(&visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.absent { self.refuse(&visitor) } else { visitor.visit_unit() }
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf unit_struct tuple_struct }
}

struct Items<'a> {
    items: std::slice::Iter<'a, Value>,
    index: usize,
    unknown: Unknown,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(Reader { value: item, unknown: self.unknown, absent: false })
            .map(Some)
            .map_err(|fault| fault.in_item(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Fields<'a> {
    fields: serde_json::map::Iter<'a>,
    current: Option<(&'a str, &'a Value)>,
    unknown: Unknown,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((name, value)) = self.fields.next() else { return Ok(None) };
        self.current = Some((name, value));
        seed.deserialize(Name(name)).map(Some).map_err(|fault| fault.in_field(name))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let Some((name, value)) = self.current.take() else { return Err(de::Error::custom("a value before its key")) };
        seed.deserialize(Reader { value, unknown: self.unknown, absent: false }).map_err(|fault| fault.in_field(name))
    }
}

/// The fields of a struct in its order, from an object.
struct InOrder<'a> {
    object: &'a Map<String, Value>,
    names: std::slice::Iter<'static, &'static str>,
    /// The last field that is not there and cannot do without a value.
    missing: Option<&'static str>,
    unknown: Unknown,
}

impl InOrder<'_> {
    /// A list that is too short means a field that is missing.
    fn explain(&self, fault: Fault) -> Fault {
        match self.missing {
            Some(name) if fault.path().is_empty() && fault.reason() == WRONG_LENGTH => de::Error::missing_field(name),
            _ => fault,
        }
    }
}

impl<'de> SeqAccess<'de> for &mut InOrder<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(name) = self.names.next() else { return Ok(None) };
        let found = self.object.get(*name);
        // Without a value an option is none; anything else has its default or is missing, which the end of a list stands for.
        let absent = found.is_none();
        let value = Reader { value: found.unwrap_or(&Value::Null), unknown: self.unknown, absent };
        match seed.deserialize(value) {
            Ok(value) => Ok(Some(value)),
            Err(fault) if !absent => Err(fault.in_field(name)),
            Err(_) => {
                self.missing = Some(name);
                Ok(None)
            }
        }
    }
}

/// The name of a field or of a variant.
struct Name<'a>(&'a str);

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A variant with its content, null where it has none.
struct Variant<'a> {
    name: &'a str,
    content: Reader<'a>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        seed.deserialize(Name(self.name)).map(|variant| (variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.content.value {
            Value::Null => Ok(()),
            _ => Err(de::Error::custom(format_args!("`{}` has no content", self.name))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(self.content)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.content.list(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, names: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.content.fields(names, visitor)
    }
}

/// An empty object.
#[must_use]
pub fn object() -> Value {
    Value::Object(Map::new())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Inner {
        count: u8,
        ratio: Option<f32>,
        #[serde(default)]
        names: Vec<String>,
    }

    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Plain,
        Wrapped(u32),
        Pair(i64, bool),
        Full { id: String },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", tag = "kind")]
    enum Tagged {
        Empty,
        Full { url: String },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Outer {
        items: Vec<Inner>,
        kinds: Vec<Kind>,
        tagged: Vec<Tagged>,
        by_kind: BTreeMap<String, (u64, char)>,
        anything: Value,
        nothing: (),
    }

    fn check(value: Value, path: &str, reason: &str) {
        let fault = from_value::<Outer>(&value).unwrap_err();
        assert_eq!((fault.path(), fault.reason()), (path, reason));
    }

    fn sample() -> Value {
        json!({
            "items": [{"count": 1, "ratio": null}, {"count": 255, "ratio": 0.1, "names": ["a", "中"]}],
            "kinds": ["plain", {"wrapped": 7}, {"pair": [-3, true]}, {"full": {"id": "x"}}],
            "tagged": [{"kind": "empty"}, {"kind": "full", "url": "/a"}],
            "by_kind": {"k": [18_446_744_073_709_551_615_u64, "字"]},
            "anything": {"a": [1, -2, 2.5, null, false]},
            "nothing": null
        })
    }

    fn with(path: &str, value: Value) -> Value {
        let mut sample = sample();
        *sample.pointer_mut(path).unwrap() = value;
        sample
    }

    #[test]
    fn every_shape_comes_back_as_serde_json_reads_it() {
        let text = sample().to_string();
        let found: Outer = from_text(&text).unwrap();
        assert_eq!(found, serde_json::from_str(&text).unwrap());
        assert_eq!(found, from_text(&to_text(&found)).unwrap());
    }

    #[test]
    fn a_fault_names_its_place() {
        check(with("/items/1/count", json!(256)), "items[1].count", "invalid value: integer `256`, expected u8");
        check(with("/items/0/ratio", json!("x")), "items[0].ratio", "invalid type: string \"x\", expected f32");
        check(with("/items/0", json!([1])), "items[0]", "invalid type: sequence, expected struct Inner");
        check(
            with("/items/0", json!({"count": 1, "ratio": 1, "cuont": 2})),
            "items[0].cuont",
            "unknown field `cuont`, expected one of `count`, `ratio`, `names`",
        );
        check(with("/items/0", json!({"ratio": 1})), "items[0]", "missing field `count`");
        for name in ["anything", "nothing"] {
            let mut without = sample();
            without.as_object_mut().unwrap().remove(name);
            check(without, "", &format!("missing field `{name}`"));
        }
        check(with("/kinds/2/pair", json!([1])), "kinds[2].pair", "a list of another length is needed");
        check(with("/kinds/3/full", json!({})), "kinds[3].full", "missing field `id`");
        check(
            with("/kinds/3/full", json!({"id": "x", "di": 1})),
            "kinds[3].full.di",
            "unknown field `di`, expected `id`",
        );
        check(with("/items/1/count", json!(0.5)), "items[1].count", "invalid type: floating point `0.5`, expected u8");
        check(with("/items/1/count", Value::Null), "items[1].count", "invalid type: null, expected u8");
        let fault = from_value::<Outer>(&with("/kinds/0", json!("odd"))).unwrap_err();
        assert_eq!(fault.path(), "kinds[0]");
        let fault = from_value::<Outer>(&with("/kinds/1", json!({"wrapped": "x"}))).unwrap_err();
        assert_eq!(fault.path(), "kinds[1].wrapped");
        let fault = from_value::<Outer>(&with("/by_kind/k", json!([1]))).unwrap_err();
        assert_eq!(fault.path(), "by_kind.k");
    }

    #[test]
    fn fields_that_are_not_known_pass_in_what_others_wrote() {
        let value = with("/items/0", json!({"count": 1, "new": {"a": [2]}}));
        check(value.clone(), "items[0].new", "unknown field `new`, expected one of `count`, `ratio`, `names`");
        let found: Outer = from_foreign(&value).unwrap();
        assert_eq!(found.items[0], Inner { count: 1, ratio: None, names: Vec::new() });
    }

    #[test]
    fn what_is_no_json_says_where() {
        assert!(parse("{\"a\": }").unwrap_err().to_string().contains("line 1 column 7"));
        assert!(from_text::<Inner>("").is_err());
    }

    #[test]
    fn numbers_in_messages() {
        let found = [0.1, -2.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(number);
        assert_eq!(found, ["0.1", "-2.0", "NaN", "inf", "-inf"]);
    }

    proptest! {
        #[test]
        fn floats_come_back_exactly(single in any::<f32>(), double in any::<f64>()) {
            prop_assume!(single.is_finite() && double.is_finite());
            prop_assert_eq!(from_text::<f32>(&to_text(&single)).unwrap().to_bits(), single.to_bits());
            prop_assert_eq!(from_text::<f64>(&to_text(&double)).unwrap().to_bits(), double.to_bits());
        }
    }
}
