//! Stands in for the crate `inventory` (<https://crates.io/crates/inventory>), with every registry empty.
//!
//! tract registers its optimizers, runtimes and matrix kernels in static constructors. The encoder uses none of them,
//! its operators bring their own kernels; but a constructor is a root for the linker, and these keep alive all the
//! operators that tract has: 11 of the 15 MB of the embedder's module. Here `submit!` registers nothing, and the linker
//! can see what is used. The names are those of the original, so that tract compiles unchanged.
#![no_std]

use core::iter::Empty;
use core::marker::PhantomData;
use core::ops::Deref;

/// A type that could be registered.
pub trait Collect: Sync + Sized + 'static {}

/// Declares a registry, which stays empty.
#[macro_export]
macro_rules! collect {
    ($ty:ty) => {
        impl $crate::Collect for $ty {}
    };
}

/// Registers nothing.
#[macro_export]
macro_rules! submit {
    ($($value:tt)*) => {};
}

/// All that was registered: nothing. Both a value and a function, as in the original.
#[allow(non_camel_case_types)]
pub type iter<T> = private::iter<T>;

mod value {
    #[doc(hidden)]
    pub use crate::private::iter::iter;
}

mod private {
    use super::PhantomData;

    #[allow(non_camel_case_types)]
    pub enum iter<T> {
        #[doc(hidden)]
        Phantom(PhantomData<T>),
        iter,
    }

    #[doc(hidden)]
    pub use crate::value::*;
}

#[doc(hidden)]
pub use crate::private::*;

fn nothing<T: Collect>() -> Empty<&'static T> {
    core::iter::empty()
}

impl<T: Collect> IntoIterator for iter<T> {
    type Item = &'static T;
    type IntoIter = Empty<&'static T>;

    fn into_iter(self) -> Self::IntoIter {
        nothing()
    }
}

impl<T: Collect> Deref for iter<T> {
    type Target = fn() -> Empty<&'static T>;

    fn deref(&self) -> &Self::Target {
        &(nothing as fn() -> Empty<&'static T>)
    }
}
