//! libmercer from Rust, no crate needed: what `mercer-sys` (the module `raw`) and `mercer` would start from.
//!
//! No panic crosses the boundary: a callback catches it, returns 1, and the call resumes it when libmercer has returned.
//! A call's state (its cancel flag, its panic) is found through a thread local: a kernel's user pointer is the model's.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_void, CStr, CString};
use std::marker::PhantomData;
use std::os::raw::c_char;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};

pub mod raw {
    use super::*;
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct View {
        pub struct_size: i64,
        pub dtype: i32,
        pub reserved: i32,
        pub rows: i64,
        pub cols: i64,
        pub row_stride: i64,
        pub col_stride: i64,
        pub data: *mut c_void,
    }
    #[repr(C)]
    pub struct Run {
        pub struct_size: i64,
        pub threads: i64,
        pub memory: i64,
        pub progress: Option<unsafe extern "C" fn(*mut c_void, *const c_void) -> i32>,
        pub user: *mut c_void,
        pub cancel: *const i32,
    }
    #[repr(C)]
    pub struct UserKernel {
        pub struct_size: i64,
        pub flags: i32,
        pub reserved: i32,
        pub tile: Option<unsafe extern "C" fn(*mut c_void, *const View, *const View, *const View) -> i32>,
        pub user: *mut c_void,
        pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    }
    #[repr(C)]
    pub struct Output {
        pub struct_size: i64,
        pub name: *const c_char,
        pub doc: *const c_char,
        pub rows: i64,
        pub cols: i64,
        pub dtype: i32,
        pub reserved: i32,
    }
    #[repr(C)]
    pub struct Sink {
        pub struct_size: i64,
        pub write: Option<unsafe extern "C" fn(*mut c_void, *const c_void, i64) -> i32>,
        pub user: *mut c_void,
    }
    #[repr(C)]
    pub struct Source {
        pub struct_size: i64,
        pub read: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, i64, *mut i64) -> i32>,
        pub user: *mut c_void,
    }
    pub type Handle = *mut c_void;
    #[link(name = "mercer")]
    extern "C" {
        pub fn mercer_last_error() -> *const c_char;
        pub fn mercer_set_error(text: *const c_char);
        pub fn mercer_context_create(out: *mut Handle) -> i32;
        pub fn mercer_context_destroy(context: Handle);
        pub fn mercer_data_from_view(out: *mut Handle, context: Handle, view: *const View) -> i32;
        pub fn mercer_data_destroy(data: Handle);
        pub fn mercer_recipe_create(out: *mut Handle, context: Handle, name: *const c_char) -> i32;
        pub fn mercer_recipe_set(recipe: Handle, name: *const c_char, value: *const c_char) -> i32;
        pub fn mercer_recipe_set_kernel(recipe: Handle, kernel: *const UserKernel) -> i32;
        pub fn mercer_recipe_destroy(recipe: Handle);
        pub fn mercer_model_fit(out: *mut Handle, recipe: Handle, data: Handle, run: *const Run) -> i32;
        pub fn mercer_model_output(model: Handle, what: Handle, data: Handle, index: i64, out: *mut Output, count: *mut i64) -> i32;
        pub fn mercer_model_transform(model: Handle, what: Handle, data: Handle, outs: *const View, count: i64, run: *const Run) -> i32;
        pub fn mercer_model_tensor(model: Handle, name: *const c_char, out: *mut View) -> i32;
        pub fn mercer_model_write(model: Handle, sink: *const Sink) -> i32;
        pub fn mercer_model_read(out: *mut Handle, context: Handle, source: *const Source) -> i32;
        pub fn mercer_model_destroy(model: Handle);
    }
}
use raw::{Handle, View};

const SIZE_OF_VIEW: i64 = std::mem::size_of::<View>() as i64;

#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    pub status: i32,
    pub text: String,
}

fn check(status: i32) -> Result<(), Error> {
    if status == 0 {
        return Ok(());
    }
    let text = unsafe { CStr::from_ptr(raw::mercer_last_error()) }.to_string_lossy().into_owned();
    Err(Error { status, text })
}

fn c_text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error { status: 1, text: "text with a NUL".into() })
}

/// A matrix somewhere in memory; strides count elements, one of them is 1.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    view: View,
    life: PhantomData<&'a [f64]>,
}

unsafe impl Send for Matrix<'_> {}
unsafe impl Sync for Matrix<'_> {}

impl<'a> Matrix<'a> {
    pub fn new(values: &'a [f64], rows: usize, cols: usize, by_row: bool) -> Self {
        assert_eq!(values.len(), rows * cols);
        let (row_stride, col_stride) = if by_row { (cols as i64, 1) } else { (1, rows as i64) };
        let data = values.as_ptr() as *mut c_void;
        let view = View { struct_size: SIZE_OF_VIEW, dtype: 2, reserved: 0, rows: rows as i64, cols: cols as i64, row_stride, col_stride, data };
        Matrix { view, life: PhantomData }
    }
    pub fn rows(&self) -> usize {
        self.view.rows as usize
    }
    pub fn cols(&self) -> usize {
        self.view.cols as usize
    }
    pub fn at(&self, i: usize, j: usize) -> f64 {
        assert!(i < self.rows() && j < self.cols());
        unsafe { *(self.view.data as *const f64).offset(i as isize * self.view.row_stride as isize + j as isize * self.view.col_stride as isize) }
    }
}

/// Fills k, row-major, with the kernel values of the rows of x and y (f64 models). Goes with the model to another thread.
pub type Kernel = Box<dyn Fn(Matrix, Matrix, &mut [f64]) + Send>;

thread_local!(static PANIC: RefCell<Option<Box<dyn Any + Send>>> = RefCell::new(None));

unsafe extern "C" fn tile(user: *mut c_void, x: *const View, y: *const View, k: *const View) -> i32 {
    let done = catch_unwind(AssertUnwindSafe(|| {
        let (x, y) = (Matrix { view: *x, life: PhantomData }, Matrix { view: *y, life: PhantomData });
        assert!((*k).dtype == 2 && (*k).row_stride == (*k).cols, "only f64");
        let out = std::slice::from_raw_parts_mut((*k).data as *mut f64, x.rows() * y.rows());
        (*(user as *const Kernel))(x, y, out)
    }));
    match done {
        Ok(()) => 0,
        Err(panic) => {
            PANIC.with(|slot| *slot.borrow_mut() = Some(panic));
            1
        }
    }
}

unsafe extern "C" fn release(user: *mut c_void) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(user as *mut Kernel))));
}

fn finish(status: i32) -> Result<(), Error> {
    match PANIC.with(|slot| slot.borrow_mut().take()) {
        Some(panic) => resume_unwind(panic),
        None => check(status),
    }
}

struct Owned(Handle, unsafe extern "C" fn(Handle));
impl Drop for Owned {
    fn drop(&mut self) {
        unsafe { (self.1)(self.0) }
    }
}

pub struct Context(Owned);
/// Of one thread at a time, as its kernel may be ours. Without one it could be Sync: that would be a second type.
pub struct Model(Owned);
unsafe impl Send for Model {}

impl Context {
    pub fn new() -> Result<Self, Error> {
        let mut out = null_mut();
        check(unsafe { raw::mercer_context_create(&mut out) })?;
        Ok(Context(Owned(out, raw::mercer_context_destroy)))
    }

    fn data(&self, x: &Matrix) -> Result<Owned, Error> {
        let mut out = null_mut();
        check(unsafe { raw::mercer_data_from_view(&mut out, self.0 .0, &x.view) })?;
        Ok(Owned(out, raw::mercer_data_destroy))
    }

    pub fn fit(&self, x: &Matrix, method: &str, options: &[(&str, &str)], kernel: Option<Kernel>, cancel: Option<&AtomicI32>) -> Result<Model, Error> {
        let (method, data, mut out) = (c_text(method)?, self.data(x)?, null_mut());
        check(unsafe { raw::mercer_recipe_create(&mut out, self.0 .0, method.as_ptr()) })?;
        let recipe = Owned(out, raw::mercer_recipe_destroy);
        for (name, value) in options {
            let (name, value) = (c_text(name)?, c_text(value)?);
            check(unsafe { raw::mercer_recipe_set(recipe.0, name.as_ptr(), value.as_ptr()) })?;
        }
        if let Some(kernel) = kernel {
            let struct_size = std::mem::size_of::<raw::UserKernel>() as i64;
            let user = Box::into_raw(Box::new(kernel)) as *mut c_void;
            let given = raw::UserKernel { struct_size, flags: 0, reserved: 0, tile: Some(tile), user, release: Some(release) };
            check(unsafe { raw::mercer_recipe_set_kernel(recipe.0, &given) }).map_err(|error| {
                unsafe { release(user) }; // a call that failed did not take it
                error
            })?;
        }
        let cancel = cancel.map_or(null(), |flag| flag as *const AtomicI32 as *const i32);
        let run = raw::Run { struct_size: std::mem::size_of::<raw::Run>() as i64, threads: 0, memory: 0, progress: None, user: null_mut(), cancel };
        finish(unsafe { raw::mercer_model_fit(&mut out, recipe.0, data.0, &run) })?;
        Ok(Model(Owned(out, raw::mercer_model_destroy)))
    }

    pub fn read(&self, bytes: &[u8]) -> Result<Model, Error> {
        unsafe extern "C" fn read(user: *mut c_void, to: *mut c_void, capacity: i64, count: *mut i64) -> i32 {
            let from = &mut *(user as *mut &[u8]);
            let (now, later) = from.split_at(from.len().min(capacity as usize));
            std::ptr::copy_nonoverlapping(now.as_ptr(), to as *mut u8, now.len());
            *count = now.len() as i64;
            *from = later;
            0
        }
        let (mut from, mut out) = (bytes, null_mut());
        let source = raw::Source { struct_size: std::mem::size_of::<raw::Source>() as i64, read: Some(read), user: &mut from as *mut &[u8] as *mut c_void };
        check(unsafe { raw::mercer_model_read(&mut out, self.0 .0, &source) })?;
        Ok(Model(Owned(out, raw::mercer_model_destroy)))
    }

    /// Scores, row-major, with their number of columns.
    pub fn transform(&self, model: &Model, x: &Matrix) -> Result<(Vec<f64>, usize), Error> {
        let (data, mut count) = (self.data(x)?, 0);
        let mut shape: raw::Output = unsafe { std::mem::zeroed() };
        shape.struct_size = std::mem::size_of::<raw::Output>() as i64;
        check(unsafe { raw::mercer_model_output(model.0 .0, null_mut(), data.0, 0, &mut shape, &mut count) })?;
        assert_eq!(shape.dtype, 2, "only f64");
        let scores = vec![0.0; (shape.rows * shape.cols) as usize];
        let out = Matrix::new(&scores, shape.rows as usize, shape.cols as usize, true);
        finish(unsafe { raw::mercer_model_transform(model.0 .0, null_mut(), data.0, &out.view, 1, null()) })?;
        Ok((scores, shape.cols as usize))
    }
}

impl Model {
    /// Borrowed from the model.
    pub fn tensor(&self, name: &str) -> Result<Matrix<'_>, Error> {
        let mut view: View = unsafe { std::mem::zeroed() };
        view.struct_size = SIZE_OF_VIEW;
        check(unsafe { raw::mercer_model_tensor(self.0 .0, c_text(name)?.as_ptr(), &mut view) })?;
        assert_eq!(view.dtype, 2, "only f64");
        Ok(Matrix { view, life: PhantomData })
    }

    pub fn write(&self) -> Result<Vec<u8>, Error> {
        unsafe extern "C" fn write(user: *mut c_void, bytes: *const c_void, count: i64) -> i32 {
            let out = &mut *(user as *mut Vec<u8>);
            if out.try_reserve(count as usize).is_err() {
                raw::mercer_set_error(b"out of memory\0".as_ptr() as *const c_char);
                return 1;
            }
            out.extend_from_slice(std::slice::from_raw_parts(bytes as *const u8, count as usize));
            0
        }
        let mut out = Vec::new();
        let sink = raw::Sink { struct_size: std::mem::size_of::<raw::Sink>() as i64, write: Some(write), user: &mut out as *mut Vec<u8> as *mut c_void };
        check(unsafe { raw::mercer_model_write(self.0 .0, &sink) })?;
        Ok(out)
    }
}

/// A flag that SIGINT sets while one lives; the old handler comes back with its end.
pub struct Interrupt(usize);
static INTERRUPTED: AtomicI32 = AtomicI32::new(0);
extern "C" {
    fn signal(number: i32, handler: usize) -> usize;
}
extern "C" fn on_interrupt(_: i32) {
    INTERRUPTED.store(1, Ordering::Relaxed);
}
impl Interrupt {
    pub fn new() -> Self {
        INTERRUPTED.store(0, Ordering::Relaxed);
        Interrupt(unsafe { signal(2, on_interrupt as extern "C" fn(i32) as usize) })
    }
    pub fn flag(&self) -> &'static AtomicI32 {
        &INTERRUPTED
    }
}
impl Drop for Interrupt {
    fn drop(&mut self) {
        unsafe { signal(2, self.0) };
    }
}
