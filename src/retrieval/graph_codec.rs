//! The instant-distance graph as compact bytes.
//!
//! Input: a graph, or the bytes that [`write`] made of one. Output: the other. A node's edges are a set, so they are
//! stored sorted, each as the distance to the one before it. The graph is put together through serde, the only door that
//! instant-distance leaves open.
//!
//! **Invariant:** what reaches instant-distance has every neighbor below the number of points, no edge twice, layers
//! that shrink upwards, and no edge of a layer that leaves it.

use std::cell::RefCell;

use instant_distance::Hnsw;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::Result;
use crate::json::Fault;
use crate::retrieval::codec::{ByteReader, damaged, put_varint};
use crate::retrieval::quantized_vector::QuantizedVector;

/// Edges of a node on the lowest layer; instant-distance fixes it.
const LOWEST_EDGES: usize = 64;

/// Edges of a node on the layers above.
const UPPER_EDGES: usize = 32;

/// What instant-distance writes in the place of an edge that is not there.
const NO_EDGE: u32 = u32::MAX;

/// The graph as its serializer shows it.
#[derive(Deserialize)]
struct Edges {
    zero: Vec<Vec<u32>>,
    layers: Vec<Vec<Vec<u32>>>,
}

/// Appends the edges of `graph`.
pub(crate) fn write(graph: &Hnsw<QuantizedVector>, out: &mut Vec<u8>) -> Result<()> {
    let unreadable = |_| damaged("the edges of the graph");
    let json = serde_json::to_vec(graph).map_err(unreadable)?;
    let mut edges: Edges = serde_json::from_slice(&json).map_err(unreadable)?;
    connect(&mut edges.zero);
    put_varint(out, edges.layers.len() as u64);
    for layer in &edges.layers {
        put_varint(out, layer.len() as u64);
    }
    for node in edges.zero.iter().chain(edges.layers.iter().flatten()) {
        let mut neighbors: Vec<u32> = node.iter().copied().filter(|id| *id != NO_EDGE).collect();
        neighbors.sort_unstable();
        neighbors.dedup();
        put_varint(out, neighbors.len() as u64);
        let mut next = 0;
        for id in neighbors {
            put_varint(out, u64::from(id - next));
            next = id + 1;
        }
    }
    Ok(())
}

/// Gives every node of the lowest layer an edge that leads to it: where only diverse edges are kept, a node may have none
/// left, and no search would find it. The edge comes from the nearest of its own neighbors that has room.
fn connect(nodes: &mut [Vec<u32>]) {
    let mut reached = vec![false; nodes.len()];
    for id in nodes.iter().flatten().filter(|id| **id != NO_EDGE) {
        if let Some(node) = reached.get_mut(*id as usize) {
            *node = true;
        }
    }
    for node in (0..nodes.len()).filter(|node| !reached[*node]) {
        // instant-distance keeps a node's edges nearest first.
        let near: Vec<u32> = nodes[node].iter().copied().filter(|id| *id != NO_EDGE).collect();
        for neighbor in near {
            if let Some(free) = nodes[neighbor as usize].iter_mut().find(|id| **id == NO_EDGE) {
                *free = node as u32;
                break;
            }
        }
    }
}

/// Reads what [`write`] wrote, for `count` vectors of `stride` bytes each.
pub(crate) fn read<'a>(
    reader: &mut ByteReader<'a>,
    vectors: &'a [u8],
    stride: usize,
    count: usize,
    ef_search: usize,
) -> Result<Hnsw<QuantizedVector>> {
    let layer_count = reader.at_most(64)?;
    let mut sizes = Vec::with_capacity(layer_count);
    let mut below = count;
    for _ in 0..layer_count {
        // A layer above is a true part of the one below; an empty one could not be entered.
        let size = reader.at_most(below)?;
        if size == 0 {
            return Err(reader.damaged());
        }
        sizes.push(size);
        below = size;
    }
    // Each node costs at least the byte of its count, so the sum cannot exceed what is left.
    if count + sizes.iter().sum::<usize>() > reader.remaining() {
        return Err(reader.damaged());
    }
    let nodes = RefCell::new(reader.clone());
    let graph = Hnsw::deserialize(Graph { ef_search, vectors, stride, count, sizes: &sizes, nodes: &nodes })
        .map_err(|_| damaged("the graph of the vectors"))?;
    *reader = nodes.into_inner();
    Ok(graph)
}

/// The next node, which has room for `room` edges, its empty places filled up; `size` is the number of nodes in its layer.
fn node(reader: &mut ByteReader<'_>, size: usize, room: usize) -> Result<[u32; LOWEST_EDGES]> {
    let mut edges = [NO_EDGE; LOWEST_EDGES];
    let mut next = 0;
    for edge in edges.iter_mut().take(reader.at_most(room)?) {
        let id = reader.at_most(size)? + next;
        if id >= size {
            return Err(damaged("an edge of the graph"));
        }
        *edge = id as u32;
        next = id + 1;
    }
    Ok(edges)
}

/// The parts of a graph, in the shape and the order in which instant-distance asks serde for them. Nodes are read when they
/// are asked for, so that a large graph is never held twice.
struct Graph<'a, 'b> {
    ef_search: usize,
    vectors: &'a [u8],
    stride: usize,
    count: usize,
    sizes: &'b [usize],
    nodes: &'b RefCell<ByteReader<'a>>,
}

/// A value of the graph. One stands on the stack at a time; a box for each node would cost more than its size does.
#[expect(clippy::large_enum_variant, reason = "values are handed on and never kept")]
enum Value<'a, 'b> {
    Number(u64),
    Vectors(std::slice::ChunksExact<'a, u8>),
    Vector(&'a [u8]),
    Layers(std::slice::Iter<'b, usize>, &'b RefCell<ByteReader<'a>>),
    Layer(Layer<'a, 'b>),
    /// The edges of a node that are still to be handed out.
    Node(std::iter::Take<std::array::IntoIter<u32, LOWEST_EDGES>>),
    /// What could not be read.
    Damaged,
}

/// The nodes of a layer that are still to be read.
struct Layer<'a, 'b> {
    left: usize,
    size: usize,
    room: usize,
    nodes: &'b RefCell<ByteReader<'a>>,
}

impl<'de> Deserializer<'de> for Graph<'de, '_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Fault> {
        let vectors = if self.vectors.is_empty() { [].chunks_exact(1) } else { self.vectors.chunks_exact(self.stride) };
        let lowest = Layer { left: self.count, size: self.count, room: LOWEST_EDGES, nodes: self.nodes };
        visitor.visit_map(Fields {
            fields: vec![
                ("layers", Value::Layers(self.sizes.iter(), self.nodes)),
                ("zero", Value::Layer(lowest)),
                ("points", Value::Vectors(vectors)),
                ("ef_search", Value::Number(self.ef_search as u64)),
            ],
            value: None,
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Fields<'a, 'b> {
    fields: Vec<(&'static str, Value<'a, 'b>)>,
    value: Option<Value<'a, 'b>>,
}

impl<'de> MapAccess<'de> for Fields<'de, '_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> std::result::Result<Option<K::Value>, Fault> {
        let Some((name, value)) = self.fields.pop() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> std::result::Result<V::Value, Fault> {
        seed.deserialize(self.value.take().ok_or_else(|| Fault::custom("a value before its key"))?)
    }
}

/// Each method takes what its caller can read and nothing else: a match on all kinds of values would be compiled for each
/// of instant-distance's types.
impl<'de> Deserializer<'de> for Value<'de, '_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> std::result::Result<V::Value, Fault> {
        Err(unexpected())
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Fault> {
        if let Value::Number(number) = self { visitor.visit_u64(number) } else { Err(unexpected()) }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Fault> {
        self.deserialize_u32(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Fault> {
        if let Value::Vector(bytes) = self { visitor.visit_borrowed_bytes(bytes) } else { Err(unexpected()) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Fault> {
        visitor.visit_seq(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> std::result::Result<V::Value, Fault> {
        visitor.visit_seq(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> std::result::Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char str string byte_buf option unit unit_struct
        tuple_struct map struct enum identifier ignored_any
    }
}

#[cold]
fn unexpected() -> Fault {
    Fault::custom("a value of another kind")
}

impl<'de> SeqAccess<'de> for Value<'de, '_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> std::result::Result<Option<T::Value>, Fault> {
        self.next().map(|value| seed.deserialize(value)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        match self {
            Value::Number(_) | Value::Vector(_) | Value::Damaged => None,
            Value::Vectors(vectors) => Some(vectors.len()),
            Value::Layers(layers, _) => Some(layers.len()),
            Value::Layer(layer) => Some(layer.left),
            Value::Node(ids) => Some(ids.len()),
        }
    }
}

impl Iterator for Value<'_, '_> {
    type Item = Self;

    fn next(&mut self) -> Option<Self> {
        match self {
            Value::Number(_) | Value::Vector(_) | Value::Damaged => None,
            Value::Vectors(vectors) => vectors.next().map(Value::Vector),
            Value::Layers(sizes, nodes) => {
                let size = *sizes.next()?;
                Some(Value::Layer(Layer { left: size, size, room: UPPER_EDGES, nodes }))
            }
            Value::Layer(layer) => {
                layer.left = layer.left.checked_sub(1)?;
                // A node that cannot be read hands out no edges, which instant-distance refuses.
                let edges = node(&mut layer.nodes.borrow_mut(), layer.size, layer.room);
                Some(edges.map_or(Value::Damaged, |edges| Value::Node(edges.into_iter().take(layer.room))))
            }
            Value::Node(ids) => ids.next().map(|id| Value::Number(u64::from(id))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_no_edge_leads_to_gets_one_from_its_nearest_neighbor_with_room() {
        let mut nodes = vec![vec![1, 2], vec![0, 2], vec![0, NO_EDGE], vec![1, 2]];
        connect(&mut nodes);
        // The nearest, 1, has no room; 2 has.
        assert_eq!(nodes, [vec![1, 2], vec![0, 2], vec![0, 3], vec![1, 2]]);
        let again = nodes.clone();
        connect(&mut nodes);
        assert_eq!(nodes, again);
    }
}
