//! What Rust needs of the ABI, tried on it.
mod mercer;
use mercer::{Context, Error, Interrupt, Kernel, Matrix, Model};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const N: usize = 300;
const D: usize = 5;
const R: usize = 4;
const SIGMA: f64 = 4.0;
const CANCELLED: i32 = 12;

fn random(count: usize, mut state: u64) -> Vec<f64> {
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0).collect()
}

fn gaussian(x: Matrix, y: Matrix, k: &mut [f64]) {
    for i in 0..x.rows() {
        for j in 0..y.rows() {
            let d2: f64 = (0..x.cols()).map(|c| (x.at(i, c) - y.at(j, c)).powi(2)).sum();
            k[i * y.rows() + j] = (-d2 / (2.0 * SIGMA * SIGMA)).exp();
        }
    }
}

/// Top eigenpairs of the centred kernel matrix by power iteration and deflation.
fn oracle(x: Matrix) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (n, mut k) = (x.rows(), vec![0.0; x.rows() * x.rows()]);
    gaussian(x, x, &mut k);
    let means: Vec<f64> = (0..n).map(|i| k[i * n..(i + 1) * n].iter().sum::<f64>() / n as f64).collect();
    let all = means.iter().sum::<f64>() / n as f64;
    for i in 0..n {
        for j in 0..n {
            k[i * n + j] += all - means[i] - means[j];
        }
    }
    let (mut values, mut vectors) = (vec![], vec![]);
    for r in 0..R {
        let (mut v, mut value) = (random(n, r as u64), 0.0);
        for _ in 0..400 {
            let w: Vec<f64> = (0..n).map(|i| (0..n).map(|j| k[i * n + j] * v[j]).sum()).collect();
            value = w.iter().map(|a| a * a).sum::<f64>().sqrt();
            v = w.iter().map(|a| a / value).collect();
        }
        for i in 0..n {
            for j in 0..n {
                k[i * n + j] -= value * v[i] * v[j];
            }
        }
        values.push(value);
        vectors.push(v.iter().map(|a| a * value.sqrt()).collect());
    }
    (values, vectors)
}

fn text_of<T>(result: Result<T, Error>) -> String {
    result.err().expect("nothing was raised").text
}

fn rss() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn main() {
    let context = Context::new().unwrap();
    // Three clusters along each axis keep the eigenvalues apart, which power iteration needs.
    let mut values = random(N * D, 7);
    for (i, value) in values.iter_mut().enumerate() {
        *value = *value * (5 - i % D) as f64 / 2.0 + if i / D % 3 == i % D { 3.0 } else { 0.0 };
    }
    let columns: Vec<f64> = (0..N * D).map(|k| values[k % N * D + k / N]).collect();
    let (x, by_column) = (Matrix::new(&values, N, D, true), Matrix::new(&columns, N, D, false));
    let options = [("sigma", "4"), ("components", "4")];
    let user = [("kernel", "user"), ("components", "4")];
    let fit = |x: &Matrix, kernel: Option<Kernel>| -> Result<Model, Error> {
        context.fit(x, "kpca", if kernel.is_some() { &user } else { &options }, kernel, None)
    };

    // Numbers; and a kernel of ours gives the same.
    let model = fit(&x, None).unwrap();
    let (eigenvalues, vectors) = oracle(x);
    let kernels = [None, Some(Box::new(gaussian) as Kernel)];
    for (source, kernel) in [&x, &by_column].into_iter().zip(kernels) {
        let fitted = fit(source, kernel).unwrap();
        let (lambda, (scores, cols)) = (fitted.tensor("lambda").unwrap(), context.transform(&fitted, source).unwrap());
        for r in 0..R {
            assert!((lambda.at(r, 0) * N as f64 / eigenvalues[r] - 1.0).abs() < 1e-9);
            let apart = |sign: f64| (0..N).map(|i| (scores[i * cols + r] - sign * vectors[r][i]).abs()).fold(0.0, f64::max);
            assert!(apart(1.0).min(apart(-1.0)) < 1e-6, "scores {}", apart(1.0).min(apart(-1.0)));
        }
    }

    // A kernel that panics: the panic comes out of the call, what it held is dropped, the session goes on.
    std::panic::set_hook(Box::new(|_| ()));
    let held = Arc::new(());
    let inside = held.clone();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let broken: Kernel = Box::new(move |_, _, _| panic!("my own text {}", Arc::strong_count(&inside)));
        fit(&x, Some(broken)).map(|_| ())
    }));
    assert_eq!(panic.unwrap_err().downcast_ref::<String>().unwrap(), "my own text 2");
    assert_eq!(Arc::strong_count(&held), 1);
    let inside = held.clone();
    let owner = fit(&x, Some(Box::new(move |x, y, k| (gaussian(x, y, k), drop(inside.clone())).0))).unwrap();
    assert_eq!(Arc::strong_count(&held), 2);
    let here = context.transform(&owner, &x).unwrap();
    let there = std::thread::scope(|scope| scope.spawn(move || Context::new().unwrap().transform(&owner, &x).unwrap()).join().unwrap());
    assert!(here == there); // and the model, with its kernel, has ended over there
    assert_eq!(Arc::strong_count(&held), 1);
    let _ = std::panic::take_hook();

    // Bytes.
    let again = context.read(&model.write().unwrap()).unwrap();
    assert!(context.transform(&again, &by_column).unwrap() == context.transform(&model, &x).unwrap());

    // The interrupt key. 1.8e9 kernel values a pass, which never converge to 1e-15; then 2080 tiles of 20 ms.
    let many = random(60000 * 16, 3);
    let stream = [("sigma", "4"), ("gram.storage", "stream"), ("solver.tol", "1e-15"), ("solver.max_passes", "1000")];
    let slow: Kernel = Box::new(|_, _, k| {
        std::thread::sleep(Duration::from_millis(20));
        k.fill(1.0)
    });
    for (rows, options, kernel) in [(60000, &stream[..], None), (16384, &user[..], Some(slow))] {
        let key = Interrupt::new();
        let at = std::env::temp_dir().join(format!("mercer-rust-{}", std::process::id()));
        let kill = format!("sleep 2; date +%s.%N >{}; kill -INT {}", at.display(), std::process::id());
        let mut killer = Command::new("sh").args(["-c", &kill]).spawn().unwrap();
        let status = context.fit(&Matrix::new(&many[..rows * 16], rows, 16, true), "kpca", options, kernel, Some(key.flag())).err().unwrap().status;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        killer.wait().unwrap();
        let late = now - std::fs::read_to_string(&at).unwrap().trim().parse::<f64>().unwrap();
        std::fs::remove_file(at).unwrap();
        println!("cancelled {late:.3} s after SIGINT");
        assert!(status == CANCELLED && late < 0.5);
        fit(&x, None).unwrap();
    }

    // Misuse, and memory that stays flat over it.
    let mut bad = values.clone();
    bad[3 * D + 1] = f64::NAN;
    let cases: [&dyn Fn() -> String; 6] = [
        &|| text_of(context.fit(&x, "kpca", &[("sigm", "1")], None, None)),
        &|| text_of(context.fit(&x, "kpca", &[("sigma", "-1")], None, None)),
        &|| text_of(fit(&Matrix::new(&bad, N, D, true), None)),
        &|| text_of(context.transform(&model, &Matrix::new(&values[..N * 2], N, 2, true))),
        &|| text_of(context.read(&[1; 99])),
        &|| text_of(model.tensor("Z")),
    ];
    cases.iter().for_each(|case| println!("    {}", case()));
    let start = Instant::now();
    let mut before = 0;
    for i in 0..250 {
        if i == 50 {
            before = rss();
        }
        cases.iter().for_each(|case| drop(case()));
    }
    println!("{} kB more after 200 repeats of {} errors, {:.1} s", rss() - before, cases.len(), start.elapsed().as_secs_f64());
    assert!(rss() - before < 2000);
}
